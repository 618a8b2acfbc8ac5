// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include <string>
#include <vector>

namespace distlock::test {
namespace {

class Extend : public lock_test {
protected:
    Extend() {
        knows(redis, form::script);
        redis.expect(set(capture(token)));
        lock.lock();
        notes.notes.clear();
    }
    // Whatever is held at the end is released, in whatever form the server is known by then.
    void expect_release() {
        redis.expect(redis.memory().release == form::script ? del(same_as(token)) : delex(same_as(token)))
            .answers(yes());
    }
    static manual_clock::time_point at(manual_clock::duration time) { return manual_clock::start() + time; }

    note_taker notes;
    scripted_connection redis;
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
};

// Row 12: sets the time, and never adds to it.
TEST_F(Extend, case_12_counts_from_before_the_send) {
    manual_clock::advance(4s);
    redis.expect(extend_to("10000", same_as(token))).answers(yes()).after(500ms);
    EXPECT_TRUE(lock.extend());
    EXPECT_EQ(lock.valid_until(), at(4s + 10s - 102ms));
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"renewed k 9398ms 0"}));
    for (int i = 0; i < 5; ++i) {
        redis.expect(extend_to("10000", same_as(token))).answers(yes());
        EXPECT_TRUE(lock.extend(ec));
    }
    EXPECT_EQ(lock.valid_until(), at(4500ms + 10s - 102ms));
    expect_release();
}

TEST_F(Extend, to_another_ttl_longer_or_shorter) {
    redis.expect(extend_to("60000", same_as(token))).answers(yes());
    EXPECT_TRUE(lock.extend(1min));
    EXPECT_EQ(lock.valid_until(), at(1min - 602ms));
    redis.expect(extend_to("1000", same_as(token))).answers(yes());
    EXPECT_TRUE(lock.extend(1s));
    EXPECT_EQ(lock.valid_until(), at(1s - 12ms));
    expect_release();
}

TEST_F(Extend, a_bad_ttl_is_refused_before_a_byte_is_sent) {
    for (const auto ttl : {0ms, -1ms, std::chrono::milliseconds::max(), std::chrono::milliseconds{366 * 24h}}) {
        EXPECT_FALSE(lock.extend(ttl, ec));
        EXPECT_EQ(ec, errc::invalid_argument);
    }
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(redis.calls().size(), 1U);
    expect_release();
}

TEST_F(Extend, of_what_is_not_held_is_false_and_sends_nothing) {
    expect_release();
    lock.unlock();
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(redis.calls().size(), 2U);
}

// Rows 26 and 29: an extend brought a lease back that had run out.
TEST_F(Extend, case_26_of_what_has_run_out_is_false_and_sends_nothing) {
    manual_clock::advance(9898ms);
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    EXPECT_EQ(redis.calls().size(), 1U);
    expect_release();
}

TEST_F(Extend, answered_gone_is_the_end_of_the_hold) {
    const auto stop = lock.stop_token();
    redis.expect(extend_to("10000", same_as(token))).answers(gone());
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"lost k 0ms 1"}));
    expect_release();
}

// Row 25: once lost, always lost.
TEST_F(Extend, case_25_answered_taken_is_the_end_and_no_later_extend_is_even_sent) {
    redis.expect(extend_to("10000", same_as(token))).answers(taken());
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_EQ(lock.lost(), loss_reason::taken);
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_EQ(redis.calls().size(), 2U);
    EXPECT_EQ(notes.notes.size(), 1U) << "told once";
    expect_release();
}

TEST_F(Extend, of_a_key_of_another_type_is_taken) {
    redis.expect(extend_to("10000", same_as(token))).answers(reply::error("WRONGTYPE Operation against a key"));
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_EQ(lock.lost(), loss_reason::taken);
    expect_release();
}

TEST_F(Extend, refused_leaves_the_lease_as_it_was) {
    const auto before = lock.valid_until();
    redis.expect(extend_to("10000", same_as(token))).answers(reply::error("LOADING Redis is loading"));
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_EQ(ec, errc::refused);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.valid_until(), before);
    EXPECT_NE(lock.last_error().find("LOADING"), std::string::npos);
    expect_release();
}

TEST_F(Extend, case_60_on_a_read_only_server_leaves_that_server) {
    redis.expect(extend_to("10000", same_as(token))).answers(reply::error("READONLY You can't write against"));
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_EQ(ec, errc::refused);
    EXPECT_EQ(redis.drops(), 1U);
    expect_release();
}

TEST_F(Extend, that_was_not_sent_leaves_the_lease_as_it_was) {
    const auto before = lock.valid_until();
    redis.expect(extend_to("1000", same_as(token))).fails(errc::unreachable);
    EXPECT_FALSE(lock.extend(1s, ec));
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.valid_until(), before);
    manual_clock::advance(10s);
    EXPECT_EQ(lock.lost(), loss_reason::unreachable) << "and that is why it was lost";
    expect_release();
}

TEST_F(Extend, without_an_answer_is_asked_again) {
    redis.expect(extend_to("10000", same_as(token))).fails(errc::unknown_outcome).after(1s);
    redis.expect(extend_to("10000", same_as(token))).answers(yes());
    EXPECT_TRUE(lock.extend(ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.valid_until(), at(1s + 10s - 102ms));
    expect_release();
}

TEST_F(Extend, without_an_answer_twice_is_trouble_and_no_loss) {
    redis.expect(extend_to("20000", same_as(token))).fails(errc::unknown_outcome);
    redis.expect(extend_to("20000", same_as(token))).fails(errc::unknown_outcome);
    EXPECT_FALSE(lock.extend(20s, ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.valid_until(), at(10s - 102ms)) << "never longer than what is known";
    expect_release();
}

TEST_F(Extend, without_an_answer_may_have_shortened_the_lease_now_and_later) {
    redis.expect(extend_to("2000", same_as(token))).fails(errc::unknown_outcome);
    redis.expect(extend_to("2000", same_as(token))).fails(errc::unreachable);
    EXPECT_FALSE(lock.extend(2s, ec));
    EXPECT_EQ(lock.valid_until(), at(2s - 22ms));
    manual_clock::advance(1s);
    redis.expect(extend_to("60000", same_as(token))).answers(yes());
    EXPECT_TRUE(lock.extend(1min, ec));
    EXPECT_EQ(lock.valid_until(), at(1s + 2s - 22ms)) << "the lost one may still come after this one";
    expect_release();
}

TEST_F(Extend, garbage_is_a_protocol_error_that_drops_the_stream_and_may_have_shortened_the_lease) {
    redis.expect(extend_to("2000", same_as(token))).answers(reply::status("OK"));
    EXPECT_FALSE(lock.extend(2s, ec));
    EXPECT_EQ(ec, errc::protocol);
    EXPECT_EQ(redis.drops(), 1U);
    EXPECT_EQ(lock.valid_until(), at(2s - 22ms));
    expect_release();
}

TEST_F(Extend, confirmed_too_late_is_no_lease) {
    redis.expect(extend_to("1000", same_as(token))).answers(yes()).after(988ms);
    EXPECT_FALSE(lock.extend(1s, ec));
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    expect_release();
}

TEST_F(Extend, the_exchange_ends_with_the_lease) {
    redis.expect(extend_to("10000", same_as(token))).times_out();
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_EQ(redis.calls().back().deadline, at(10s - 102ms));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_EQ(lock.lost(), loss_reason::unreachable);
    expect_release();
}

TEST_F(Extend, case_63_goes_by_its_text_where_the_script_is_not_known) {
    redis.expect(extend_to("10000", same_as(token))).answers(no_script());
    auto text = by_text(protocol::exclusive::extend_script, same_as(token));
    text.emplace_back("10000");
    redis.expect(text).answers(yes());
    EXPECT_TRUE(lock.extend());
    expect_release();
}

// ---- loss by the clock alone

// Rows 29, 32, 73: loss needs no answer of the server.
TEST_F(Extend, case_32_the_local_deadline_ends_the_hold_without_a_word_of_the_server) {
    const auto stop = lock.stop_token();
    manual_clock::advance(9898ms - 1ns);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_EQ(lock.lost(), loss_reason::none);
    manual_clock::advance(1ns);
    EXPECT_FALSE(static_cast<bool>(lock));
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"lost k 0ms 1"}));
    EXPECT_EQ(lock.token(), token) << "there is something to release";
    expect_release();
}

TEST_F(Extend, any_call_that_sees_the_deadline_passed_tells_the_loss) {
    manual_clock::advance(1h);
    EXPECT_TRUE(lock.stop_token().stop_requested());
    EXPECT_EQ(notes.notes.size(), 1U);
    expect_release();
}

TEST_F(Extend, the_next_hold_is_another_one) {
    const auto first = lock.stop_token();
    manual_clock::advance(1h);
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    redis.expect(del(same_as(token))).answers(gone());
    redis.expect(set(capture(token)));
    lock.lock();
    EXPECT_TRUE(first.stop_requested());
    EXPECT_FALSE(lock.stop_token().stop_requested());
    EXPECT_EQ(lock.lost(), loss_reason::none);
    expect_release();
}

} // namespace
} // namespace distlock::test
