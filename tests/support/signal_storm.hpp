// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <thread>

namespace distlock::test {

/// As long as it lives, SIGUSR1 interrupts the thread that made it, again and again. The handler does nothing
/// and has no SA_RESTART, so blocking system calls fail with EINTR. One at a time.
class signal_storm {
public:
    explicit signal_storm(std::chrono::milliseconds interval = std::chrono::milliseconds{10});
    signal_storm(const signal_storm&) = delete;
    signal_storm& operator=(const signal_storm&) = delete;
    ~signal_storm();

    /// How many signals the thread has received.
    std::size_t count() const noexcept;

private:
    struct sigaction before_ {};
    pthread_t target_ = ::pthread_self();
    std::mutex mutex_;
    std::condition_variable stopping_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace distlock::test
