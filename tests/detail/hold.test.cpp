// SPDX-License-Identifier: MIT
#include "distlock/detail/hold.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace distlock::detail {
namespace {

using namespace std::chrono_literals;
using time_point = lease_clock::time_point;

constexpr time_point sent{1h};

hold granted(std::chrono::milliseconds ttl = 10s, time_point answered = sent + 5ms) {
    hold made;
    made.grant(sent, answered, ttl);
    return made;
}

static_assert(drift_allowance(10s) == 102ms);
static_assert(drift_allowance(1ms) == 2ms + 10us);
static_assert(validity(sent, 10s) == sent + 9898ms);
static_assert(validity(sent, 1ms) < sent, "a lease can be over before it is asked for");
static_assert(validity(sent, std::chrono::hours{24 * 365}) > sent, "the longest ttl does not overflow");

TEST(Hold, is_nothing_before_a_grant) {
    const hold fresh;
    EXPECT_FALSE(fresh.active());
    EXPECT_FALSE(fresh.valid(sent));
    EXPECT_FALSE(fresh.overdue(sent));
    EXPECT_EQ(fresh.loss(), loss_reason::none);
}

TEST(Hold, is_valid_until_the_ttl_less_drift_after_the_send) {
    const auto it = granted();
    EXPECT_EQ(it.valid_until(), sent + 9898ms);
    EXPECT_TRUE(it.valid(sent + 9898ms - 1ns));
    EXPECT_FALSE(it.valid(sent + 9898ms));
    EXPECT_FALSE(it.overdue(sent + 9898ms - 1ns));
    EXPECT_TRUE(it.overdue(sent + 9898ms));
    EXPECT_EQ(it.granted_at(), sent + 5ms);
}

TEST(Hold, an_extension_is_set_and_not_added) {
    auto it = granted();
    it.extend(sent + 1s, 10s);
    EXPECT_EQ(it.valid_until(), validity(sent + 1s, 10s));
    it.extend(sent + 2s, 1s);
    EXPECT_EQ(it.valid_until(), validity(sent + 2s, 1s)) << "a shorter one counts as well";
}

TEST(Hold, an_unknown_extension_never_lengthens_and_may_shorten) {
    auto it = granted();
    it.extension_unknown(sent + 1s, 20s);
    EXPECT_EQ(it.valid_until(), validity(sent, 10s));
    it.extension_unknown(sent + 2s, 1s);
    EXPECT_EQ(it.valid_until(), validity(sent + 2s, 1s));
    it.extension_unknown(sent + 2s, 30s);
    EXPECT_EQ(it.valid_until(), validity(sent + 2s, 1s));
}

TEST(Hold, after_an_unknown_extension_no_other_promises_more_than_it) {
    auto it = granted();
    it.extension_unknown(sent + 1s, 3s);
    it.extend(sent + 2s, 30s);
    EXPECT_EQ(it.valid_until(), validity(sent + 2s, 3s)) << "the late one may come after this one";
    it.extend(sent + 3s, 1s);
    EXPECT_EQ(it.valid_until(), validity(sent + 3s, 1s));
    it.extend(sent + 3s, 30s);
    EXPECT_EQ(it.valid_until(), validity(sent + 3s, 3s)) << "for the rest of the hold";
    it.grant(sent + 9s, sent + 9s, 10s);
    it.extend(sent + 10s, 30s);
    EXPECT_EQ(it.valid_until(), validity(sent + 10s, 30s)) << "and not in the next hold";
}

TEST(Hold, promises_nothing_beyond_an_extension_that_is_under_way) {
    auto it = granted();
    const auto before = it.begin_extension(sent + 1s, 2s);
    EXPECT_EQ(before, validity(sent, 10s));
    EXPECT_EQ(it.valid_until(), validity(sent + 1s, 2s));
    it.extension_failed(before, true);
    EXPECT_EQ(it.valid_until(), validity(sent, 10s)) << "it was not applied";
    it.begin_extension(sent + 1s, 20s);
    EXPECT_EQ(it.valid_until(), validity(sent, 10s)) << "nor is the longer one believed yet";
}

TEST(Hold, is_lost_once_and_stays_lost) {
    auto it = granted();
    EXPECT_TRUE(it.lose(loss_reason::taken));
    EXPECT_FALSE(it.lose(loss_reason::expired));
    EXPECT_EQ(it.loss(), loss_reason::taken);
    EXPECT_FALSE(it.valid(sent));
    it.extend(sent + 1s, 10s);
    EXPECT_FALSE(it.valid(sent + 1s));
    EXPECT_TRUE(it.active()) << "there may be something to release";
    it.grant(sent + 20s, sent + 20s, 10s);
    EXPECT_TRUE(it.valid(sent + 20s));
    EXPECT_EQ(it.loss(), loss_reason::none);
}

TEST(Hold, knows_why_it_ran_out) {
    auto it = granted();
    EXPECT_EQ(it.overdue_reason(), loss_reason::expired);
    it.extension_failed(it.valid_until(), true);
    EXPECT_EQ(it.overdue_reason(), loss_reason::unreachable);
    it.extend(sent, 10s);
    EXPECT_EQ(it.overdue_reason(), loss_reason::expired);
    it.extension_unknown(sent, 10s);
    EXPECT_EQ(it.overdue_reason(), loss_reason::unreachable);
    it.grant(sent, sent, 10s);
    EXPECT_EQ(it.overdue_reason(), loss_reason::expired);
}

TEST(Hold, is_overdue_only_while_nobody_has_been_told_and_nothing_was_given_back) {
    auto it = granted();
    EXPECT_TRUE(it.overdue(sent + 1h));
    it.lose(loss_reason::expired);
    EXPECT_FALSE(it.overdue(sent + 1h));
    auto ended = granted();
    ended.end();
    EXPECT_FALSE(ended.overdue(sent + 1h));
    EXPECT_FALSE(ended.valid(sent));
}

TEST(Hold, stops_the_tokens_of_the_hold_that_is_lost) {
    auto it = granted();
    const auto before = it.stop_token();
    EXPECT_TRUE(before.stop_possible());
    EXPECT_FALSE(before.stop_requested());
    EXPECT_EQ(it.stop_token(), before);
    it.lose(loss_reason::taken);
    EXPECT_TRUE(before.stop_requested());
    EXPECT_TRUE(it.stop_token().stop_requested());
}

TEST(Hold, a_token_taken_after_the_loss_is_stopped_already) {
    auto it = granted();
    it.lose(loss_reason::expired);
    EXPECT_TRUE(it.stop_token().stop_requested());
}

TEST(Hold, the_next_hold_has_tokens_of_its_own) {
    auto it = granted();
    const auto first = it.stop_token();
    it.end();
    it.grant(sent + 1s, sent + 1s, 10s);
    const auto second = it.stop_token();
    it.lose(loss_reason::taken);
    EXPECT_FALSE(first.stop_requested());
    EXPECT_TRUE(second.stop_requested());
}

} // namespace
} // namespace distlock::detail
