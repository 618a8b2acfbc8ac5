// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/detail/sha1.hpp"

#include <string>
#include <string_view>

namespace distlock::simulation {

/// The name under which a server keeps a script.
inline std::string sha1(std::string_view text) {
    const auto hex = detail::sha1_hex(text);
    return {hex.data(), hex.size()};
}

} // namespace distlock::simulation
