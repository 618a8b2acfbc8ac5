// SPDX-License-Identifier: MIT
#undef _FORTIFY_SOURCE // its longjmp refuses to leave the stack, which is the point here

#include "fiber.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define DISTLOCK_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define DISTLOCK_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DISTLOCK_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define DISTLOCK_TSAN 1
#endif
#endif

#if defined(DISTLOCK_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(DISTLOCK_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace distlock::simulation {

namespace {
constexpr std::size_t stack_size = std::size_t{128} * 1024;
}

fiber::fiber(std::function<void()> body)
    : body_{std::move(body)}
    , stack_{new std::byte[stack_size]} {
    ::getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_.get();
    inside_.uc_stack.ss_size = stack_size;
    inside_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&inside_, reinterpret_cast<void (*)()>(&fiber::entry), 2, static_cast<unsigned int>(self >> 32U),
                  static_cast<unsigned int>(self));
#if defined(DISTLOCK_TSAN)
    inside_thread_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
#if defined(DISTLOCK_TSAN)
    __tsan_destroy_fiber(inside_thread_);
#endif
}

void fiber::entry(unsigned int high, unsigned int low) {
    reinterpret_cast<fiber*>(std::uintptr_t{high} << 32U | low)->run();
}

void fiber::run() {
#if defined(DISTLOCK_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_size_);
#endif
    body_();
    done_ = true;
    suspend();
    std::terminate(); // nobody resumes what is done
}

void fiber::swap_exceptions() noexcept {
    auto* const current = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    std::swap(current->caught, exceptions_.caught);
    std::swap(current->uncaught, exceptions_.uncaught);
}

#if defined(DISTLOCK_ASAN) || defined(DISTLOCK_TSAN)

void fiber::resume() {
    swap_exceptions();
#if defined(DISTLOCK_ASAN)
    __sanitizer_start_switch_fiber(&outside_fake_stack_, stack_.get(), stack_size);
#endif
#if defined(DISTLOCK_TSAN)
    outside_thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inside_thread_, 0);
#endif
    ::swapcontext(&outside_, &inside_);
#if defined(DISTLOCK_ASAN)
    __sanitizer_finish_switch_fiber(outside_fake_stack_, nullptr, nullptr);
#endif
    swap_exceptions();
}

void fiber::suspend() {
#if defined(DISTLOCK_ASAN)
    __sanitizer_start_switch_fiber(done_ ? nullptr : &inside_fake_stack_, outside_stack_, outside_size_);
#endif
#if defined(DISTLOCK_TSAN)
    __tsan_switch_to_fiber(outside_thread_, 0);
#endif
    ::swapcontext(&inside_, &outside_);
#if defined(DISTLOCK_ASAN)
    __sanitizer_finish_switch_fiber(inside_fake_stack_, &outside_stack_, &outside_size_);
#endif
}

#else

void fiber::resume() {
    swap_exceptions();
    if (_setjmp(outside_jump_) == 0) {
        if (std::exchange(started_, true)) {
            _longjmp(inside_jump_, 1);
        }
        ::setcontext(&inside_);
    }
    swap_exceptions();
}

void fiber::suspend() {
    if (_setjmp(inside_jump_) == 0) {
        _longjmp(outside_jump_, 1);
    }
}

#endif

} // namespace distlock::simulation
