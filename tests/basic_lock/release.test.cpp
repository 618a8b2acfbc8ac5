// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include <string>
#include <system_error>
#include <vector>

namespace distlock::test {
namespace {

/// A blocking lock that holds "k" when a test begins.
class Release : public lock_test {
protected:
    Release() {
        knows(redis, form::script);
        redis.expect(set(capture(token)));
        lock.lock();
    }

    note_taker notes;
    scripted_connection redis;
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
};

TEST_F(Release, released) {
    redis.expect(del(same_as(token))).answers(yes()).after(3ms);
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.token(), "");
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    EXPECT_EQ(lock.lost(), loss_reason::none);
}

TEST_F(Release, expired) {
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(), release_outcome::expired);
    EXPECT_EQ(lock.last_release(), release_outcome::expired);
}

// Row 1: a release deletes only what is its own.
TEST_F(Release, case_01_taken) {
    redis.expect(del(same_as(token))).answers(taken());
    EXPECT_EQ(lock.release(), release_outcome::taken);
    EXPECT_EQ(lock.last_release(), release_outcome::taken);
}

TEST_F(Release, a_key_of_another_type_is_taken) {
    redis.expect(del(same_as(token))).answers(reply::error("WRONGTYPE Operation against a key"));
    EXPECT_EQ(lock.release(), release_outcome::taken);
}

// Row 6: the token is kept until there is a definite answer.
TEST_F(Release, case_06_unknown_may_be_repeated_and_a_missing_key_is_then_done) {
    redis.expect(del(same_as(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).fails(errc::unknown_outcome);
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    knows(redis, form::script);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    EXPECT_EQ(lock.release(ec), release_outcome::unknown) << "and is over then";
    EXPECT_EQ(ec, std::errc::operation_not_permitted);
}

TEST_F(Release, a_lost_reply_is_asked_for_again_on_a_fresh_stream) {
    redis.expect(del(same_as(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(no_command());
    redis.expect(delifeq(same_as(token))).answers(no_command());
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
}

TEST_F(Release, what_got_lost_in_one_hold_says_nothing_about_the_next) {
    redis.expect(del(same_as(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    redis.expect(set(capture(token2)));
    lock.lock();
    redis.expect(delex(same_as(token2))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    EXPECT_EQ(lock.release(ec), release_outcome::expired);
}

TEST_F(Release, after_a_lost_reply_another_owner_within_our_lease_means_that_ours_was_released) {
    redis.expect(del(same_as(token))).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(5000));
    EXPECT_EQ(lock.release(ec), release_outcome::released);
}

TEST_F(Release, after_a_lost_reply_another_owner_after_our_lease_means_nothing) {
    redis.expect(del(same_as(token))).fails(errc::unknown_outcome).after(9898ms);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(5000));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
}

TEST_F(Release, unreachable_is_unknown_and_names_the_reason_and_can_be_repeated) {
    redis.expect(del(same_as(token))).fails(errc::unreachable);
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::unreachable);
    knows(redis, form::script);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(ec), release_outcome::expired) << "the first one was never sent";
}

TEST_F(Release, refused_is_unknown_with_the_servers_words) {
    redis.expect(del(same_as(token))).answers(reply::error("NOPERM this user has no permissions"));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_NE(lock.last_error().find("NOPERM"), std::string::npos);
    redis.expect(del(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
}

// Row 60: a demoted master was asked again and again.
TEST_F(Release, case_60_a_read_only_server_is_not_asked_again_on_the_same_stream) {
    redis.expect(del(same_as(token))).answers(reply::error("READONLY You can't write against a read only replica."));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_EQ(redis.drops(), 1U);
    redis.expect(del(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
}

TEST_F(Release, garbage_is_unknown_drops_the_stream_and_may_have_been_carried_out) {
    redis.expect(del(same_as(token))).answers(reply::status("PONG"));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::protocol);
    EXPECT_EQ(redis.drops(), 1U);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(ec), release_outcome::released);
}

// Row 63: the script is gone after a restart or a flush.
TEST_F(Release, case_63_a_script_that_is_not_known_goes_by_its_text_in_the_same_release) {
    redis.expect(del(same_as(token))).answers(no_script());
    redis.expect(del_text(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Release, with_nothing_held_is_not_permitted) {
    redis.expect(del(same_as(token))).answers(yes());
    lock.release();
    try {
        lock.release();
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::operation_not_permitted);
    }
}

TEST_F(Release, throws_the_servers_refusal_and_no_trouble_on_the_way) {
    redis.expect(del(same_as(token))).answers(reply::error("NOPERM this user has no permissions"));
    EXPECT_THROW(lock.release(), std::system_error);
    redis.expect(del(same_as(token))).fails(errc::unreachable);
    EXPECT_EQ(lock.release(), release_outcome::unknown);
    redis.expect(delex(same_as(token))).answers(yes()); // the destructor's
}

// Rows 68 and 69: an unlock of what has run out throws nothing and still leaves nothing behind.
TEST_F(Release, case_69_what_has_run_out_is_released_all_the_same) {
    manual_clock::advance(1h);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(), release_outcome::expired);
    EXPECT_EQ(lock.lost(), loss_reason::expired);
}

TEST_F(Release, unlock_waits_on_a_connection_that_cannot_pipeline) {
    redis.expect(del(same_as(token))).answers(yes());
    lock.unlock();
    redis.expect_done();
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    lock.unlock();
    EXPECT_EQ(redis.calls().size(), 2U) << "a second one does nothing";
}

TEST_F(Release, what_unlock_could_not_release_is_owed) {
    redis.expect(del(same_as(token))).fails(errc::unreachable);
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    lock.lock();
    EXPECT_NE(token, token2);
    redis.expect(delex(same_as(token2))).answers(yes());
}

// An extend may have made the lease longer than the lock's own ttl: the debt lasts as long.
TEST_F(Release, what_is_owed_of_an_extended_lease_is_owed_as_long_as_it_lasts) {
    redis.expect(extend_to("3600000", same_as(token))).answers(yes());
    ASSERT_TRUE(lock.extend(1h));
    redis.expect(del(same_as(token))).fails(errc::unreachable);
    lock.unlock();
    redis.expect(delex(same_as(token))).fails(errc::unreachable);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    manual_clock::advance(11s);
    redis.expect(delex(same_as(token))).answers(yes());
    redis.expect(set(capture(token2)));
    EXPECT_TRUE(lock.try_lock(ec));
    redis.expect_done();
    redis.expect(delex(same_as(token2))).answers(yes());
}

TEST_F(Release, the_observer_hears_the_outcome_and_the_time_it_was_held) {
    manual_clock::advance(250ms);
    redis.expect(del(same_as(token))).answers(taken()).after(50ms);
    lock.release();
    EXPECT_EQ(notes.notes, (std::vector<std::string>{"acquired k 0ms 1", "released k 250ms 2"}));
}

TEST_F(Release, the_destructor_releases) {
    scripted_connection other;
    {
        knows(other, form::script);
        blocking_lock scoped{other, "k", {.ttl = 10s}};
        other.expect(set(capture(token2)));
        scoped.lock();
        other.expect(del(same_as(token2))).answers(yes());
    }
    other.expect_done();
    redis.expect(del(same_as(token))).answers(yes());
}

TEST_F(Release, the_destructor_of_a_lock_on_a_dead_server_tries_no_more_than_needed) {
    scripted_connection dead;
    {
        knows(dead, form::script);
        blocking_lock scoped{dead, "k", {.ttl = 10s}};
        dead.expect(set(capture(token2)));
        scoped.lock();
        dead.expect(del(same_as(token2))).fails(errc::unreachable);
        dead.expect(delex(same_as(token2))).fails(errc::unreachable);
    }
    dead.expect_done();
    redis.expect(del(same_as(token))).answers(yes());
}

// ---- the form that the server has

TEST_F(Release, probes_the_native_forms_once_and_remembers) {
    knows(redis, form::untried);
    redis.expect(delex(same_as(token))).answers(no_command());
    redis.expect(delifeq(same_as(token)))
        .answers(reply::error("NOPERM this user has no permissions to run the 'delifeq' command"));
    redis.expect(del(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_EQ(redis.memory().release, form::script);

    redis.expect(set(capture(token2)));
    lock.lock();
    redis.expect(del(same_as(token2))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Release, stays_with_delex_where_the_server_has_it) {
    knows(redis, form::untried);
    redis.expect(delex(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_EQ(redis.memory().release, form::delex);
}

TEST_F(Release, stays_with_delifeq_where_the_server_has_it) {
    knows(redis, form::untried);
    redis.expect(delex(same_as(token))).answers(no_command());
    redis.expect(delifeq(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_EQ(redis.memory().release, form::delifeq);
}

TEST_F(Release, another_refusal_of_a_native_form_is_no_reason_to_fall_back) {
    knows(redis, form::untried);
    redis.expect(delex(same_as(token))).answers(reply::error("LOADING Redis is loading the dataset in memory"));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_EQ(redis.memory().release, form::untried);
    redis.expect(delex(same_as(token))).answers(yes());
    lock.release();
}

TEST_F(Release, falls_back_when_a_native_form_is_taken_away) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token)))
        .answers(reply::error("NOPERM this user has no permissions to run the 'delex' command"));
    redis.expect(delifeq(same_as(token))).answers(no_command());
    redis.expect(del(same_as(token))).answers(yes());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Release, a_native_no_is_told_apart_by_the_keys_time) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    EXPECT_EQ(lock.release(), release_outcome::expired);

    redis.expect(set(capture(token2)));
    lock.lock();
    redis.expect(delex(same_as(token2))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-1));
    EXPECT_EQ(lock.release(), release_outcome::taken);
}

TEST_F(Release, a_native_form_on_a_key_of_another_type_is_taken) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(reply::error("WRONGTYPE Operation against a key"));
    EXPECT_EQ(lock.release(), release_outcome::taken);
}

// DELEX has answered: ours was not there. That the question after it got lost does not make it "released".
TEST_F(Release, a_native_no_followed_by_trouble_is_not_taken_for_a_release) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).fails(errc::unknown_outcome);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::integer(-2));
    EXPECT_EQ(lock.release(ec), release_outcome::expired);
}

TEST_F(Release, a_native_no_whose_question_is_refused_is_refused) {
    knows(redis, form::delex);
    redis.expect(delex(same_as(token))).answers(gone());
    redis.expect(pttl()).answers(reply::error("NOPERM this user has no permissions to run the 'pttl' command"));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    redis.expect(delex(same_as(token))).answers(gone()); // the destructor's: nothing of ours is left
    redis.expect(pttl()).answers(reply::integer(-2));
}

// ---- deadlines

// As in an acquisition, an exchange gets a useful time even where the caller's patience is none.
TEST_F(Release, an_impatient_lock_still_gives_its_release_time_for_an_answer) {
    scripted_connection other;
    knows(other, form::script);
    blocking_lock impatient{other, "k", {.ttl = 10s, .give_up_after = 0ms}};
    other.expect(set(any()));
    ASSERT_TRUE(impatient.try_lock());
    other.expect(del(any())).answers(yes());
    impatient.release();
    EXPECT_GE(other.calls().back().deadline, other.calls().back().at + 20ms);
    redis.expect(del(same_as(token))).answers(yes());
}

} // namespace
} // namespace distlock::test
