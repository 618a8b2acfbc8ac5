// SPDX-License-Identifier: MIT
#include "keyspace.hpp"

#include <algorithm>

namespace distlock::simulation {

std::string* hash::find(std::string_view field) {
    const auto at = std::ranges::find(fields, field, &std::pair<std::string, std::string>::first);
    return at == fields.end() ? nullptr : &at->second;
}

bool hash::set(std::string_view field, std::string_view text) {
    if (std::string* const found = find(field)) {
        *found = text;
        return false;
    }
    fields.emplace_back(field, text);
    return true;
}

bool hash::erase(std::string_view field) {
    return std::erase_if(fields, [&](const auto& each) { return each.first == field; }) > 0;
}

std::size_t zset::rank(std::string_view member) const {
    return static_cast<std::size_t>(std::ranges::find(items, member, &item::member) - items.begin());
}

void zset::set(std::string_view member, double score) {
    erase(member);
    item made{score, std::string{member}};
    items.insert(std::ranges::upper_bound(items, made), std::move(made));
}

bool zset::erase(std::string_view member) {
    const std::size_t at = rank(member);
    if (at == items.size()) {
        return false;
    }
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

entry& keyspace::set(std::string_view key, value data, std::int64_t expires) {
    touch(key);
    if (const auto at = entries_.find(key); at != entries_.end()) {
        at->second = entry{std::move(data), expires};
        return at->second;
    }
    return entries_.emplace(key, entry{std::move(data), expires}).first->second;
}

bool keyspace::erase(std::string_view key) {
    if (find(key) == nullptr) {
        return false;
    }
    touch(key);
    entries_.erase(entries_.find(key));
    return true;
}

void keyspace::drop_if_empty(std::string_view key) {
    const auto at = entries_.find(key);
    const value& data = at->second.data;
    const auto* const as_list = std::get_if<list>(&data);
    const auto* const as_zset = std::get_if<zset>(&data);
    const auto* const as_hash = std::get_if<hash>(&data);
    if ((as_list != nullptr && as_list->empty()) || (as_zset != nullptr && as_zset->items.empty()) ||
        (as_hash != nullptr && as_hash->fields.empty())) {
        touch(key);
        entries_.erase(at);
    }
}

void keyspace::clear() {
    for (const auto& [key, unused] : entries_) {
        touch(key);
    }
    entries_.clear();
}

std::size_t keyspace::expire_some(std::size_t most) {
    std::size_t done = 0;
    for (auto at = entries_.begin(); at != entries_.end() && done < most;) {
        if (expired(at->second)) {
            touch(at->first);
            at = entries_.erase(at);
            ++done;
        } else {
            ++at;
        }
    }
    return done;
}

effects keyspace::take_effects() {
    effects changes;
    dirty_ = false;
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    changes.reserve(touched_.size());
    for (auto& key : touched_) {
        const auto at = entries_.find(key);
        changes.push_back({std::move(key), at == entries_.end() ? std::nullopt : std::optional<entry>{at->second}});
    }
    touched_.clear();
    return changes;
}

void keyspace::apply(const effects& changes) {
    for (const auto& [key, content] : changes) {
        if (content) {
            set(key, content->data, content->expires);
        } else if (const auto at = entries_.find(key); at != entries_.end()) {
            touch(key);
            entries_.erase(at);
        }
    }
}

std::vector<std::string> keyspace::keys() const {
    std::vector<std::string> live;
    for (const auto& [key, content] : entries_) {
        if (!expired(content)) {
            live.push_back(key);
        }
    }
    std::ranges::sort(live);
    return live;
}

const entry* keyspace::peek(std::string_view key) const {
    const auto at = entries_.find(key);
    return at == entries_.end() || expired(at->second) ? nullptr : &at->second;
}

} // namespace distlock::simulation
