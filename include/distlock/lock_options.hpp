// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/observer.hpp"

#include <chrono>
#include <string>

namespace distlock {

/// How a lock behaves; every member has a default. Made for designated initialisers: `{.ttl = 5s, .owner = "web-3"}`.
struct lock_options {
    /// How long the lease lasts unless it is extended: 1 ms to 365 days. A holder that dies frees the lock after
    /// this time at the latest. Below a few milliseconds nothing is left of a lease when its grant arrives.
    std::chrono::milliseconds ttl = std::chrono::seconds{30};
    /// A label that inspect() shows to whoever wonders who holds the lock: up to 256 octets, no secrets.
    std::string owner{};
    /// How long lock() carries on without one useful answer of the server before it throws.
    std::chrono::milliseconds give_up_after = std::chrono::seconds{10};
    /// Told what happens; null for nobody.
    observer* observe = nullptr;
};

} // namespace distlock
