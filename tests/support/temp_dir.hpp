// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace distlock::test {

/// A fresh directory, removed with what is in it by the process that made it. The path is short enough for
/// Unix sockets.
class temp_dir {
public:
    temp_dir() {
        std::string name = "/tmp/distlock-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error{errno, std::generic_category(), "mkdtemp"};
        }
        path_ = name;
    }
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;
    ~temp_dir() {
        if (::getpid() == maker_) {
            std::error_code ignored;
            std::filesystem::remove_all(path_, ignored);
        }
    }

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
    pid_t maker_ = ::getpid();
};

} // namespace distlock::test
