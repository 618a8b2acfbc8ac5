// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/outcome.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace distlock {

/// Told what happens to a lock: derive, override what you count, and put the address into lock_options::observe.
///
/// Called on the thread that uses the lock, never under an internal lock. What it throws is swallowed. It must
/// outlive the locks that name it.
class observer {
public:
    using duration = std::chrono::nanoseconds;

    observer() = default;
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;
    virtual ~observer() = default;

    /// Granted, after `waited`, by the attempt with this number.
    virtual void acquired(std::string_view /*key*/, duration /*waited*/, std::uint64_t /*attempts*/) {}
    /// Given up because another owner held it all along.
    virtual void contended(std::string_view /*key*/, duration /*waited*/, std::uint64_t /*attempts*/) {}
    /// An extend was confirmed; `remaining` is what is left now.
    virtual void renewed(std::string_view /*key*/, duration /*remaining*/) {}
    /// Noticed that the lease is lost. Once a hold.
    virtual void lost(std::string_view /*key*/, loss_reason /*why*/) {}
    /// A release is settled (or its outcome is unknown for now), `held` after the grant.
    virtual void released(std::string_view /*key*/, release_outcome /*outcome*/, duration /*held*/) {}
};

} // namespace distlock
