// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include <string>
#include <vector>

namespace distlock::test {
namespace {

/// A lock over a pipelined connection that holds "k" when a test begins.
class Unlock : public lock_test {
protected:
    Unlock() {
        knows(redis, form::script);
        redis.expect(set(capture(token)));
        lock.lock();
    }

    scripted_pipeline redis;
    pipelined_lock lock{redis, "k", {.ttl = 10s}};
};

// The script goes as text: nobody may be there to answer NOSCRIPT.
TEST_F(Unlock, sends_and_does_not_wait) {
    redis.expect(del_text(same_as(token))).answers(yes()).after(1h);
    lock.unlock();
    EXPECT_EQ(redis.sent(), 2U);
    EXPECT_EQ(redis.received(), 1U);
    EXPECT_EQ(manual_clock::elapsed(), 0ns);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.token(), "");
}

TEST_F(Unlock, last_release_reads_the_answer) {
    redis.expect(del_text(same_as(token))).answers(taken());
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::taken);
    EXPECT_EQ(redis.received(), 2U);
    EXPECT_EQ(lock.last_release(), release_outcome::taken);
}

TEST_F(Unlock, release_after_unlock_reads_the_answer) {
    redis.expect(del_text(same_as(token))).answers(yes());
    lock.unlock();
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
}

TEST_F(Unlock, release_after_an_unlock_whose_answer_is_lost_asks_again) {
    redis.expect(del_text(same_as(token))).fails(errc::unknown_outcome);
    lock.unlock();
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
}

TEST_F(Unlock, the_next_lock_is_one_exchange_for_both_answers) {
    redis.expect(del_text(same_as(token))).answers(yes()).after(1ms);
    redis.expect(set(capture(token2))).after(1ms);
    lock.unlock();
    manual_clock::advance(1s);
    lock.lock();
    EXPECT_EQ(redis.sent(), 3U);
    EXPECT_EQ(redis.calls()[2].at, redis.calls()[1].at + 1s) << "sent before the first answer was read";
    EXPECT_EQ(lock.valid_until(), manual_clock::start() + 1s + 10s - 102ms);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    redis.expect(del_text(same_as(token2))).answers(yes());
}

TEST_F(Unlock, waits_while_the_servers_form_is_not_known) {
    knows(redis, form::untried);
    redis.expect(delex(same_as(token))).answers(no_command());
    redis.expect(delifeq(same_as(token))).answers(no_command());
    redis.expect(del(same_as(token))).answers(yes());
    lock.unlock();
    EXPECT_EQ(redis.received(), redis.sent());
    EXPECT_EQ(lock.last_release(), release_outcome::released);
}

TEST_F(Unlock, that_was_refused_is_carried_out_before_the_next_attempt) {
    redis.expect(del_text(same_as(token))).answers(reply::error("BUSY Redis is busy running a script"));
    redis.expect(set(capture(token2))).answers(reply::nil());
    redis.expect(del(same_as(token))).answers(no_script());
    redis.expect(del_text(same_as(token))).answers(yes());
    redis.expect(set(capture(token3)));
    lock.unlock();
    ASSERT_TRUE(lock.try_lock(ec)) << "our own old token is no other owner";
    EXPECT_EQ(lock.token(), token3);
    redis.expect(del_text(same_as(token3))).answers(yes());
}

TEST_F(Unlock, whose_answer_is_lost_is_done_when_the_next_attempt_is_granted) {
    pipelined_lock other{redis, "k2", {.ttl = 10s}};
    redis.expect(del_text(same_as(token))).answers(yes());
    lock.unlock();
    redis.expect({"SET", "k2", any(), "NX", "PX", "10000"}).answers(reply::nil()); // reads past our answer
    redis.expect({"EVALSHA", any(), "1", "k2"}).answers(held_for(9));
    EXPECT_FALSE(other.try_lock(ec));
    redis.expect(set(capture(token2)));
    ASSERT_TRUE(lock.try_lock(ec));
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    redis.expect(del_text(same_as(token2))).answers(yes());
}

TEST_F(Unlock, an_answer_lost_with_the_next_attempt_is_resolved_before_another) {
    redis.expect(del_text(same_as(token))).fails(errc::unknown_outcome);
    redis.expect(set(capture(token2)));
    lock.unlock();
    redis.expect(delex(same_as(token2))).answers(yes()); // the attempt's own token first
    redis.expect(set(capture(token3))).answers(reply::nil());
    redis.expect(delex(same_as(token))).answers(yes()); // the old one, which kept it busy
    redis.expect(set(capture(token4)));
    ASSERT_TRUE(lock.try_lock(ec));
    EXPECT_EQ(lock.token(), token4);
    redis.expect(delex(same_as(token4))).answers(yes());
}

TEST_F(Unlock, could_not_be_sent_is_tried_again_and_then_owed) {
    redis.expect(del_text(same_as(token))).fails(errc::unreachable);
    redis.expect(delex(same_as(token))).fails(errc::unreachable);
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    lock.lock();
    redis.expect(delex(same_as(token2))).answers(yes());
}

TEST_F(Unlock, after_a_busy_answer_the_next_owner_is_another_one_and_no_debt_of_ours) {
    redis.expect(del_text(same_as(token))).answers(yes());
    expect_busy_and_asks(redis);
    lock.unlock();
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
}

// ---- a native no that does not say whose the key is

TEST_F(Unlock, an_ambiguous_no_is_expired_when_the_next_attempt_is_granted) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(set(capture(token2)));
    lock.unlock();
    lock.lock();
    EXPECT_EQ(lock.last_release(), release_outcome::expired);
    redis.expect(delex(same_as(token2))).answers(yes());
}

TEST_F(Unlock, an_ambiguous_no_is_taken_when_the_next_attempt_is_busy) {
    knows(redis, form::delifeq);
    redis.expect(delifeq(same_as(token))).answers(gone());
    expect_busy_and_asks(redis);
    lock.unlock();
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(lock.last_release(), release_outcome::taken);
}

TEST_F(Unlock, an_ambiguous_no_is_resolved_by_the_keys_time_where_somebody_asks) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::expired);

    redis.expect(set(capture(token2)));
    lock.lock();
    redis.expect(delex(same_as(token2))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(77));
    lock.unlock();
    EXPECT_EQ(lock.release(ec), release_outcome::taken);
}

// ---- nonsense

TEST_F(Unlock, nonsense_in_answer_drops_the_stream_so_that_no_later_answer_is_believed) {
    redis.expect(del_text(same_as(token))).answers(reply::status("OK")); // as if replies had moved by one
    redis.expect(set(capture(token2)));
    lock.unlock();
    redis.expect(del(same_as(token2))).answers(yes()); // taken back: its grant is not believed
    redis.expect(set(capture(token3)));
    lock.lock(ec);
    EXPECT_EQ(redis.drops(), 1U);
    EXPECT_NE(lock.token(), token2) << "this grant came on a stream that cannot be trusted";
    redis.expect(del_text(any())).answers(yes());
}

// ---- several locks on one connection

TEST_F(Unlock, two_handles_on_one_connection_read_their_own_answers) {
    pipelined_lock other{redis, "k2", {.ttl = 10s}};
    std::string token_of_other;
    redis.expect({"SET", "k2", capture(token_of_other), "NX", "PX", "10000"});
    other.lock();
    redis.expect(del_text(same_as(token))).answers(taken());
    redis.expect({"EVAL", any(), "1", "k2", same_as(token_of_other)}).answers(gone());
    lock.unlock();
    other.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::taken);
    EXPECT_EQ(other.last_release(), release_outcome::expired);
}

TEST_F(Unlock, an_answer_that_another_handle_read_past_is_unknown_and_asked_for_again) {
    pipelined_lock other{redis, "k2", {.ttl = 10s}};
    std::string token_of_other;
    redis.expect({"SET", "k2", capture(token_of_other), "NX", "PX", "10000"});
    other.lock();
    redis.expect(del_text(same_as(token))).answers(yes());
    redis.expect({"EVAL", any(), "1", "k2", same_as(token_of_other)}).answers(taken());
    lock.unlock();
    other.unlock();
    EXPECT_EQ(other.last_release(), release_outcome::taken) << "never the first one's answer";
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
}

// ---- the end

TEST_F(Unlock, the_destructor_sends_and_does_not_wait) {
    scripted_pipeline other;
    {
        knows(other, form::script);
        pipelined_lock scoped{other, "k", {.ttl = 10s}};
        other.expect(set(capture(token2)));
        scoped.lock();
        other.expect(del_text(same_as(token2))).answers(yes()).after(1h);
    }
    EXPECT_EQ(other.sent(), 2U);
    EXPECT_EQ(manual_clock::elapsed(), 0ns);
    redis.expect(del_text(same_as(token))).answers(yes());
}

TEST_F(Unlock, the_destructor_reads_the_answer_for_an_observer) {
    note_taker notes;
    scripted_pipeline other;
    {
        knows(other, form::script);
        pipelined_lock scoped{other, "k", {.ttl = 10s, .observe = &notes}};
        other.expect(set(capture(token2)));
        scoped.lock();
        other.expect(del_text(same_as(token2))).answers(gone());
    }
    EXPECT_EQ(notes.notes.back(), "released k 0ms 1");
    redis.expect(del_text(same_as(token))).answers(yes());
}

/// The same, watched.
class WatchedUnlock : public lock_test {
protected:
    WatchedUnlock() {
        knows(redis, form::script);
        redis.expect(set(capture(token)));
        lock.lock();
        notes.notes.clear();
    }

    note_taker notes;
    scripted_pipeline redis;
    pipelined_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
};

TEST_F(WatchedUnlock, is_told_once_when_the_answer_is_read) {
    redis.expect(del_text(same_as(token))).answers(yes());
    manual_clock::advance(70ms);
    lock.unlock();
    EXPECT_TRUE(notes.notes.empty());
    manual_clock::advance(1s);
    lock.last_release();
    lock.last_release();
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"released k 70ms 0"}));
}

TEST_F(WatchedUnlock, is_told_before_the_next_grant_with_its_own_times) {
    redis.expect(del_text(same_as(token))).answers(yes());
    redis.expect(set(capture(token2))).after(5ms);
    manual_clock::advance(70ms);
    lock.unlock();
    manual_clock::advance(1s);
    lock.lock();
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"released k 70ms 0", "acquired k 5ms 1"}));
    redis.expect(del_text(same_as(token2))).answers(yes());
}

TEST_F(WatchedUnlock, every_release_is_told_also_one_that_the_server_refused) {
    redis.expect(del_text(same_as(token))).answers(reply::error("BUSY Redis is busy running a script"));
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(del(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    lock.unlock();
    lock.lock();
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"released k 0ms 3", "acquired k 0ms 2"}));
    redis.expect(del_text(same_as(token2))).answers(yes());
}

TEST_F(WatchedUnlock, what_a_repeated_release_finds_out_is_told) {
    redis.expect(del_text(same_as(token))).answers(reply::error("BUSY Redis is busy running a script"));
    redis.expect(del(same_as(token))).answers(yes());
    lock.unlock();
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    ASSERT_FALSE(notes.notes.empty());
    EXPECT_EQ(notes.notes.back(), "released k 0ms 0");
}

} // namespace
} // namespace distlock::test
