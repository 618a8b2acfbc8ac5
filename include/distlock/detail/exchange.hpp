// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/error.hpp"
#include "distlock/protocol/command.hpp"
#include "distlock/protocol/server_errors.hpp"
#include "distlock/reply.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace distlock::detail {

/// One lock's way to its connection: scripts with their fall-back, commands whose reply is read later, and the
/// optional members of a transport, absent or not.
template <connection Conn>
class exchange {
public:
    using time_point = lease_clock::time_point;

    explicit exchange(Conn& conn) noexcept
        : conn_{conn} {}

    /// One command, one reply. A script goes by EVALSHA and, when the server does not know it, once by EVAL.
    reply call(protocol::command& command, time_point deadline, std::error_code& ec) {
        ec.clear();
        auto answer = conn_.execute(command.argv(), deadline, ec);
        if (!ec && command.is_script() && has_remedy(answer, protocol::remedy::whole_text)) {
            command.send_whole_text();
            answer = conn_.execute(command.argv(), deadline, ec);
        }
        leave_wrong_server(answer, ec);
        return answer;
    }

    /// Sends a command whose reply is read later. Returns its ticket.
    std::uint64_t post(const protocol::command& command, time_point deadline,
                       std::error_code& ec) requires pipelined_connection<Conn> {
        ec.clear();
        conn_.send(command.argv(), deadline, ec);
        if constexpr (counted) {
            return conn_.sent();
        } else {
            return 0;
        }
    }

    /// The reply to a posted command. It is lost (errc::unknown_outcome) when the stream was dropped since, or
    /// when somebody else's command on this connection has read past it.
    reply collect([[maybe_unused]] std::uint64_t ticket, time_point deadline,
                  std::error_code& ec) requires pipelined_connection<Conn> {
        ec.clear();
        if constexpr (counted) {
            if (conn_.received() >= ticket) {
                ec = errc::unknown_outcome;
                return {};
            }
            while (conn_.received() + 1 < ticket) {
                conn_.receive(deadline, ec);
                if (ec) {
                    return {};
                }
            }
        }
        auto answer = conn_.receive(deadline, ec);
        leave_wrong_server(answer, ec);
        return answer;
    }

    server_memory& memory() noexcept {
        if constexpr (requires {
                          { conn_.memory() } -> std::same_as<server_memory&>;
                      }) {
            return conn_.memory();
        } else {
            return memory_;
        }
    }

    /// Where the server is, for messages; empty where the transport does not say.
    std::string_view address() const {
        if constexpr (requires {
                          { conn_.address() } -> std::convertible_to<std::string_view>;
                      }) {
            return conn_.address();
        } else {
            return {};
        }
    }

    /// The transport's words for the last failure; empty where it has none.
    std::string_view last_error() const {
        if constexpr (requires {
                          { conn_.last_error() } -> std::convertible_to<std::string_view>;
                      }) {
            return conn_.last_error();
        } else {
            return {};
        }
    }

    /// Closes the stream, where the transport can: what is on it cannot be trusted.
    void drop() {
        if constexpr (requires { conn_.drop(); }) {
            conn_.drop();
        }
    }

private:
    static constexpr bool counted = requires(Conn & c) {
        { c.sent() } -> std::convertible_to<std::uint64_t>;
        { c.received() } -> std::convertible_to<std::uint64_t>;
    };

    static bool has_remedy(const reply& answer, protocol::remedy remedy) noexcept {
        return answer.is_error() && protocol::remedy_for(answer.text()) == remedy;
    }

    /// A server that says it is not the one to ask (any more) is not asked again on this stream.
    void leave_wrong_server(const reply& answer, const std::error_code& ec) {
        if (!ec && has_remedy(answer, protocol::remedy::reconnect)) {
            drop();
        }
    }

    Conn& conn_;
    server_memory memory_;
};

} // namespace distlock::detail
