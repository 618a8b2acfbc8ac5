// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace distlock::detail {

/// A token is what the lock's key holds: 128 random bits in hex, then "|" and the owner's label where there is one.
inline constexpr std::size_t token_digits = 32;

/// Writes a fresh token into `out`, reusing its storage. `Clock` draws the octets; throws what that throws.
template <class Clock>
void make_token(std::string& out, std::string_view owner) {
    std::array<std::byte, token_digits / 2> octets;
    Clock::random_octets(std::span{octets});
    out.clear();
    for (const auto octet : octets) {
        constexpr std::string_view digits = "0123456789abcdef";
        out += digits[std::to_integer<std::size_t>(octet >> 4)];
        out += digits[std::to_integer<std::size_t>(octet & std::byte{0xf})];
    }
    if (!owner.empty()) {
        out += '|';
        out += owner;
    }
}

/// The secret part of a token, which belongs in no message.
inline std::string_view secret_of(std::string_view token) noexcept { return token.substr(0, token_digits); }

/// The owner's label in a token of ours; empty in one without a label and in other clients' values.
inline std::string_view owner_of(std::string_view token) noexcept {
    const bool labelled = token.size() > token_digits && token[token_digits] == '|' &&
                          token.substr(0, token_digits).find_first_not_of("0123456789abcdef") == token.npos;
    return labelled ? token.substr(token_digits + 1) : std::string_view{};
}

} // namespace distlock::detail
