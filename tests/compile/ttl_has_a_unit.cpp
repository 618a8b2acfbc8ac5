// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

#include <chrono>

void use(silent_connection& server) {
    using namespace std::chrono_literals;
#ifdef REJECT
    distlock::redis_lock lock{server, "key", {.ttl = 30}};
#else
    distlock::redis_lock lock{server, "key", {.ttl = 30s}};
#endif
    lock.unlock();
}
