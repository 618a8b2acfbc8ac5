// SPDX-License-Identifier: MIT
#include "distlock/detail/exchange.hpp"

#include "basic_lock/vocabulary.hpp"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distlock::test {
namespace {

constexpr protocol::script sample{"return 1"};

/// The least that a transport can be.
struct silent {
    reply execute(std::span<const std::string_view>, lease_clock::time_point, std::error_code& ec) {
        ec.clear();
        return reply::status("OK");
    }
};

/// A pipelined transport that does not count.
struct uncounted : silent {
    void send(std::span<const std::string_view>, lease_clock::time_point, std::error_code& ec) { ec.clear(); }
    reply receive(lease_clock::time_point, std::error_code& ec) {
        ec.clear();
        auto first = std::move(replies.front());
        replies.pop_front();
        return first;
    }
    std::deque<reply> replies;
};

/// Members of the right names and the wrong types are not the optional ones.
struct misnamed : silent {
    int address() const { return 1; }
    int memory() { return 1; }
    void last_error(int) const {}
};

class Exchange : public lock_test {
protected:
    static constexpr lease_clock::time_point deadline = manual_clock::start() + 1s;

    scripted_pipeline redis;
    detail::exchange<scripted_pipeline> way{redis};
};

TEST_F(Exchange, a_command_is_one_exchange_with_the_callers_deadline) {
    redis.expect({"PTTL", "k"}).answers(reply::integer(5));
    protocol::command command;
    command.add("PTTL").add("k");
    ec = errc::refused;
    EXPECT_EQ(way.call(command, deadline, ec), reply::integer(5));
    EXPECT_FALSE(ec) << "cleared";
    EXPECT_EQ(redis.calls()[0].deadline, deadline);
}

TEST_F(Exchange, a_script_that_is_not_known_is_sent_once_by_its_text) {
    redis.expect(by_sha1(sample, "t")).answers(no_script());
    redis.expect(by_text(sample, "t")).answers(no_script());
    protocol::command command;
    command.call(sample, {"k"}).add("t");
    EXPECT_EQ(way.call(command, deadline, ec), no_script());
    EXPECT_EQ(redis.calls()[1].deadline, deadline);
}

TEST_F(Exchange, a_plain_command_has_no_text_to_send) {
    redis.expect({"GET", "k"}).answers(no_script());
    protocol::command command;
    command.add("GET").add("k");
    EXPECT_EQ(way.call(command, deadline, ec), no_script());
}

TEST_F(Exchange, trouble_is_passed_on_and_a_script_not_repeated) {
    redis.expect(by_sha1(sample, "t")).fails(errc::unknown_outcome);
    protocol::command command;
    command.call(sample, {"k"}).add("t");
    way.call(command, deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
}

TEST_F(Exchange, collects_each_reply_by_its_ticket) {
    protocol::command first, second;
    first.add("A");
    second.add("B");
    redis.expect({"A"}).answers(reply::integer(1));
    redis.expect({"B"}).answers(reply::integer(2));
    const auto a = way.post(first, deadline, ec);
    const auto b = way.post(second, deadline, ec);
    EXPECT_EQ(way.collect(a, deadline, ec), reply::integer(1));
    EXPECT_EQ(way.collect(b, deadline, ec), reply::integer(2));
    EXPECT_FALSE(ec);
}

TEST_F(Exchange, reads_past_others_replies_which_are_lost_then) {
    protocol::command first, second;
    first.add("A");
    second.add("B");
    redis.expect({"A"}).answers(reply::integer(1));
    redis.expect({"B"}).answers(reply::integer(2));
    const auto a = way.post(first, deadline, ec);
    const auto b = way.post(second, deadline, ec);
    EXPECT_EQ(way.collect(b, deadline, ec), reply::integer(2));
    EXPECT_FALSE(ec);
    way.collect(a, deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
}

TEST_F(Exchange, a_reply_is_lost_with_its_stream) {
    protocol::command first, second;
    first.add("A");
    second.add("B");
    redis.expect({"A"});
    const auto a = way.post(first, deadline, ec);
    way.drop();
    redis.expect({"B"}).answers(reply::integer(2));
    const auto b = way.post(second, deadline, ec);
    way.collect(a, deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome) << "and never the reply to another command";
    EXPECT_EQ(way.collect(b, deadline, ec), reply::integer(2));
    EXPECT_FALSE(ec);
}

TEST_F(Exchange, an_uncounted_transports_replies_come_in_order) {
    uncounted conn;
    detail::exchange<uncounted> plain{conn};
    conn.replies = {reply::integer(1), reply::integer(2)};
    protocol::command command;
    command.add("A");
    const auto a = plain.post(command, deadline, ec);
    const auto b = plain.post(command, deadline, ec);
    EXPECT_EQ(plain.collect(a, deadline, ec), reply::integer(1));
    EXPECT_EQ(plain.collect(b, deadline, ec), reply::integer(2));
}

TEST_F(Exchange, optional_members_are_optional) {
    silent conn;
    detail::exchange<silent> plain{conn};
    EXPECT_EQ(plain.address(), "");
    EXPECT_EQ(plain.last_error(), "");
    plain.drop();
    plain.memory().release = form::delex;
    EXPECT_EQ(plain.memory().release, form::delex);

    misnamed stranger;
    detail::exchange<misnamed> still_plain{stranger};
    EXPECT_EQ(still_plain.address(), "");
    EXPECT_EQ(still_plain.last_error(), "");
    EXPECT_EQ(still_plain.memory().release, form::untried);
}

TEST_F(Exchange, a_transports_memory_is_shared_by_its_locks) {
    detail::exchange<scripted_pipeline> other{redis};
    way.memory().release = form::delifeq;
    EXPECT_EQ(other.memory().release, form::delifeq);
    EXPECT_EQ(way.address(), "script");
}

} // namespace
} // namespace distlock::test
