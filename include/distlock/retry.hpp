// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>

/// How a waiter paces its attempts. The first attempt is always made at once; a policy decides what happens
/// between a busy answer and the next attempt. The caller's deadline shortens any pause.
namespace distlock::retry {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// What a policy is told.
struct attempt {
    /// How many attempts were answered "busy" so far: 1 at the first call.
    std::uint64_t number = 1;
    /// Time since the wait began.
    nanoseconds elapsed{0};
    /// The holder's remaining ttl where it is known. It is asked for, at the price of one command, after busy
    /// answers 1, 2, 4, 8, ... and counted down in between.
    std::optional<nanoseconds> holder_remaining;
    /// 64 random bits, fresh for each attempt: a policy with jitter needs no generator of its own.
    std::uint64_t random = 0;
};

/// What a policy answers: a duration (0: at once; negative: refused with errc::invalid_argument), or a yield.
struct pause {
    nanoseconds length{0};
    bool yields = false;

    constexpr pause() = default;
    template <class Rep, class Period>
    constexpr pause(std::chrono::duration<Rep, Period> d) // NOLINT(google-explicit-constructor): a duration is a pause
        : length{to_nanoseconds(d)} {}

    /// Give the processor away and try again.
    static constexpr pause yield() noexcept {
        pause made;
        made.yields = true;
        return made;
    }

private:
    // A pause longer than nanoseconds can count is as good as the longest one.
    template <class Rep, class Period>
    static constexpr nanoseconds to_nanoseconds(std::chrono::duration<Rep, Period> d) noexcept {
        using seconds = std::chrono::duration<long double>;
        constexpr seconds most = nanoseconds::max();
        const seconds wanted = d;
        if (!(wanted < most)) {
            return nanoseconds::max();
        }
        return wanted < -most ? nanoseconds::min() : std::chrono::duration_cast<nanoseconds>(d);
    }
};

/// False for a policy that says itself (by a member of this name) that it has a negative duration in it: a lock
/// refuses it when it is made. Of others the first negative pause is refused.
template <class Policy>
constexpr bool is_valid(const Policy& policy) noexcept {
    if constexpr (requires { policy.is_valid(); }) {
        return policy.is_valid();
    } else {
        return true;
    }
}

/// Try again at once, burning the processor and the server. For measuring.
struct spin {
    constexpr pause operator()(const attempt&) const noexcept { return {}; }
};

/// Try again after other threads had their turn.
struct yield {
    constexpr pause operator()(const attempt&) const noexcept { return pause::yield(); }
};

/// Try again after a fixed time. Waiters that started together stay together: prefer `backoff`.
struct sleep {
    nanoseconds length;
    constexpr pause operator()(const attempt&) const noexcept { return length; }
    constexpr bool is_valid() const noexcept { return length >= nanoseconds::zero(); }
};

/// Full jitter: a uniformly random pause below a bound that doubles from `base` up to `cap`, cut at the moment
/// when the holder's lease ends. (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015)
struct backoff {
    nanoseconds base = milliseconds{1};
    nanoseconds cap = milliseconds{256};

    constexpr bool is_valid() const noexcept { return base >= nanoseconds::zero() && cap >= nanoseconds::zero(); }
    constexpr pause operator()(const attempt& now) const noexcept {
        if (!is_valid()) {
            return std::min(base, cap);
        }
        auto bound = base;
        for (std::uint64_t n = 1; n < now.number && bound > nanoseconds::zero() && bound < cap; ++n) {
            bound = bound > cap / 2 ? cap : bound * 2;
        }
        bound = std::min(bound, cap);
        const auto jittered =
            nanoseconds{static_cast<nanoseconds::rep>(now.random % (static_cast<std::uint64_t>(bound.count()) + 1))};
        return now.holder_remaining ? std::min(jittered, std::max(*now.holder_remaining, nanoseconds{1})) : jittered;
    }
};

/// One policy for the first `after` of the wait, then another: `switch_after{600ms, spin{}, yield{}}`.
template <class First, class Then>
struct switch_after {
    nanoseconds after;
    First first;
    Then then;

    constexpr pause operator()(const attempt& now) {
        return now.elapsed < after ? pause{first(now)} : pause{then(now)};
    }
    constexpr bool is_valid() const noexcept {
        return after >= nanoseconds::zero() && retry::is_valid(first) && retry::is_valid(then);
    }
};
template <class Duration, class First, class Then>
switch_after(Duration, First, Then) -> switch_after<First, Then>;

} // namespace distlock::retry

namespace distlock {

/// A retry policy: any callable from `retry::attempt` to a pause (a duration will do), so a lambda is one.
template <class P>
concept retry_policy = std::move_constructible<P> && requires(P& policy, const retry::attempt& now) {
    { policy(now) } -> std::convertible_to<retry::pause>;
};

} // namespace distlock
