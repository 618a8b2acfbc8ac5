// SPDX-License-Identifier: MIT
#include "distlock/reply.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace distlock {
namespace {

using namespace std::string_literals;

static_assert(std::is_copy_constructible_v<reply> && std::is_nothrow_move_constructible_v<reply>);

TEST(Reply, is_nil_when_made_without_a_word) {
    EXPECT_TRUE(reply{}.is_nil());
    EXPECT_EQ(reply{}, reply::nil());
    EXPECT_EQ(reply{}.as_integer(), 0);
    EXPECT_EQ(reply{}.text(), "");
    EXPECT_TRUE(reply{}.elements().empty());
}

TEST(Reply, a_status_is_no_string_and_no_error_of_the_same_text) {
    const auto ok = reply::status("OK");
    EXPECT_TRUE(ok.is_status("OK"));
    EXPECT_FALSE(ok.is_status("O"));
    EXPECT_FALSE(ok.is_status("ok"));
    EXPECT_FALSE(reply::string("OK").is_status("OK"));
    EXPECT_FALSE(reply::error("OK").is_status("OK"));
    EXPECT_FALSE(ok == reply::string("OK"));
    EXPECT_FALSE(ok == reply::error("OK"));
}

TEST(Reply, an_integer_is_that_integer_only) {
    EXPECT_TRUE(reply::integer(1).is_integer(1));
    EXPECT_FALSE(reply::integer(1).is_integer(0));
    EXPECT_FALSE(reply::nil().is_integer(0));
    EXPECT_FALSE(reply::string("1").is_integer(1));
    const auto least = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(reply::integer(least).as_integer(), least);
}

TEST(Reply, a_string_may_hold_any_octet) {
    const auto octets = "a\0b\r\n\xff"s;
    EXPECT_EQ(reply::string(octets).text(), octets);
    EXPECT_TRUE(reply::string(octets).is_string());
    EXPECT_EQ(reply::string("").type(), reply::kind::string);
}

TEST(Reply, an_array_is_compared_by_its_elements) {
    const auto one = reply::array({reply::integer(1), reply::array({reply::nil()})});
    EXPECT_TRUE(one.is_array());
    EXPECT_EQ(one.elements().size(), 2U);
    EXPECT_TRUE(one == reply::array({reply::integer(1), reply::array({reply::nil()})}));
    EXPECT_FALSE(one == reply::array({reply::integer(1), reply::array({})}));
    EXPECT_FALSE(reply::array({}) == reply::nil());
}

TEST(Reply, an_error_carries_the_servers_text) {
    const auto error = reply::error("NOSCRIPT No matching script");
    EXPECT_TRUE(error.is_error());
    EXPECT_EQ(error.text(), "NOSCRIPT No matching script");
}

} // namespace
} // namespace distlock
