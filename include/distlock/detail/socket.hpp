// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/endpoint.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distlock::detail {

/// A stream socket of which every call is back by a deadline: signals, drips and stalls included. Never raises
/// SIGPIPE. (hiredis' own blocking calls give none of this: their time-out restarts at each read and each signal.)
class socket {
public:
    using time_point = lease_clock::time_point;
    using duration = lease_clock::duration;

    socket() noexcept = default;
    /// Uses a descriptor that somebody else closes.
    explicit socket(int borrowed) noexcept
        : fd_{borrowed}
        , owned_{false} {}
    socket(socket&& other) noexcept
        : fd_{std::exchange(other.fd_, -1)}
        , owned_{other.owned_}
        , patience_{other.patience_} {}
    socket& operator=(socket&& other) noexcept {
        close();
        fd_ = std::exchange(other.fd_, -1);
        owned_ = other.owned_;
        patience_ = other.patience_;
        return *this;
    }
    ~socket() { close(); }

    /// A connected socket, or a closed one and `why` it is. Every address of the host is tried. Looking up a host
    /// name is the system's affair and not bounded by the deadline; numbers need no look-up.
    static socket connect(const endpoint& to, time_point deadline, std::string& why) {
        return to.path.empty() ? connect_tcp(to, deadline, why) : connect_unix(to.path, deadline, why);
    }

    bool is_open() const noexcept { return fd_ >= 0; }

    void close() noexcept {
        if (fd_ >= 0 && owned_) {
            ::close(fd_);
        }
        fd_ = -1;
    }

    /// Ends the stream for everybody who has the descriptor.
    void shut_down() noexcept {
        if (fd_ >= 0) {
            ::shutdown(fd_, SHUT_RDWR);
        }
    }

    /// From now on a receive() whose deadline is about this far off costs one system call instead of two.
    void expect_patience(duration usual) noexcept {
        const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(usual);
        timeval limit{};
        limit.tv_sec = static_cast<decltype(limit.tv_sec)>(whole.count() / 1'000'000);
        limit.tv_usec = static_cast<decltype(limit.tv_usec)>(whole.count() % 1'000'000);
        if (whole.count() > 0 && ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) {
            patience_ = usual;
        }
    }

    /// Is anything there to read, though nothing was asked? Bytes are as bad as the end of the stream.
    bool is_quiet() const noexcept {
        char peeked{};
        const auto got = ::recv(fd_, &peeked, 1, MSG_PEEK | MSG_DONTWAIT);
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    }

    /// Sends all of `octets`; returns how many went out, fewer with `error` set (ETIMEDOUT at the deadline).
    std::size_t send(std::string_view octets, time_point deadline, int& error) noexcept {
        std::size_t sent = 0;
        error = 0;
        while (sent < octets.size()) {
            const auto n = ::send(fd_, octets.data() + sent, octets.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n >= 0) {
                sent += static_cast<std::size_t>(n);
            } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
                if (!wait_for(POLLOUT, deadline, error)) {
                    break;
                }
            } else {
                error = errno;
                break;
            }
        }
        return sent;
    }

    /// Receives some octets; 0 with `error` 0 at the end of the stream, 0 with `error` set (ETIMEDOUT at the
    /// deadline) otherwise.
    std::size_t receive(std::span<char> into, time_point deadline, int& error) noexcept {
        // The kernel ends a recv after SO_RCVTIMEO and never restarts it after a signal (signal(7)). So one call
        // will do when that time-out is about what is left; whatever else happens, poll has the exact rest.
        constexpr duration slack = std::chrono::milliseconds{5};
        bool blocking = patience_ > duration::zero() && deadline - lease_clock::now() + slack >= patience_;
        error = 0;
        for (;;) {
            if (!blocking && !wait_for(POLLIN, deadline, error)) {
                return 0;
            }
            const auto n = ::recv(fd_, into.data(), into.size(), blocking ? 0 : MSG_DONTWAIT);
            if (n >= 0) {
                return static_cast<std::size_t>(n);
            }
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
                error = errno;
                return 0;
            }
            blocking = false;
        }
    }

private:
    static socket connect_unix(const std::string& path, time_point deadline, std::string& why) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) {
            why = "the path is too long for a Unix socket";
            return {};
        }
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline, why);
    }

    static socket connect_tcp(const endpoint& to, time_point deadline, std::string& why) {
        addrinfo hints{};
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        if (const int code = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
            code != 0) {
            why = ::gai_strerror(code);
            return {};
        }
        const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses{found, &::freeaddrinfo};
        int left = 0;
        for (const auto* a = addresses.get(); a != nullptr; a = a->ai_next) {
            ++left;
        }
        for (const auto* a = addresses.get(); a != nullptr; a = a->ai_next) {
            // A black hole among the addresses may not eat the time of the others.
            const auto now = lease_clock::now();
            const auto share = now + std::max(deadline - now, duration::zero()) / left--;
            auto connected = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, share, why);
            if (connected.is_open()) {
                const int on = 1;
                ::setsockopt(connected.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                return connected;
            }
        }
        return {};
    }

    static socket connect_to(int family, const sockaddr* address, socklen_t size, time_point deadline,
                             std::string& why) {
        socket made;
        made.fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int error = made.fd_ < 0 ? errno : 0;
        // A non-blocking connect that a signal interrupts goes on by itself: poll tells when it is done (connect(2)).
        // On a Unix socket EAGAIN says that the server's backlog is full: that takes an attempt of its own.
        while (error == 0 && ::connect(made.fd_, address, size) != 0) {
            error = std::exchange(errno, 0);
            if (error == EINPROGRESS || error == EINTR) {
                error = 0;
                if (made.wait_for(POLLOUT, deadline, error)) {
                    socklen_t length = sizeof error;
                    ::getsockopt(made.fd_, SOL_SOCKET, SO_ERROR, &error, &length);
                }
                break;
            }
            if (error == EAGAIN && lease_clock::now() < deadline) {
                lease_clock::sleep_until(std::min(deadline, lease_clock::now() + std::chrono::milliseconds{1}));
                error = 0;
            }
        }
        if (error == 0) {
            // Blocking again, for the receive with one system call; send() never blocks all the same.
            ::fcntl(made.fd_, F_SETFL, ::fcntl(made.fd_, F_GETFL) & ~O_NONBLOCK);
        } else {
            why = std::generic_category().message(error);
            made.close();
        }
        return made;
    }

    bool wait_for(short events, time_point deadline, int& error) noexcept {
        for (;;) {
            const auto left = std::max(deadline - lease_clock::now(), duration::zero());
            const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left).count();
            pollfd entry{fd_, events, 0};
            const int ready = ::poll(&entry, 1, static_cast<int>(std::min<decltype(whole)>(whole, 1'000'000)));
            if (ready > 0) {
                return true;
            }
            if (ready < 0 && errno != EINTR) {
                error = errno;
                return false;
            }
            if (lease_clock::now() >= deadline) {
                error = ETIMEDOUT;
                return false;
            }
        }
    }

    int fd_ = -1;
    bool owned_ = true;
    duration patience_{0};
};

} // namespace distlock::detail
