// SPDX-License-Identifier: MIT
#include "silent_connection.hpp"

#include <distlock/redis_lock.hpp>

struct mute {
    distlock::reply perform(std::span<const std::string_view>, distlock::lease_clock::time_point, std::error_code&);
};

#ifdef REJECT
using transport = mute;
#else
using transport = silent_connection;
#endif

void use(transport& server) {
    distlock::redis_lock lock{server, "key"};
    lock.unlock();
}
