// SPDX-License-Identifier: MIT
#pragma once

#include "support/eventually.hpp"
#include "support/poll_thread.hpp"
#include "support/resp.hpp"
#include "support/temp_dir.hpp"

#include "distlock/reply.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace distlock::test {

/// What a stub server does with a command: these very octets, and how.
struct stub_answer {
    std::string bytes;
    /// Before the first octet.
    std::chrono::milliseconds delay{0};
    /// Not zero: one octet at a time, with this much in between.
    std::chrono::milliseconds drip{0};
    outbox::then after = outbox::then::nothing;
    /// Sent again and again behind `bytes`, for ever, if not empty.
    std::string endless{};

    stub_answer(std::string octets) // NOLINT(google-explicit-constructor): octets are an answer
        : bytes{std::move(octets)} {}
    stub_answer(const char* octets) // NOLINT(google-explicit-constructor)
        : bytes{octets} {}
    stub_answer(const reply& value) // NOLINT(google-explicit-constructor)
        : bytes{resp::encode(value)} {}

    static stub_answer dripping(std::string octets, std::chrono::milliseconds interval);
    static stub_answer delayed(std::string octets, std::chrono::milliseconds by);
    /// The stream ends behind the octets.
    static stub_answer last(std::string octets);
    /// No answer, now and later.
    static stub_answer silence();
    /// A string of 300 MiB is announced, and octets without end follow.
    static stub_answer huge_string();
    /// An array of 2^32-1 elements is announced, and elements without end follow.
    static stub_answer huge_array();
    /// An array in an array in an array, `depth` deep.
    static stub_answer nested(std::size_t depth);
    /// Digits without end: a line that never is one.
    static stub_answer endless_line();
};

/// A server that is a function from commands to octets, on a Unix socket and a port of 127.0.0.1: for servers
/// that do not exist here, or never should. The function runs on the server's thread, one command at a time.
class stub_server {
public:
    using handler = std::function<stub_answer(const resp::argv&)>;

    /// `greeting` is sent to every client before it asks.
    explicit stub_server(handler answer, std::string greeting = {});
    stub_server(const stub_server&) = delete;
    stub_server& operator=(const stub_server&) = delete;
    ~stub_server();

    int port() const noexcept { return doors_.port(); }
    std::string url_tcp() const { return "redis://127.0.0.1:" + std::to_string(port()); }
    std::string url_unix() const { return "unix://" + doors_.socket_path().string(); }
    std::filesystem::path socket_path() const { return doors_.socket_path(); }

    /// The commands so far, over all connections.
    std::vector<resp::argv> commands() const;
    std::size_t connections() const;
    bool wait_for_commands(std::size_t count, std::chrono::milliseconds limit = patience) const;

private:
    struct session {
        unique_fd client;
        std::string input{};
        outbox output{};
        bool silent = false;
    };

    void prepare(std::vector<pollfd>& watched, poll_thread::clock::time_point& wake);
    void step();
    bool serve(session& one);
    static void queue(session& one, const stub_answer& what);

    handler answer_;
    std::string greeting_;
    temp_dir dir_;
    doors doors_;
    std::list<session> sessions_;

    mutable std::mutex mutex_; // of what follows; the rest belongs to the thread
    mutable std::condition_variable changed_;
    std::vector<resp::argv> commands_;
    std::size_t connections_ = 0;

    poll_thread thread_; // last: it starts when all the rest is there
};

/// A stub that gives its n-th command (over all connections) the n-th answer, and the last one to all further
/// ones. CLIENT ID, which a connection may ask on its own account, is answered as by a server that refuses it
/// and does not count.
class hostile_server : public stub_server {
public:
    explicit hostile_server(std::vector<stub_answer> answers);
};

} // namespace distlock::test
