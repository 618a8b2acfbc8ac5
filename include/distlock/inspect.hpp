// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/detail/exchange.hpp"
#include "distlock/detail/limits.hpp"
#include "distlock/detail/message.hpp"
#include "distlock/detail/token.hpp"
#include "distlock/error.hpp"
#include "distlock/protocol/holder.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distlock {

/// Who holds a lock, as the server sees it.
struct lock_info {
    /// The key's value: the holder's token (its first 512 octets, for values that are no token of ours).
    std::string token;
    /// The holder's label, where it has one.
    std::string owner;
    /// What the lease has left by the server's clock; nothing for a key that never expires.
    std::optional<std::chrono::milliseconds> remaining;
};

/// Who holds `key`, or nothing when it is free. One round trip; blocks for the connection's time-out, at most ten
/// seconds. `ec` is set, or std::system_error thrown by the other door, for trouble with the server and for a key
/// that is not a lock (errc::refused, WRONGTYPE).
template <connection Conn, clock_source Clock = lease_clock>
std::optional<lock_info> inspect(Conn& conn, std::string_view key, std::error_code& ec, std::string* why = nullptr) {
    ec.clear();
    const auto explain = [&](std::error_code code, std::string_view text) {
        ec = code;
        if (why != nullptr) {
            *why = detail::without_echo(text);
        }
        return std::nullopt;
    };
    if (const auto complaint = detail::complaint_about_key(key); !complaint.empty()) {
        return explain(errc::invalid_argument, complaint);
    }
    detail::exchange<Conn> way{conn};
    protocol::command command;
    protocol::holder::ask(command, key);
    const auto answer = way.call(command, Clock::now() + std::chrono::seconds{10}, ec);
    if (ec) {
        return explain(ec, way.last_error());
    }
    if (answer.is_error()) {
        return explain(errc::refused, answer.text());
    }
    if (!protocol::holder::answers(answer)) {
        way.drop();
        return explain(errc::protocol, "the reply is none to this question");
    }
    auto holder = protocol::holder::in(answer);
    if (!holder) {
        return std::nullopt;
    }
    std::string owner{detail::owner_of(holder->token)};
    return lock_info{std::move(holder->token), std::move(owner), holder->remaining};
}

template <connection Conn, clock_source Clock = lease_clock>
std::optional<lock_info> inspect(Conn& conn, std::string_view key) {
    std::error_code ec;
    std::string why;
    auto found = inspect<Conn, Clock>(conn, key, ec, &why);
    if (ec) {
        throw std::system_error{ec, "inspect lock " + detail::in_quotes(key) + (why.empty() ? why : ": " + why)};
    }
    return found;
}

} // namespace distlock
