// SPDX-License-Identifier: MIT
#include "distlock/detail/token.hpp"

#include "distlock/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <system_error>

namespace distlock::detail {
namespace {

struct counting_octets {
    static void random_octets(std::span<std::byte> out) {
        EXPECT_EQ(out.size(), 16U) << "128 bits";
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = static_cast<std::byte>(i * 17);
        }
    }
};
struct no_octets {
    static void random_octets(std::span<std::byte>) {
        throw std::system_error{std::make_error_code(std::errc::io_error)};
    }
};

TEST(Token, is_all_of_the_random_bits_in_hex) {
    std::string token = "what was there before";
    make_token<counting_octets>(token, "");
    EXPECT_EQ(token, "00112233445566778899aabbccddeeff");
}

TEST(Token, ends_in_the_label_where_there_is_one) {
    std::string token;
    make_token<counting_octets>(token, "web-3|x");
    EXPECT_EQ(token, "00112233445566778899aabbccddeeff|web-3|x");
    EXPECT_EQ(owner_of(token), "web-3|x");
}

// Row 3 of the faults others met: collisions of tokens from a weak generator.
TEST(Token, case_03_a_hundred_thousand_differ) {
    std::set<std::string> seen;
    std::string token;
    for (int i = 0; i < 100'000; ++i) {
        make_token<lease_clock>(token, "");
        seen.insert(token);
    }
    EXPECT_EQ(seen.size(), 100'000U);
}

TEST(Token, without_a_generator_there_is_none) {
    std::string token;
    EXPECT_THROW(make_token<no_octets>(token, ""), std::system_error);
}

TEST(Token, other_clients_values_have_no_owner) {
    const std::string hex = "00112233445566778899aabbccddeeff";
    EXPECT_EQ(owner_of(hex), "");
    EXPECT_EQ(owner_of(hex + "|"), "");
    EXPECT_EQ(owner_of(hex + "x"), "");
    EXPECT_EQ(owner_of("0011223344556677|web"), "");
    EXPECT_EQ(owner_of("00112233445566778899AABBCCDDEEFF|web"), "");
    EXPECT_EQ(owner_of("gggggggggggggggggggggggggggggggg|web"), "");
    EXPECT_EQ(owner_of(""), "");
}

} // namespace
} // namespace distlock::detail
