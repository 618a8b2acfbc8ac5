// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/reply.hpp"

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

namespace distlock {

/// A transport: sends one command and is back with its one reply by the deadline. All that the locks ask of it.
///
///     reply execute(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec);
///
/// - `argv` goes out with lengths: any octet may stand in a key or a token, NUL and spaces included.
/// - `ec` is cleared, or set for transport trouble only: `errc::unreachable` when no byte of the command was
///   written (it was NOT applied), anything else, normally `errc::unknown_outcome`, when some was (it MAY have
///   been). An error reply of the server is a reply, not an `ec`.
/// - It returns by `deadline`, whatever the server does. It may return earlier, by a time-out of its own.
/// - After any `ec` the stream is dropped before the next command, so that a late reply never answers another
///   command, and the next command connects afresh (with AUTH, SELECT and time-outs restored).
/// - One thread at a time.
///
/// Optional members, used where a transport has them:
/// - `std::string_view address() const`: where the server is, for error messages.
/// - `std::string_view last_error() const`: the reason behind the last `ec`, for error messages. No secrets.
/// - `void drop()`: closes the stream; the next command connects afresh.
/// - `server_memory& memory()`: see below.
template <class C>
concept connection = requires(C& c, std::span<const std::string_view> argv, lease_clock::time_point deadline,
                              std::error_code& ec) {
    { c.execute(argv, deadline, ec) } -> std::same_as<reply>;
};

/// A transport on which a command can be sent without waiting for its reply. Replies come in the order of sends.
///
/// `send` sets `ec` as `execute` does. `receive` returns the oldest reply that is outstanding; its `ec` means
/// that this reply, and every other one outstanding, is lost. `execute` reads past outstanding replies, which are
/// then lost too, and answers with its own.
///
/// Optional: `std::uint64_t sent() const` and `received() const`, running totals of commands sent and of replies
/// received or lost. Where several locks share one connection, they tell whose reply is next; without them
/// a connection should serve one lock.
template <class C>
concept pipelined_connection = connection<C> &&
    requires(C& c, std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
    c.send(argv, deadline, ec);
    { c.receive(deadline, ec) } -> std::same_as<reply>;
};

/// What a connection has learnt of its server, kept until it connects afresh (maybe to another server).
struct server_memory {
    /// How compare-and-delete is spelt there: not tried yet, Redis 8.4's DELEX, Valkey 9's DELIFEQ, or the script.
    enum class release_form : std::uint8_t { untried, delex, delifeq, script };
    release_form release = release_form::untried;
};

} // namespace distlock
