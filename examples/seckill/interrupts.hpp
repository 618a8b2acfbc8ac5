// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>

namespace seckill {

/// Ctrl-C and its like, taken when the main thread has time for them, so that everything is cleaned up in the
/// usual way. To be made before any other thread, which then inherits that the signals are blocked.
class interrupts {
public:
    interrupts() {
        sigemptyset(&signals_);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            sigaddset(&signals_, each);
        }
        pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
        std::signal(SIGPIPE, SIG_IGN); // `seckill | head` has to clean up too
    }

    /// Sleeps; true as soon as a signal has come, and from then on.
    bool sleep_for(std::chrono::milliseconds time) {
        if (caught_ == 0) {
            const timespec limit{static_cast<std::time_t>(time.count() / 1000),
                                 static_cast<long>(time.count() % 1000 * 1'000'000)};
            if (const int got = sigtimedwait(&signals_, nullptr, &limit); got > 0) {
                caught_ = got;
            }
        }
        return caught_ != 0;
    }

    /// The signal's number, or 0.
    int caught() const noexcept { return caught_; }

private:
    sigset_t signals_{};
    int caught_ = 0;
};

} // namespace seckill
