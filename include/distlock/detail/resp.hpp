// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace distlock::detail {

/// Appends a command in RESP: lengths, then octets as they are, so no octet has a meaning.
/// (https://redis.io/docs/latest/develop/reference/protocol-spec/)
inline void append_command(std::string& out, std::span<const std::string_view> argv) {
    const auto header = [&out](char mark, std::size_t count) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
        out += mark;
        out.append(digits.data(), end);
        out += "\r\n";
    };
    header('*', argv.size());
    for (const auto word : argv) {
        header('$', word.size());
        out += word;
        out += "\r\n";
    }
}

} // namespace distlock::detail
