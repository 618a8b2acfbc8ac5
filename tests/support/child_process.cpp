// SPDX-License-Identifier: MIT
#include "support/child_process.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define DISTLOCK_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DISTLOCK_TEST_TSAN 1
#endif
#endif

#if defined(DISTLOCK_TEST_TSAN)
// Children start threads of their own, although other threads (proxies) ran at the fork.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace distlock::test {

message_channel::message_channel(unique_fd stream)
    : stream_{std::move(stream)} {}

void message_channel::send(std::string_view line) {
    auto left = std::string{line} + '\n';
    while (!left.empty()) {
        const auto count = ::send(stream_.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR) {
            throw std::system_error{errno, std::generic_category(), "message to the other process"};
        }
        left.erase(0, count < 0 ? 0 : static_cast<std::size_t>(count));
    }
}

std::optional<std::string> message_channel::receive(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (const auto end = buffer_.find('\n'); end != buffer_.npos) {
            auto line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return line;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd readable{stream_.get(), POLLIN, 0};
        const int ready = ::poll(&readable, 1, static_cast<int>(std::max(left, left.zero()).count()));
        if (ready == 0 || (ready < 0 && errno != EINTR)) {
            return std::nullopt;
        }
        if (ready > 0) {
            char bytes[4096];
            const auto count = ::recv(stream_.get(), bytes, sizeof bytes, 0);
            if (count == 0 || (count < 0 && errno != EINTR)) {
                return std::nullopt;
            }
            buffer_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
    }
}

child_process::pair child_process::make_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::system_error{errno, std::generic_category(), "socketpair"};
    }
    return {unique_fd{ends[0]}, unique_fd{ends[1]}};
}

child_process::child_process(const std::function<int(message_channel&)>& body)
    : child_process{make_pair(), body} {}

child_process::child_process(pair ends, const std::function<int(message_channel&)>& body)
    : process_{fork_to(ends, body)}
    , channel_{std::move(ends.parent)} {}

pid_t child_process::fork_to(pair& ends, const std::function<int(message_channel&)>& body) {
    const auto parent = ::getpid();
    const bool tie = ::gettid() == parent;
    std::fflush(nullptr); // or the child's copy of what is buffered would be written as well
    const auto pid = ::fork();
    if (pid < 0) {
        throw std::system_error{errno, std::generic_category(), "fork"};
    }
    if (pid > 0) {
        ends.child.reset();
        return pid;
    }
    if (tie) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {
            ::_exit(255);
        }
    }
    ends.parent.reset();
    int status = 255;
    try {
        message_channel channel{std::move(ends.child)};
        status = body(channel);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child process: %s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(status);
}

std::optional<int> child_process::wait(std::chrono::milliseconds limit) {
    const auto status = process_.wait(limit);
    return status && WIFEXITED(*status) ? std::optional{WEXITSTATUS(*status)} : std::nullopt;
}

} // namespace distlock::test
