// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/connection.hpp"
#include "distlock/protocol/command.hpp"
#include "distlock/protocol/server_errors.hpp"
#include "distlock/reply.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace distlock::protocol {

/// What a reply to acquire, release or extend says. Which of them can occur depends on the command.
enum class verdict : std::uint8_t {
    yes,      ///< granted, released, extended
    busy,     ///< acquire: another owner holds it
    expired,  ///< release, extend: the key is gone
    taken,    ///< release, extend: the key holds another value
    not_ours, ///< release by a native command: expired or taken, it does not say which
    refused,  ///< the server answered with an error; its text is in the reply
    garbage,  ///< no answer to this command
};

/// The exclusive lock: the user's key holds the owner's token. So every client that uses `SET key token NX PX ttl`
/// on the key excludes every other.
struct exclusive {
    /// SET key token NX PX ttl (https://redis.io/docs/latest/commands/set/)
    static void acquire(command& out, std::string_view key, std::string_view token, std::chrono::milliseconds ttl) {
        out.add("SET").add(key).add(token).add("NX").add("PX").add(ttl.count());
    }

    static verdict acquired(const reply& answer) noexcept {
        if (answer.is_status("OK")) {
            return verdict::yes;
        }
        return answer.is_nil() ? verdict::busy : answer.is_error() ? verdict::refused : verdict::garbage;
    }

    // KEYS[1] the lock, ARGV[1] our token.
    // Answers 1: it was ours and is deleted, 0: it was gone, -1: it holds another value; or GET's error.
    static constexpr script release_script{R"(local held = redis.pcall('get', KEYS[1])
if held == ARGV[1] then return redis.call('del', KEYS[1]) end
if held == false then return 0 end
if type(held) == 'table' then return held end
return -1)"};

    // KEYS[1] the lock, ARGV[1] our token, ARGV[2] the new remaining time in ms.
    // Answers as release_script does. PEXPIRE cannot create a key.
    static constexpr script extend_script{R"(local held = redis.pcall('get', KEYS[1])
if held == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if held == false then return 0 end
if type(held) == 'table' then return held end
return -1)"};

    /// Compare-and-delete, in the form that the server has.
    static void release(command& out, server_memory::release_form form, std::string_view key, std::string_view token) {
        switch (form) {
        case server_memory::release_form::delex:
            out.add("DELEX").add(key).add("IFEQ").add(token);
            return;
        case server_memory::release_form::delifeq:
            out.add("DELIFEQ").add(key).add(token);
            return;
        case server_memory::release_form::script:
        case server_memory::release_form::untried:
            out.call(release_script, {key}).add(token);
            return;
        }
    }

    static verdict released(server_memory::release_form form, const reply& answer) noexcept {
        if (form == server_memory::release_form::script) {
            return by_script(answer);
        }
        if (has_code(answer.is_error() ? answer.text() : std::string_view{}, "WRONGTYPE")) {
            return verdict::taken;
        }
        return answer.is_integer(1)   ? verdict::yes
               : answer.is_integer(0) ? verdict::not_ours
               : answer.is_error()    ? verdict::refused
                                      : verdict::garbage;
    }

    /// Compare-and-set-the-remaining-time.
    static void extend(command& out, std::string_view key, std::string_view token, std::chrono::milliseconds ttl) {
        out.call(extend_script, {key}).add(token).add(ttl.count());
    }

    static verdict extended(const reply& answer) noexcept { return by_script(answer); }

private:
    static verdict by_script(const reply& answer) noexcept {
        if (answer.is_error()) {
            return has_code(answer.text(), "WRONGTYPE") ? verdict::taken : verdict::refused;
        }
        return answer.is_integer(1)    ? verdict::yes
               : answer.is_integer(0)  ? verdict::expired
               : answer.is_integer(-1) ? verdict::taken
                                       : verdict::garbage;
    }
};

} // namespace distlock::protocol
