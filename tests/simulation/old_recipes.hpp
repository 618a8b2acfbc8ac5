// SPDX-License-Identifier: MIT
#pragma once

#include "wire.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distlock::simulation {

/// Recipes from old articles, each as a wire that turns the library's commands into the recipe's: several commands
/// with time between them, where the library sends one. The simulation has to find what is wrong with each.
class recipe_wire : public wire {
public:
    using wire::wire;

protected:
    reply ask(std::initializer_list<std::string_view> words, time_point deadline, std::error_code& ec) {
        return wire::execute(std::span{words.begin(), words.size()}, deadline, ec);
    }
    /// The release, in any form: EVAL text 1 key token.
    static bool is_release(std::span<const std::string_view> argv) {
        return argv[0].starts_with("EVAL") && argv.size() == 5;
    }
    static bool is_acquire(std::span<const std::string_view> argv) { return argv[0] == "SET"; }
};

/// GET, compare in the client, DEL.
class get_then_del : public recipe_wire {
public:
    using recipe_wire::recipe_wire;

    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        memory().release = server_memory::release_form::script;
        if (!is_release(argv)) {
            return wire::execute(argv, deadline, ec);
        }
        const auto held = ask({"GET", argv[3]}, deadline, ec);
        if (ec || !held.is_string()) {
            return ec ? reply{} : reply::integer(0);
        }
        return held.text() == argv[4] ? ask({"DEL", argv[3]}, deadline, ec) : reply::integer(-1);
    }
};

/// SETNX, then PEXPIRE.
class setnx_then_expire : public recipe_wire {
public:
    using recipe_wire::recipe_wire;

    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        if (!is_acquire(argv)) {
            return wire::execute(argv, deadline, ec);
        }
        const auto set = ask({"SET", argv[1], argv[2], "NX"}, deadline, ec);
        if (ec || !set.is_status("OK")) {
            return set;
        }
        ask({"PEXPIRE", argv[1], argv[5]}, deadline, ec);
        return ec ? reply{} : reply::status("OK");
    }
};

/// The value is the time at which the lock ends, by the client's clock; whoever finds it over takes it by GETSET.
class getset_timestamp : public recipe_wire {
public:
    using recipe_wire::recipe_wire;

    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        memory().release = server_memory::release_form::script;
        if (is_release(argv)) {
            return ask({"DEL", argv[3]}, deadline, ec);
        }
        if (!is_acquire(argv)) {
            return wire::execute(argv, deadline, ec);
        }
        const auto now = virtual_clock::now().time_since_epoch().count() / parameters::ms;
        const auto ends = std::to_string(now + number(argv[5]));
        const auto set = ask({"SETNX", argv[1], ends}, deadline, ec);
        if (ec || set.is_integer(1)) {
            return ec ? reply{} : reply::status("OK");
        }
        const auto found = ask({"GET", argv[1]}, deadline, ec);
        if (ec || !found.is_string() || number(found.text()) > now) {
            return {};
        }
        const auto before = ask({"GETSET", argv[1], ends}, deadline, ec);
        return !ec && before.text() == found.text() ? reply::status("OK") : reply::nil();
    }

private:
    static std::int64_t number(std::string_view text) {
        std::int64_t parsed = 0;
        std::from_chars(text.data(), text.data() + text.size(), parsed);
        return parsed;
    }
};

} // namespace distlock::simulation
