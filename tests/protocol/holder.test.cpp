// SPDX-License-Identifier: MIT
#include "distlock/protocol/holder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distlock::protocol {
namespace {

using namespace std::chrono_literals;

reply answer(reply value, std::int64_t pttl) { return reply::array({std::move(value), reply::integer(pttl)}); }

TEST(Holder, is_asked_by_one_script_over_its_key) {
    command c;
    holder::ask(c, "k");
    c.send_whole_text();
    const std::vector<std::string> words{c.argv().begin(), c.argv().end()};
    EXPECT_EQ(words, (std::vector<std::string>{"EVAL", std::string{holder::ask_script.text}, "1", "k"}));
}

TEST(Holder, is_a_token_and_what_the_lease_has_left) {
    const auto found = holder::in(answer(reply::string("t"), 1500));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->token, "t");
    EXPECT_EQ(found->remaining, 1500ms);
    EXPECT_EQ(holder::in(answer(reply::string("t"), 0))->remaining, 0ms);
}

TEST(Holder, may_hold_for_ever) { EXPECT_EQ(holder::in(answer(reply::string("t"), -1))->remaining, std::nullopt); }

TEST(Holder, is_nobody_where_the_key_is_missing) {
    EXPECT_TRUE(holder::answers(answer(reply::nil(), -2)));
    EXPECT_FALSE(holder::in(answer(reply::nil(), -2)));
}

TEST(Holder, is_not_read_out_of_nonsense) {
    for (const auto& nonsense :
         {reply::nil(), reply::status("OK"), reply::integer(1), reply::string("t"), reply::error("ERR no"),
          reply::array({}), reply::array({reply::string("t")}), answer(reply::integer(1), 5),
          answer(reply::status("t"), 5), reply::array({reply::string("t"), reply::string("5")}),
          reply::array({reply::string("t"), reply::integer(5), reply::integer(5)})}) {
        EXPECT_FALSE(holder::answers(nonsense));
        EXPECT_FALSE(holder::in(nonsense));
    }
}

} // namespace
} // namespace distlock::protocol
