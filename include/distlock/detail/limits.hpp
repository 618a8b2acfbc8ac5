// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/lock_options.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

/// What counts as bad input. Each check returns the complaint, or nothing when all is well.
namespace distlock::detail {

inline constexpr std::size_t longest_key = 4096;
inline constexpr std::size_t longest_owner = 256;
inline constexpr std::chrono::milliseconds shortest_ttl{1};
inline constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours{24 * 365};

/// Side keys of locks end in ":distlock." and a word, so no lock may be called that.
inline constexpr std::string_view side_key_mark = "distlock.";

constexpr std::string_view complaint_about_key(std::string_view key) noexcept {
    if (key.empty()) {
        return "the key is empty";
    }
    if (key.size() > longest_key) {
        return "the key is longer than 4096 octets";
    }
    const auto colon = key.rfind(':');
    if (colon != key.npos && key.substr(colon + 1).starts_with(side_key_mark)) {
        return "a key ending in \":distlock.\" and a word is reserved for side keys of locks";
    }
    return {};
}

constexpr std::string_view complaint_about_ttl(std::chrono::milliseconds ttl) noexcept {
    return ttl < shortest_ttl || ttl > longest_ttl ? "the ttl is not between 1 ms and 365 days" : std::string_view{};
}

inline std::string_view complaint_about(const lock_options& options) noexcept {
    if (const auto complaint = complaint_about_ttl(options.ttl); !complaint.empty()) {
        return complaint;
    }
    if (options.owner.size() > longest_owner) {
        return "the owner label is longer than 256 octets";
    }
    if (options.give_up_after < std::chrono::milliseconds::zero() || options.give_up_after > longest_ttl) {
        return "give_up_after is not between 0 and 365 days";
    }
    return {};
}

/// `start + wait`, or nothing where the clock cannot count that far (so that a duration's max() is an error, not
/// silently "for ever" and not, by overflow, the past). Negative waits are as good as none.
template <class Rep, class Period>
std::optional<lease_clock::time_point> deadline_after(lease_clock::time_point start,
                                                      std::chrono::duration<Rep, Period> wait) noexcept {
    using exact = std::chrono::duration<long double, lease_clock::period>;
    const exact left = lease_clock::time_point::max() - start;
    const exact wanted = wait;
    if (!(wanted < left)) { // also refuses NaN
        return std::nullopt;
    }
    return wanted <= exact::zero() ? start : start + std::chrono::ceil<lease_clock::duration>(wait);
}

} // namespace distlock::detail
