// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/reply.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace distlock::test {

/// The tests' own view of a server: plain blocking hiredis, nothing of the library under test but its reply.
/// Connects at the first command and again after an error. Signals do not reach it. What the transport
/// cannot do is a std::runtime_error; error replies of the server are replies to command() and a
/// std::runtime_error elsewhere.
class admin {
public:
    explicit admin(std::filesystem::path unix_socket, std::chrono::milliseconds timeout = std::chrono::seconds{10});
    explicit admin(int tcp_port, std::chrono::milliseconds timeout = std::chrono::seconds{10});
    admin(admin&&) noexcept;
    admin& operator=(admin&&) noexcept;
    ~admin();

    reply command(const std::vector<std::string>& argv);

    std::optional<std::string> get(const std::string& key);
    /// With a ttl, or for ever.
    void set(const std::string& key, const std::string& value, std::chrono::milliseconds ttl = {});
    bool del(const std::string& key);
    bool exists(const std::string& key);
    /// In milliseconds; -1: has no ttl; -2: does not exist.
    std::int64_t pttl(const std::string& key);
    /// Sorted.
    std::vector<std::string> keys(const std::string& pattern = "*");
    void flushall();

    /// How often each command ran since the last reset_calls(), in lower case ("evalsha", "client|list"), as
    /// INFO commandstats has it. What admin itself sends is counted too.
    std::map<std::string, std::uint64_t> calls();
    std::uint64_t calls(const std::string& command);
    void reset_calls();

    /// One field of INFO; throws where it is missing.
    std::string info(std::string_view field);
    /// One line for each client connected, admin among them.
    std::vector<std::string> client_list();
    /// Cuts all others off; returns how many.
    std::int64_t kill_clients();

private:
    struct closer {
        void operator()(redisContext* context) const noexcept;
    };

    void connect();
    reply succeeding(const std::vector<std::string>& argv);

    std::filesystem::path path_;
    int port_ = 0;
    std::chrono::milliseconds timeout_;
    std::unique_ptr<redisContext, closer> context_;
};

} // namespace distlock::test
