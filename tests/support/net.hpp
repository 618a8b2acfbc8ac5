// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

/// Sockets for test servers: Unix and 127.0.0.1, non-blocking, close-on-exec. Failures to set up are
/// std::system_error.
namespace distlock::test {

class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) noexcept
        : fd_{fd} {}
    unique_fd(unique_fd&& other) noexcept
        : fd_{std::exchange(other.fd_, -1)} {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void reset() noexcept;

private:
    int fd_ = -1;
};

/// A port of 127.0.0.1 that nobody listens on, at the moment.
int free_port();

unique_fd listen_unix(const std::filesystem::path& path);
/// Port 0: any free one.
unique_fd listen_tcp(int port);
int port_of(const unique_fd& listener);
/// The next client that waits; closed when there is none.
unique_fd accept_from(const unique_fd& listener);
/// Closed when nobody listens there.
unique_fd connect_unix(const std::filesystem::path& path);

/// Appends what has come, up to a limit that keeps one peer from starving the others. False: the peer has
/// hung up.
bool receive_into(std::string& buffer, const unique_fd& from);

/// Octets that wait for their time, and for the peer to take them, in order.
class outbox {
public:
    using clock = std::chrono::steady_clock;
    /// What happens once the octets are out.
    enum class then { nothing, cut, silence };
    static constexpr clock::time_point held() noexcept { return clock::time_point::max(); }

    void push(std::string bytes, clock::time_point not_before, then after = then::nothing, bool endless = false);
    /// One octet at each `interval`, the first at once.
    void push_drip(const std::string& bytes, std::chrono::milliseconds interval, then after = then::nothing);
    /// Gives what was held its time.
    void release_held(clock::time_point not_before);
    void clear() { queue_.clear(); }

    bool empty() const noexcept { return queue_.empty(); }
    bool is_due(clock::time_point now) const noexcept { return !queue_.empty() && queue_.front().not_before <= now; }
    /// When something is due; held() when nothing is.
    clock::time_point next_due() const noexcept { return queue_.empty() ? held() : queue_.front().not_before; }
    /// Sends what is due and fits. A peer that has gone is `cut`.
    then flush(const unique_fd& to, clock::time_point now);

private:
    struct chunk {
        std::string bytes;
        clock::time_point not_before;
        then after;
        bool endless;
        std::size_t gone = 0;
    };
    std::deque<chunk> queue_;
};

} // namespace distlock::test
