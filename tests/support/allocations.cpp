// SPDX-License-Identifier: MIT
#include "support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace distlock::test {
namespace {

struct thread_state {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t until_failure = 0; ///< 0: never
};
thread_local constinit thread_state state;

[[maybe_unused]] bool must_fail(std::size_t size) noexcept {
    ++state.count;
    state.bytes += size;
    return state.until_failure > 0 && --state.until_failure == 0;
}

[[maybe_unused]] void* allocate(std::size_t size) {
    void* memory = must_fail(size) ? nullptr : std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}

[[maybe_unused]] void* allocate(std::size_t size, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    void* memory = must_fail(size) ? nullptr : std::aligned_alloc(unit, (size / unit + 1) * unit);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}

} // namespace

allocation_counter::allocation_counter() noexcept
    : count_before_{state.count}
    , bytes_before_{state.bytes} {}
std::uint64_t allocation_counter::count() const noexcept { return state.count - count_before_; }
std::uint64_t allocation_counter::bytes() const noexcept { return state.bytes - bytes_before_; }

failing_allocation::failing_allocation(std::uint64_t n) noexcept { state.until_failure = n; }
failing_allocation::~failing_allocation() { state.until_failure = 0; }
bool failing_allocation::has_failed() const noexcept { return state.until_failure == 0; }

} // namespace distlock::test

#if !(DISTLOCK_TEST_HAS_FEATURE(address_sanitizer) || DISTLOCK_TEST_HAS_FEATURE(thread_sanitizer))
// The other forms (arrays, nothrow) call these.
void* operator new(std::size_t size) { return distlock::test::allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return distlock::test::allocate(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
