// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seckill {

/// What the command line says.
struct options {
    std::uint64_t buyers = 1000;
    std::uint64_t requests = 2000;
    std::uint64_t stock = 1500;
    std::chrono::milliseconds deadline = std::chrono::seconds{10};
    std::chrono::milliseconds ttl = std::chrono::seconds{30};
    /// Numbers of settings; empty for all.
    std::vector<std::size_t> settings;
    /// Empty: a private server.
    std::string url;
    bool no_lock = false;
};

/// The options, or else the exit code: 0 after --help, 2 after a message about a bad flag.
struct command_line {
    std::optional<options> chosen;
    int exit_code = 0;
};

command_line parse(int argc, char** argv);

} // namespace seckill
