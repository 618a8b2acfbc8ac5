// SPDX-License-Identifier: MIT
#pragma once

#include "keyspace.hpp"
#include "numbers.hpp"
#include "server.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// The command table. Each data type has a file with its commands; argv has passed the arity check.
namespace distlock::simulation {

struct call {
    keyspace& keys;
    arguments argv;
    flavour kind;
    /// For the commands about the server and its clients.
    server& at;
    session& from;

    std::string_view key() const { return argv[1]; }
};

struct command {
    enum flag : unsigned {
        writes = 1,
        needs_memory = 2,   // denyoom
        not_in_scripts = 4, // noscript
        while_loading = 8,
        while_stale = 16,
        without_auth = 32,
        may_write = 64, // EVAL: stopped by a pause of writes
        container = 128 // has subcommands
    };
    std::string_view name;
    int arity; // with the name; negative: at least
    unsigned flags;
    reply (*run)(call&);
    std::size_t index = 0;

    bool fits(std::size_t argc) const {
        return arity >= 0 ? argc == static_cast<std::size_t>(arity) : argc >= static_cast<std::size_t>(-arity);
    }
};

std::span<const command> string_commands();
std::span<const command> key_commands();
std::span<const command> list_commands();
std::span<const command> zset_commands();
std::span<const command> hash_commands();
std::span<const command> server_commands();
std::span<const command> script_commands();

std::size_t command_count();
/// The command of that name in any case, or nullptr where this flavour has none. Of a container, the
/// subcommand that argv names; the container itself where argv ends early.
const command* find_command(arguments argv, flavour kind);
const command& command_at(std::size_t index);

/// The parts in one string.
inline std::string joined(std::initializer_list<std::string_view> parts) {
    std::string whole;
    for (const auto part : parts) {
        whole += part;
    }
    return whole;
}

/// A word of the client's as error texts show it: up to a NUL and to some length, in one line.
inline std::string shown(std::string_view word, std::size_t most = 128) {
    std::string text{word.substr(0, std::min(word.find('\0'), most))};
    std::ranges::replace_if(
        text, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    return text;
}

/// EVAL is let in while the primary is away, to be refused once its script is found.
extern const char* const master_down_text;

inline reply ok() { return reply::status("OK"); }
inline reply wrong_type() { return reply::error("WRONGTYPE Operation against a key holding the wrong kind of value"); }
inline reply wrong_arity(std::string_view command) {
    return reply::error(joined({"ERR wrong number of arguments for '", command, "' command"}));
}
inline reply syntax_error() { return reply::error("ERR syntax error"); }
inline reply not_an_integer() { return reply::error("ERR value is not an integer or out of range"); }
inline reply not_positive() { return reply::error("ERR value is out of range, must be positive"); }

template <class T>
reply count(T number) {
    return reply::integer(static_cast<std::int64_t>(number));
}

} // namespace distlock::simulation
