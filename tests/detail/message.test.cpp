// SPDX-License-Identifier: MIT
#include "distlock/detail/message.hpp"

#include <gtest/gtest.h>

#include <string>

namespace distlock::detail {
namespace {

using namespace std::string_literals;

TEST(Message, quotes_what_is_not_printable) {
    EXPECT_EQ(detail::in_quotes("orders:42"), R"("orders:42")");
    EXPECT_EQ(detail::in_quotes("a\0b\r\n\x7f\xff"s), R"("a\x00b\x0d\x0a\x7f\xff")");
    EXPECT_EQ(detail::in_quotes(R"(a"b\c)"), R"("a\x22b\x5cc")");
    EXPECT_EQ(detail::in_quotes(" ~"), R"(" ~")");
    EXPECT_EQ(detail::in_quotes(""), R"("")");
}

TEST(Message, cuts_a_long_text) {
    EXPECT_EQ(detail::in_quotes(std::string(128, 'k')), '"' + std::string(128, 'k') + '"');
    EXPECT_EQ(detail::in_quotes(std::string(129, 'k')), '"' + std::string(128, 'k') + "...\"");
}

TEST(Message, leaves_out_what_the_server_echoes) {
    EXPECT_EQ(without_echo("ERR unknown command 'DELEX', with args beginning with: 'k' 'IFEQ' 'secret' "),
              "ERR unknown command 'DELEX'");
    EXPECT_EQ(without_echo("READONLY You can't write"), "READONLY You can't write");
    EXPECT_EQ(without_echo(""), "");
}

TEST(Message, strikes_out_every_occurrence_of_a_secret) {
    EXPECT_EQ(redacted("a secret, secretsecret", "secret"), "a *, **");
    EXPECT_EQ(redacted("nothing here", "secret"), "nothing here");
    EXPECT_EQ(redacted("anything", ""), "anything");
    EXPECT_EQ(redacted("***", "*"), "***") << "and comes to an end";
    EXPECT_EQ(redacted("secret", "secret"), "*");
}

} // namespace
} // namespace distlock::detail
