// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

void use() {
    silent_connection server;
#ifdef REJECT
    distlock::redis_lock lock{silent_connection{}, "key"};
#else
    distlock::redis_lock lock{server, "key"};
#endif
    lock.unlock();
}
