// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace distlock::test {

/// A clock_source whose time passes only when somebody sleeps or the test says so. One time for the whole
/// process: a test begins with reset().
class manual_clock {
public:
    using duration = lease_clock::duration;
    using time_point = lease_clock::time_point;

    /// Where reset() puts the time: well away from zero, so that arithmetic into the past stays positive.
    static constexpr time_point start() noexcept { return time_point{std::chrono::hours{1}}; }

    static void reset() {
        const std::lock_guard guard{state().mutex};
        state().now = start();
        state().sleeps.clear();
        state().events.clear();
        state().yields = 0;
        state().draws = 0;
    }

    static time_point now() {
        const std::lock_guard guard{state().mutex};
        return state().now;
    }
    static duration elapsed() { return now() - start(); }

    /// Lets time pass, and runs what at() planned for it.
    static void advance(duration by) { advance_to(now() + by, {}); }

    /// Runs `action` once, when the time since reset() reaches `when`.
    static void at(duration when, std::function<void()> action) {
        const std::lock_guard guard{state().mutex};
        state().events.emplace(start() + when, std::move(action));
    }

    /// Passes the time at once, up to `wake` or to the event that requests a stop.
    static void sleep_until(time_point wake, const std::stop_token& stop = {}) {
        const auto before = now();
        advance_to(wake, stop);
        const std::lock_guard guard{state().mutex};
        state().sleeps.push_back(state().now - before);
    }

    static void yield() {
        const std::lock_guard guard{state().mutex};
        ++state().yields;
    }

    /// Draw number n, counted from 1, is the number n in as many octets as were asked for (big-endian).
    static void random_octets(std::span<std::byte> out) {
        const std::lock_guard guard{state().mutex};
        auto number = ++state().draws;
        for (auto octet = out.rbegin(); octet != out.rend(); ++octet) {
            *octet = static_cast<std::byte>(number & 0xffU);
            number >>= 8U;
        }
    }

    /// How long each sleep since reset() really took.
    static std::vector<duration> sleeps() {
        const std::lock_guard guard{state().mutex};
        return state().sleeps;
    }
    static std::uint64_t yields() {
        const std::lock_guard guard{state().mutex};
        return state().yields;
    }

private:
    struct shared_state {
        std::mutex mutex;
        time_point now = start();
        std::vector<duration> sleeps;
        std::multimap<time_point, std::function<void()>> events;
        std::uint64_t yields = 0;
        std::uint64_t draws = 0;
    };

    static shared_state& state() {
        static shared_state it;
        return it;
    }

    static void advance_to(time_point goal, const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::function<void()> action;
            {
                const std::lock_guard guard{state().mutex};
                const auto next = state().events.begin();
                if (next == state().events.end() || next->first > goal) {
                    state().now = std::max(state().now, goal);
                    return;
                }
                state().now = std::max(state().now, next->first);
                action = std::move(next->second);
                state().events.erase(next);
            }
            action(); // without the mutex: it may use the clock
        }
    }
};

static_assert(clock_source<manual_clock>);

} // namespace distlock::test
