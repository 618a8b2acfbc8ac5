// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace distlock::test {

/// How long tests wait for what should come at once: generous, for a busy machine. Only failures take it.
inline constexpr std::chrono::milliseconds patience = std::chrono::seconds{10};

/// Asks again and again until `condition` holds. False: it did not within `limit`.
template <class Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

} // namespace distlock::test
