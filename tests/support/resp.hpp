// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/reply.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The protocol as test servers and proxies need it, written apart from the library's own.
namespace distlock::test::resp {

using argv = std::vector<std::string>;

struct command {
    argv words;
    std::size_t length = 0; ///< in octets of the input
};

/// The command at the head of `input`; nothing while it is incomplete. A line that is no RESP array is an
/// inline command.
std::optional<command> read_command(std::string_view input);

/// The length of the reply at the head of `input`, nested ones included; nothing while it is incomplete.
std::optional<std::size_t> reply_length(std::string_view input);

std::string encode(const argv& words);
std::string encode(const reply& value);

} // namespace distlock::test::resp
