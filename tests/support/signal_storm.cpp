// SPDX-License-Identifier: MIT
#include "support/signal_storm.hpp"

#include <atomic>

namespace distlock::test {
namespace {

std::atomic<std::size_t> received{0};
static_assert(decltype(received)::is_always_lock_free); // a handler uses it

} // namespace

signal_storm::signal_storm(std::chrono::milliseconds interval) {
    received = 0;
    struct sigaction quiet {};
    quiet.sa_handler = [](int) { ++received; };
    ::sigaction(SIGUSR1, &quiet, &before_);
    thread_ = std::thread{[this, interval] {
        std::unique_lock guard{mutex_};
        while (!stopping_.wait_for(guard, interval, [this] { return stop_; })) {
            ::pthread_kill(target_, SIGUSR1);
        }
    }};
}

signal_storm::~signal_storm() {
    {
        const std::lock_guard guard{mutex_};
        stop_ = true;
    }
    stopping_.notify_all();
    thread_.join();
    // A signal that is still pending must not meet the default action, which ends the process.
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR1, &ignore, nullptr);
    ::sigaction(SIGUSR1, &before_, nullptr);
}

std::size_t signal_storm::count() const noexcept { return received; }

} // namespace distlock::test
