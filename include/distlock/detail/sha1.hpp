// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace distlock::detail {

/// SHA-1 of `text` in lower-case hex (FIPS 180-4): the name under which EVALSHA knows a script.
/// Naming only; nothing here relies on it for security.
constexpr std::array<char, 40> sha1_hex(std::string_view text) {
    std::array<std::uint32_t, 5> hash{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    const std::size_t padded = (text.size() + 8) / 64 * 64 + 64;
    const auto octet = [&](std::size_t at) -> std::uint32_t {
        if (at < text.size()) {
            return static_cast<unsigned char>(text[at]);
        }
        if (at == text.size()) {
            return 0x80;
        }
        return at < padded - 8 ? 0 : static_cast<std::uint32_t>(bits >> (8 * (padded - 1 - at)) & 0xff);
    };
    for (std::size_t block = 0; block < padded; block += 64) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i < 16; ++i) {
            const std::size_t at = block + 4 * i;
            w[i] = octet(at) << 24 | octet(at + 1) << 16 | octet(at + 2) << 8 | octet(at + 3);
        }
        for (std::size_t i = 16; i < 80; ++i) {
            w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        }
        auto [a, b, c, d, e] = hash;
        for (std::size_t i = 0; i < 80; ++i) {
            const std::uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                                    : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                                    : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                             : (b ^ c ^ d) + 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + f + e + w[i];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
        hash[0] += a;
        hash[1] += b;
        hash[2] += c;
        hash[3] += d;
        hash[4] += e;
    }
    std::array<char, 40> hex{};
    for (std::size_t i = 0; i < hex.size(); ++i) {
        hex[i] = "0123456789abcdef"[hash[i / 8] >> (28 - 4 * (i % 8)) & 0xf];
    }
    return hex;
}

} // namespace distlock::detail
