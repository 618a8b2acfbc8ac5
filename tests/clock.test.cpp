// SPDX-License-Identifier: MIT
#include "distlock/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <stop_token>
#include <thread>

#include <ctime>

namespace distlock {
namespace {

using namespace std::chrono_literals;

struct no_random {
    static lease_clock::time_point now();
    static void sleep_until(lease_clock::time_point, const std::stop_token&);
    static void yield();
};
struct other_time {
    static std::chrono::steady_clock::time_point now();
    static void sleep_until(lease_clock::time_point, const std::stop_token&);
    static void yield();
    static void random_octets(std::span<std::byte>);
};
static_assert(clock_source<lease_clock>);
static_assert(!clock_source<std::chrono::steady_clock>);
static_assert(!clock_source<no_random>);
static_assert(!clock_source<other_time>);
static_assert(lease_clock::is_steady);

TEST(LeaseClock, never_goes_back) {
    auto before = lease_clock::now();
    for (int i = 0; i < 1000; ++i) {
        const auto now = lease_clock::now();
        ASSERT_GE(now, before);
        before = now;
    }
}

#if defined(__linux__)
TEST(LeaseClock, is_the_clock_that_goes_on_during_a_suspend) {
    const auto read = [] {
        timespec t{};
        clock_gettime(CLOCK_BOOTTIME, &t);
        return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
    };
    const auto before = read();
    const auto now = lease_clock::now().time_since_epoch();
    EXPECT_LE(before, now);
    EXPECT_LE(now, read());
}
#endif

TEST(LeaseClock, sleeps_until_the_time_and_not_for_a_time_that_has_passed) {
    const auto wake = lease_clock::now() + 5ms;
    lease_clock::sleep_until(wake);
    EXPECT_GE(lease_clock::now(), wake);
    lease_clock::sleep_until(wake - 1h, std::stop_token{});
    lease_clock::sleep_until(lease_clock::time_point::min());
}

TEST(LeaseClock, a_possible_stop_does_not_shorten_the_sleep) {
    std::stop_source source;
    const auto wake = lease_clock::now() + 5ms;
    lease_clock::sleep_until(wake, source.get_token());
    EXPECT_GE(lease_clock::now(), wake);
}

TEST(LeaseClock, a_stop_ends_a_sleep_however_long) {
    for (const auto wake : {lease_clock::now() + 1h, lease_clock::time_point::max()}) {
        std::stop_source source;
        std::jthread stopper{[&source] { source.request_stop(); }};
        lease_clock::sleep_until(wake, source.get_token()); // the test's own time-out is the judge
        EXPECT_TRUE(source.stop_requested());
    }
}

TEST(LeaseClock, draws_octets_that_do_not_repeat) {
    std::set<std::array<std::byte, 16>> seen;
    for (int i = 0; i < 1000; ++i) {
        std::array<std::byte, 16> octets{};
        lease_clock::random_octets(octets);
        seen.insert(octets);
    }
    EXPECT_EQ(seen.size(), 1000U);
}

TEST(LeaseClock, fills_the_whole_of_a_large_span) {
    std::array<std::byte, 4096> octets{};
    lease_clock::random_octets(octets);
    std::array<bool, 256> met{};
    for (const auto octet : std::span{octets}.last(2048)) {
        met[std::to_integer<std::size_t>(octet)] = true;
    }
    EXPECT_GT(std::count(met.begin(), met.end(), true), 200); // 2048 draws miss about 0.1 of 256
    lease_clock::random_octets({});
}

} // namespace
} // namespace distlock
