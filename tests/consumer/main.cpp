// SPDX-License-Identifier: MIT
#include <distlock/distlock.hpp>
#include <distlock/hiredis.hpp>

#include <system_error>

// It connects to nobody: there is no such socket.
int main() {
    distlock::hiredis_connection redis{"unix:///nonexistent/redis.sock"};
    distlock::redis_lock lock{redis, "orders:42"};
    std::error_code ec;
    const bool granted = lock.try_lock(ec);
    return !granted && ec == distlock::errc::unreachable ? 0 : 1;
}
