// SPDX-License-Identifier: MIT
#pragma once

#include "support/net.hpp"

#include <poll.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace distlock::test {

/// One thread with one poll loop, for test servers. What the server does, it does on this thread only; other
/// threads ask by run().
class poll_thread {
public:
    using clock = outbox::clock;

    /// Adds the descriptors to wait for, and brings `wake` forward.
    using prepare = std::function<void(std::vector<pollfd>& watched, clock::time_point& wake)>;
    /// Something may have happened: does what can be done without waiting.
    using step = std::function<void()>;

    poll_thread(prepare what_to_wait_for, step what_to_do);
    poll_thread(const poll_thread&) = delete;
    poll_thread& operator=(const poll_thread&) = delete;
    ~poll_thread();

    /// Has `task` run on the thread, and waits until it is done.
    void run(std::function<void()> task);

private:
    void loop();
    void poke() const;

    prepare prepare_;
    step step_;
    unique_fd wakeup_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::function<void()> task_;
    bool stop_ = false;
    std::mutex one_caller_;
    std::thread thread_;
};

/// The two doors of a test server: a Unix socket and a port of 127.0.0.1.
class doors {
public:
    explicit doors(std::filesystem::path socket_path);

    void open();
    /// Whoever knocks is refused.
    void close();
    void watch(std::vector<pollfd>& watched) const;
    /// The next client that waits; closed when there is none.
    unique_fd next();

    const std::filesystem::path& socket_path() const noexcept { return path_; }
    int port() const noexcept { return port_; }

private:
    std::filesystem::path path_;
    int port_ = 0;
    unique_fd unix_;
    unique_fd tcp_;
};

} // namespace distlock::test
