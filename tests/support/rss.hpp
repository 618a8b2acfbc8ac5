// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <stdexcept>

namespace distlock::test {

/// The memory of this process that is resident now.
inline std::size_t rss_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t total = 0;
    std::size_t resident = 0;
    if (!(statm >> total >> resident)) {
        throw std::runtime_error{"/proc/self/statm cannot be read"};
    }
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace distlock::test
