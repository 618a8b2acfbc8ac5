// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace distlock::protocol {

/// What to do about an error reply.
enum class remedy : std::uint8_t {
    report,     ///< it will not pass by itself: tell the caller
    retry,      ///< it passes by itself: try again within the caller's deadline
    reconnect,  ///< this server is not, or no longer, the one to ask: connect afresh, then try again
    whole_text, ///< the server does not know the script: send its text
};

/// One row of the table: error replies that begin with `code` and a space (or are just `code`).
struct server_error {
    std::string_view code;
    remedy what_to_do;
};

/// The error replies that locks can meet. In all of them a single-write command was NOT applied.
inline constexpr std::array server_errors{
    server_error{"NOSCRIPT", remedy::whole_text}, server_error{"LOADING", remedy::retry},
    server_error{"MASTERDOWN", remedy::retry},    server_error{"CLUSTERDOWN", remedy::retry},
    server_error{"BUSY", remedy::retry},          server_error{"TRYAGAIN", remedy::retry},
    server_error{"NOREPLICAS", remedy::retry},    server_error{"ERR max number of clients", remedy::retry},
    server_error{"READONLY", remedy::reconnect},  server_error{"UNBLOCKED", remedy::reconnect},
    server_error{"MISCONF", remedy::report},      server_error{"OOM", remedy::report},
    server_error{"MOVED", remedy::report},        server_error{"ASK", remedy::report},
    server_error{"NOAUTH", remedy::report},       server_error{"WRONGPASS", remedy::report},
    server_error{"NOPERM", remedy::report},       server_error{"WRONGTYPE", remedy::report},
    server_error{"CROSSSLOT", remedy::report},    server_error{"DENIED", remedy::report},
};

/// True where the error text's code is `code`.
constexpr bool has_code(std::string_view text, std::string_view code) noexcept {
    return text.starts_with(code) && (text.size() == code.size() || text[code.size()] == ' ');
}

/// The remedy for an error reply; what the table does not name is reported.
constexpr remedy remedy_for(std::string_view text) noexcept {
    for (const auto& row : server_errors) {
        if (has_code(text, row.code)) {
            return row.what_to_do;
        }
    }
    return remedy::report;
}

/// True for the answers of a server (or a proxy) that does not have the command, or does not let us use it.
constexpr bool is_unsupported(std::string_view text) noexcept {
    return text.starts_with("ERR unknown command") || has_code(text, "NOPERM");
}

} // namespace distlock::protocol
