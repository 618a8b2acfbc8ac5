// SPDX-License-Identifier: MIT
#include "distlock/detail/sha1.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace distlock::detail {
namespace {

template <std::size_t Count>
consteval auto digest_of_a_times() {
    std::array<char, Count + 1> octets{};
    octets.fill('a');
    return sha1_hex({octets.data(), Count});
}

constexpr bool is(const std::array<char, 40>& digest, std::string_view expected) {
    return std::string_view{digest.data(), digest.size()} == expected;
}

// FIPS 180-4's own examples; then the lengths at which the padding changes, as sha1sum(1) has them.
static_assert(is(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d"));
static_assert(is(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709"));
static_assert(is(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                 "84983e441c3bd26ebaae4aa1f95129e5e54670f1"));
static_assert(is(digest_of_a_times<55>(), "c1c8bbdc22796e28c0e15163d20899b65621d65a"));
static_assert(is(digest_of_a_times<56>(), "c2db330f6083854c99d4b5bfb6e8f29f201be699"));
static_assert(is(digest_of_a_times<63>(), "03f09f5b158a7a8cdad920bddc29b81c18a551f5"));
static_assert(is(digest_of_a_times<64>(), "0098ba824b5c16427bd7a1122a5a442a25ec644d"));
static_assert(is(digest_of_a_times<119>(), "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"));
static_assert(is(digest_of_a_times<120>(), "f34c1488385346a55709ba056ddd08280dd4c6d6"));
static_assert(is(sha1_hex("\xff\x80"), "2f52fa98aee1519d88a09e5019f4186aa4ba767a"));

TEST(Sha1, is_checked_at_compile_time) { EXPECT_TRUE(is(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d")); }

} // namespace
} // namespace distlock::detail
