// SPDX-License-Identifier: MIT
#pragma once

#include "server.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace distlock::simulation {

/// What really happened to each token of one lock key: read off the server after everything that touches it,
/// and compared there with what a lock promises of the wire. What clients say is compared with this
/// (verification by token: each is used once, so nothing has to be searched).
class ledger {
public:
    static constexpr std::uint64_t revived = UINT64_MAX;

    enum class end : std::uint8_t { none, released, expired, lost };

    struct fate {
        int owner = -1;
        std::int64_t asked_at = 0;
        bool granted = false;
        /// Its SET ran when its client had already given the connection up: nobody can know of it.
        bool late = false;
        end ended = end::none;
        /// How many faults had broken the server's promises (lost data, a clock step) before it was granted; `revived`
        /// when such a fault brought it back.
        std::uint64_t epoch = 0;
    };

    ledger(world& where, std::string key, std::int64_t longest_ttl)
        : world_{where}
        , key_{std::move(key)}
        , longest_ttl_ms_{longest_ttl / parameters::ms} {}

    const std::string& key() const noexcept { return key_; }

    /// This client asks for the lock under this token, now, at the server.
    void asked(std::string_view token, int client, bool late);
    /// Compares the server with what was known. `client`: whose command ran; -1: nobody's, a fault or time.
    void observe(const server& at, int client);
    /// The server broke a promise on which exclusion rests: from now on holds of before prove nothing.
    void trust_is_lost() noexcept { ++epoch_; }
    std::uint64_t epoch() const noexcept { return epoch_; }

    /// The fate of a token; one that never reached the server has an empty one.
    fate of(std::string_view token) const;
    /// The token that the key holds now, by the server's clock; empty when it is free.
    std::string_view live(const server& at) const;
    std::uint64_t grants() const noexcept { return grants_; }
    /// Since when the key has been free; nothing while it is held.
    std::optional<std::int64_t> free_since() const noexcept {
        return token_.empty() ? std::optional{free_since_} : std::nullopt;
    }

private:
    void ended(end how, int client);

    world& world_;
    std::string key_;
    std::int64_t longest_ttl_ms_;
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view token) const noexcept { return std::hash<std::string_view>{}(token); }
    };
    std::unordered_map<std::string, fate, hasher, std::equal_to<>> fates_;
    std::string token_; // known to be on the key
    std::int64_t expires_ms_ = 0;
    std::int64_t free_since_ = 0;
    std::uint64_t epoch_ = 0;
    std::uint64_t grants_ = 0;
};

} // namespace distlock::simulation
