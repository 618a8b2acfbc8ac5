// SPDX-License-Identifier: MIT
#include "support/scripted_connection.hpp"

#include <gtest/gtest-spi.h>

#include <array>
#include <memory>
#include <optional>
#include <stop_token>

namespace distlock::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> get_k{"GET", "k"};
constexpr std::array<std::string_view, 3> set_k{"SET", "k", "v"};

class scripted : public testing::Test {
protected:
    void SetUp() override { manual_clock::reset(); }

    template <class Conn>
    reply execute(Conn& conn, std::span<const std::string_view> argv) {
        return conn.execute(argv, manual_clock::start() + 1s, ec);
    }
    std::error_code ec;
};

using ScriptedConnection = scripted;
using ManualClock = scripted;

TEST_F(ScriptedConnection, AnswersInTurnAndRecords) {
    scripted_connection redis;
    std::string token;
    redis.expect({"SET", "k", capture(token)}).after(30ms);
    redis.expect({"GET", any()}).answers(reply::string("v"));
    redis.expect_any("GET").answers([](const auto& argv) { return reply::string(argv[1]); });

    EXPECT_EQ(execute(redis, set_k), reply::status("OK"));
    EXPECT_EQ(manual_clock::elapsed(), 30ms);
    EXPECT_EQ(token, "v");
    EXPECT_EQ(execute(redis, get_k), reply::string("v"));
    EXPECT_EQ(execute(redis, get_k), reply::string("k"));
    EXPECT_FALSE(ec);
    ASSERT_EQ(redis.calls().size(), 3U);
    EXPECT_EQ(redis.calls()[0].argv, (std::vector<std::string>{"SET", "k", "v"}));
    EXPECT_EQ(redis.calls()[0].at, manual_clock::start());
    EXPECT_EQ(redis.calls()[1].at, manual_clock::start() + 30ms);
    EXPECT_EQ(redis.calls()[1].deadline, manual_clock::start() + 1s);
}

TEST_F(ScriptedConnection, FailsAndTimesOut) {
    scripted_connection redis;
    redis.expect({"GET", "k"}).fails(errc::unreachable).after(5ms);
    redis.expect({"GET", "k"}).times_out();
    redis.expect({"GET", "k"});

    execute(redis, get_k);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_EQ(manual_clock::elapsed(), 5ms);
    execute(redis, get_k);
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_EQ(manual_clock::elapsed(), 1s);
    execute(redis, get_k);
    EXPECT_FALSE(ec);
}

TEST_F(ScriptedConnection, ACommandTooManyFailsTheTest) {
    scripted_connection redis;
    EXPECT_NONFATAL_FAILURE(execute(redis, get_k), "a command more than scripted");
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(ScriptedConnection, AnotherCommandFailsTheTest) {
    scripted_connection redis;
    const std::string captured = "w";
    redis.expect({"GET", "other"});
    redis.expect({"SET", "k", same_as(captured)});
    redis.expect({"SET", "k"});
    redis.expect({"SET", "k", "v", "NX"});
    EXPECT_NONFATAL_FAILURE(execute(redis, get_k), "expected: GET other");
    EXPECT_NONFATAL_FAILURE(execute(redis, set_k), "expected: SET k <as captured>");
    EXPECT_NONFATAL_FAILURE(execute(redis, set_k), "expected: SET k");
    EXPECT_NONFATAL_FAILURE(execute(redis, set_k), "expected: SET k v NX");
}

TEST_F(ScriptedConnection, StepsLeftOverFailTheTest) {
    auto redis = std::make_unique<scripted_connection>();
    redis->expect({"GET", "k"});
    EXPECT_NONFATAL_FAILURE(redis.reset(), "1 scripted commands never came; the next is: GET k");
}

using ScriptedPipeline = scripted;

TEST_F(ScriptedPipeline, ReceivesInTheOrderOfSends) {
    scripted_pipeline redis;
    redis.expect({"GET", "k"}).answers(reply::integer(1)).after(10ms);
    redis.expect({"SET", "k", "v"}).answers(reply::integer(2));
    const auto deadline = manual_clock::start() + 1s;

    redis.send(get_k, deadline, ec);
    redis.send(set_k, deadline, ec);
    EXPECT_EQ(redis.sent(), 2U);
    EXPECT_EQ(redis.received(), 0U);
    EXPECT_EQ(manual_clock::elapsed(), 0ms);
    EXPECT_EQ(redis.receive(deadline, ec), reply::integer(1));
    EXPECT_EQ(manual_clock::elapsed(), 10ms);
    EXPECT_EQ(redis.receive(deadline, ec), reply::integer(2));
    EXPECT_EQ(redis.received(), 2U);
    EXPECT_FALSE(ec);
}

TEST_F(ScriptedPipeline, ExecuteReadsPastWhatIsOutstanding) {
    scripted_pipeline redis;
    redis.expect({"GET", "k"}).answers(reply::integer(1));
    redis.expect({"SET", "k", "v"}).answers(reply::integer(2));
    redis.send(get_k, manual_clock::start() + 1s, ec);
    EXPECT_EQ(execute(redis, set_k), reply::integer(2));
    EXPECT_EQ(redis.received(), redis.sent());
    EXPECT_TRUE(redis.receive(manual_clock::now(), ec).is_nil());
    EXPECT_EQ(ec, errc::unknown_outcome);
}

TEST_F(ScriptedPipeline, AnErrorLosesAllThatIsOutstanding) {
    scripted_pipeline redis;
    redis.expect({"GET", "k"}).fails(errc::unknown_outcome);
    redis.expect({"GET", "k"}).answers(reply::integer(1));
    redis.expect({"SET", "k", "v"}).fails(errc::unreachable);
    const auto deadline = manual_clock::start() + 1s;
    redis.send(get_k, deadline, ec);
    redis.send(get_k, deadline, ec);
    EXPECT_FALSE(ec);
    redis.receive(deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_EQ(redis.received(), 2U);
    redis.receive(deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
    redis.send(set_k, deadline, ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_EQ(redis.sent(), 2U);
}

TEST_F(ManualClock, SleepsAndRecords) {
    manual_clock::sleep_until(manual_clock::start() + 5ms);
    manual_clock::sleep_until(manual_clock::start() + 2ms);
    manual_clock::advance(1ms);
    EXPECT_EQ(manual_clock::elapsed(), 6ms);
    EXPECT_EQ(manual_clock::sleeps(), (std::vector<manual_clock::duration>{5ms, 0ms}));
}

TEST_F(ManualClock, AnEventCanEndASleep) {
    std::stop_source stop;
    std::optional<manual_clock::duration> seen;
    manual_clock::at(2ms, [&] { seen = manual_clock::elapsed(); });
    manual_clock::at(3ms, [&] { stop.request_stop(); });
    manual_clock::at(4ms, [] { ADD_FAILURE() << "the sleep went on"; });
    manual_clock::sleep_until(manual_clock::start() + 10ms, stop.get_token());
    EXPECT_EQ(seen, 2ms);
    EXPECT_EQ(manual_clock::elapsed(), 3ms);
    manual_clock::reset();
}

TEST_F(ManualClock, DrawsNumbersInTurn) {
    std::array<std::byte, 3> octets{};
    manual_clock::random_octets(octets);
    EXPECT_EQ(octets, (std::array<std::byte, 3>{std::byte{0}, std::byte{0}, std::byte{1}}));
    for (int i = 0; i < 256; ++i) {
        manual_clock::random_octets(octets);
    }
    EXPECT_EQ(octets, (std::array<std::byte, 3>{std::byte{0}, std::byte{1}, std::byte{1}}));
}

} // namespace
} // namespace distlock::test
