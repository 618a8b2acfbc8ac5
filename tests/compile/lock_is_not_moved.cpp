// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

#include <utility>

void use(silent_connection& server) {
    distlock::redis_lock lock{server, "key"};
#ifdef REJECT
    auto other = std::move(lock);
#else
    auto&& other = std::move(lock);
#endif
    other.unlock();
}
