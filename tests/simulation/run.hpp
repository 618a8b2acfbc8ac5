// SPDX-License-Identifier: MIT
#pragma once

#include "parameters.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distlock::simulation {

/// What came of one seed.
struct result {
    std::optional<std::string> violation;
    std::uint64_t grants = 0;
    std::uint64_t events = 0;
    std::int64_t simulated_ns = 0;
};

/// One kind of lock under simulation.
struct workload {
    std::string_view name;
    /// Runs one seed; `tells`: prints the trace.
    result (*run)(const parameters& drawn, bool tells);
    /// A recipe that is known to be wrong, here to be found: runs only when it is asked for.
    bool is_wrong = false;
};

/// All that there are; a new lock adds its line in workloads.cpp.
const std::vector<workload>& workloads();

} // namespace distlock::simulation
