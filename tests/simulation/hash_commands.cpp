// SPDX-License-Identifier: MIT
#include "commands.hpp"

namespace distlock::simulation {
namespace {

hash& find_or_make(call& c) { return std::get<hash>(c.keys.find_or_make<hash>(c.key()).data); }

reply hset(call& c) {
    if (c.argv.size() % 2 != 0) {
        return wrong_arity("hset");
    }
    bool wrong = false;
    c.keys.find_as<hash>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    hash& fields = find_or_make(c);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < c.argv.size(); i += 2) {
        added += fields.set(c.argv[i], c.argv[i + 1]) ? 1 : 0;
    }
    c.keys.touch(c.key());
    return reply::integer(added);
}

reply hsetnx(call& c) {
    bool wrong = false;
    hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    if (fields != nullptr && fields->find(c.argv[2]) != nullptr) {
        return reply::integer(0);
    }
    find_or_make(c).set(c.argv[2], c.argv[3]);
    c.keys.touch(c.key());
    return reply::integer(1);
}

reply hget(call& c) {
    bool wrong = false;
    hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    const std::string* const text = fields == nullptr ? nullptr : fields->find(c.argv[2]);
    return wrong ? wrong_type() : text == nullptr ? reply::nil() : reply::string(*text);
}

reply hexists(call& c) {
    bool wrong = false;
    hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    return wrong ? wrong_type() : count(fields != nullptr && fields->find(c.argv[2]) != nullptr);
}

reply hdel(call& c) {
    bool wrong = false;
    hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    if (fields == nullptr) {
        return wrong ? wrong_type() : reply::integer(0);
    }
    std::int64_t removed = 0;
    for (const auto field : c.argv.subspan(2)) {
        removed += fields->erase(field) ? 1 : 0;
    }
    if (removed > 0) {
        c.keys.touch(c.key());
        c.keys.drop_if_empty(c.key());
    }
    return reply::integer(removed);
}

reply hlen(call& c) {
    bool wrong = false;
    const hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    return wrong ? wrong_type() : count(fields == nullptr ? 0 : fields->fields.size());
}

reply hgetall(call& c) {
    bool wrong = false;
    const hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    std::vector<reply> all;
    if (fields != nullptr) {
        for (const auto& [field, text] : fields->fields) {
            all.push_back(reply::string(field));
            all.push_back(reply::string(text));
        }
    }
    return reply::array(std::move(all));
}

reply hincrby(call& c) {
    std::int64_t by = 0;
    if (!parse_integer(c.argv[3], by)) {
        return not_an_integer();
    }
    bool wrong = false;
    hash* const fields = c.keys.find_as<hash>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    std::int64_t number = 0;
    const std::string* const text = fields == nullptr ? nullptr : fields->find(c.argv[2]);
    if (text != nullptr && !parse_integer(*text, number)) {
        return reply::error("ERR hash value is not an integer");
    }
    if (__builtin_add_overflow(number, by, &number)) {
        return reply::error("ERR increment or decrement would overflow");
    }
    find_or_make(c).set(c.argv[2], std::to_string(number));
    c.keys.touch(c.key());
    return reply::integer(number);
}

} // namespace

std::span<const command> hash_commands() {
    constexpr unsigned grows = command::writes | command::needs_memory;
    static const command table[] = {
        {"hset", -4, grows, hset},  {"hsetnx", 4, grows, hsetnx},        {"hget", 3, 0, hget},
        {"hexists", 3, 0, hexists}, {"hdel", -3, command::writes, hdel}, {"hlen", 2, 0, hlen},
        {"hgetall", 2, 0, hgetall}, {"hincrby", 4, grows, hincrby},
    };
    return table;
}

} // namespace distlock::simulation
