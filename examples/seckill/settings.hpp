// SPDX-License-Identifier: MIT
#pragma once

#include <distlock/retry.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace seckill {

/// Any retry policy; one type for all of them, because the setting is chosen at run time.
using any_policy = std::function<distlock::retry::pause(const distlock::retry::attempt&)>;

/// One way to wait for the lock.
struct setting {
    std::size_t number;
    std::string name;
    any_policy policy;

    std::string label() const { return '(' + std::to_string(number) + ") " + name; }
};

inline std::vector<setting> all_settings() {
    using namespace std::chrono_literals;
    namespace retry = distlock::retry;
    return {
        {1, "spin 600 ms, then yield", retry::switch_after{600ms, retry::spin{}, retry::yield{}}},
        {2, "yield 600 ms, then sleep 200 ms", retry::switch_after{600ms, retry::yield{}, retry::sleep{200ms}}},
        {3, "sleep 200 ms", retry::sleep{200ms}},
        {4, "sleep 2 s", retry::sleep{2s}},
        {5, "yield", retry::yield{}},
        {6, "backoff, the default", retry::backoff{}},
    };
}

} // namespace seckill
