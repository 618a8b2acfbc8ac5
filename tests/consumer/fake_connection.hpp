// SPDX-License-Identifier: MIT
#pragma once

#include <distlock/connection.hpp>

#include <map>
#include <string>

/// A transport of the user's own: a server of two commands, just enough for one owner to take a lock and free
/// it.
struct fake_connection {
    std::map<std::string, std::string, std::less<>> keys;

    distlock::reply execute(std::span<const std::string_view> argv, distlock::lease_clock::time_point,
                            std::error_code& ec) {
        ec.clear();
        if (argv[0] == "SET") { // SET key token NX PX ttl
            const bool granted = keys.emplace(argv[1], argv[2]).second;
            return granted ? distlock::reply::status("OK") : distlock::reply::nil();
        }
        if (argv[0] == "EVAL" && keys.contains(argv[3])) { // EVAL text 1 key token
            keys.erase(keys.find(argv[3]));
            return distlock::reply::integer(1);
        }
        const bool script = argv[0] == "EVALSHA";
        return distlock::reply::error(script ? "NOSCRIPT No matching script." : "ERR unknown command");
    }
};
