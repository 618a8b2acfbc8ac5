// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

void use(silent_connection& server) {
    distlock::redis_lock lock{server, "key"};
#ifdef REJECT
    auto other = lock;
#else
    auto& other = lock;
#endif
    other.unlock();
}
