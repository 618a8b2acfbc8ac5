// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include <chrono>
#include <functional>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace distlock::test {
namespace {

using seconds_d = std::chrono::duration<double>;

class Acquire : public lock_test {
protected:
    // What a blocking lock does at its end while it holds `held`.
    void expect_release(const std::string& held) { redis.expect(del(same_as(held))).answers(yes()); }

    scripted_connection redis;
};

TEST_F(Acquire, is_one_set_and_validity_counts_from_before_the_send) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    manual_clock::advance(1s);
    redis.expect(set(capture(token))).after(300ms);
    lock.lock();
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.valid_until(), manual_clock::start() + 1s + 10s - 102ms);
    EXPECT_EQ(lock.remaining(), 10s - 102ms - 300ms);
    EXPECT_EQ(lock.token(), token);
    EXPECT_EQ(token.size(), 32U);
    expect_release(token);
}

// Row 9: validity counted from the first attempt.
TEST_F(Acquire, case_09_validity_counts_from_the_attempt_that_won) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}, {4s}};
    redis.expect(set(capture(token))).answers(reply::nil());
    redis.expect(ask()).answers(held_for(5000));
    redis.expect(set(capture(token2))).answers(reply::nil());
    redis.expect(ask()).answers(held_for(1000));
    redis.expect(set(capture(token3))).after(50ms);
    lock.lock();
    EXPECT_EQ(lock.valid_until(), manual_clock::start() + 8s + 10s - 102ms);
    EXPECT_NE(token, token2);
    EXPECT_NE(token2, token3);
    EXPECT_EQ(lock.token(), token3);
    expect_release(token3);
}

TEST_F(Acquire, the_token_carries_the_owners_label) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s, .owner = "web 3"}};
    redis.expect(set(capture(token)));
    ASSERT_TRUE(lock.try_lock());
    EXPECT_EQ(token.substr(32), "|web 3");
    EXPECT_EQ(detail::owner_of(lock.token()), "web 3");
    expect_release(token);
}

TEST_F(Acquire, try_lock_is_false_for_busy_and_waits_for_nothing) {
    note_taker notes;
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
    redis.expect(set(any())).answers(reply::nil()).after(5ms);
    redis.expect(ask()).answers(held_for(60'000)).after(1ms);
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.token(), "");
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"contended k 6ms 1"}));
}

TEST_F(Acquire, tells_the_observer_how_long_and_how_often) {
    knows(redis, form::script);
    note_taker notes;
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}, {40ms}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(5000));
    redis.expect(set(capture(token))).after(2ms);
    lock.lock();
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"acquired k 42ms 2"}));
    expect_release(token);
    lock.release();
    EXPECT_EQ(notes.notes.back(), "released k 0ms 0");
}

TEST_F(Acquire, a_late_grant_is_given_back_and_not_believed) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 1s}};
    redis.expect(set(capture(token), "1000")).after(988ms);
    redis.expect(del(same_as(token))).answers(yes());
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::lease_too_short);
    EXPECT_FALSE(lock.owns_lock());
}

TEST_F(Acquire, a_grant_with_a_moment_left_is_believed) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 1s}};
    redis.expect(set(capture(token), "1000")).after(988ms - 1ns);
    EXPECT_TRUE(lock.try_lock(ec));
    EXPECT_EQ(lock.remaining(), 1ns);
    redis.expect(del(same_as(token))).answers(yes());
}

// ---- bounds of a wait

TEST_F(Acquire, try_lock_for_makes_its_last_attempt_at_the_deadline) {
    blocking_lock lock{redis, "k", {.ttl = 10s}, {400ms}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    redis.expect(set(any())).answers(reply::nil());
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock_for(1s, ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(redis.calls().back().at, manual_clock::start() + 1s);
}

TEST_F(Acquire, a_wait_that_is_not_positive_asks_once) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    const std::chrono::nanoseconds waits[]{0ns, -1ns, std::chrono::nanoseconds::min()};
    for (const auto wait : waits) {
        expect_busy_and_asks(redis);
        EXPECT_FALSE(lock.try_lock_for(wait, ec));
        EXPECT_FALSE(ec);
    }
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock_until(manual_clock::start() - 1h, ec));
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now() - 1h, ec));
    EXPECT_EQ(manual_clock::elapsed(), 0ns);
}

TEST_F(Acquire, try_lock_until_a_time_of_the_lease_clock_waits_until_then) {
    blocking_lock lock{redis, "k", {.ttl = 10s}, {1h}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock_until(manual_clock::start() + 3s, ec));
    EXPECT_EQ(manual_clock::elapsed(), 3s);
}

TEST_F(Acquire, waits_that_overflow_are_refused_before_a_byte_is_sent) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    EXPECT_FALSE(lock.try_lock_for(std::chrono::hours::max(), ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    EXPECT_FALSE(lock.try_lock_for(std::chrono::nanoseconds::max(), ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    EXPECT_FALSE(lock.try_lock_for(seconds_d{std::numeric_limits<double>::quiet_NaN()}, ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    EXPECT_FALSE(lock.try_lock_until(std::chrono::sys_time<std::chrono::hours>::max(), ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    EXPECT_THROW(static_cast<void>(lock.try_lock_for(std::chrono::hours::max())), std::system_error);
    EXPECT_TRUE(redis.calls().empty());
}

TEST_F(Acquire, bad_keys_and_options_are_refused_before_a_byte_is_sent) {
    const auto refuses = [this](std::string key, lock_options options) {
        try {
            const blocking_lock lock{redis, std::move(key), std::move(options)};
            return false;
        } catch (const std::system_error& error) {
            return error.code() == errc::invalid_argument;
        }
    };
    EXPECT_TRUE(refuses("", {}));
    EXPECT_TRUE(refuses(std::string(4097, 'k'), {}));
    EXPECT_TRUE(refuses("a:distlock.fence", {}));
    EXPECT_TRUE(refuses("k", {.ttl = 0ms}));
    EXPECT_TRUE(refuses("k", {.ttl = -1ms}));
    EXPECT_TRUE(refuses("k", {.ttl = 366 * 24h}));
    EXPECT_TRUE(refuses("k", {.owner = std::string(257, 'o')}));
    EXPECT_TRUE(refuses("k", {.give_up_after = -1ms}));
    EXPECT_FALSE(refuses("k", {}));
}

TEST_F(Acquire, a_negative_pause_is_refused) {
    EXPECT_THROW((blocking_lock{redis, "k", {.ttl = 10s}, {-1ms}}), std::system_error);
    auto policy = [](const retry::attempt&) { return -1ns; };
    redis_lock<scripted_connection, decltype(policy), manual_clock> lock{redis, "k", {.ttl = 10s}, policy};
    expect_busy_and_asks(redis);
    lock.lock(ec);
    EXPECT_EQ(ec, errc::invalid_argument);
    EXPECT_TRUE(manual_clock::sleeps().empty());
}

TEST_F(Acquire, what_a_policy_throws_reaches_the_caller_and_leaves_nothing_behind) {
    auto policy = [](const retry::attempt&) -> retry::pause { throw std::runtime_error{"no more"}; };
    redis_lock<scripted_connection, decltype(policy), manual_clock> lock{redis, "k", {.ttl = 10s}, policy};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    EXPECT_THROW(lock.lock(ec), std::runtime_error);
    EXPECT_FALSE(lock.owns_lock());
}

TEST_F(Acquire, lock_on_an_owner_is_a_deadlock_that_is_told_at_once) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    lock.lock();
    lock.lock(ec);
    EXPECT_EQ(ec, std::errc::resource_deadlock_would_occur);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, std::errc::resource_deadlock_would_occur);
    EXPECT_FALSE(lock.try_lock_for(1s, ec));
    EXPECT_EQ(ec, std::errc::resource_deadlock_would_occur);
    EXPECT_THROW(lock.lock(), std::system_error);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.token(), token);
    expect_release(token);
}

// Row 80: what is left of an earlier hold blocks the same handle.
TEST_F(Acquire, case_80_a_hold_that_ran_out_is_cleaned_up_before_the_next) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    lock.lock();
    manual_clock::advance(9898ms);
    redis.expect(del(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    lock.lock();
    EXPECT_NE(token, token2);
    EXPECT_EQ(lock.lost(), loss_reason::none) << "this hold is not lost";
    expect_release(token2);
}

// ---- stop tokens

TEST_F(Acquire, a_stop_before_the_first_attempt_sends_nothing) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    std::stop_source stop;
    stop.request_stop();
    lock.lock(stop.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
    EXPECT_EQ(ec, std::errc::operation_canceled);
    EXPECT_FALSE(lock.try_lock_for(1s, stop.get_token(), ec));
    EXPECT_EQ(ec, errc::cancelled);
}

TEST_F(Acquire, a_stop_ends_a_pause) {
    blocking_lock lock{redis, "k", {.ttl = 10s}, {1h}};
    std::stop_source stop;
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    manual_clock::at(2s, [&stop] { stop.request_stop(); });
    lock.lock(stop.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
    EXPECT_EQ(manual_clock::elapsed(), 2s);
}

TEST_F(Acquire, a_grant_that_comes_with_the_stop_is_a_grant) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    std::stop_source stop;
    redis.expect(set(capture(token))).meanwhile([&stop] { stop.request_stop(); });
    lock.lock(stop.get_token(), ec);
    EXPECT_FALSE(ec);
    EXPECT_TRUE(lock.owns_lock());
    expect_release(token);
}

// Row 16: a cancelled acquire whose command may still be carried out.
TEST_F(Acquire, case_16_a_stop_during_an_exchange_without_an_answer_cleans_up_first) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    std::stop_source stop;
    redis.expect(set(capture(token))).meanwhile([&stop] { stop.request_stop(); }).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(yes());
    lock.lock(stop.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
}

TEST_F(Acquire, a_stop_does_not_break_off_a_clean_up) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    std::stop_source stop;
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unreachable);
    redis.expect(delex(same_as(token))).answers(yes());
    manual_clock::at(1ms, [&stop] { stop.request_stop(); });
    lock.lock(stop.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
}

// ---- trouble

// Rows 13, 14, 15 and 85: a token whose fate is unknown is taken back and never used again.
TEST_F(Acquire, case_13_a_wait_goes_on_after_a_lost_reply_with_another_token) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome).after(1s);
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    ASSERT_TRUE(lock.try_lock_for(5s, ec));
    EXPECT_NE(token, token2);
    EXPECT_EQ(lock.valid_until(), manual_clock::start() + 1s + 10s - 102ms);
    redis.expect(delex(same_as(token2))).answers(yes());
}

TEST_F(Acquire, case_85_a_lost_reply_is_no_busy) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    ASSERT_TRUE(lock.try_lock(ec));
    EXPECT_NE(token, token2);
    EXPECT_EQ(lock.token(), token2);
    redis.expect(delex(same_as(token2))).answers(yes());
}

TEST_F(Acquire, a_clean_up_that_is_not_confirmed_is_unknown_and_paid_before_the_next_attempt) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unknown_outcome);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unreachable);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome) << "never false in an outage";
    redis.expect(delex(same_as(token))).answers(yes());
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_FALSE(ec);
}

TEST_F(Acquire, a_debt_is_paid_by_the_destructor) {
    {
        blocking_lock lock{redis, "k", {.ttl = 10s}};
        redis.expect(set(capture(token))).fails(errc::unknown_outcome);
        redis.expect(delex(same_as(token))).fails(errc::unknown_outcome);
        EXPECT_FALSE(lock.try_lock(ec));
        redis.expect(delex(same_as(token))).answers(yes());
    }
    redis.expect_done();
}

TEST_F(Acquire, a_debt_that_the_ttl_has_paid_costs_nothing) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unknown_outcome);
    EXPECT_FALSE(lock.try_lock(ec));
    manual_clock::advance(10s);
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_FALSE(ec);
}

TEST_F(Acquire, a_debt_that_is_not_paid_before_the_ttl_is_tried_up_to_the_last_moment) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unknown_outcome);
    EXPECT_FALSE(lock.try_lock(ec));
    manual_clock::advance(10s - 1ns);
    redis.expect(delex(same_as(token))).answers(yes());
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock(ec));
}

TEST_F(Acquire, a_clean_up_answered_by_nonsense_is_not_confirmed) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(reply::status("PONG"));
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_EQ(redis.drops(), 1U);
    redis.expect(delex(same_as(token))).answers(yes()); // the destructor pays
}

TEST_F(Acquire, an_unreachable_server_is_told_apart_and_nothing_is_cleaned_up) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(any())).fails(errc::unreachable);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(Acquire, lock_goes_on_through_an_outage_and_gives_up_in_time) {
    blocking_lock lock{redis, "k", {.ttl = 10s, .give_up_after = 2s}};
    // Each refused connection scripts the next one.
    std::function<void()> again = [&] {
        redis.expect(set(any())).fails(errc::unreachable).after(100ms).meanwhile([&] {
            if (manual_clock::elapsed() + 100ms < 2s) {
                again();
            }
        });
    };
    again();
    lock.lock(ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_GE(manual_clock::elapsed(), 2s);
    EXPECT_LE(manual_clock::elapsed(), 2s + 500ms + 100ms);
    EXPECT_GT(redis.calls().size(), 3U);
}

// Rows 71 and 20.
TEST_F(Acquire, case_71_try_lock_for_is_never_false_in_an_outage) {
    blocking_lock lock{redis, "k", {.ttl = 10s}, {1s}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(60'000));
    redis.expect(set(any())).fails(errc::unreachable).after(2s);
    EXPECT_FALSE(lock.try_lock_for(3s, ec));
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(Acquire, case_20_a_server_that_hangs_cannot_hold_a_wait) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).times_out();
    redis.expect(delex(same_as(token))).times_out();
    EXPECT_FALSE(lock.try_lock_for(1s, ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_LE(manual_clock::elapsed(), 1s + 40ms);
    redis.expect(delex(same_as(token))).times_out(); // the destructor's
}

struct refusal {
    const char* text;
    bool passes;
    bool drops;
};

class Refused : public Acquire, public testing::WithParamInterface<refusal> {};

TEST_P(Refused, is_told_with_the_servers_words_or_waited_for) {
    const auto [text, passes, drops] = GetParam();
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(any())).answers(reply::error(text));
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::refused);
    EXPECT_NE(lock.last_error().find(text), std::string::npos) << lock.last_error();
    EXPECT_EQ(redis.drops(), drops ? 1U : 0U);

    redis.expect(set(any())).answers(reply::error(text));
    if (passes) {
        redis.expect(set(capture(token)));
        redis.expect(del(same_as(token))).answers(yes());
    }
    lock.lock(ec);
    EXPECT_EQ(static_cast<bool>(ec), !passes);
    EXPECT_EQ(lock.owns_lock(), passes);
    EXPECT_EQ(manual_clock::sleeps().size(), passes ? 1U : 0U);
}

INSTANTIATE_TEST_SUITE_P(
    EveryError, Refused,
    testing::Values(refusal{"LOADING Redis is loading the dataset in memory", true, false},
                    refusal{"MASTERDOWN Link with MASTER is down", true, false},
                    refusal{"CLUSTERDOWN The cluster is down", true, false},
                    refusal{"BUSY Redis is busy running a script", true, false},
                    refusal{"TRYAGAIN Multiple keys request during rehashing of slot", true, false},
                    refusal{"NOREPLICAS Not enough good replicas to write.", true, false},
                    refusal{"ERR max number of clients reached", true, false},
                    refusal{"READONLY You can't write against a read only replica.", true, true},
                    refusal{"UNBLOCKED force unblock", true, true},
                    refusal{"MISCONF Redis is configured to save RDB snapshots", false, false},
                    refusal{"OOM command not allowed when used memory > 'maxmemory'.", false, false},
                    refusal{"MOVED 3999 127.0.0.1:6381", false, false},
                    refusal{"ASK 3999 127.0.0.1:6381", false, false},
                    refusal{"NOAUTH Authentication required.", false, false},
                    refusal{"WRONGPASS invalid username-password pair", false, false},
                    refusal{"NOPERM this user has no permissions", false, false},
                    refusal{"CROSSSLOT Keys in request don't hash to the same slot", false, false},
                    refusal{"DENIED Redis is running in protected mode", false, false},
                    refusal{"ERR syntax error", false, false}, refusal{"NOSCRIPT No matching script", false, false}),
    [](const auto& instance) {
        const std::string text = instance.param.text;
        auto name = text.substr(0, text.find(' '));
        return name == "ERR" ? "ERR_" + text.substr(4, 3) : name;
    });

TEST_F(Acquire, a_key_of_another_type_is_an_error_and_not_an_endless_wait) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    const auto wrong_type = [this] {
        redis.expect(set(any())).answers(reply::nil());
        redis.expect(ask()).answers(reply::error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    };
    wrong_type();
    lock.lock(ec);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_NE(lock.last_error().find("WRONGTYPE"), std::string::npos);
    wrong_type();
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::refused) << "nor a false";
}

TEST_F(Acquire, trouble_with_asking_for_the_holder_costs_only_the_knowledge) {
    std::vector<bool> known;
    auto policy = [&known](const retry::attempt& now) {
        known.push_back(now.holder_remaining.has_value());
        return 10ms;
    };
    knows(redis, form::script);
    redis_lock<scripted_connection, decltype(policy), manual_clock> lock{redis, "k", {.ttl = 10s}, policy};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(reply::error("NOPERM this user has no permissions to run the 'evalsha' command"));
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(reply::status("PONG"));
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(700));
    redis.expect(set(capture(token)));
    lock.lock();
    EXPECT_EQ(known, (std::vector{false, false, false, true}));
    expect_release(token);
}

TEST_F(Acquire, the_question_for_the_holder_goes_by_its_text_where_the_script_is_not_known) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(no_script());
    redis.expect({"EVAL", std::string{protocol::holder::ask_script.text}, "1", "k"}).answers(held_for(9));
    redis.expect(set(capture(token)));
    lock.lock();
    expect_release(token);
}

TEST_F(Acquire, garbage_is_a_protocol_error_the_stream_is_dropped_and_the_token_taken_back) {
    for (const auto& nonsense :
         {reply::integer(1), reply::string("OK"), reply::status("ok"), reply::array({}), reply::status("QUEUED")}) {
        scripted_connection hostile;
        knows(hostile, form::script);
        blocking_lock lock{hostile, "k", {.ttl = 10s}};
        hostile.expect(set(capture(token))).answers(nonsense);
        hostile.expect(del(same_as(token))).answers(gone());
        lock.lock(ec);
        EXPECT_EQ(ec, errc::protocol);
        EXPECT_EQ(hostile.drops(), 1U);
        EXPECT_FALSE(lock.owns_lock());
    }
}

TEST_F(Acquire, garbage_that_the_transport_has_seen_is_the_same) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::protocol);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    lock.lock(ec);
    EXPECT_EQ(ec, errc::protocol);
}

TEST_F(Acquire, an_error_of_the_transports_own_may_mean_that_it_was_carried_out) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(std::make_error_code(std::errc::connection_reset));
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    ASSERT_TRUE(lock.try_lock(ec));
    redis.expect(delex(same_as(token2))).answers(yes());
}

} // namespace
} // namespace distlock::test
