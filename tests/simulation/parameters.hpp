// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace distlock::simulation {

/// The kinds of faults; each can be switched off by its name.
///
/// loss: requests and replies vanish; cut: connections break before, in the middle of and after a command;
/// delay: messages take longer than the ttl; pause: clients stand still at any step; kill: clients die at any
/// step; crash: the server restarts with its data; wipe: it restarts without; failover: a replica that lags
/// takes over; step: the server's clock jumps; drift: clocks run at different rates; flush: scripts are
/// forgotten; evict: keys vanish; refuse: the server answers LOADING and the like for a while.
inline constexpr std::string_view fault_names[] = {"loss",     "cut",  "delay", "pause", "kill",  "crash", "wipe",
                                                   "failover", "step", "drift", "flush", "evict", "refuse"};

/// All that makes one run differ from another, drawn anew for each seed: with fixed values mistakes stay
/// hidden.
struct parameters {
    explicit parameters(std::uint64_t seed, const std::set<std::string, std::less<>>& without = {});

    static constexpr std::int64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000; // in ns, as all times here

    std::uint64_t seed;
    std::int64_t length = 10 * s;
    int clients;
    std::int64_t ttl;
    std::int64_t command_timeout;
    std::int64_t longest_hold;
    std::int64_t longest_rest;
    std::int64_t longest_wait;
    bool extends;
    bool pipelined;
    bool kills_old_connections; // the server lets clients end the connection they have dropped
    // The network.
    std::int64_t shortest_trip, longest_trip; // one way
    double loses_request, loses_reply, cuts, delays;
    std::int64_t longest_delay;
    // The clients.
    double pauses; // per step
    std::int64_t longest_pause;
    double kills; // per operation
    std::int64_t client_drift_ppm, server_drift_ppm;
    // The server: how many of each in a run.
    std::int64_t crashes, wipes, failovers, steps, script_flushes, evictions, refusals;
    std::int64_t longest_step, longest_downtime, longest_lag;

    /// Clocks may drift and scripts be flushed, but nothing is lost, late, paused or dead.
    bool is_calm() const noexcept {
        return loses_request + loses_reply + cuts + delays + pauses + kills == 0.0 &&
               crashes + wipes + failovers + steps + evictions + refusals == 0;
    }

    std::string describe() const;
};

} // namespace distlock::simulation
