// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace distlock {

/// What a release found on the server.
enum class release_outcome : std::uint8_t {
    /// The key held our token and is gone now.
    released,
    /// The key was gone already: the lease had run out, or somebody deleted it.
    expired,
    /// The key holds another owner's token. It was left alone.
    taken,
    /// No definite answer (yet). The ttl bounds how long the key can stay; the release may be repeated.
    unknown,
};

/// Why a lease was lost while it was held.
enum class loss_reason : std::uint8_t {
    none,
    /// The local deadline passed, or the server no longer had the key.
    expired,
    /// The server named another owner.
    taken,
    /// The local deadline passed while the server could not be asked to extend the lease.
    unreachable,
};

} // namespace distlock
