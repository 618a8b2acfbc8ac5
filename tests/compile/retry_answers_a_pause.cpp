// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

#include <chrono>

#ifdef REJECT
using answer = int; // of what unit?
#else
using answer = std::chrono::milliseconds;
#endif

void use(silent_connection& server) {
    distlock::redis_lock lock{server, "key", {}, [](const distlock::retry::attempt&) { return answer{5}; }};
    lock.unlock();
}
