// SPDX-License-Identifier: MIT
#pragma once

namespace distlock::bench {

void register_uncontended();
void register_contended();

} // namespace distlock::bench

/// The counters that become columns of the table. A benchmark sets those that mean something for it.
namespace distlock::bench::column {

inline constexpr auto per_second = "per_second";
inline constexpr auto time_to_raw = "time_to_raw"; ///< less is better
inline constexpr auto handoffs = "handoffs_per_second";
inline constexpr auto handoffs_to_backoff = "handoffs_to_backoff"; ///< more is better
inline constexpr auto handoff_p50 = "handoff_p50_ms";
inline constexpr auto handoff_p99 = "handoff_p99_ms";
inline constexpr auto longest_wait = "longest_wait_ms";
inline constexpr auto same_thread = "same_thread_percent";
inline constexpr auto commands = "commands_per_cycle";

} // namespace distlock::bench::column
