// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// The words of error messages: what is shown, and what never is.
namespace distlock::detail {

/// `octets` in quotes, fit for one line of a log: what is not printable as \xNN, the end of a long text cut off.
inline std::string in_quotes(std::string_view octets) {
    constexpr std::size_t longest = 128;
    std::string out = "\"";
    for (const char c : octets.substr(0, longest)) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code >= 0x7f || c == '"' || c == '\\') {
            constexpr std::string_view digits = "0123456789abcdef";
            out += {'\\', 'x', digits[code >> 4U], digits[code & 0xfU]};
        } else {
            out += c;
        }
    }
    return out += octets.size() > longest ? "...\"" : "\"";
}

/// A server's error text without what it echoes of the command (a token or a password may be among it, cut off
/// where it cannot be recognised).
inline std::string_view without_echo(std::string_view server_text) noexcept {
    return server_text.substr(0, server_text.find(", with args beginning with"));
}

/// `text` with every occurrence of `secret` struck out.
inline std::string redacted(std::string_view text, std::string_view secret) {
    std::string out{text};
    if (!secret.empty()) {
        for (auto at = out.find(secret); at != out.npos; at = out.find(secret, at + 1)) {
            out.replace(at, secret.size(), 1, '*');
        }
    }
    return out;
}

} // namespace distlock::detail
