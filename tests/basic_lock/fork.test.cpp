// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"
#include "support/in_a_fork.hpp"

#include <optional>
#include <string>
#include <vector>

namespace distlock::test {
namespace {

class Fork : public lock_test {
protected:
    Fork() {
        knows(redis, form::script);
        lock.emplace(redis, "k", lock_options{.ttl = 10s, .observe = &notes});
        redis.expect(set(capture(token)));
        lock->lock();
        notes.notes.clear();
    }

    note_taker notes;
    scripted_pipeline redis;
    std::optional<pipelined_lock> lock;
};

// Row 4: the first child that exits released its parent's lock.
TEST_F(Fork, case_04_a_child_owns_nothing_and_sends_nothing) {
    const int status = in_a_fork([this] {
        if (lock->owns_lock() || *lock || lock->remaining() != 0ns || !lock->token().empty()) {
            return 1;
        }
        lock->unlock();
        if (lock->extend(ec) || ec) {
            return 2;
        }
        lock->unlock();
        lock.reset(); // the destructor
        return redis.calls().size() == 1 ? 0 : 3;
    });
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(lock->owns_lock());
    redis.expect(del_text(same_as(token))).answers(yes());
}

TEST_F(Fork, a_childs_release_is_not_permitted) {
    const int status = in_a_fork([this] {
        const auto outcome = lock->release(ec);
        return outcome == release_outcome::unknown && ec == std::errc::operation_not_permitted &&
                       redis.calls().size() == 1
                   ? 0
                   : 1;
    });
    EXPECT_EQ(status, 0);
    redis.expect(del_text(same_as(token))).answers(yes());
}

TEST_F(Fork, a_child_may_lock_with_the_same_handle_for_itself) {
    const int status = in_a_fork([this] {
        expect_busy_and_asks(redis);
        if (lock->try_lock(ec) || ec) {
            return 1; // it is the parent's
        }
        std::string mine;
        redis.expect(set(capture(mine)));
        if (!lock->try_lock(ec) || !lock->owns_lock() || lock->token() != mine || mine == token) {
            return 2;
        }
        redis.expect(del(same_as(mine))).answers(yes());
        if (lock->release(ec) != release_outcome::released) {
            return 3;
        }
        return redis.steps_left() == 0 ? 0 : 4;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(lock->token(), token);
    redis.expect(del_text(same_as(token))).answers(yes());
}

TEST_F(Fork, a_child_does_not_read_the_answer_to_its_parents_unlock_or_tell_of_it) {
    redis.expect(del_text(same_as(token))).answers(yes());
    lock->unlock();
    const int status = in_a_fork([this] {
        if (lock->last_release() != release_outcome::unknown || redis.received() != 1) {
            return 1;
        }
        expect_busy_and_asks(redis);
        if (lock->try_lock(ec) || ec) {
            return 2;
        }
        const auto first = notes.notes.empty() ? std::string{} : notes.notes.front();
        return first.starts_with("contended") ? 0 : 3;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(lock->last_release(), release_outcome::released);
}

TEST_F(Fork, a_child_is_told_of_no_loss_of_its_parents) {
    manual_clock::advance(1h);
    const int status = in_a_fork([this] {
        lock->owns_lock();
        lock->lost();
        lock->stop_token();
        return notes.notes.empty() ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    redis.expect(del_text(same_as(token))).answers(gone());
}

TEST_F(Fork, a_child_does_not_pay_its_parents_debts) {
    scripted_connection other;
    std::optional<blocking_lock> indebted;
    indebted.emplace(other, "k", lock_options{.ttl = 10s});
    other.expect(set(capture(token2))).fails(errc::unknown_outcome);
    other.expect(delex(same_as(token2))).fails(errc::unknown_outcome);
    EXPECT_FALSE(indebted->try_lock(ec));
    const int status = in_a_fork([&] {
        expect_busy_and_asks(other);
        const bool taken_over = indebted->try_lock(ec) || ec;
        indebted.reset();
        return taken_over || other.calls().size() != 4 ? 1 : 0;
    });
    EXPECT_EQ(status, 0);
    other.expect(delex(same_as(token2))).answers(yes());
    indebted.reset();
    redis.expect(del_text(same_as(token))).answers(yes());
}

} // namespace
} // namespace distlock::test
