// SPDX-License-Identifier: MIT
#include "support/resp.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace distlock::test::resp {
namespace {

TEST(Resp, ReadsACommandOnlyWhenItIsWhole) {
    const argv words{"SET", std::string{"a\0\r\n b", 6}, ""};
    const auto text = encode(words);
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_FALSE(read_command(std::string_view{text}.substr(0, size))) << size;
    }
    const auto got = read_command(text + "more");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->words, words);
    EXPECT_EQ(got->length, text.size());
    EXPECT_EQ(read_command("PING\r\n")->words, argv{"PING"});
    EXPECT_THROW(read_command("*1\r\n:3\r\n"), std::runtime_error);
    EXPECT_THROW(read_command("*x\r\n"), std::runtime_error);
}

TEST(Resp, FindsTheEndOfEachKindOfReply) {
    const auto value = reply::array({reply::nil(), reply::status("OK"), reply::error("ERR x"), reply::integer(-7),
                                     reply::string("a\r\nb"), reply::array({reply::string(""), reply::array({})})});
    const auto text = encode(value);
    EXPECT_EQ(text, "*6\r\n$-1\r\n+OK\r\n-ERR x\r\n:-7\r\n$4\r\na\r\nb\r\n*2\r\n$0\r\n\r\n*0\r\n");
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_FALSE(reply_length(std::string_view{text}.substr(0, size))) << size;
    }
    EXPECT_EQ(reply_length(text + "+more"), text.size());
    EXPECT_EQ(reply_length("*-1\r\n:1\r\n"), 5U);
}

} // namespace
} // namespace distlock::test::resp
