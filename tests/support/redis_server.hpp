// SPDX-License-Identifier: MIT
#pragma once

#include "support/admin.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace distlock::test {

struct redis_server_options {
    /// Added to the command line; they beat what the fixture says itself.
    std::vector<std::string> args{};
    /// The store's wall clock can be moved with set_clock_offset().
    bool movable_clock = false;
    /// The program and its first arguments, separated by spaces; empty: $DISTLOCK_REDIS_SERVER, else
    /// redis-server.
    std::string program{};
};

/// A real redis-server of the test's own: in a fresh directory, on a Unix socket and on a free port of
/// 127.0.0.1, without persistence, up when the constructor is back. It ends with this object.
///
/// The constructor throws std::runtime_error, with the server's last words, where there is no server to be
/// had.
class redis_server {
public:
    explicit redis_server(redis_server_options options = {});
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;
    ~redis_server();

    pid_t pid() const noexcept { return process_.pid(); }
    bool is_running() { return process_.is_running(); }
    int port() const noexcept { return port_; }
    std::filesystem::path socket_path() const { return dir_.path() / "redis.sock"; }
    std::filesystem::path dir() const { return dir_.path(); }
    /// For hiredis_connection.
    std::string url_tcp() const { return "redis://127.0.0.1:" + std::to_string(port_); }
    std::string url_unix() const { return "unix://" + socket_path().string(); }
    admin connect_admin() const { return admin{socket_path()}; }
    /// What the server wrote to its log.
    std::string log() const;

    /// Ends it in good order; without persistence the data are gone.
    void stop();
    /// Ends it as a crash does.
    void kill9();
    /// Starts it again, after stop() or kill9(), in the same places, with what its files have kept.
    void start();
    enum class data { keep, lose };
    /// Ends it and starts it again at once: with all its data, or as a crash without persistence does.
    void restart(data what);

    /// The process stands still: connections are open (or opened by the kernel), and nothing answers.
    void suspend();
    void resume();

    /// The wall clock of the server is this much ahead (or behind) from now on; needs movable_clock.
    void set_clock_offset(std::chrono::milliseconds offset);

    /// False: the server's program cannot be found, so a test may skip itself.
    static bool is_available();

private:
    class clock_offset;

    void launch();
    /// False: the port was taken by somebody else.
    bool comes_up();

    temp_dir dir_;
    redis_server_options options_;
    std::unique_ptr<clock_offset> clock_;
    int port_ = 0;
    process process_;
};

} // namespace distlock::test
