// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <limits>

namespace distlock::simulation {
namespace {

reply del(call& c) {
    std::int64_t done = 0;
    for (const auto key : c.argv.subspan(1)) {
        done += c.keys.erase(key) ? 1 : 0;
    }
    return reply::integer(done);
}

reply exists(call& c) {
    std::int64_t found = 0;
    for (const auto key : c.argv.subspan(1)) {
        found += c.keys.find(key) != nullptr ? 1 : 0;
    }
    return reply::integer(found);
}

reply type(call& c) {
    static constexpr const char* names[] = {"string", "list", "zset", "hash"};
    const entry* const found = c.keys.find(c.key());
    return reply::status(found == nullptr ? "none" : names[found->data.index()]);
}

/// -2 where there is no key, -1 where it has no end.
std::int64_t end_of(call& c) {
    const entry* const found = c.keys.find(c.key());
    return found == nullptr ? -2 : found->expires;
}
reply pttl(call& c) {
    const std::int64_t end = end_of(c);
    return reply::integer(end < 0 ? end : end - c.keys.now);
}
reply ttl(call& c) {
    const std::int64_t end = end_of(c);
    return reply::integer(end < 0 ? end : (end - c.keys.now + 500) / 1000);
}
reply pexpiretime(call& c) { return reply::integer(end_of(c)); }
reply expiretime(call& c) {
    const std::int64_t end = end_of(c);
    return reply::integer(end < 0 ? end : (end + 500) / 1000);
}

reply expire(call& c, bool seconds, bool absolute, std::string_view name) {
    bool nx = false;
    bool xx = false;
    bool gt = false;
    bool lt = false;
    for (const auto word : c.argv.subspan(3)) {
        bool& option = is_word(word, "nx") ? nx : is_word(word, "xx") ? xx : is_word(word, "gt") ? gt : lt;
        if (&option == &lt && !is_word(word, "lt")) {
            return reply::error(joined({"ERR Unsupported option ", shown(word)}));
        }
        option = true;
    }
    if (nx && (xx || gt || lt)) {
        return reply::error("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if (gt && lt) {
        return reply::error("ERR GT and LT options at the same time are not compatible");
    }
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    std::int64_t when = 0;
    if (!parse_integer(c.argv[2], when)) {
        return not_an_integer();
    }
    const bool fits = !seconds || (when <= most / 1000 && when >= -(most / 1000));
    when *= fits && seconds ? 1000 : 1;
    const std::int64_t base = absolute ? 0 : c.keys.now;
    if (!fits || when > most - base) {
        return reply::error(joined({"ERR invalid expire time in '", name, "' command"}));
    }
    when += base;

    entry* const found = c.keys.find(c.key());
    if (found == nullptr) {
        return reply::integer(0);
    }
    const bool endless = found->expires == entry::never;
    if ((nx && !endless) || (xx && endless) || (gt && (endless || when <= found->expires)) ||
        (lt && !endless && when >= found->expires)) {
        return reply::integer(0);
    }
    if (when <= c.keys.now) {
        c.keys.erase(c.key());
    } else {
        found->expires = when;
        c.keys.touch(c.key());
    }
    return reply::integer(1);
}
reply expire_in_seconds(call& c) { return expire(c, true, false, "expire"); }
reply expire_in_ms(call& c) { return expire(c, false, false, "pexpire"); }
reply expire_at_second(call& c) { return expire(c, true, true, "expireat"); }
reply expire_at_ms(call& c) { return expire(c, false, true, "pexpireat"); }

reply persist(call& c) {
    entry* const found = c.keys.find(c.key());
    if (found == nullptr || found->expires == entry::never) {
        return reply::integer(0);
    }
    found->expires = entry::never;
    c.keys.touch(c.key());
    return reply::integer(1);
}

reply flushall(call& c) {
    if (c.argv.size() > 2 || (c.argv.size() == 2 && !is_word(c.argv[1], "sync") && !is_word(c.argv[1], "async"))) {
        return syntax_error();
    }
    c.keys.clear();
    return ok();
}

reply dbsize(call& c) { return count(c.keys.size()); }

} // namespace

std::span<const command> key_commands() {
    static const command table[] = {
        {"del", -2, command::writes, del},
        {"unlink", -2, command::writes, del},
        {"exists", -2, 0, exists},
        {"type", 2, 0, type},
        {"pttl", 2, 0, pttl},
        {"ttl", 2, 0, ttl},
        {"pexpiretime", 2, 0, pexpiretime},
        {"expiretime", 2, 0, expiretime},
        {"expire", -3, command::writes, expire_in_seconds},
        {"pexpire", -3, command::writes, expire_in_ms},
        {"expireat", -3, command::writes, expire_at_second},
        {"pexpireat", -3, command::writes, expire_at_ms},
        {"persist", 2, command::writes, persist},
        {"flushall", -1, command::writes, flushall},
        {"flushdb", -1, command::writes, flushall},
        {"dbsize", 1, 0, dbsize},
    };
    return table;
}

} // namespace distlock::simulation
