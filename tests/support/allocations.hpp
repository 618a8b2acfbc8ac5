// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/// Every program that links the test support has its operator new replaced: it counts, and it can fail. Except
/// under clang's sanitizers, which insist on their own: tests that need ours skip themselves there.
namespace distlock::test {

#if defined(__has_feature)
#define DISTLOCK_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define DISTLOCK_TEST_HAS_FEATURE(name) 0
#endif
inline constexpr bool allocations_are_ours =
    !(DISTLOCK_TEST_HAS_FEATURE(address_sanitizer) || DISTLOCK_TEST_HAS_FEATURE(thread_sanitizer));

/// Counts what this thread allocates with operator new from its construction on. (C code that calls malloc
/// does not count.)
class allocation_counter {
public:
    allocation_counter() noexcept;
    std::uint64_t count() const noexcept;
    std::uint64_t bytes() const noexcept;

private:
    std::uint64_t count_before_;
    std::uint64_t bytes_before_;
};

/// As long as it lives, the n-th allocation of this thread from its construction on (counted from 1) throws
/// std::bad_alloc; those before and after it do not. One at a time for a thread.
class failing_allocation {
public:
    explicit failing_allocation(std::uint64_t n) noexcept;
    failing_allocation(const failing_allocation&) = delete;
    failing_allocation& operator=(const failing_allocation&) = delete;
    ~failing_allocation();

    /// False: there were fewer allocations than n.
    bool has_failed() const noexcept;
};

} // namespace distlock::test
