// SPDX-License-Identifier: MIT
#pragma once

#include "support/eventually.hpp"
#include "support/poll_thread.hpp"
#include "support/redis_server.hpp"
#include "support/resp.hpp"
#include "support/temp_dir.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace distlock::test {

/// Which commands a fault is for. Counting begins at the call of fault_proxy::on(), at 1, over all
/// connections.
struct at_command {
    std::function<bool(const resp::argv&)> matches;
    std::size_t number = 1; ///< the n-th that matches; 0: each of them

    static at_command nth(std::size_t n);
    /// The n-th whose first word is this (in the case that the client uses).
    static at_command word(std::string first, std::size_t n = 1);
    static at_command every(std::string first);
    static at_command every();
};

/// What goes wrong with one command. `then`: whether the connection is cut or goes silent (stays open, and
/// nothing passes any more).
struct fault {
    using milliseconds = std::chrono::milliseconds;
    using then = outbox::then;

    enum class kind {
        lose_request,
        cut_in_request,
        delay_request,
        hold_request,
        deliver_after_close,
        lose_reply,
        delay_reply,
        replace_reply,
        duplicate_reply,
        truncate_reply,
        drip_reply,
        cut_after_reply,
    };
    kind what;
    then after = then::nothing;
    milliseconds time{0};
    std::string bytes{};
    std::size_t length = 0;

    /// The server never sees the command. Replies to earlier ones still pass.
    static fault lose_request(then after = then::cut) { return {kind::lose_request, after}; }
    /// The server sees the first half of it.
    static fault cut_in_request() { return {kind::cut_in_request}; }
    static fault delay_request(milliseconds by) { return {kind::delay_request, then::nothing, by}; }
    /// The command stands still, with all that follow on its connection, until deliver_held(), even if the
    /// client has hung up by then.
    static fault hold_request() { return {kind::hold_request}; }
    /// The same until `by` after the client has hung up.
    static fault deliver_after_close(milliseconds by = {}) { return {kind::deliver_after_close, then::nothing, by}; }

    /// The server has run the command when the connection is cut or goes silent.
    static fault lose_reply(then after = then::cut) { return {kind::lose_reply, after}; }
    static fault delay_reply(milliseconds by) { return {kind::delay_reply, then::nothing, by}; }
    static fault replace_reply(std::string bytes) { return {kind::replace_reply, then::nothing, {}, std::move(bytes)}; }
    static fault duplicate_reply() { return {kind::duplicate_reply}; }
    /// The first `length` octets pass.
    static fault truncate_reply(std::size_t length, then after = then::cut) {
        return {kind::truncate_reply, after, {}, {}, length};
    }
    /// One octet at each `interval`.
    static fault drip_reply(milliseconds interval) { return {kind::drip_reply, then::nothing, interval}; }
    static fault cut_after_reply() { return {kind::cut_after_reply}; }
};

/// What a proxy has seen so far.
struct proxy_traffic {
    std::vector<resp::argv> commands; ///< as they came from clients, those that were lost too
    std::size_t replies = 0;          ///< as they came from the server, those that were lost too
    std::size_t connections = 0;      ///< accepted
    std::size_t closed = 0;           ///< of those, the ones that are over

    /// How many commands have this first word.
    std::size_t count(std::string_view first) const;
};

/// Stands between clients and a server (on the server's Unix socket) and does to commands and replies what
/// networks do. Listens on a Unix socket and on a port of 127.0.0.1. One thread; calls may come from any
/// other, and have taken effect when they are back.
class fault_proxy {
public:
    explicit fault_proxy(const redis_server& server);
    explicit fault_proxy(std::filesystem::path server_socket);
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    ~fault_proxy();

    int port() const noexcept { return doors_.port(); }
    std::string url_tcp() const { return "redis://127.0.0.1:" + std::to_string(port()); }
    std::string url_unix() const { return "unix://" + doors_.socket_path().string(); }
    std::filesystem::path socket_path() const { return doors_.socket_path(); }

    /// Where several faults meet in one command, the first one planned happens.
    void on(at_command where, fault what);
    /// Forgets all faults planned. What is lost stays lost, and what is held is still held.
    void clear();

    /// pass: as a wire. refuse: nobody can connect. black_hole: who connects, and who is connected, hears
    /// nothing any more, and what is sent is lost.
    enum class mode { pass, refuse, black_hole };
    void set_mode(mode now);
    /// Cuts all connections that there are.
    void cut_all();
    /// Lets the commands go on that hold_request() holds, and waits until the server has answered them or has
    /// closed their connections. How many there were.
    std::size_t deliver_held();

    proxy_traffic traffic() const;
    /// Waits until the traffic is such. False: it was not, within `limit`.
    bool wait_for(const std::function<bool(const proxy_traffic&)>& condition,
                  std::chrono::milliseconds limit = patience) const;

private:
    using clock = poll_thread::clock;

    struct rule {
        at_command where;
        fault what;
        std::size_t seen = 0;
    };

    /// A reply that is still to come, and what happens to it. Without a reply: what happens to the connection
    /// when it is this command's turn.
    struct expected {
        std::optional<fault> what;
        bool from_server = true;
        bool held = false;
    };

    struct session {
        unique_fd client;
        unique_fd server;
        std::string from_client{};
        std::string from_server{};
        outbox to_client{};
        outbox to_server{};
        std::deque<expected> replies{};
        std::optional<std::chrono::milliseconds> late_by{}; ///< of deliver_after_close
        bool deaf = false;                                  ///< takes no more commands
        bool silent = false;                                ///< nothing passes any more
        bool late = false;                                  ///< has commands that outlive the client
    };

    void prepare(std::vector<pollfd>& watched, clock::time_point& wake);
    void step();
    void welcome(unique_fd client);
    bool serve(session& one);
    void fall_silent(session& one);
    static bool serve_silence(session& one);
    void take_commands(session& one);
    void forward(session& one, std::string raw, const std::optional<fault>& what);
    void take_replies(session& one);
    static void settle(session& one);
    static void deliver(session& one, std::string raw, const std::optional<fault>& what);
    static bool client_left(session& one);
    std::optional<fault> fault_for(const resp::argv& argv);
    template <class Change>
    void note(Change&& change);

    std::filesystem::path server_socket_;
    temp_dir dir_;
    doors doors_;
    std::list<session> sessions_;
    std::vector<rule> rules_;
    mode mode_ = mode::pass;

    mutable std::mutex mutex_; // of what follows; the rest belongs to the thread
    mutable std::condition_variable changed_;
    proxy_traffic traffic_;
    std::size_t held_ = 0; ///< commands held, or delivered but not answered

    poll_thread thread_; // last: it starts when all the rest is there
};

} // namespace distlock::test
