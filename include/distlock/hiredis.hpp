// SPDX-License-Identifier: MIT
#pragma once

/// The transports over hiredis (0.14 to 1.x): hiredis_connection owns its connection and is pipelined,
/// hiredis_ref borrows a redisContext. Link hiredis.

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/detail/hiredis_stream.hpp"
#include "distlock/detail/message.hpp"
#include "distlock/detail/socket.hpp"
#include "distlock/endpoint.hpp"
#include "distlock/error.hpp"
#include "distlock/reply.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distlock {

/// How a hiredis_connection connects; what is set here beats the URL.
struct hiredis_options {
    /// For connecting and logging in.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds{1};
    /// For each exchange; a caller's nearer deadline beats it.
    std::chrono::milliseconds command_timeout = std::chrono::seconds{1};
    std::string user{};
    std::string password{};
    std::optional<int> database{};
};

namespace detail {

inline void check_timeout(std::chrono::milliseconds timeout) {
    if (timeout <= timeout.zero() || timeout > std::chrono::hours{24}) {
        throw std::system_error{errc::invalid_argument, "a time-out is not between 1 ms and 24 hours"};
    }
}

} // namespace detail

/// A connection to one server over TCP or a Unix socket. Connects at the first command, and afresh after any
/// trouble: with AUTH, SELECT and time-outs as before, and (where the server allows CLIENT ID, INFO and CLIENT KILL) after
/// ending the old connection at the server, so that a command still waiting there never runs late. SIGPIPE never
/// reaches the program, signals do not stretch deadlines, descriptors are close-on-exec, a forked child gets a
/// connection of its own. One thread at a time. Not copied, not moved: locks hold its address.
class hiredis_connection {
public:
    using time_point = lease_clock::time_point;

    /// `redis://user:password@host:port/db` or `unix:///path?db=n` (endpoint.hpp). No I/O. Throws
    /// errc::invalid_argument for a malformed URL, a time-out that is not positive, and for rediss://: TLS needs a
    /// transport of your own (connection.hpp), or a TLS tunnel.
    explicit hiredis_connection(std::string_view url, hiredis_options options = {})
        : hiredis_connection{parse_url(url), std::move(options)} {}

    explicit hiredis_connection(endpoint server, hiredis_options options = {})
        : server_{std::move(server)}
        , address_{server_.address()}
        , connect_timeout_{options.connect_timeout}
        , command_timeout_{options.command_timeout} {
        if (!options.user.empty()) {
            server_.user = std::move(options.user);
        }
        if (!options.password.empty()) {
            server_.password = std::move(options.password);
        }
        server_.database = options.database.value_or(server_.database);
        detail::check_timeout(connect_timeout_);
        detail::check_timeout(command_timeout_);
        if (server_.tls || server_.database < 0) {
            throw std::system_error{errc::invalid_argument, server_.tls
                                                                ? "hiredis_connection has no TLS: rediss:// is refused"
                                                                : "the database is negative"};
        }
    }

    hiredis_connection(const hiredis_connection&) = delete;
    hiredis_connection& operator=(const hiredis_connection&) = delete;
    ~hiredis_connection() = default;

    /// One command, its one reply (concept connection). Replies outstanding from send() are read and dropped.
    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        if (auto refusal = begin(argv, deadline, ec); refusal || ec) {
            return refusal ? std::move(*refusal) : reply{};
        }
        for (;;) {
            auto answer = stream_.receive(deadline_, ec, reason_);
            if (ec) {
                drop();
                return {};
            }
            if (stream_.outstanding() == 0) {
                return answer;
            }
        }
    }

    /// Sends a command whose reply receive() will read. A refused login is errc::unreachable here.
    void send(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        if (const auto refusal = begin(argv, deadline, ec)) {
            ec = errc::unreachable;
            reason_ = refusal->text();
        }
    }

    /// The reply to the oldest send() that has none yet.
    reply receive(time_point deadline, std::error_code& ec) {
        ec.clear();
        const bool asked = stream_.outstanding() > 0;
        auto answer = stream_.receive(bounded(deadline, command_timeout_), ec, reason_);
        if (ec && asked) {
            drop();
        }
        return answer;
    }

    std::uint64_t sent() const noexcept { return stream_.sent(); }
    std::uint64_t received() const noexcept { return stream_.received(); }

    /// Closes the stream; the next command connects afresh.
    void drop() noexcept {
        if (stream_.outstanding() > 0 && stream_.is_ours() && client_.id > 0) {
            unanswered_ = std::move(client_);
        }
        client_ = {};
        memory_ = {};
        stream_.close();
    }

    bool is_open() const noexcept { return stream_.is_open(); }
    std::string_view address() const noexcept { return address_; }
    std::string_view last_error() const noexcept { return reason_; }
    server_memory& memory() noexcept { return memory_; }

private:
    /// Who we are to the server: a number that it gives once in each of its runs.
    struct client {
        std::int64_t id = 0;
        std::string run{};
    };

    static time_point bounded(time_point deadline, std::chrono::milliseconds longest) noexcept {
        return std::min(deadline, lease_clock::now() + longest);
    }

    /// Connects where necessary and sends. A reply: the server refused the login, and nothing was sent.
    std::optional<reply> begin(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        ec.clear();
        for (bool reused = stream_.is_usable();; reused = false) {
            if (!reused) {
                if (auto refusal = open(deadline, ec); refusal || ec) {
                    return refusal;
                }
            }
            deadline_ = bounded(deadline, command_timeout_);
            stream_.send(argv, deadline_, ec, reason_);
            if (!ec) {
                return std::nullopt;
            }
            drop();
            // A stream that had gone stale took nothing: the same command may go on a fresh one.
            if (!reused || ec != errc::unreachable || lease_clock::now() >= deadline) {
                return std::nullopt;
            }
            ec.clear();
        }
    }

    std::optional<reply> open(time_point deadline, std::error_code& ec) {
        drop();
        const auto limit = bounded(deadline, connect_timeout_);
        auto connected = detail::socket::connect(server_, limit, reason_);
        if (!connected.is_open()) {
            ec = errc::unreachable;
            return std::nullopt;
        }
        connected.expect_patience(command_timeout_);
        stream_.open(std::move(connected));
        auto refusal = log_in(limit, ec);
        if (ec || refusal) {
            drop();
        }
        if (ec && ec != errc::protocol) {
            ec = errc::unreachable; // the caller's command was not sent
        }
        return refusal;
    }

    std::optional<reply> log_in(time_point limit, std::error_code& ec) {
        if (!server_.password.empty() || !server_.user.empty()) {
            const std::array<std::string_view, 3> auth{"AUTH", server_.user, server_.password};
            const std::array<std::string_view, 2> auth_default{"AUTH", server_.password};
            const auto answer = server_.user.empty() ? ask(auth_default, limit, ec) : ask(auth, limit, ec);
            if (ec || !answer.is_status("OK")) {
                return login_failure(answer, ec);
            }
        }
        if (server_.database != 0) {
            const auto number = std::to_string(server_.database);
            const std::array<std::string_view, 2> select{"SELECT", number};
            const auto answer = ask(select, limit, ec);
            if (ec || !answer.is_status("OK")) {
                return login_failure(answer, ec);
            }
        }
        return get_known(limit, ec);
    }

    /// Learns who we are there, and ends our old stream if a command may still be on it. A server need not allow it.
    std::optional<reply> get_known(time_point limit, std::error_code& ec) {
        const auto id = ask(std::array<std::string_view, 2>{"CLIENT", "ID"}, limit, ec);
        if (ec || id.is_error()) { // a server need not let us know
            return !ec && is_turned_away(id.text()) ? std::optional{id} : std::nullopt;
        }
        const auto about = ask(std::array<std::string_view, 2>{"INFO", "server"}, limit, ec);
        // Anything else answers no question of ours: this server speaks before it is asked.
        if (!ec && !((id.is_integer() || id.is_error()) && (about.is_string() || about.is_error()))) {
            ec = errc::protocol;
            reason_ = "the reply is none to CLIENT ID or INFO";
        }
        if (ec || !id.is_integer() || !about.is_string()) {
            return std::nullopt;
        }
        constexpr std::string_view label = "run_id:";
        const auto at = about.text().find(label);
        if (at == std::string::npos) {
            return std::nullopt;
        }
        client_ = {id.as_integer(), about.text().substr(at + label.size(), 40)};
        // Ids are used once in a server's run. In another run the number may be somebody else's.
        if (unanswered_.id > 0 && unanswered_.run == client_.run) {
            const auto old = std::to_string(unanswered_.id);
            ask(std::array<std::string_view, 4>{"CLIENT", "KILL", "ID", old}, limit, ec);
        }
        if (!ec) {
            unanswered_ = {};
        }
        return std::nullopt;
    }

    reply ask(std::span<const std::string_view> argv, time_point limit, std::error_code& ec) {
        stream_.send(argv, limit, ec, reason_);
        return ec ? reply{} : stream_.receive(limit, ec, reason_);
    }

    /// What the caller gets for a login that did not end in OK: the server's words, without the password.
    std::optional<reply> login_failure(const reply& answer, std::error_code& ec) {
        if (!ec && !answer.is_error()) {
            ec = errc::protocol;
            reason_ = "the reply is none to a login";
        }
        if (ec) {
            return std::nullopt;
        }
        return reply::error(detail::redacted(detail::without_echo(answer.text()), server_.password));
    }

    /// The server speaks before it is asked, and hangs up.
    static bool is_turned_away(std::string_view text) noexcept {
        return text.starts_with("ERR max number of clients") || text.starts_with("DENIED");
    }

    endpoint server_;
    std::string address_;
    std::chrono::milliseconds connect_timeout_;
    std::chrono::milliseconds command_timeout_;
    detail::hiredis_stream stream_;
    time_point deadline_{};
    server_memory memory_;
    client client_;
    client unanswered_; // dropped with a command on it that may still be waiting there
    std::string reason_;
};

/// The same over a redisContext that the program already has: a blocking or non-blocking one without TLS, not an
/// asynchronous one, with no command under way. It must outlive this, and closing it remains the program's. After
/// any trouble the stream is shut down and the context marked broken (`err`, `errstr`); every command is then
/// errc::unreachable until reset() names a fresh context. The context's own time-outs do not count here.
class hiredis_ref {
public:
    using time_point = lease_clock::time_point;

    explicit hiredis_ref(redisContext* context, std::chrono::milliseconds command_timeout = std::chrono::seconds{1})
        : command_timeout_{command_timeout} {
        detail::check_timeout(command_timeout);
        reset(context);
    }

    hiredis_ref(const hiredis_ref&) = delete;
    hiredis_ref& operator=(const hiredis_ref&) = delete;
    ~hiredis_ref() = default;

    /// Goes on with another context (or the same after the program has reconnected it).
    void reset(redisContext* context) {
        if (context == nullptr) {
            throw std::system_error{errc::invalid_argument, "the redisContext is null"};
        }
#if HIREDIS_MAJOR >= 1
        if (context->privctx != nullptr) {
            throw std::system_error{errc::invalid_argument, "the redisContext speaks TLS"};
        }
#endif
        context_ = context;
        memory_ = {};
        stream_.close();
        if (context->err == 0 && context->fd >= 0) {
            stream_.open(detail::socket{static_cast<int>(context->fd)});
        } else {
            reason_ = std::string{"the redisContext is broken: "} + context->errstr;
        }
    }

    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
        ec.clear();
        if (stream_.is_open() && !stream_.is_usable()) {
            reason_ = stream_.is_ours() ? "the connection was closed, or holds a reply that nobody asked for"
                                        : "the redisContext belongs to the parent process";
            drop();
        }
        if (!stream_.is_open()) {
            ec = errc::unreachable;
            return {};
        }
        const auto limit = std::min(deadline, lease_clock::now() + command_timeout_);
        stream_.send(argv, limit, ec, reason_);
        auto answer = ec ? reply{} : stream_.receive(limit, ec, reason_);
        if (ec) {
            drop();
        }
        return answer;
    }

    std::string_view address() const noexcept { return "a borrowed redisContext"; }
    std::string_view last_error() const noexcept { return reason_; }
    server_memory& memory() noexcept { return memory_; }

    /// Shuts the stream down and marks the context broken.
    void drop() noexcept {
        if (stream_.is_open() && stream_.is_ours()) {
            stream_.raw().shut_down();
            context_->err = REDIS_ERR_IO;
            constexpr std::string_view text = "dropped by distlock after a failed command";
            static_assert(text.size() < sizeof context_->errstr);
            std::memcpy(context_->errstr, text.data(), text.size() + 1);
        }
        stream_.close();
    }

private:
    redisContext* context_ = nullptr;
    std::chrono::milliseconds command_timeout_;
    detail::hiredis_stream stream_;
    server_memory memory_;
    std::string reason_;
};

static_assert(pipelined_connection<hiredis_connection>);
// Not pipelined: a reply left for later would be the answer to the program's own next command.
static_assert(connection<hiredis_ref> && !pipelined_connection<hiredis_ref>);

} // namespace distlock
