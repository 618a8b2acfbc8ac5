// SPDX-License-Identifier: MIT
#include "distlock/error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <system_error>

namespace distlock {
namespace {

constexpr std::array every_errc{errc::unreachable,      errc::unknown_outcome, errc::refused,        errc::protocol,
                                errc::invalid_argument, errc::cancelled,       errc::lease_too_short};

TEST(Error, zero_is_no_error_and_every_enumerator_is_one) {
    for (const auto value : every_errc) {
        EXPECT_TRUE(std::error_code{value}) << static_cast<int>(value);
    }
    EXPECT_FALSE(std::error_code(0, error_category()));
}

TEST(Error, each_has_words_of_its_own_and_strangers_are_admitted) {
    std::set<std::string> messages;
    for (const auto value : every_errc) {
        messages.insert(std::error_code{value}.message());
    }
    EXPECT_EQ(messages.size(), every_errc.size());
    EXPECT_EQ(messages.count(error_category().message(99)), 0U);
    EXPECT_STREQ(error_category().name(), "distlock");
}

TEST(Error, has_the_counterparts_of_std_errc) {
    EXPECT_TRUE(std::error_code{errc::unreachable} == std::errc::host_unreachable);
    EXPECT_TRUE(std::error_code{errc::unknown_outcome} == std::errc::timed_out);
    EXPECT_TRUE(std::error_code{errc::protocol} == std::errc::protocol_error);
    EXPECT_TRUE(std::error_code{errc::invalid_argument} == std::errc::invalid_argument);
    EXPECT_TRUE(std::error_code{errc::cancelled} == std::errc::operation_canceled);
}

TEST(Error, what_has_no_counterpart_equals_no_other_error) {
    for (const auto value : {errc::refused, errc::lease_too_short}) {
        const std::error_code ec = value;
        EXPECT_EQ(&ec.default_error_condition().category(), &error_category());
        for (const auto other : every_errc) {
            EXPECT_EQ(ec == other, value == other);
        }
    }
}

TEST(Error, another_category_with_the_same_number_is_another_error) {
    EXPECT_NE(std::error_code{errc::unreachable}, std::error_code(1, std::generic_category()));
}

} // namespace
} // namespace distlock
