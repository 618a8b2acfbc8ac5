// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace distlock::detail {

/// Counts the forks between this process and the first one: a lease or a socket that remembers the number it was
/// born under knows for free (getpid is a system call) whether it belongs to this process. The library's only
/// mutable global.
inline std::uint64_t fork_generation() noexcept {
    static std::atomic<std::uint64_t> generation{0};
    [[maybe_unused]] static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    return generation.load(std::memory_order_relaxed);
}

} // namespace distlock::detail
