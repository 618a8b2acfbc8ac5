// SPDX-License-Identifier: MIT
#include "distlock/detail/releaser.hpp"

#include "basic_lock/vocabulary.hpp"

#include <string>

namespace distlock::test {
namespace {

/// States and debts. What the answers mean is tested where a lock meets them: basic_lock/.
class Releaser : public lock_test {
protected:
    using pipelined = detail::releaser<protocol::exclusive, scripted_pipeline, manual_clock>;

    static constexpr lease_clock::time_point deadline = manual_clock::start() + 1s;
    static constexpr lease_clock::time_point later = manual_clock::start() + 10s;

    Releaser() { knows(redis, form::script); }
    void take(std::string mine) { it.take(mine, later); }
    void owe(std::string mine, lease_clock::time_point until) {
        it.make_room();
        it.owe(mine, until);
        EXPECT_EQ(mine, "") << "taken over";
    }

    scripted_pipeline redis;
    detail::exchange<scripted_pipeline> way{redis};
    std::string key = "k";
    std::string text;
    pipelined it{way, key};
};

TEST_F(Releaser, takes_the_token_over) {
    std::string mine = "t";
    it.take(mine, later);
    EXPECT_EQ(mine, "");
    EXPECT_TRUE(it.unconfirmed());
    EXPECT_FALSE(it.posted());
    EXPECT_EQ(it.outcome(), release_outcome::unknown);
}

TEST_F(Releaser, an_older_token_does_not_come_back_with_the_next) {
    take("old");
    redis.expect(del("old")).answers(yes());
    it.send(deadline, ec, text);
    std::string mine = "new";
    it.take(mine, later);
    EXPECT_EQ(mine, "");
    redis.expect(del("new")).answers(gone());
    EXPECT_EQ(it.send(deadline, ec, text), release_outcome::expired);
}

TEST_F(Releaser, settled_posted_unconfirmed) {
    EXPECT_FALSE(it.posted() || it.unconfirmed());
    take("t");
    redis.expect(del_text("t")).fails(errc::unknown_outcome);
    EXPECT_TRUE(it.post(deadline));
    EXPECT_TRUE(it.posted() && !it.unconfirmed());
    it.collect(deadline);
    EXPECT_TRUE(!it.posted() && it.unconfirmed());
    redis.expect(delex("t")).answers(yes());
    EXPECT_EQ(it.send(deadline, ec, text), release_outcome::released);
    EXPECT_FALSE(it.posted() || it.unconfirmed());
}

TEST_F(Releaser, an_abandoned_release_is_a_debt_until_it_is_paid) {
    take("t");
    it.abandon(later);
    EXPECT_FALSE(it.unconfirmed());
    EXPECT_TRUE(it.owing());
    redis.expect(del("t")).fails(errc::unknown_outcome);
    EXPECT_FALSE(it.pay_debts(deadline, ec, text));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_TRUE(it.owing());
    redis.expect(delex("t")).answers(gone());
    redis.expect(pttl()).answers(reply::integer(5));
    EXPECT_TRUE(it.pay_debts(deadline, ec, text));
    EXPECT_FALSE(it.owing());
}

TEST_F(Releaser, a_settled_release_is_no_debt) {
    it.abandon(later);
    EXPECT_FALSE(it.owing());
    take("t");
    redis.expect(del("t")).answers(yes());
    it.send(deadline, ec, text);
    it.abandon(later);
    EXPECT_FALSE(it.owing());
}

TEST_F(Releaser, every_debt_is_paid_and_what_is_over_costs_nothing) {
    owe("t1", later);
    owe("t2", manual_clock::now());
    owe("t3", later);
    redis.expect(del("t3")).answers(gone());
    redis.expect(del("t1")).answers(taken());
    EXPECT_TRUE(it.pay_debts(deadline, ec, text));
    EXPECT_FALSE(it.owing());
}

TEST_F(Releaser, a_refusal_of_any_kind_keeps_the_debt) {
    owe("t", later);
    for (const auto* passing : {"LOADING Redis is loading", "READONLY You can't write", "BUSY Redis is busy",
                                "NOPERM this user has no permissions"}) {
        redis.expect(del("t")).answers(reply::error(passing));
        EXPECT_FALSE(it.pay_debts(deadline, ec, text)) << passing;
        EXPECT_FALSE(ec);
        EXPECT_TRUE(it.owing());
    }
}

TEST_F(Releaser, nonsense_pays_no_debt) {
    owe("t", later);
    redis.expect(del("t")).answers(reply::status("PONG"));
    EXPECT_FALSE(it.pay_debts(deadline, ec, text));
    EXPECT_TRUE(it.owing());
    EXPECT_EQ(redis.drops(), 1U);
}

TEST_F(Releaser, can_forget) {
    owe("t", later);
    it.forget_debts();
    EXPECT_TRUE(it.pay_debts(deadline, ec, text));
    owe("t", later);
    take("t2");
    it.forget_everything();
    EXPECT_FALSE(it.owing() || it.posted() || it.unconfirmed());
}

TEST_F(Releaser, asks_twice_and_no_more_where_no_answer_comes) {
    take("t");
    redis.expect(del("t")).fails(errc::unknown_outcome);
    redis.expect(delex("t")).fails(errc::unknown_outcome);
    EXPECT_EQ(it.send(deadline, ec, text), release_outcome::unknown);
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_TRUE(it.unconfirmed());
}

} // namespace
} // namespace distlock::test
