// SPDX-License-Identifier: MIT
#include "distlock/detail/resp.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace distlock::detail {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(Resp, writes_lengths_and_octets_as_they_are) {
    std::string out = "before";
    append_command(out, std::array{"SET"sv, "a b\r\n\0"sv, ""sv});
    EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$6\r\na b\r\n\0\r\n$0\r\n\r\n"s);
}

// Row 66 of the faults others met: a space in a key split the command.
TEST(Resp, case_66_a_word_that_looks_like_a_command_stays_one_word) {
    std::string out;
    append_command(out, std::array{"GET"sv, "*1\r\n$8\r\nFLUSHALL\r\n"sv});
    EXPECT_EQ(out, "*2\r\n$3\r\nGET\r\n$18\r\n*1\r\n$8\r\nFLUSHALL\r\n\r\n");
}

TEST(Resp, counts_in_decimal_whatever_the_size) {
    std::string out;
    const std::string big(70'000, 'x');
    append_command(out, std::array<std::string_view, 1>{big});
    EXPECT_TRUE(out.starts_with("*1\r\n$70000\r\nx"));
    EXPECT_TRUE(out.ends_with("x\r\n"));
    EXPECT_EQ(out.size(), 4 + 8 + 70'000 + 2U);
}

} // namespace
} // namespace distlock::detail
