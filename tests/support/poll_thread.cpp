// SPDX-License-Identifier: MIT
#include "support/poll_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace distlock::test {

poll_thread::poll_thread(prepare what_to_wait_for, step what_to_do)
    : prepare_{std::move(what_to_wait_for)}
    , step_{std::move(what_to_do)}
    , wakeup_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (!wakeup_) {
        throw std::system_error{errno, std::generic_category(), "eventfd"};
    }
    thread_ = std::thread{[this] {
        sigset_t all; // signals are for the threads under test
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        loop();
    }};
}

poll_thread::~poll_thread() {
    {
        const std::lock_guard guard{mutex_};
        stop_ = true;
    }
    poke();
    thread_.join();
}

void poll_thread::poke() const {
    const std::uint64_t one = 1;
    // Cannot fail but by a full counter, and then the thread is about to wake anyway.
    [[maybe_unused]] const auto count = ::write(wakeup_.get(), &one, sizeof one);
}

void poll_thread::run(std::function<void()> task) {
    const std::lock_guard alone{one_caller_};
    std::unique_lock guard{mutex_};
    task_ = std::move(task);
    poke();
    done_.wait(guard, [this] { return !task_; });
}

void poll_thread::loop() {
    for (;;) {
        {
            const std::lock_guard guard{mutex_};
            if (stop_) {
                return;
            }
            if (task_) {
                task_();
                task_ = nullptr;
                done_.notify_all();
            }
        }
        std::vector<pollfd> watched{{wakeup_.get(), POLLIN, 0}};
        auto wake = clock::time_point::max();
        prepare_(watched, wake);
        int wait = -1;
        if (wake != clock::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - clock::now()).count();
            wait = static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
        }
        ::poll(watched.data(), watched.size(), wait);
        std::uint64_t pokes = 0;
        [[maybe_unused]] const auto count = ::read(wakeup_.get(), &pokes, sizeof pokes);
        step_();
    }
}

doors::doors(std::filesystem::path socket_path)
    : path_{std::move(socket_path)} {
    open();
}

void doors::open() {
    if (!tcp_) {
        unix_ = listen_unix(path_);
        tcp_ = listen_tcp(port_);
        port_ = port_of(tcp_);
    }
}

void doors::close() {
    unix_.reset();
    tcp_.reset();
}

void doors::watch(std::vector<pollfd>& watched) const {
    if (tcp_) {
        watched.push_back({unix_.get(), POLLIN, 0});
        watched.push_back({tcp_.get(), POLLIN, 0});
    }
}

unique_fd doors::next() {
    auto client = accept_from(unix_);
    return client ? std::move(client) : accept_from(tcp_);
}

} // namespace distlock::test
