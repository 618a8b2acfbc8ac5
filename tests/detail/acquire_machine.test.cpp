// SPDX-License-Identifier: MIT
#include "distlock/detail/acquire_machine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

namespace distlock::detail {

static void PrintTo(next_step::action action, std::ostream* out) {
    constexpr const char* names[]{"attempt", "ask_holder", "clean_up", "pause", "yield", "done"};
    *out << names[static_cast<int>(action)];
}

namespace {

using namespace std::chrono_literals;
using action = next_step::action;
using protocol::remedy;
using time_point = lease_clock::time_point;

constexpr time_point t0{1h};
constexpr patience once{false, {}, 10s};
constexpr patience patiently{true, {}, 10s};
constexpr patience until(lease_clock::duration wait) { return {true, t0 + wait, 10s}; }

using sleeping = acquire_machine<retry::sleep>;

// ---- granted, busy

TEST(AcquireMachine, the_first_attempt_is_made_at_once_whatever_the_policy) {
    retry::sleep policy{1h};
    for (const auto& limits : {once, patiently, until(5s)}) {
        sleeping it{policy, limits};
        EXPECT_EQ(it.begin(t0, false).what, action::attempt);
        EXPECT_EQ(it.granted().what, action::done);
        EXPECT_TRUE(it.acquired());
        EXPECT_FALSE(it.failure());
        EXPECT_EQ(it.attempts(), 1U);
        EXPECT_EQ(it.waited(t0 + 3ms), 3ms);
    }
}

TEST(AcquireMachine, asked_once_busy_is_the_answer) {
    retry::sleep policy{1ms};
    sleeping it{policy, once};
    it.begin(t0, false);
    EXPECT_EQ(it.busy(t0, false, 0).what, action::ask_holder) << "for the sake of a key of another type";
    EXPECT_EQ(it.holder(t0 + 1s, t0, 0).what, action::done);
    EXPECT_FALSE(it.acquired());
    EXPECT_FALSE(it.failure());
}

TEST(AcquireMachine, a_waiter_asks_for_the_holder_after_busy_answers_1_2_4_8_and_pauses_after_each) {
    retry::sleep policy{7ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    for (int n = 1; n <= 9; ++n) {
        auto step = it.busy(t0, false, 0);
        const bool asks = n == 1 || n == 2 || n == 4 || n == 8;
        EXPECT_EQ(step.what, asks ? action::ask_holder : action::pause) << n;
        if (asks) {
            step = it.holder(t0 + 1h, t0 + 1ms, 0);
            EXPECT_EQ(step.what, action::pause);
            EXPECT_EQ(step.at, t0 + 8ms);
        } else {
            EXPECT_EQ(step.at, t0 + 7ms);
        }
        EXPECT_EQ(it.woken(t0, false).what, action::attempt) << n;
    }
    EXPECT_EQ(it.attempts(), 10U);
}

TEST(AcquireMachine, tells_the_policy_number_time_holder_and_random) {
    std::vector<retry::attempt> told;
    auto policy = [&told](const retry::attempt& now) {
        told.push_back(now);
        return 1ms;
    };
    acquire_machine<decltype(policy)> it{policy, patiently};
    it.begin(t0, false);
    it.busy(t0 + 1s, false, 11);     // asks
    it.holder(t0 + 5s, t0 + 2s, 12); // 1st
    it.woken(t0 + 2s, false);
    it.busy(t0 + 3s, false, 13);          // asks
    it.holder(std::nullopt, t0 + 3s, 14); // 2nd: not known
    it.woken(t0 + 3s, false);
    it.busy(t0 + 4s, false, 15); // 3rd: still not known
    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(told[0].number, 1U);
    EXPECT_EQ(told[0].elapsed, 2s);
    EXPECT_EQ(told[0].holder_remaining, 3s);
    EXPECT_EQ(told[0].random, 12U);
    EXPECT_EQ(told[1].number, 2U);
    EXPECT_EQ(told[1].holder_remaining, std::nullopt);
    EXPECT_EQ(told[2].number, 3U);
    EXPECT_EQ(told[2].elapsed, 4s);
    EXPECT_EQ(told[2].random, 15U);
}

TEST(AcquireMachine, counts_the_holders_time_down_between_the_questions) {
    std::vector<std::optional<retry::nanoseconds>> told;
    auto policy = [&told](const retry::attempt& now) {
        told.push_back(now.holder_remaining);
        return 1ms;
    };
    acquire_machine<decltype(policy)> it{policy, patiently};
    it.begin(t0, false);
    it.busy(t0, false, 0);
    it.holder(std::nullopt, t0, 0);
    it.woken(t0, false);
    it.busy(t0, false, 0);
    it.holder(t0 + 5s, t0, 0);
    it.woken(t0, false);
    it.busy(t0 + 4s, false, 0); // the 3rd: no question
    it.woken(t0 + 4s, false);
    it.busy(t0 + 5s, false, 0);
    it.holder(t0 + 5s, t0 + 5s, 0);
    EXPECT_EQ(told, (std::vector<std::optional<retry::nanoseconds>>{std::nullopt, 5s, 1s, std::nullopt}));
}

TEST(AcquireMachine, follows_the_policy_into_a_spin_and_a_yield) {
    retry::spin spin;
    acquire_machine<retry::spin> spinning{spin, patiently};
    spinning.begin(t0, false);
    spinning.busy(t0, false, 0);
    EXPECT_EQ(spinning.holder(std::nullopt, t0, 0).what, action::attempt);
    EXPECT_EQ(spinning.attempts(), 2U);

    retry::yield yield;
    acquire_machine<retry::yield> yielding{yield, patiently};
    yielding.begin(t0, false);
    yielding.busy(t0, false, 0);
    EXPECT_EQ(yielding.holder(std::nullopt, t0, 0).what, action::yield);
    EXPECT_EQ(yielding.attempts(), 1U);
    EXPECT_EQ(yielding.woken(t0, false).what, action::attempt);
}

TEST(AcquireMachine, refuses_a_negative_pause) {
    retry::sleep policy{-1ns};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.busy(t0, false, 0);
    EXPECT_EQ(it.holder(std::nullopt, t0, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::invalid_argument);
    EXPECT_FALSE(it.acquired());
}

TEST(AcquireMachine, the_longest_pause_does_not_overflow_the_clock) {
    retry::sleep policy{retry::nanoseconds::max()};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.busy(t0, false, 0);
    EXPECT_EQ(it.holder(std::nullopt, t0, 0).at, time_point::max());
}

// Rows 39 and 40: giving up early, and a deadline that does not count.
TEST(AcquireMachine, case_40_the_last_attempt_is_made_at_the_deadline) {
    retry::sleep policy{3s};
    sleeping it{policy, until(5s)};
    it.begin(t0, false);
    it.busy(t0, false, 0);
    EXPECT_EQ(it.holder(std::nullopt, t0, 0).at, t0 + 3s);
    it.woken(t0 + 3s, false);
    it.busy(t0 + 3s, false, 0);
    const auto cut = it.holder(std::nullopt, t0 + 3s, 0);
    EXPECT_EQ(cut.what, action::pause);
    EXPECT_EQ(cut.at, t0 + 5s);
    const auto last = it.woken(t0 + 5s, false);
    EXPECT_EQ(last.what, action::attempt);
    EXPECT_EQ(last.at, t0 + 5s + 20ms) << "with the shortest exchange";
    EXPECT_EQ(it.busy(t0 + 5s, false, 0).what, action::done);
    EXPECT_FALSE(it.failure());
    EXPECT_FALSE(it.acquired());
}

TEST(AcquireMachine, an_exchange_gets_until_the_callers_deadline) {
    retry::sleep policy{1ms};
    sleeping waits{policy, until(5s)};
    EXPECT_EQ(waits.begin(t0, false).at, t0 + 5s);
    sleeping hurried{policy, until(1ms)};
    EXPECT_EQ(hurried.begin(t0, false).at, t0 + 20ms);
    sleeping lasting{policy, patiently};
    EXPECT_EQ(lasting.begin(t0, false).at, t0 + 10s);
    lasting.busy(t0 + 1s, false, 0);
    EXPECT_EQ(lasting.holder(std::nullopt, t0 + 1s, 0).what, action::pause);
    EXPECT_EQ(lasting.woken(t0 + 1s, false).at, t0 + 11s) << "each useful answer renews the patience";
}

// Row 78: a time-out within the library that is shorter than the network is slow.
TEST(AcquireMachine, case_78_an_exchange_gets_twice_what_the_slowest_answer_took_but_no_more_than_50_ms) {
    retry::sleep policy{1h};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    it.busy(t0 + 15ms, false, 0);
    const auto pause = it.holder(std::nullopt, t0 + 20ms, 0);
    EXPECT_EQ(pause.at, t0 + 985ms) << "so that the last attempt is answered in time";
    EXPECT_EQ(it.woken(t0 + 985ms, false).at, t0 + 1015ms);
    EXPECT_EQ(it.busy(t0 + 990ms, false, 0).at, t0 + 1020ms) << "a faster one changes nothing";

    sleeping slow{policy, until(1s)};
    slow.begin(t0, false);
    slow.busy(t0 + 400ms, false, 0);
    slow.holder(std::nullopt, t0 + 500ms, 0);
    EXPECT_EQ(slow.woken(t0 + 600ms, false).at, t0 + 1s);
    EXPECT_EQ(slow.busy(t0 + 999ms, false, 0).at, t0 + 1049ms);
}

TEST(AcquireMachine, an_attempt_that_could_not_be_answered_in_time_is_not_made) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    it.busy(t0 + 100ms, false, 0);
    it.holder(std::nullopt, t0 + 899ms, 0);
    const auto step = it.woken(t0 + 901ms, false); // the wait is not over before its deadline, though
    EXPECT_EQ(step.what, action::pause);
    EXPECT_EQ(step.at, t0 + 1s);
    EXPECT_EQ(it.woken(t0 + 1s, false).what, action::done);
    EXPECT_FALSE(it.failure());
    EXPECT_FALSE(it.acquired());
}

TEST(AcquireMachine, trouble_that_a_busy_answer_has_ended_counts_no_more) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    it.not_sent(t0, 0);
    it.woken(t0, false);
    it.busy(t0 + 100ms, false, 0);
    it.holder(std::nullopt, t0 + 899ms, 0);
    EXPECT_EQ(it.woken(t0 + 901ms, false).what, action::pause);
    EXPECT_EQ(it.woken(t0 + 1s, false).what, action::done);
    EXPECT_FALSE(it.failure());
}

TEST(AcquireMachine, after_trouble_the_last_attempt_is_made_all_the_same) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    it.busy(t0 + 100ms, false, 0);
    it.holder(std::nullopt, t0 + 100ms, 0);
    it.woken(t0 + 200ms, false);
    it.not_sent(t0 + 900ms, 0);
    EXPECT_EQ(it.woken(t0 + 950ms, false).what, action::attempt) << "an outage may not be called busy";
}

// ---- granted too late

TEST(AcquireMachine, a_grant_with_nothing_left_is_given_back) {
    retry::sleep policy{1ms};
    sleeping asked{policy, once};
    asked.begin(t0, false);
    EXPECT_EQ(asked.granted_too_late(t0).what, action::clean_up);
    EXPECT_EQ(asked.cleaned(t0, 0).what, action::done);
    EXPECT_EQ(asked.failure(), errc::lease_too_short);
    EXPECT_FALSE(asked.acquired());

    sleeping waits{policy, patiently};
    waits.begin(t0, false);
    EXPECT_EQ(waits.granted_too_late(t0).what, action::clean_up);
    EXPECT_EQ(waits.cleaned(t0, 5).what, action::pause);
    EXPECT_EQ(waits.woken(t0 + 1s, false).what, action::attempt);
    waits.granted_too_late(t0 + 10s);
    EXPECT_EQ(waits.cleaned(t0 + 10s, 5).what, action::done) << "and not for ever";
    EXPECT_EQ(waits.failure(), errc::lease_too_short);
}

TEST(AcquireMachine, a_late_grant_that_could_not_be_given_back_is_not_called_given_back) {
    retry::sleep policy{1ms};
    sleeping it{policy, once};
    it.begin(t0, false);
    it.granted_too_late(t0);
    EXPECT_EQ(it.not_cleaned(t0, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
}

// ---- refused

TEST(AcquireMachine, a_refusal_that_does_not_pass_ends_the_wait_with_no_clean_up) {
    for (const auto final : {remedy::report, remedy::whole_text}) {
        for (const auto& limits : {once, patiently, until(5s)}) {
            retry::sleep policy{1ms};
            sleeping it{policy, limits};
            it.begin(t0, false);
            EXPECT_EQ(it.refused(final, t0, 0).what, action::done);
            EXPECT_EQ(it.failure(), errc::refused);
        }
    }
}

TEST(AcquireMachine, a_refusal_that_passes_by_itself_is_waited_for_by_those_who_wait) {
    for (const auto passing : {remedy::retry, remedy::reconnect}) {
        retry::sleep policy{1ms};
        sleeping asked{policy, once};
        asked.begin(t0, false);
        EXPECT_EQ(asked.refused(passing, t0, 0).what, action::done);
        EXPECT_EQ(asked.failure(), errc::refused);

        sleeping waits{policy, patiently};
        waits.begin(t0, false);
        EXPECT_EQ(waits.refused(passing, t0, 5).what, action::pause);
        EXPECT_EQ(waits.woken(t0 + 1s, false).what, action::attempt);
        EXPECT_EQ(waits.granted().what, action::done);
        EXPECT_FALSE(waits.failure());
    }
}

// ---- outages

TEST(AcquireMachine, what_was_not_sent_needs_no_clean_up) {
    retry::sleep policy{1ms};
    sleeping asked{policy, once};
    asked.begin(t0, false);
    EXPECT_EQ(asked.not_sent(t0, 0).what, action::done);
    EXPECT_EQ(asked.failure(), errc::unreachable);

    sleeping waits{policy, patiently};
    waits.begin(t0, false);
    EXPECT_EQ(waits.not_sent(t0, 5).what, action::pause);
    EXPECT_EQ(waits.woken(t0 + 1ms, false).what, action::attempt);
}

TEST(AcquireMachine, paces_an_outage_itself_so_that_a_spinning_policy_cannot_storm_the_server) {
    retry::spin policy;
    acquire_machine<retry::spin> it{policy, {true, {}, 1h}};
    it.begin(t0, false);
    constexpr auto at_most = [](auto n) { return static_cast<std::uint64_t>(n); };
    EXPECT_EQ(it.not_sent(t0, at_most(20'000'000)).at, t0 + 20ms);
    EXPECT_EQ(it.not_sent(t0, at_most(40'000'000)).at, t0 + 40ms);
    EXPECT_EQ(it.not_sent(t0, at_most(80'000'000)).at, t0 + 80ms);
    for (int i = 0; i < 10; ++i) {
        it.not_sent(t0, 0);
    }
    EXPECT_EQ(it.not_sent(t0, at_most(500'000'000)).at, t0 + 500ms);
    it.busy(t0, false, 0);
    EXPECT_EQ(it.not_sent(t0, at_most(20'000'000)).at, t0 + 20ms) << "a useful answer starts it anew";
}

TEST(AcquireMachine, gives_up_after_so_long_without_a_useful_answer) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    EXPECT_EQ(it.not_sent(t0 + 10s - 1ns, 0).what, action::pause);
    EXPECT_EQ(it.refused(remedy::retry, t0 + 10s - 1ns, 0).what, action::pause) << "a refusal is no useful answer";
    it.busy(t0 + 10s - 1ns, false, 0);
    EXPECT_EQ(it.not_sent(t0 + 19s, 0).what, action::pause) << "busy is one";
    EXPECT_EQ(it.not_sent(t0 + 20s, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unreachable);
}

// Rows 20 and 71: an outage that hangs, and an outage that is called busy.
TEST(AcquireMachine, case_71_an_outage_at_the_deadline_is_never_called_busy) {
    retry::sleep policy{1h};
    sleeping it{policy, until(5s)};
    it.begin(t0, false);
    it.busy(t0, false, 0);
    it.holder(std::nullopt, t0, 0);
    it.woken(t0 + 5s, false);
    EXPECT_EQ(it.not_sent(t0 + 5s, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unreachable);
}

TEST(AcquireMachine, case_20_a_pause_in_an_outage_ends_at_the_deadline) {
    retry::sleep policy{1h};
    sleeping it{policy, until(5s)};
    it.begin(t0, false);
    EXPECT_EQ(it.not_sent(t0 + 4999ms, 20'000'000).at, t0 + 5s);
}

TEST(AcquireMachine, with_a_deadline_give_up_after_does_not_count) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(60s)};
    it.begin(t0, false);
    EXPECT_EQ(it.not_sent(t0 + 59s, 0).what, action::pause);
    EXPECT_EQ(it.not_sent(t0 + 60s, 0).what, action::done);
}

TEST(AcquireMachine, after_an_outage_a_busy_answer_counts_again) {
    retry::sleep policy{1h};
    sleeping it{policy, until(5s)};
    it.begin(t0, false);
    it.not_sent(t0, 0);
    it.woken(t0 + 5s, false);
    EXPECT_EQ(it.busy(t0 + 5s, false, 0).what, action::ask_holder);
    EXPECT_EQ(it.holder(t0 + 9s, t0 + 5s, 0).what, action::done);
    EXPECT_FALSE(it.failure());
}

// ---- no answer

// Rows 13 and 17: an attempt without an answer may have been carried out.
TEST(AcquireMachine, case_13_no_answer_is_cleaned_up_before_the_next_attempt) {
    retry::sleep policy{1h};
    for (const auto& limits : {once, patiently, until(5s)}) {
        sleeping it{policy, limits};
        it.begin(t0, false);
        EXPECT_EQ(it.no_answer(t0 + 1s).what, action::clean_up);
        EXPECT_EQ(it.cleaned(t0 + 1s, 0).what, action::attempt) << "the first time without a pause";
        EXPECT_EQ(it.granted().what, action::done);
        EXPECT_FALSE(it.failure());
        EXPECT_TRUE(it.acquired());
    }
}

TEST(AcquireMachine, asked_once_a_second_silence_is_unknown) {
    retry::sleep policy{1ms};
    sleeping it{policy, once};
    it.begin(t0, false);
    it.no_answer(t0);
    it.cleaned(t0, 0);
    EXPECT_EQ(it.no_answer(t0).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
    EXPECT_FALSE(it.acquired());
}

TEST(AcquireMachine, a_waiter_pauses_from_the_second_silence_on) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.no_answer(t0);
    it.cleaned(t0, 0);
    EXPECT_EQ(it.no_answer(t0).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0, 5).what, action::pause);
    EXPECT_EQ(it.woken(t0 + 1s, false).what, action::attempt);
    it.no_answer(t0 + 10s);
    EXPECT_EQ(it.cleaned(t0 + 10s, 5).what, action::done) << "not beyond give_up_after";
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
}

TEST(AcquireMachine, silence_at_the_deadline_is_cleaned_up_and_unknown) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    const auto step = it.no_answer(t0 + 1s);
    EXPECT_EQ(step.what, action::clean_up);
    EXPECT_EQ(step.at, t0 + 1s + 20ms);
    EXPECT_EQ(it.cleaned(t0 + 1s, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
}

TEST(AcquireMachine, a_clean_up_that_takes_until_the_deadline_is_followed_by_no_attempt) {
    retry::sleep policy{1ms};
    sleeping it{policy, until(1s)};
    it.begin(t0, false);
    EXPECT_EQ(it.no_answer(t0 + 900ms).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0 + 1s, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
}

TEST(AcquireMachine, a_clean_up_that_fails_is_tried_again_before_any_attempt) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.no_answer(t0);
    EXPECT_EQ(it.not_cleaned(t0, 5).what, action::pause);
    EXPECT_EQ(it.woken(t0 + 1s, true).what, action::clean_up);
    EXPECT_EQ(it.not_cleaned(t0 + 1s, 5).what, action::pause);
    EXPECT_EQ(it.woken(t0 + 2s, true).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0 + 2s, 5).what, action::attempt);
    EXPECT_EQ(it.attempts(), 2U);

    sleeping asked{policy, once};
    asked.begin(t0, false);
    asked.no_answer(t0);
    EXPECT_EQ(asked.not_cleaned(t0, 0).what, action::done);
    EXPECT_EQ(asked.failure(), errc::unknown_outcome);
}

TEST(AcquireMachine, debts_are_paid_before_the_first_attempt) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    EXPECT_EQ(it.begin(t0, true).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0, 0).what, action::attempt);

    sleeping asked{policy, once};
    asked.begin(t0, true);
    EXPECT_EQ(asked.not_cleaned(t0, 0).what, action::done);
    EXPECT_EQ(asked.failure(), errc::unknown_outcome) << "a false here would hide an outage";
}

TEST(AcquireMachine, busy_while_owing_is_perhaps_our_own_token) {
    retry::sleep policy{1ms};
    for (const auto& limits : {once, patiently, until(1s)}) {
        sleeping it{policy, limits};
        it.begin(t0, false);
        EXPECT_EQ(it.busy(t0, true, 0).what, action::clean_up);
        EXPECT_EQ(it.cleaned(t0, 0).what, action::attempt);
    }
    sleeping late{policy, until(1s)};
    late.begin(t0, false);
    late.busy(t0 + 1s, true, 0);
    EXPECT_EQ(late.cleaned(t0 + 1s, 0).what, action::attempt) << "busy by our own token is no reason to say false";
}

// ---- garbage

TEST(AcquireMachine, garbage_is_cleaned_up_and_ends_the_wait) {
    retry::sleep policy{1ms};
    for (const bool confirmed : {true, false}) {
        for (const auto& limits : {once, patiently, until(5s)}) {
            sleeping it{policy, limits};
            it.begin(t0, false);
            EXPECT_EQ(it.garbage(t0).what, action::clean_up);
            EXPECT_EQ((confirmed ? it.cleaned(t0, 0) : it.not_cleaned(t0, 0)).what, action::done);
            EXPECT_EQ(it.failure(), errc::protocol);
        }
    }
}

// ---- cancelled

TEST(AcquireMachine, cancelled_with_nothing_owed_is_over_at_once) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    EXPECT_EQ(it.cancelled(t0, false).what, action::done);
    EXPECT_EQ(it.failure(), errc::cancelled);
}

TEST(AcquireMachine, cancelled_while_owing_cleans_up_and_attempts_nothing) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.no_answer(t0);
    it.not_cleaned(t0, 5);
    EXPECT_EQ(it.cancelled(t0, true).what, action::clean_up);
    EXPECT_EQ(it.cleaned(t0, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::cancelled);
}

// errc::cancelled promises that nothing is left on the server.
TEST(AcquireMachine, cancelled_without_a_confirmed_clean_up_is_unknown) {
    retry::sleep policy{1ms};
    sleeping it{policy, patiently};
    it.begin(t0, false);
    it.no_answer(t0);
    it.not_cleaned(t0, 5);
    it.cancelled(t0, true);
    EXPECT_EQ(it.not_cleaned(t0, 0).what, action::done);
    EXPECT_EQ(it.failure(), errc::unknown_outcome);
}

} // namespace
} // namespace distlock::detail
