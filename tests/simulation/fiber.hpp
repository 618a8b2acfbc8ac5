// SPDX-License-Identifier: MIT
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace distlock::simulation {

/// A thread of execution of its own stack that runs only when it is told to: blocking code, one step at a
/// time.
///
/// Plain builds switch by setjmp and longjmp (no system call: the simulation's speed hangs on it); sanitizers
/// are told of each switch and want swapcontext.
class fiber {
public:
    /// Runs `body` at the first resume(). It must not let an exception out.
    explicit fiber(std::function<void()> body);
    /// Only when done(): what lives on its stack would never be destroyed.
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// From the scheduler: runs it until it suspends or ends.
    void resume();
    /// From within: back to the scheduler.
    void suspend();
    bool done() const noexcept { return done_; }

private:
    // What the C++ runtime keeps for each thread about exceptions in flight; each fiber has its own.
    struct exception_state {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };

    static void entry(unsigned int high, unsigned int low);
    void run();
    void swap_exceptions() noexcept;

    std::function<void()> body_;
    std::unique_ptr<std::byte[]> stack_;
    // (Each way of switching leaves the others' members unused.)
    [[maybe_unused]] bool started_ = false;
    bool done_ = false;
    exception_state exceptions_;
    ucontext_t outside_{};
    ucontext_t inside_{};
    [[maybe_unused]] std::jmp_buf outside_jump_{};
    [[maybe_unused]] std::jmp_buf inside_jump_{};
    // Sanitizers' books.
    [[maybe_unused]] void* outside_fake_stack_ = nullptr;
    [[maybe_unused]] void* inside_fake_stack_ = nullptr;
    [[maybe_unused]] const void* outside_stack_ = nullptr;
    [[maybe_unused]] std::size_t outside_size_ = 0;
    [[maybe_unused]] void* outside_thread_ = nullptr;
    [[maybe_unused]] void* inside_thread_ = nullptr;
};

} // namespace distlock::simulation
