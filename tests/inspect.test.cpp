// SPDX-License-Identifier: MIT
#include "distlock/inspect.hpp"

#include "basic_lock/vocabulary.hpp"

#include <string>

namespace distlock::test {
namespace {

class Inspect : public lock_test {
protected:
    static constexpr auto hex = "00112233445566778899aabbccddeeff";
    auto look() { return inspect<scripted_connection, manual_clock>(redis, "k", ec, &why); }
    static reply held(std::string value, std::int64_t left) {
        return reply::array({reply::string(std::move(value)), reply::integer(left)});
    }

    scripted_connection redis;
    std::string why;
};

TEST_F(Inspect, tells_token_owner_and_time) {
    redis.expect(ask()).answers(held(std::string{hex} + "|web-3", 1500));
    const auto found = look();
    ASSERT_TRUE(found);
    EXPECT_FALSE(ec);
    EXPECT_EQ(found->token, std::string{hex} + "|web-3");
    EXPECT_EQ(found->owner, "web-3");
    EXPECT_EQ(found->remaining, 1500ms);
    EXPECT_EQ(redis.calls()[0].deadline, manual_clock::start() + 10s);
}

TEST_F(Inspect, is_nothing_where_the_key_is_free) {
    redis.expect(ask()).answers(reply::array({reply::nil(), reply::integer(-2)}));
    EXPECT_FALSE(look());
    EXPECT_FALSE(ec);
}

TEST_F(Inspect, knows_other_clients_locks_and_such_as_never_expire) {
    redis.expect(ask()).answers(held("redis-py's uuid", -1));
    const auto found = look();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->owner, "");
    EXPECT_EQ(found->remaining, std::nullopt);
}

TEST_F(Inspect, sends_the_script_where_the_server_does_not_know_it) {
    redis.expect(ask()).answers(no_script());
    redis.expect({"EVAL", std::string{protocol::holder::ask_script.text}, "1", "k"}).answers(held("t", 5));
    EXPECT_TRUE(look());
}

TEST_F(Inspect, tells_trouble_apart) {
    redis.expect(ask()).fails(errc::unreachable);
    EXPECT_FALSE(look());
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_EQ(why, "scripted");
    redis.expect(ask()).answers(reply::error("WRONGTYPE Operation against a key"));
    EXPECT_FALSE(look());
    EXPECT_EQ(ec, errc::refused);
    EXPECT_EQ(why, "WRONGTYPE Operation against a key");
    EXPECT_EQ(redis.drops(), 0U);
    redis.expect(ask()).answers(reply::integer(1));
    EXPECT_FALSE(look());
    EXPECT_EQ(ec, errc::protocol);
    EXPECT_EQ(redis.drops(), 1U);
    EXPECT_FALSE((inspect<scripted_connection, manual_clock>(redis, "", ec)));
    EXPECT_EQ(ec, errc::invalid_argument);
    redis.expect(ask()).answers(held("t", 5));
    EXPECT_TRUE(look());
    EXPECT_FALSE(ec) << "cleared on success";
}

TEST_F(Inspect, the_other_door_throws_with_key_and_reason) {
    redis.expect(ask()).answers(reply::error("NOAUTH Authentication required."));
    try {
        inspect<scripted_connection, manual_clock>(redis, "k");
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), errc::refused);
        EXPECT_NE(std::string{error.what()}.find("\"k\": NOAUTH"), std::string::npos) << error.what();
    }
    redis.expect(ask()).answers(held("t", 5));
    EXPECT_EQ((inspect<scripted_connection, manual_clock>(redis, "k")->token), "t");
}

} // namespace
} // namespace distlock::test
