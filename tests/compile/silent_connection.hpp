// SPDX-License-Identifier: MIT
#pragma once

#include <distlock/connection.hpp>

/// The least that is a connection.
struct silent_connection {
    distlock::reply execute(std::span<const std::string_view>, distlock::lease_clock::time_point, std::error_code&) {
        return distlock::reply::nil();
    }
};
