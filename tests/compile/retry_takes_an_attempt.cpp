// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

#include <chrono>

#ifdef REJECT
struct now {};
#else
using now = distlock::retry::attempt;
#endif

void use(silent_connection& server) {
    distlock::redis_lock lock{server, "key", {}, [](const now&) { return std::chrono::milliseconds{5}; }};
    lock.unlock();
}
