// SPDX-License-Identifier: MIT
#include "fake_connection.hpp"

#include <distlock/distlock.hpp>

#include <mutex>

int main() {
    fake_connection server;
    distlock::redis_lock lock{server, "orders:42"};
    {
        const std::lock_guard guard{lock};
        if (!lock.owns_lock() || server.keys.size() != 1) {
            return 1;
        }
    }
    return server.keys.empty() ? 0 : 1;
}
