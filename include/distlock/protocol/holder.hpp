// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/protocol/command.hpp"
#include "distlock/reply.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace distlock::protocol {

/// Who holds a key, read without touching it.
struct holder {
    /// The key's value, its first 512 octets.
    std::string token;
    /// What the lease has left, by the server's clock; nothing where the key never expires.
    std::optional<std::chrono::milliseconds> remaining;

    // KEYS[1] the lock. Answers {value, PTTL}, {false, -2} where there is none, or GET's error. The value is cut so
    // that somebody else's big string under the name cannot be a big reply.
    static constexpr script ask_script{R"(local held = redis.pcall('get', KEYS[1])
if type(held) == 'table' then return held end
return {held and string.sub(held, 1, 512), redis.call('pttl', KEYS[1])})"};

    static void ask(command& out, std::string_view key) { out.call(ask_script, {key}); }

    /// True where the reply is an answer to ask(): a holder, or nobody.
    static bool answers(const reply& answer) noexcept {
        const auto& elements = answer.elements();
        return elements.size() == 2 && (elements[0].is_string() || elements[0].is_nil()) && elements[1].is_integer();
    }

    /// The holder in a reply that answers(); nothing where the lock is free.
    static std::optional<holder> in(const reply& answer) {
        const auto& elements = answer.elements();
        if (!answers(answer) || !elements[0].is_string()) {
            return std::nullopt;
        }
        holder found{elements[0].text(), std::nullopt};
        if (const auto left = elements[1].as_integer(); left >= 0) {
            found.remaining = std::chrono::milliseconds{left};
        }
        return found;
    }
};

} // namespace distlock::protocol
