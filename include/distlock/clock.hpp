// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <span>
#include <stop_token>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sys/random.h>
#else
#include <cstdlib>
#endif

namespace distlock {

/// The clock on which leases are counted, and the one seam through which locks sleep and draw random octets.
///
/// On Linux it reads CLOCK_BOOTTIME, which goes on while the machine is suspended (`std::chrono::steady_clock` is
/// CLOCK_MONOTONIC there and stands still), so a lease that ran out during a suspend is seen as over at once.
/// Elsewhere it reads steady_clock. A snapshot of a virtual machine stops both: only a fencing token helps then.
struct lease_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<lease_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept {
#if defined(__linux__)
        timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
#else
        return time_point{std::chrono::steady_clock::now().time_since_epoch()};
#endif
    }

    /// Blocks until `wake`; returns at once when it has passed.
    static void sleep_until(time_point wake) noexcept {
        for (auto time = now(); time < wake; time = now()) { // compared, not subtracted: any time point is fine
            std::this_thread::sleep_for(wake - time);
        }
    }

    /// Blocks until `wake` or until a stop is requested, whichever is first.
    static void sleep_until(time_point wake, const std::stop_token& stop) {
        if (!stop.stop_possible()) {
            sleep_until(wake);
            return;
        }
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock guard{mutex};
        for (auto time = now(); time < wake && !stop.stop_requested(); time = now()) {
            constexpr duration longest = std::chrono::hours{24}; // wait_for adds it to a clock of its own: no overflow
            never.wait_for(guard, stop, std::min(wake - time, longest), [] { return false; });
        }
    }

    /// Lets other threads run.
    static void yield() noexcept { std::this_thread::yield(); }

    /// Fills `out` from the operating system's generator (getrandom(2)): no pool in this process, so neither a
    /// fork nor a cloned machine repeats octets. Throws std::system_error where the system has none to give.
    static void random_octets(std::span<std::byte> out) {
#if defined(__linux__)
        while (!out.empty()) {
            const auto got = ::getrandom(out.data(), out.size(), 0);
            if (got > 0) {
                out = out.subspan(static_cast<std::size_t>(got));
            } else if (errno != EINTR) {
                throw std::system_error{errno, std::generic_category(), "getrandom"};
            }
        }
#else
        ::arc4random_buf(out.data(), out.size());
#endif
    }
};

/// What a lock needs of its clock parameter. The time points are always lease_clock's: a simulation supplies its
/// own now() and sleep_until() and the whole library runs in virtual time.
template <class C>
concept clock_source = requires(lease_clock::time_point wake, const std::stop_token& stop, std::span<std::byte> out) {
    { C::now() } -> std::same_as<lease_clock::time_point>;
    C::sleep_until(wake, stop);
    C::yield();
    C::random_octets(out);
};

static_assert(clock_source<lease_clock>);

} // namespace distlock
