// SPDX-License-Identifier: MIT
#include "distlock/detail/limits.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

namespace distlock::detail {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using time_point = lease_clock::time_point;
using seconds_d = std::chrono::duration<double>;

bool good_key(const std::string& key) { return complaint_about_key(key).empty(); }
bool good_ttl(std::chrono::milliseconds ttl) { return complaint_about_ttl(ttl).empty(); }

TEST(Limits, a_key_has_1_to_4096_octets_of_any_kind) {
    EXPECT_FALSE(good_key(""));
    EXPECT_TRUE(good_key("k"));
    EXPECT_TRUE(good_key(std::string(4096, 'k')));
    EXPECT_FALSE(good_key(std::string(4097, 'k')));
    for (const auto& key : {"\0"s, "a\r\nb"s, "%s%n"s, "}{"s, "\xff\xfe"s, " "s, "orders:42"s}) {
        EXPECT_TRUE(good_key(key)) << testing::PrintToString(key);
    }
}

TEST(Limits, names_of_side_keys_are_no_keys) {
    EXPECT_FALSE(good_key("a{b}c:distlock.fence"));
    EXPECT_FALSE(good_key("{abc}:distlock.grant"));
    EXPECT_FALSE(good_key(":distlock."));
    EXPECT_TRUE(good_key("distlock.fence"));
    EXPECT_TRUE(good_key("a:distlock.b:c"));
    EXPECT_TRUE(good_key("a:distlock"));
    EXPECT_TRUE(good_key("a:distlocks"));
}

// Rows 10, 11, 67 of the faults others met.
TEST(Limits, case_11_a_ttl_is_1_ms_to_365_days) {
    EXPECT_TRUE(good_ttl(1ms));
    EXPECT_TRUE(good_ttl(24h * 365));
    for (const auto ttl : {0ms, -1ms, std::chrono::milliseconds{24h * 365} + 1ms, std::chrono::milliseconds::max(),
                           std::chrono::milliseconds::min()}) {
        EXPECT_FALSE(good_ttl(ttl)) << ttl.count();
    }
}

TEST(Limits, options_are_good_as_they_are_made) {
    EXPECT_TRUE(complaint_about(lock_options{}).empty());
    EXPECT_FALSE(complaint_about({.ttl = 0ms}).empty());
    EXPECT_TRUE(complaint_about({.owner = std::string(256, 'o')}).empty());
    EXPECT_FALSE(complaint_about({.owner = std::string(257, 'o')}).empty());
    EXPECT_TRUE(complaint_about({.give_up_after = 0ms}).empty());
    EXPECT_FALSE(complaint_about({.give_up_after = -1ms}).empty());
    EXPECT_TRUE(complaint_about({.give_up_after = 24h * 365}).empty());
    EXPECT_FALSE(complaint_about({.give_up_after = std::chrono::milliseconds::max()}).empty());
}

TEST(Limits, a_deadline_is_start_and_wait_rounded_up) {
    const time_point start{5s};
    EXPECT_EQ(deadline_after(start, 3ms), start + 3ms);
    EXPECT_EQ(deadline_after(start, 0s), start);
    EXPECT_EQ(deadline_after(start, -1h), start);
    EXPECT_EQ(deadline_after(start, seconds_d{0.25}), start + 250ms);
    EXPECT_EQ(deadline_after(start, seconds_d{1e-12}), start + 1ns);
}

TEST(Limits, a_wait_that_the_clock_cannot_count_is_no_deadline) {
    const time_point start{5s};
    EXPECT_FALSE(deadline_after(start, std::chrono::nanoseconds::max()));
    EXPECT_FALSE(deadline_after(start, std::chrono::hours::max()));
    EXPECT_FALSE(deadline_after(start, std::chrono::seconds::max()));
    EXPECT_FALSE(deadline_after(start, seconds_d{std::numeric_limits<double>::infinity()}));
    EXPECT_FALSE(deadline_after(start, seconds_d{std::numeric_limits<double>::quiet_NaN()}));
    EXPECT_EQ(deadline_after(start, std::chrono::hours::min()), start);
    EXPECT_EQ(deadline_after(start, 24h * 365 * 100), start + 24h * 365 * 100);
}

} // namespace
} // namespace distlock::detail
