// SPDX-License-Identifier: MIT
#include "support/net.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace distlock::test {
namespace {

int checked(int result, const char* what) {
    if (result < 0) {
        throw std::system_error{errno, std::generic_category(), what};
    }
    return result;
}

unique_fd new_socket(int family) {
    return unique_fd{checked(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket")};
}

sockaddr_in loopback(int port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(static_cast<std::uint16_t>(port));
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return out;
}

sockaddr_un unix_address(const std::filesystem::path& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof out.sun_path) {
        throw std::invalid_argument{"too long for a Unix socket: " + path.string()};
    }
    std::memcpy(out.sun_path, path.c_str(), path.native().size() + 1);
    return out;
}

template <class Address>
const sockaddr* generic(const Address& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

} // namespace

void unique_fd::reset() noexcept {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

int free_port() { return port_of(listen_tcp(0)); }

unique_fd listen_unix(const std::filesystem::path& path) {
    auto made = new_socket(AF_UNIX);
    std::filesystem::remove(path);
    const auto address = unix_address(path);
    checked(::bind(made.get(), generic(address), sizeof address), "bind");
    checked(::listen(made.get(), SOMAXCONN), "listen");
    return made;
}

unique_fd listen_tcp(int port) {
    auto made = new_socket(AF_INET);
    const int yes = 1;
    checked(::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "SO_REUSEADDR");
    const auto address = loopback(port);
    checked(::bind(made.get(), generic(address), sizeof address), "bind");
    checked(::listen(made.get(), SOMAXCONN), "listen");
    return made;
}

int port_of(const unique_fd& listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    checked(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    return ntohs(address.sin_port);
}

unique_fd accept_from(const unique_fd& listener) {
    if (!listener) {
        return {};
    }
    unique_fd client{::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (client) {
        const int yes = 1; // fails on a Unix socket, where it is not needed
        ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    return client;
}

unique_fd connect_unix(const std::filesystem::path& path) {
    auto made = new_socket(AF_UNIX);
    const auto address = unix_address(path);
    if (::connect(made.get(), generic(address), sizeof address) != 0) {
        return {};
    }
    return made;
}

bool receive_into(std::string& buffer, const unique_fd& from) {
    constexpr int rounds = 16;
    for (int i = 0; i < rounds; ++i) {
        std::array<char, 16384> bytes;
        const auto count = ::recv(from.get(), bytes.data(), bytes.size(), 0);
        if (count <= 0) {
            return count < 0 && (errno == EAGAIN || errno == EINTR);
        }
        buffer.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return true;
}

void outbox::push(std::string bytes, clock::time_point not_before, then after, bool endless) {
    queue_.push_back({std::move(bytes), not_before, after, endless});
}

void outbox::push_drip(const std::string& bytes, std::chrono::milliseconds interval, then after) {
    auto due = std::max(clock::now(), queue_.empty() ? clock::time_point{} : queue_.back().not_before);
    for (std::size_t i = 0; i < bytes.size(); ++i, due += interval) {
        push(bytes.substr(i, 1), due, i + 1 == bytes.size() ? after : then::nothing);
    }
}

void outbox::release_held(clock::time_point not_before) {
    for (auto& each : queue_) {
        if (each.not_before == held()) {
            each.not_before = not_before;
        }
    }
}

outbox::then outbox::flush(const unique_fd& to, clock::time_point now) {
    while (is_due(now)) {
        auto& head = queue_.front();
        if (head.gone < head.bytes.size()) {
            const auto count = ::send(to.get(), head.bytes.data() + head.gone, head.bytes.size() - head.gone,
                                      MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0) {
                return errno == EAGAIN || errno == EINTR ? then::nothing : then::cut;
            }
            head.gone += static_cast<std::size_t>(count);
            continue;
        }
        if (head.endless) {
            head.gone = 0;
            return then::nothing; // the others' turn
        }
        const auto after = head.after;
        queue_.pop_front();
        if (after != then::nothing) {
            return after;
        }
    }
    return then::nothing;
}

} // namespace distlock::test
