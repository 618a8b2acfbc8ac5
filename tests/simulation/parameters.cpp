// SPDX-License-Identifier: MIT
#include "parameters.hpp"

#include "chance.hpp"

#include <sstream>

namespace distlock::simulation {

parameters::parameters(std::uint64_t from, const std::set<std::string, std::less<>>& without)
    : seed{from} {
    chance dice{seed, "parameters"};
    // A kind of fault is in about a third of the runs: all of them at once would hide each other.
    const auto has = [&](std::string_view kind) {
        const bool drawn = dice.happens(0.35);
        return drawn && !without.contains(kind);
    };
    const auto probability = [&](std::string_view kind, double most) {
        const bool on = has(kind);
        const double drawn = dice.unit() * dice.unit() * most;
        return on ? drawn : 0.0;
    };
    const auto count = [&](std::string_view kind, std::int64_t most) {
        const bool on = has(kind);
        const auto drawn = dice.between(1, most);
        return on ? drawn : 0;
    };

    clients = static_cast<int>(dice.between(4, 6));
    ttl = dice.scale(15 * ms, 3 * s);
    command_timeout = dice.scale(5 * ms, 1 * s);
    longest_hold = dice.scale(5 * ms, 2 * ttl > 400 * ms ? 400 * ms : 2 * ttl);
    longest_rest = dice.scale(50 * ms, 1500 * ms);
    longest_wait = dice.scale(10 * ms, 2 * s);
    extends = dice.happens(0.5);
    pipelined = dice.happens(0.5);
    kills_old_connections = dice.happens(0.5);

    shortest_trip = 20 * us;
    longest_trip = dice.scale(50 * us, 5 * ms);
    loses_request = probability("loss", 0.3);
    loses_reply = loses_request > 0 ? dice.unit() * 0.3 : 0.0;
    cuts = probability("cut", 0.2);
    delays = probability("delay", 0.1);
    longest_delay = dice.scale(ttl / 4, 3 * ttl);

    pauses = probability("pause", 0.03);
    longest_pause = dice.scale(1 * ms, 3 * ttl);
    kills = probability("kill", 0.02);
    const bool drifts = has("drift");
    const auto client_rate = dice.between(0, 4'500), server_rate = dice.between(-4'500, 4'500);
    client_drift_ppm = drifts ? client_rate : 0;
    server_drift_ppm = drifts ? server_rate : 0;

    crashes = count("crash", 3);
    wipes = count("wipe", 2);
    failovers = count("failover", 2);
    steps = count("step", 3);
    script_flushes = count("flush", 10);
    evictions = count("evict", 3);
    refusals = count("refuse", 12);
    longest_step = dice.scale(10 * ms, 3600 * s);
    longest_downtime = dice.scale(1 * ms, 2 * s);
    longest_lag = dice.scale(1 * ms, 2 * ttl);
}

std::string parameters::describe() const {
    std::ostringstream out;
    out << "seed " << seed << ": " << clients << " clients, ttl " << ttl / ms << " ms, time-out "
        << command_timeout / ms << " ms, holds to " << longest_hold / ms << " ms" << (extends ? ", extends" : "")
        << (pipelined ? ", pipelined" : "") << (kills_old_connections ? ", ends old connections" : "") << ", trips "
        << shortest_trip / us << " to " << longest_trip / us << " us";
    const auto say = [&](const char* what, double value) {
        if (value != 0) {
            out << ", " << what << ' ' << value;
        }
    };
    say("loses requests", loses_request);
    say("loses replies", loses_reply);
    say("cuts", cuts);
    say("delays", delays);
    say("pauses", pauses);
    say("kills", kills);
    say("client drift (ppm)", static_cast<double>(client_drift_ppm));
    say("server drift (ppm)", static_cast<double>(server_drift_ppm));
    say("crashes", static_cast<double>(crashes));
    say("wipes", static_cast<double>(wipes));
    say("failovers", static_cast<double>(failovers));
    say("clock steps", static_cast<double>(steps));
    say("script flushes", static_cast<double>(script_flushes));
    say("evictions", static_cast<double>(evictions));
    say("refusals", static_cast<double>(refusals));
    return out.str();
}

} // namespace distlock::simulation
