// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <limits>
#include <optional>

namespace distlock::simulation {
namespace {

enum class unit : std::uint8_t { seconds, milliseconds };

/// The end of a key's life in ms, from the text of a relative or absolute time; an error reply where it is
/// none.
std::optional<reply> expiry(const call& c, std::string_view text, unit in, bool absolute, std::string_view command,
                            std::int64_t& when) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (!parse_integer(text, when)) {
        return not_an_integer();
    }
    const bool invalid = when <= 0 || (in == unit::seconds && when > most / 1000);
    if (!invalid && in == unit::seconds) {
        when *= 1000;
    }
    if (invalid || (!absolute && when > most - c.keys.now)) {
        return reply::error(joined({"ERR invalid expire time in '", command, "' command"}));
    }
    when += absolute ? 0 : c.keys.now;
    return std::nullopt;
}

struct set_options {
    bool nx = false, xx = false, get = false, keep_ttl = false;
    std::optional<std::string_view> if_equal;
    std::string_view time;
    unit in = unit::milliseconds;
    bool absolute = false;
};

bool parse(const call& c, set_options& o) {
    for (std::size_t i = 3; i < c.argv.size(); ++i) {
        const std::string_view word = c.argv[i];
        const bool has_next = i + 1 < c.argv.size();
        const bool condition = o.nx || o.xx || o.if_equal;
        const auto is_time = [&](std::string_view name, unit in, bool absolute) {
            if (!is_word(word, name) || o.keep_ttl || !o.time.empty() || !has_next) {
                return false;
            }
            o.time = c.argv[++i];
            o.in = in;
            o.absolute = absolute;
            return true;
        };
        if (is_word(word, "nx") && (!condition || o.nx)) {
            o.nx = true;
        } else if (is_word(word, "xx") && (!condition || o.xx)) {
            o.xx = true;
        } else if (is_word(word, "ifeq") && c.kind != flavour::redis_7_0 && !condition && has_next) {
            o.if_equal = c.argv[++i];
        } else if (is_word(word, "get")) {
            o.get = true;
        } else if (is_word(word, "keepttl") && o.time.empty()) {
            o.keep_ttl = true;
        } else if (!is_time("px", unit::milliseconds, false) && !is_time("ex", unit::seconds, false) &&
                   !is_time("pxat", unit::milliseconds, true) && !is_time("exat", unit::seconds, true)) {
            return false;
        }
    }
    return true;
}

reply set(call& c) {
    set_options o;
    if (!parse(c, o)) {
        return syntax_error();
    }
    std::int64_t expires = entry::never;
    if (!o.time.empty()) {
        if (auto wrong = expiry(c, o.time, o.in, o.absolute, "set", expires)) {
            return *std::move(wrong);
        }
    }
    entry* const found = c.keys.find(c.key());
    const auto* const old = found == nullptr ? nullptr : std::get_if<std::string>(&found->data);
    if ((o.get || o.if_equal) && found != nullptr && old == nullptr) {
        return wrong_type();
    }
    reply before = o.get && old != nullptr ? reply::string(*old) : reply::nil();
    if ((o.nx && found != nullptr) || (o.xx && found == nullptr) ||
        (o.if_equal && (old == nullptr || *old != *o.if_equal))) {
        return before;
    }
    if (o.keep_ttl && found != nullptr) {
        expires = found->expires;
    }
    c.keys.set(c.key(), std::string{c.argv[2]}, expires);
    return o.get ? before : ok();
}

reply setnx(call& c) {
    if (c.keys.find(c.key()) != nullptr) {
        return reply::integer(0);
    }
    c.keys.set(c.key(), std::string{c.argv[2]}, entry::never);
    return reply::integer(1);
}

reply set_for(call& c, unit in, std::string_view name) {
    std::int64_t expires = 0;
    if (auto wrong = expiry(c, c.argv[2], in, false, name, expires)) {
        return *std::move(wrong);
    }
    c.keys.set(c.key(), std::string{c.argv[3]}, expires);
    return ok();
}
reply setex(call& c) { return set_for(c, unit::seconds, "setex"); }
reply psetex(call& c) { return set_for(c, unit::milliseconds, "psetex"); }

reply get(call& c) {
    bool wrong = false;
    const auto* const text = c.keys.find_as<std::string>(c.key(), wrong);
    return wrong ? wrong_type() : text == nullptr ? reply::nil() : reply::string(*text);
}

reply getset(call& c) {
    reply before = get(c);
    if (!before.is_error()) {
        c.keys.set(c.key(), std::string{c.argv[2]}, entry::never);
    }
    return before;
}

reply getdel(call& c) {
    reply before = get(c);
    if (before.is_string()) {
        c.keys.erase(c.key());
    }
    return before;
}

reply strlen(call& c) {
    bool wrong = false;
    const auto* const text = c.keys.find_as<std::string>(c.key(), wrong);
    return wrong ? wrong_type() : count(text == nullptr ? 0 : text->size());
}

reply append(call& c) {
    bool wrong = false;
    auto* text = c.keys.find_as<std::string>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    if (text == nullptr) {
        text = &std::get<std::string>(c.keys.find_or_make<std::string>(c.key()).data);
    }
    text->append(c.argv[2]);
    c.keys.touch(c.key());
    return count(text->size());
}

reply add(call& c, std::int64_t by) {
    bool wrong = false;
    const auto* const text = c.keys.find_as<std::string>(c.key(), wrong);
    std::int64_t number = 0;
    if (wrong) {
        return wrong_type();
    }
    if (text != nullptr && !parse_integer(*text, number)) {
        return not_an_integer();
    }
    if (__builtin_add_overflow(number, by, &number)) {
        return reply::error("ERR increment or decrement would overflow");
    }
    c.keys.find_or_make<std::string>(c.key()).data = std::to_string(number);
    c.keys.touch(c.key());
    return reply::integer(number);
}

reply incr(call& c) { return add(c, 1); }
reply decr(call& c) { return add(c, -1); }
reply incrby(call& c) {
    std::int64_t by = 0;
    return parse_integer(c.argv[2], by) ? add(c, by) : not_an_integer();
}
reply decrby(call& c) {
    std::int64_t by = 0;
    if (!parse_integer(c.argv[2], by)) {
        return not_an_integer();
    }
    return by == std::numeric_limits<std::int64_t>::min() ? reply::error("ERR decrement would overflow") : add(c, -by);
}

/// DELIFEQ key value, and DELEX key [IFEQ value].
reply delete_if_equal(call& c, std::string_view expected) {
    bool wrong = false;
    const auto* const text = c.keys.find_as<std::string>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    return count(text != nullptr && *text == expected && c.keys.erase(c.key()));
}
reply delifeq(call& c) { return delete_if_equal(c, c.argv[2]); }
reply delex(call& c) {
    if (c.argv.size() == 2) {
        return count(c.keys.erase(c.key()));
    }
    if (c.argv.size() != 4) {
        return wrong_arity("delex");
    }
    return is_word(c.argv[2], "ifeq") ? delete_if_equal(c, c.argv[3]) : reply::error("ERR Invalid condition");
}

} // namespace

std::span<const command> string_commands() {
    constexpr unsigned grows = command::writes | command::needs_memory;
    static const command table[] = {
        {"set", -3, grows, set},
        {"setnx", 3, grows, setnx},
        {"setex", 4, grows, setex},
        {"psetex", 4, grows, psetex},
        {"get", 2, 0, get},
        {"getset", 3, grows, getset},
        {"getdel", 2, command::writes, getdel},
        {"strlen", 2, 0, strlen},
        {"append", 3, grows, append},
        {"incr", 2, grows, incr},
        {"decr", 2, grows, decr},
        {"incrby", 3, grows, incrby},
        {"decrby", 3, grows, decrby},
        {"delifeq", 3, command::writes, delifeq},
        {"delex", -2, command::writes, delex},
    };
    return table;
}

} // namespace distlock::simulation
