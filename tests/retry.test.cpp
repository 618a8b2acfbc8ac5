// SPDX-License-Identifier: MIT
#include "distlock/retry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace distlock::retry {
namespace {

using namespace std::chrono_literals;

static_assert(retry_policy<spin> && retry_policy<yield> && retry_policy<retry::sleep> && retry_policy<backoff>);
static_assert(retry_policy<switch_after<spin, yield>>);
static_assert(retry_policy<decltype([](const attempt&) { return 5ms; })>);
static_assert(retry_policy<decltype([](const attempt&) { return pause::yield(); })>);
static_assert(retry_policy<decltype([](attempt) { return 1h; })>, "taking it by value is fine");
static_assert(retry_policy<decltype([n = 0](const attempt&) mutable { return std::chrono::seconds{++n}; })>);
static_assert(retry_policy<decltype([p = std::unique_ptr<int>{}](const attempt&) { return 5ms; })>,
              "a policy need not be copied");
static_assert(!retry_policy<decltype([](const attempt&) {})>);
static_assert(!retry_policy<decltype([](const attempt&) { return 5; })>, "a number has no unit");
static_assert(!retry_policy<decltype([] { return 5ms; })>);
static_assert(!retry_policy<decltype([](attempt&) { return 5ms; })>, "what it is told is not its to change");

constexpr attempt busy(std::uint64_t number, std::uint64_t random = 0,
                       std::optional<nanoseconds> holder = std::nullopt) {
    return {number, 0ns, holder, random};
}

TEST(Pause, is_made_of_any_duration) {
    EXPECT_EQ(pause{}.length, 0ns);
    EXPECT_FALSE(pause{}.yields);
    EXPECT_EQ(pause{3s}.length, 3s);
    EXPECT_EQ((pause{std::chrono::duration<double>{0.5}}.length), 500ms);
    EXPECT_EQ(pause{-1ms}.length, -1ms);
    EXPECT_TRUE(pause::yield().yields);
    EXPECT_EQ(pause::yield().length, 0ns);
}

TEST(Pause, beyond_what_nanoseconds_count_is_the_longest_and_not_an_overflow) {
    EXPECT_EQ(pause{std::chrono::hours::max()}.length, nanoseconds::max());
    EXPECT_EQ(pause{std::chrono::seconds::max()}.length, nanoseconds::max());
    EXPECT_EQ((pause{std::chrono::duration<double>{1e300}}.length), nanoseconds::max());
    EXPECT_EQ((pause{std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}}.length),
              nanoseconds::max());
    EXPECT_LT(pause{std::chrono::hours::min()}.length, 0ns);
}

TEST(Policies, spin_yield_and_sleep_do_what_they_are_called) {
    EXPECT_EQ(spin{}(busy(1)).length, 0ns);
    EXPECT_FALSE(spin{}(busy(1)).yields);
    EXPECT_TRUE(yield{}(busy(1)).yields);
    EXPECT_EQ(retry::sleep{200ms}(busy(1)).length, 200ms);
    EXPECT_EQ(retry::sleep{200ms}(busy(1000)).length, 200ms);
    EXPECT_LT(retry::sleep{-1ns}(busy(1)).length, 0ns) << "the engine has to see and refuse it";
}

TEST(Policies, switch_after_changes_at_the_moment_it_says) {
    switch_after policy{600ms, spin{}, retry::sleep{1s}};
    EXPECT_EQ(policy({1, 599ms, std::nullopt, 0}).length, 0ns);
    EXPECT_EQ(policy({2, 600ms, std::nullopt, 0}).length, 1s);
    switch_after yields{1ms, yield{}, [](const attempt&) { return 2ms; }};
    EXPECT_TRUE(yields({1, 0ns, std::nullopt, 0}).yields);
    EXPECT_EQ(yields({1, 1ms, std::nullopt, 0}).length, 2ms);
}

// The largest pause of attempt n is the bound: random % (bound + 1) reaches it.
nanoseconds bound_of(const backoff& policy, std::uint64_t number) {
    nanoseconds most{0};
    for (std::uint64_t divisor = 0; divisor < 40; ++divisor) {
        const auto bound = static_cast<std::uint64_t>(policy.base.count()) << divisor;
        most = std::max({most, policy(busy(number, bound)).length, policy(busy(number, bound - 1)).length,
                         policy(busy(number, static_cast<std::uint64_t>(policy.cap.count()))).length});
    }
    return most;
}

TEST(Policies, with_a_negative_duration_are_known_before_they_are_asked) {
    EXPECT_TRUE(is_valid(retry::sleep{0ns}));
    EXPECT_FALSE(is_valid(retry::sleep{-1ns}));
    EXPECT_TRUE(is_valid(backoff{0ns, 0ns}));
    EXPECT_FALSE(is_valid(backoff{-1ns, 1ms}));
    EXPECT_FALSE(is_valid(backoff{1ms, -1ns}));
    EXPECT_TRUE(is_valid(switch_after{1ms, spin{}, yield{}}));
    EXPECT_FALSE(is_valid(switch_after{-1ms, spin{}, yield{}}));
    EXPECT_FALSE(is_valid(switch_after{1ms, retry::sleep{-1ns}, yield{}}));
    EXPECT_FALSE(is_valid(switch_after{1ms, spin{}, retry::sleep{-1ns}}));
    EXPECT_TRUE(is_valid(spin{}) && is_valid(yield{}));
    EXPECT_TRUE(is_valid([](const attempt&) { return -1ns; })) << "who does not say is asked later";
}

TEST(Backoff, its_bound_doubles_from_base_to_cap) {
    constexpr backoff policy{1ms, 64ms};
    EXPECT_EQ(bound_of(policy, 1), 1ms);
    EXPECT_EQ(bound_of(policy, 2), 2ms);
    EXPECT_EQ(bound_of(policy, 3), 4ms);
    EXPECT_EQ(bound_of(policy, 7), 64ms);
    EXPECT_EQ(bound_of(policy, 8), 64ms);
    EXPECT_EQ(bound_of(policy, std::numeric_limits<std::uint64_t>::max()), 64ms);
}

TEST(Backoff, reaches_a_cap_that_is_no_power_of_two_times_base) {
    constexpr backoff policy{1ms, 100ms};
    EXPECT_EQ(bound_of(policy, 7), 64ms);
    EXPECT_EQ(bound_of(policy, 8), 100ms);
    EXPECT_EQ(bound_of({10ms, 5ms}, 1), 5ms) << "a cap below base is a cap all the same";
}

TEST(Backoff, jitters_over_the_whole_range) {
    constexpr backoff policy{1ms, 64ms};
    EXPECT_EQ(policy(busy(1, 0)).length, 0ns);
    EXPECT_EQ(policy(busy(1, 123)).length, 123ns);
    EXPECT_EQ(policy(busy(1, 1'000'000)).length, 1ms);
    EXPECT_EQ(policy(busy(1, 1'000'001)).length, 0ns);
}

TEST(Backoff, is_cut_where_the_holders_lease_ends_but_never_to_nothing) {
    constexpr backoff policy{1ms, 64ms};
    EXPECT_EQ(policy(busy(7, 64'000'000, 3ms)).length, 3ms);
    EXPECT_EQ(policy(busy(7, 2'000'000, 3ms)).length, 2ms);
    EXPECT_EQ(policy(busy(7, 64'000'000, 0ns)).length, 1ns);
}

TEST(Backoff, survives_extremes_and_leaves_negative_ones_to_the_engine) {
    constexpr backoff huge{nanoseconds::max(), nanoseconds::max()};
    EXPECT_GE(huge(busy(70, std::numeric_limits<std::uint64_t>::max())).length, 0ns);
    EXPECT_EQ((backoff{0ns, 64ms}(busy(1000, 7)).length), 0ns);
    EXPECT_LT((backoff{-1ms, 64ms}(busy(1)).length), 0ns);
    EXPECT_LT((backoff{1ms, -64ms}(busy(1)).length), 0ns);
}

} // namespace
} // namespace distlock::retry
