// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <algorithm>
#include <optional>

namespace distlock::simulation {
namespace {

enum class side : std::uint8_t { left, right };

reply push(call& c, side at) {
    bool wrong = false;
    list* items = c.keys.find_as<list>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    if (items == nullptr) {
        items = &std::get<list>(c.keys.find_or_make<list>(c.key()).data);
    }
    for (const auto item : c.argv.subspan(2)) {
        if (at == side::left) {
            items->emplace_front(item);
        } else {
            items->emplace_back(item);
        }
    }
    c.keys.touch(c.key());
    c.at.pushed_to(c.key());
    return count(items->size());
}
reply lpush(call& c) { return push(c, side::left); }
reply rpush(call& c) { return push(c, side::right); }

reply pop(call& c, side at) {
    std::int64_t wanted = 1;
    const bool many = c.argv.size() == 3;
    if (c.argv.size() > 3) {
        return wrong_arity(at == side::left ? "lpop" : "rpop");
    }
    if (many && (!parse_integer(c.argv[2], wanted) || wanted < 0)) {
        return not_positive();
    }
    bool wrong = false;
    list* const items = c.keys.find_as<list>(c.key(), wrong);
    if (items == nullptr) {
        return wrong ? wrong_type() : reply::nil();
    }
    std::vector<reply> popped;
    for (; wanted > 0 && !items->empty(); --wanted) {
        popped.push_back(reply::string(std::move(at == side::left ? items->front() : items->back())));
        if (at == side::left) {
            items->pop_front();
        } else {
            items->pop_back();
        }
        c.keys.touch(c.key());
    }
    c.keys.drop_if_empty(c.key());
    return many ? reply::array(std::move(popped)) : std::move(popped.front());
}
reply lpop(call& c) { return pop(c, side::left); }
reply rpop(call& c) { return pop(c, side::right); }

reply llen(call& c) {
    bool wrong = false;
    const list* const items = c.keys.find_as<list>(c.key(), wrong);
    return wrong ? wrong_type() : count(items == nullptr ? 0 : items->size());
}

/// Turns an index that may count from the end into one from the start.
std::int64_t from_start(std::int64_t index, const list& items) {
    return index < 0 ? index + static_cast<std::int64_t>(items.size()) : index;
}

reply lrange(call& c) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!parse_integer(c.argv[2], first) || !parse_integer(c.argv[3], last)) {
        return not_an_integer();
    }
    bool wrong = false;
    const list* const items = c.keys.find_as<list>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    std::vector<reply> found;
    if (items != nullptr) {
        first = std::max<std::int64_t>(from_start(first, *items), 0);
        last = std::min(from_start(last, *items), static_cast<std::int64_t>(items->size()) - 1);
        for (; first <= last; ++first) {
            found.push_back(reply::string((*items)[static_cast<std::size_t>(first)]));
        }
    }
    return reply::array(std::move(found));
}

reply lindex(call& c) {
    bool wrong = false;
    const list* const items = c.keys.find_as<list>(c.key(), wrong);
    if (items == nullptr) {
        return wrong ? wrong_type() : reply::nil();
    }
    std::int64_t index = 0;
    if (!parse_integer(c.argv[2], index)) {
        return not_an_integer();
    }
    index = from_start(index, *items);
    const bool inside = index >= 0 && index < static_cast<std::int64_t>(items->size());
    return inside ? reply::string((*items)[static_cast<std::size_t>(index)]) : reply::nil();
}

reply lrem(call& c) {
    std::int64_t most = 0;
    if (!parse_integer(c.argv[2], most)) {
        return not_an_integer();
    }
    bool wrong = false;
    list* const items = c.keys.find_as<list>(c.key(), wrong);
    if (items == nullptr) {
        return wrong ? wrong_type() : reply::integer(0);
    }
    const bool backwards = most < 0;
    std::int64_t removed = 0;
    const auto take = [&](const std::string& item) {
        const bool hit = item == c.argv[3] && (most == 0 || removed < (backwards ? -most : most));
        removed += hit ? 1 : 0;
        return hit;
    };
    if (backwards) {
        const auto gone = std::remove_if(items->rbegin(), items->rend(), take);
        items->erase(items->begin(), gone.base());
    } else {
        std::erase_if(*items, take);
    }
    if (removed > 0) {
        c.keys.touch(c.key());
        c.keys.drop_if_empty(c.key());
    }
    return reply::integer(removed);
}

reply ltrim(call& c) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!parse_integer(c.argv[2], first) || !parse_integer(c.argv[3], last)) {
        return not_an_integer();
    }
    bool wrong = false;
    list* const items = c.keys.find_as<list>(c.key(), wrong);
    if (items == nullptr) {
        return wrong ? wrong_type() : ok();
    }
    const auto size = static_cast<std::int64_t>(items->size());
    first = std::clamp<std::int64_t>(from_start(first, *items), 0, size);
    last = std::clamp<std::int64_t>(from_start(last, *items) + 1, first, size);
    items->erase(items->begin() + last, items->end());
    items->erase(items->begin(), items->begin() + first);
    c.keys.touch(c.key());
    c.keys.drop_if_empty(c.key());
    return ok();
}

} // namespace

std::span<const command> list_commands() {
    constexpr unsigned grows = command::writes | command::needs_memory;
    static const command table[] = {
        {"lpush", -3, grows, lpush},
        {"rpush", -3, grows, rpush},
        {"lpop", -2, command::writes, lpop},
        {"rpop", -2, command::writes, rpop},
        {"llen", 2, 0, llen},
        {"lrange", 4, 0, lrange},
        {"lindex", 3, 0, lindex},
        {"lrem", 4, command::writes, lrem},
        {"ltrim", 4, command::writes, ltrim},
    };
    return table;
}

} // namespace distlock::simulation
