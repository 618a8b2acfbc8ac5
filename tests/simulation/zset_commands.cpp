// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace distlock::simulation {
namespace {

constexpr auto everything = std::numeric_limits<std::int64_t>::max();

struct limit {
    double score = 0;
    bool exclusive = false;
};

/// One end of a range of scores: a float, '(' before it excludes it.
bool parse_limit(std::string_view text, limit& at) {
    at.exclusive = text.starts_with('(');
    const std::string copy{text.substr(at.exclusive ? 1 : 0)};
    char* stop = nullptr;
    at.score = std::strtod(copy.c_str(), &stop);
    return stop == copy.c_str() + copy.size() && !std::isnan(at.score);
}

bool above(double score, const limit& low) { return low.exclusive ? score > low.score : score >= low.score; }
bool below(double score, const limit& high) { return high.exclusive ? score < high.score : score <= high.score; }

reply bad_limits() { return reply::error("ERR min or max is not a float"); }
reply score_reply(double score) { return reply::string(double_text(score)); }

struct add_options {
    bool nx = false, xx = false, gt = false, lt = false, changed = false, incr = false;
};

reply add(call& c, add_options o, std::size_t first) {
    const std::size_t left = c.argv.size() - first;
    if (left == 0 || left % 2 != 0) {
        return syntax_error();
    }
    if (o.nx && o.xx) {
        return reply::error("ERR XX and NX options at the same time are not compatible");
    }
    if ((o.gt && o.nx) || (o.lt && o.nx) || (o.gt && o.lt)) {
        return reply::error("ERR GT, LT, and/or NX options at the same time are not compatible");
    }
    if (o.incr && left > 2) {
        return reply::error("ERR INCR option supports a single increment-element pair");
    }
    std::vector<double> scores(left / 2);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!parse_double(c.argv[first + 2 * i], scores[i])) {
            return reply::error("ERR value is not a valid float");
        }
    }
    bool wrong = false;
    zset* set = c.keys.find_as<zset>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    if (set == nullptr && o.xx) {
        return o.incr ? reply::nil() : reply::integer(0);
    }
    if (set == nullptr) {
        set = &std::get<zset>(c.keys.find_or_make<zset>(c.key()).data);
    }
    std::int64_t added = 0;
    std::int64_t updated = 0;
    reply incremented;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const std::string_view member = c.argv[first + 2 * i + 1];
        const std::size_t rank = set->rank(member);
        double score = scores[i];
        if (rank == set->items.size()) {
            if (o.xx) {
                continue;
            }
            set->set(member, score);
            ++added;
        } else {
            const double before = set->items[rank].score;
            score += o.incr ? before : 0;
            if (std::isnan(score)) {
                return reply::error("ERR resulting score is not a number (NaN)");
            }
            if (o.nx || (o.gt && score <= before) || (o.lt && score >= before)) {
                continue;
            }
            if (score != before) {
                set->set(member, score);
                ++updated;
            }
        }
        incremented = score_reply(score);
    }
    if (added + updated > 0) {
        c.keys.touch(c.key());
    }
    return o.incr ? incremented : reply::integer(o.changed ? added + updated : added);
}

reply zadd(call& c) {
    add_options o;
    std::size_t i = 2;
    for (; i < c.argv.size(); ++i) {
        const std::string_view word = c.argv[i];
        bool* const option = is_word(word, "nx")     ? &o.nx
                             : is_word(word, "xx")   ? &o.xx
                             : is_word(word, "gt")   ? &o.gt
                             : is_word(word, "lt")   ? &o.lt
                             : is_word(word, "ch")   ? &o.changed
                             : is_word(word, "incr") ? &o.incr
                                                     : nullptr;
        if (option == nullptr) {
            break;
        }
        *option = true;
    }
    return add(c, o, i);
}

reply zincrby(call& c) { return add(c, {.incr = true}, 2); }

reply zrem(call& c) {
    bool wrong = false;
    zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    if (set == nullptr) {
        return wrong ? wrong_type() : reply::integer(0);
    }
    std::int64_t removed = 0;
    for (const auto member : c.argv.subspan(2)) {
        removed += set->erase(member) ? 1 : 0;
    }
    if (removed > 0) {
        c.keys.touch(c.key());
        c.keys.drop_if_empty(c.key());
    }
    return reply::integer(removed);
}

reply zcard(call& c) {
    bool wrong = false;
    const zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    return wrong ? wrong_type() : count(set == nullptr ? 0 : set->items.size());
}

reply zscore(call& c) {
    bool wrong = false;
    const zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    const std::size_t rank = set == nullptr ? 0 : set->rank(c.argv[2]);
    return wrong                                         ? wrong_type()
           : set == nullptr || rank == set->items.size() ? reply::nil()
                                                         : score_reply(set->items[rank].score);
}

reply zrank(call& c) {
    bool wrong = false;
    const zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    const std::size_t rank = set == nullptr ? 0 : set->rank(c.argv[2]);
    return wrong ? wrong_type() : set == nullptr || rank == set->items.size() ? reply::nil() : count(rank);
}

reply zcount(call& c) {
    limit low;
    limit high;
    if (!parse_limit(c.argv[2], low) || !parse_limit(c.argv[3], high)) {
        return bad_limits();
    }
    bool wrong = false;
    const zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    return wrong            ? wrong_type()
           : set == nullptr ? reply::integer(0)
                            : count(std::ranges::count_if(set->items, [&](const zset::item& each) {
                                  return above(each.score, low) && below(each.score, high);
                              }));
}

reply zremrangebyscore(call& c) {
    limit low;
    limit high;
    if (!parse_limit(c.argv[2], low) || !parse_limit(c.argv[3], high)) {
        return bad_limits();
    }
    bool wrong = false;
    zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    if (set == nullptr) {
        return wrong ? wrong_type() : reply::integer(0);
    }
    const auto removed = std::erase_if(
        set->items, [&](const zset::item& each) { return above(each.score, low) && below(each.score, high); });
    if (removed > 0) {
        c.keys.touch(c.key());
        c.keys.drop_if_empty(c.key());
    }
    return count(removed);
}

/// Ranks `first` to `last` as Redis counts them, cut to the set; false when there are none.
bool clamp(std::int64_t& first, std::int64_t& last, std::size_t size) {
    const auto items = static_cast<std::int64_t>(size);
    first = std::max<std::int64_t>(first < 0 ? first + items : first, 0);
    last = std::min(last < 0 ? last + items : last, items - 1);
    return first <= last;
}

reply zremrangebyrank(call& c) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!parse_integer(c.argv[2], first) || !parse_integer(c.argv[3], last)) {
        return not_an_integer();
    }
    bool wrong = false;
    zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    if (set == nullptr || !clamp(first, last, set->items.size())) {
        return wrong ? wrong_type() : reply::integer(0);
    }
    set->items.erase(set->items.begin() + first, set->items.begin() + last + 1);
    c.keys.touch(c.key());
    c.keys.drop_if_empty(c.key());
    return reply::integer(last - first + 1);
}

struct range_options {
    bool by_score = false, reverse = false, with_scores = false;
    std::int64_t skip = 0, most = -1;
};

reply range(call& c, range_options o, std::string_view min, std::string_view max) {
    limit low;
    limit high;
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (o.by_score) {
        if (!parse_limit(o.reverse ? max : min, low) || !parse_limit(o.reverse ? min : max, high)) {
            return bad_limits();
        }
    } else if (!parse_integer(min, first) || !parse_integer(max, last)) {
        return not_an_integer();
    }
    bool wrong = false;
    const zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    std::vector<reply> found;
    const auto add = [&](const zset::item& each) {
        found.push_back(reply::string(each.member));
        if (o.with_scores) {
            found.push_back(score_reply(each.score));
        }
    };
    const std::size_t size = set == nullptr ? 0 : set->items.size();
    const auto at = [&](std::size_t rank) -> const zset::item& {
        return set->items[o.reverse ? size - 1 - rank : rank];
    };
    if (!o.by_score) {
        if (size > 0 && clamp(first, last, size)) {
            for (; first <= last; ++first) {
                add(at(static_cast<std::size_t>(first)));
            }
        }
        return reply::array(std::move(found));
    }
    std::int64_t most = o.skip < 0 ? 0 : o.most < 0 ? everything : o.most;
    for (std::size_t i = 0; i < size && most > 0; ++i) {
        if (above(at(i).score, low) && below(at(i).score, high)) {
            if (o.skip > 0) {
                --o.skip;
            } else {
                add(at(i));
                --most;
            }
        }
    }
    return reply::array(std::move(found));
}

/// The words after `key min max`. The old commands know only WITHSCORES and, by score, LIMIT.
reply range_with_options(call& c, range_options o, bool old) {
    bool limited = false;
    for (std::size_t i = 4; i < c.argv.size(); ++i) {
        const std::string_view word = c.argv[i];
        if (is_word(word, "withscores")) {
            o.with_scores = true;
        } else if (is_word(word, "limit") && i + 2 < c.argv.size()) {
            if (!parse_integer(c.argv[i + 1], o.skip) || !parse_integer(c.argv[i + 2], o.most)) {
                return not_an_integer();
            }
            limited = true;
            i += 2;
        } else if (!old && is_word(word, "byscore")) {
            o.by_score = true;
        } else if (!old && is_word(word, "rev")) {
            o.reverse = true;
        } else if (!old && is_word(word, "bylex")) {
            return reply::error("ERR ZRANGE BYLEX is not simulated");
        } else {
            return syntax_error();
        }
    }
    if (limited && o.most != -1 && !o.by_score) {
        return reply::error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    }
    return range(c, o, c.argv[2], c.argv[3]);
}

reply zrange(call& c) { return range_with_options(c, {}, false); }
reply zrevrange(call& c) { return range_with_options(c, {.reverse = true}, true); }
reply zrangebyscore(call& c) { return range_with_options(c, {.by_score = true}, true); }
reply zrevrangebyscore(call& c) { return range_with_options(c, {.by_score = true, .reverse = true}, true); }

reply pop(call& c, bool highest) {
    if (c.argv.size() > 3) {
        return syntax_error();
    }
    std::int64_t wanted = 1;
    if (c.argv.size() == 3 && (!parse_integer(c.argv[2], wanted) || wanted < 0)) {
        return not_positive();
    }
    bool wrong = false;
    zset* const set = c.keys.find_as<zset>(c.key(), wrong);
    if (wrong) {
        return wrong_type();
    }
    std::vector<reply> popped;
    for (; set != nullptr && wanted > 0 && !set->items.empty(); --wanted) {
        const auto at = highest ? set->items.end() - 1 : set->items.begin();
        popped.push_back(reply::string(at->member));
        popped.push_back(score_reply(at->score));
        set->items.erase(at);
    }
    if (!popped.empty()) {
        c.keys.touch(c.key());
        c.keys.drop_if_empty(c.key());
    }
    return reply::array(std::move(popped));
}
reply zpopmin(call& c) { return pop(c, false); }
reply zpopmax(call& c) { return pop(c, true); }

} // namespace

std::span<const command> zset_commands() {
    constexpr unsigned grows = command::writes | command::needs_memory;
    static const command table[] = {
        {"zadd", -4, grows, zadd},
        {"zincrby", 4, grows, zincrby},
        {"zrem", -3, command::writes, zrem},
        {"zcard", 2, 0, zcard},
        {"zscore", 3, 0, zscore},
        {"zrank", 3, 0, zrank},
        {"zcount", 4, 0, zcount},
        {"zrange", -4, 0, zrange},
        {"zrevrange", -4, 0, zrevrange},
        {"zrangebyscore", -4, 0, zrangebyscore},
        {"zrevrangebyscore", -4, 0, zrevrangebyscore},
        {"zremrangebyscore", 4, command::writes, zremrangebyscore},
        {"zremrangebyrank", 4, command::writes, zremrangebyrank},
        {"zpopmin", -2, command::writes, zpopmin},
        {"zpopmax", -2, command::writes, zpopmax},
    };
    return table;
}

} // namespace distlock::simulation
