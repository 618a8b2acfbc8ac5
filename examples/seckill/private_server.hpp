// SPDX-License-Identifier: MIT
#pragma once

#include "interrupts.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace seckill {

/// A redis-server on a Unix socket in a temporary folder, without a port and without data on disk. It and the
/// folder are gone when this is; the server even when this program is killed.
class private_server {
public:
    /// To be made by the main thread: the kernel ends the server when the thread that started it ends. Throws
    /// std::runtime_error with the server's words when it does not start.
    private_server(std::uint64_t clients, interrupts& signals);
    ~private_server();
    private_server(const private_server&) = delete;
    private_server& operator=(const private_server&) = delete;

    std::string url() const;

private:
    void start(std::uint64_t clients);
    void await_answer(interrupts& signals);
    std::string last_words() const;
    void stop() noexcept;

    std::filesystem::path folder_;
    pid_t pid_ = -1;
};

} // namespace seckill
