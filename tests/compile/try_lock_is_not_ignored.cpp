// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

bool use(silent_connection& server) {
    distlock::redis_lock lock{server, "key"};
#ifdef REJECT
    lock.try_lock();
    return true;
#else
    return lock.try_lock();
#endif
}
