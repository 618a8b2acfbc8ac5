// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <algorithm>
#include <cmath>

namespace distlock::simulation {

/// The commands that concern clients and the server itself, friends of both.
struct client_commands {
    static reply ping(call& c) {
        if (c.argv.size() > 2) {
            return wrong_arity("ping");
        }
        return c.argv.size() == 1 ? reply::status("PONG") : reply::string(std::string{c.argv[1]});
    }

    static reply echo(call& c) { return reply::string(std::string{c.argv[1]}); }

    static reply time(call& c) {
        const std::int64_t now = c.at.now_us_;
        return reply::array(
            {reply::string(std::to_string(now / 1'000'000)), reply::string(std::to_string(now % 1'000'000))});
    }

    static reply auth(call& c) {
        const std::string& password = c.at.options_.password;
        if (c.argv.size() > 3) {
            return syntax_error();
        }
        if (c.argv.size() == 2 && password.empty()) {
            return reply::error("ERR AUTH <password> called without any password configured for the default user. "
                                "Are you sure your configuration is correct?");
        }
        const bool known = c.argv.size() == 2 || c.argv[1] == "default";
        if (!known || (!password.empty() && c.argv.back() != password)) {
            return reply::error("WRONGPASS invalid username-password pair or user is disabled.");
        }
        c.from.authenticated_ = true;
        return ok();
    }

    static reply select(call& c) {
        std::int64_t index = 0;
        if (!parse_integer(c.argv[1], index)) {
            return not_an_integer();
        }
        if (index != static_cast<std::int32_t>(index)) {
            return reply::error("ERR value is out of range, value must between -2147483648 and 2147483647");
        }
        return index == 0 ? ok() : reply::error("ERR DB index is out of range");
    }

    static reply role(call& c) {
        const auto offset = count(c.at.offset_);
        if (c.at.is_replica()) {
            return reply::array({reply::string("slave"), reply::string("127.0.0.1"), reply::integer(6379),
                                 reply::string(c.at.primary_ == nullptr ? "connect" : "connected"), offset});
        }
        std::vector<reply> replicas;
        for (const auto& [replica, acknowledged] : c.at.replicas_) {
            replicas.push_back(reply::array(
                {reply::string("127.0.0.1"), reply::string("6379"), reply::string(std::to_string(acknowledged))}));
        }
        return reply::array({reply::string("master"), offset, reply::array(std::move(replicas))});
    }

    static reply info(call& c) {
        std::string text = c.at.is_replica() ? "# Replication\r\nrole:slave\r\n" : "# Replication\r\nrole:master\r\n";
        text += "# Commandstats\r\n";
        for (std::size_t i = 0; i < c.at.calls_.size(); ++i) {
            if (c.at.calls_[i] > 0) {
                text += joined({"cmdstat_", command_at(i).name, ":calls=", std::to_string(c.at.calls_[i]), "\r\n"});
            }
        }
        return reply::string(std::move(text));
    }

    static reply blpop(call& c) {
        double seconds = 0;
        if (!parse_double(c.argv.back(), seconds)) {
            return reply::error("ERR timeout is not a float or out of range");
        }
        const double ms = std::ceil(seconds * 1000);
        if (ms < 0 || ms > 9e18) { // what overflows comes out negative
            return reply::error("ERR timeout is negative");
        }
        const auto keys = c.argv.subspan(1, c.argv.size() - 2);
        for (const auto key : keys) {
            bool wrong = false;
            list* const items = c.keys.find_as<list>(key, wrong);
            if (wrong) {
                return wrong_type();
            }
            if (items != nullptr) {
                reply popped =
                    reply::array({reply::string(std::string{key}), reply::string(std::move(items->front()))});
                items->pop_front();
                c.keys.touch(key);
                c.keys.drop_if_empty(key);
                return popped;
            }
        }
        c.at.block(c.from, session::block::pop, ms == 0 ? 0 : static_cast<std::int64_t>(ms) + c.keys.now);
        for (const auto key : keys) {
            if (std::ranges::find(c.from.keys_, key) == c.from.keys_.end()) {
                c.at.poppers_[c.from.keys_.emplace_back(key)].push_back(&c.from);
            }
        }
        return {};
    }

    static reply wait(call& c) {
        if (c.at.is_replica()) {
            return reply::error("ERR WAIT cannot be used with replica instances. Please also note that since Redis "
                                "4.0 if a replica is configured to be writable (which is not the default) writes to "
                                "replicas are just local and are not propagated.");
        }
        std::int64_t wanted = 0;
        std::int64_t timeout = 0;
        if (!parse_integer(c.argv[1], wanted)) {
            return not_an_integer();
        }
        if (!parse_integer(c.argv[2], timeout)) {
            return reply::error("ERR timeout is not an integer or out of range");
        }
        if (timeout < 0) {
            return reply::error("ERR timeout is negative");
        }
        const std::size_t have = c.at.acknowledged(c.from.wrote_);
        if (static_cast<std::int64_t>(have) >= wanted) {
            return count(have);
        }
        c.from.wanted_ = static_cast<std::size_t>(wanted);
        c.from.awaited_ = c.from.wrote_;
        c.at.block(c.from, session::block::wait, timeout == 0 ? 0 : timeout + c.keys.now);
        return {};
    }

    static reply client_id(call& c) { return count(c.from.id_); }

    /// CLIENT KILL ID id [SKIPME yes|no] ...
    static reply client_kill(call& c) {
        if (c.argv.size() == 3) {
            return reply::error("ERR No such client");
        }
        std::int64_t id = 0;
        bool skip_me = true;
        for (std::size_t i = 2; i < c.argv.size(); i += 2) {
            if (i + 1 == c.argv.size()) {
                return syntax_error();
            }
            const std::string_view text = c.argv[i + 1];
            if (is_word(c.argv[i], "id")) {
                if (!parse_integer(text, id) || id < 1) {
                    return reply::error("ERR client-id should be greater than 0");
                }
            } else if (is_word(c.argv[i], "skipme") && (is_word(text, "yes") || is_word(text, "no"))) {
                skip_me = is_word(text, "yes");
            } else {
                return syntax_error();
            }
        }
        const auto at = c.at.sessions_.find(static_cast<std::uint64_t>(id));
        if (at == c.at.sessions_.end() || (at->second == &c.from && skip_me)) {
            return reply::integer(0);
        }
        if (at->second == &c.from) {
            c.from.close_after_reply_ = true;
        } else {
            c.at.close(*at->second);
        }
        return reply::integer(1);
    }

    static reply client_pause(call& c) {
        if (c.argv.size() > 4) {
            return wrong_arity("client|pause");
        }
        const bool spares_reads = c.argv.size() == 4 && is_word(c.argv[3], "write");
        if (c.argv.size() == 4 && !spares_reads && !is_word(c.argv[3], "all")) {
            return reply::error("ERR CLIENT PAUSE mode must be WRITE or ALL");
        }
        std::int64_t ms = 0;
        if (!parse_integer(c.argv[2], ms)) {
            return reply::error("ERR timeout is not an integer or out of range");
        }
        if (ms < 0) {
            return reply::error("ERR timeout is negative");
        }
        c.at.pause_spares_reads_ = spares_reads && (c.at.paused_until_ == 0 || c.at.pause_spares_reads_);
        c.at.paused_until_ = std::max(c.at.paused_until_, c.keys.now + ms);
        return ok();
    }

    static reply client_unpause(call& c) {
        c.at.end_pause();
        return ok();
    }

    /// A container without its subcommand never passes the arity check.
    static reply container(call&) { return syntax_error(); }
};

std::span<const command> server_commands() {
    constexpr unsigned always = command::while_loading | command::while_stale;
    using c = client_commands;
    static const command table[] = {
        {"ping", -1, 0, c::ping},
        {"echo", 2, always, c::echo},
        {"time", 1, always, c::time},
        {"auth", -2, command::not_in_scripts | always | command::without_auth, c::auth},
        {"select", 2, always, c::select},
        {"role", 1, command::not_in_scripts | always, c::role},
        {"info", -1, always, c::info},
        {"blpop", -3, command::writes | command::not_in_scripts, c::blpop},
        {"wait", 3, command::not_in_scripts, c::wait},
        {"client", -2, command::container, c::container},
        {"client|id", 2, command::not_in_scripts | always, c::client_id},
        {"client|kill", -3, command::not_in_scripts | always, c::client_kill},
        {"client|pause", -3, command::not_in_scripts | always, c::client_pause},
        {"client|unpause", 2, command::not_in_scripts | always, c::client_unpause},
    };
    return table;
}

} // namespace distlock::simulation
