// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

namespace distlock::detail {

/// How much of a ttl is not relied on: clocks that differ in rate by up to 1 %, and 2 ms for the granularity of
/// the server's expiry. (The Redlock page's allowance, https://redis.io/docs/latest/develop/use/patterns/distributed-locks/)
constexpr std::chrono::milliseconds::rep drift_percent = 1;
constexpr lease_clock::duration drift_allowance(std::chrono::milliseconds ttl) noexcept {
    return lease_clock::duration{ttl} * drift_percent / 100 + std::chrono::milliseconds{2};
}

/// When a lease of `ttl`, asked for at `sent`, is over for its owner.
constexpr lease_clock::time_point validity(lease_clock::time_point sent, std::chrono::milliseconds ttl) noexcept {
    return sent + lease_clock::duration{ttl} - drift_allowance(ttl);
}

/// The one computation of validity and loss: what an owner knows of its lease, from its own clock and from
/// answers only. Never does I/O.
class hold {
public:
    using time_point = lease_clock::time_point;
    using milliseconds = std::chrono::milliseconds;

    /// A grant for `ttl` that was asked for at `sent` and came at `now`.
    void grant(time_point sent, time_point now, milliseconds ttl) noexcept {
        active_ = true;
        granted_at_ = now;
        valid_until_ = validity(sent, ttl);
        shortest_pending_ = milliseconds::max();
        longest_ttl_ = ttl;
        extension_failed_ = false;
        loss_ = loss_reason::none;
        stop_ = std::stop_source{std::nostopstate};
    }

    /// An extension to `ttl` is about to be sent, at `sent`: until its fate is known nothing beyond it is promised.
    /// Returns the validity until then, for extension_failed().
    time_point begin_extension(time_point sent, milliseconds ttl) noexcept {
        longest_ttl_ = std::max(longest_ttl_, ttl);
        return std::exchange(valid_until_, std::min(valid_until_, validity(sent, ttl)));
    }

    /// A confirmed extension to `ttl`, asked for at `sent`.
    void extend(time_point sent, milliseconds ttl) noexcept {
        valid_until_ = validity(sent, std::min(ttl, shortest_pending_));
        extension_failed_ = false;
    }

    /// An extension to `ttl`, asked for at `sent`, may have been applied, or may be at any later time: from now on
    /// no confirmation can promise more than `ttl`.
    void extension_unknown(time_point sent, milliseconds ttl) noexcept {
        shortest_pending_ = std::min(shortest_pending_, ttl);
        valid_until_ = std::min(valid_until_, validity(sent, ttl));
        extension_failed_ = true;
    }

    /// The extension was certainly not applied: all is as it was at begin_extension().
    void extension_failed(time_point valid_until, bool unreachable) noexcept {
        valid_until_ = valid_until;
        extension_failed_ = unreachable;
    }

    /// The hold is over by its owner's will.
    void end() noexcept { active_ = false; }

    /// The hold is lost. True the first time.
    bool lose(loss_reason why) {
        if (loss_ != loss_reason::none) {
            return false;
        }
        loss_ = why;
        stop_.request_stop();
        return true;
    }

    /// True when the local deadline has passed unnoticed: the owner has to be told, by lose(overdue_reason()).
    bool overdue(time_point now) const noexcept { return active_ && loss_ == loss_reason::none && now >= valid_until_; }
    loss_reason overdue_reason() const noexcept {
        return extension_failed_ ? loss_reason::unreachable : loss_reason::expired;
    }

    /// True while the lease was granted, not given back, not lost and not over.
    bool valid(time_point now) const noexcept { return active_ && loss_ == loss_reason::none && now < valid_until_; }
    /// True from the grant until end(), also when the lease is lost: there may be something to release.
    bool active() const noexcept { return active_; }
    time_point granted_at() const noexcept { return granted_at_; }
    time_point valid_until() const noexcept { return valid_until_; }
    /// The longest ttl that the server may have been told in this hold: so long its key can stay.
    milliseconds longest_ttl() const noexcept { return longest_ttl_; }
    loss_reason loss() const noexcept { return loss_; }

    /// A token that is stopped when this hold is lost. Allocates at the first call in a hold.
    std::stop_token stop_token() {
        if (!stop_.stop_possible()) {
            stop_ = std::stop_source{};
            if (loss_ != loss_reason::none) {
                stop_.request_stop();
            }
        }
        return stop_.get_token();
    }

private:
    bool active_ = false;
    bool extension_failed_ = false;
    loss_reason loss_ = loss_reason::none;
    time_point granted_at_{};
    time_point valid_until_{};
    milliseconds shortest_pending_ = milliseconds::max();
    milliseconds longest_ttl_{0};
    std::stop_source stop_{std::nostopstate};
};

} // namespace distlock::detail
