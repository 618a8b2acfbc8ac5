// SPDX-License-Identifier: MIT
#pragma once

#include "interrupts.hpp"
#include "options.hpp"
#include "settings.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace seckill {

/// What a sale came to.
struct sale_result {
    using duration = std::chrono::nanoseconds;

    /// Of every request, failed ones included, from asking for the lock to giving it back; sorted.
    std::vector<duration> times;
    duration total{0};
    /// Of the requests that got the lock.
    duration longest_wait{0};
    std::uint64_t granted = 0;
    std::uint64_t sold = 0;
    std::int64_t left = 0;
    /// Commands that the lock sent, for failed requests too.
    std::uint64_t lock_commands = 0;

    /// How often a buyer found another one inside.
    std::uint64_t overlaps = 0;
    /// How often a lease was over before its buyer had finished.
    std::uint64_t leases_lost = 0;
    /// Requests that broke off inside, so that nobody knows what they bought.
    std::uint64_t broken = 0;
    /// The first error that a buyer met, other than a deadline.
    std::string trouble;

    std::uint64_t failed() const { return times.size() - granted; }
    bool proven(std::uint64_t stock) const {
        return overlaps == 0 && broken == 0 && left >= 0 && sold + static_cast<std::uint64_t>(left) == stock;
    }
};

/// How far a running sale is.
struct sale_progress {
    std::uint64_t finished = 0;
    std::uint64_t granted = 0;
    std::chrono::nanoseconds elapsed{0};
};

/// Holds one sale. Returns early when a signal comes. Throws when it cannot be held.
sale_result hold_sale(const options& chosen, const setting& how, const std::string& url, interrupts& signals,
                      const std::function<void(const sale_progress&)>& show);

} // namespace seckill
