// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace distlock::simulation {

using list = std::deque<std::string>;

/// Fields in the order of their first setting, as Redis keeps a small hash.
struct hash {
    std::vector<std::pair<std::string, std::string>> fields;

    std::string* find(std::string_view field);
    /// True when the field is new.
    bool set(std::string_view field, std::string_view text);
    bool erase(std::string_view field);
};

/// Members in the order of (score, octets). A sorted vector: lock keys are small.
struct zset {
    struct item {
        double score;
        std::string member;
        friend auto operator<=>(const item&, const item&) = default;
    };
    std::vector<item> items;

    /// Where the member stands, or items.size().
    std::size_t rank(std::string_view member) const;
    void set(std::string_view member, double score);
    bool erase(std::string_view member);
};

using value = std::variant<std::string, list, zset, hash>;

struct entry {
    static constexpr std::int64_t never = -1;

    value data;
    /// The wall clock (ms) after which the key counts as gone.
    std::int64_t expires = never;
};

/// What one command (a whole script too) did to the keys, as a replica applies it: all of it or nothing.
struct effect {
    std::string key;
    /// The key's new content, or nothing when it was deleted.
    std::optional<entry> now;
};
using effects = std::vector<effect>;

/// The keys of one server, with expiry by a clock that its owner sets and records of what has changed.
class keyspace {
public:
    /// The wall clock in ms.
    std::int64_t now = 0;
    /// False on a replica: it takes an expired key for absent but leaves deleting it to its primary.
    bool deletes_expired = true;
    /// Whether `take_effects` is wanted.
    bool records = false;

    /// The live entry, or nullptr. An expired one is deleted on the way (lazy expiry).
    entry* find(std::string_view key) {
        const auto at = entries_.find(key);
        if (at == entries_.end()) {
            return nullptr;
        }
        if (expired(at->second)) [[unlikely]] {
            if (deletes_expired) {
                touch(key);
                entries_.erase(at);
            }
            return nullptr;
        }
        return &at->second;
    }

    /// The value of that type, or nullptr where the key is absent or holds another; `wrong` tells which.
    template <class T>
    T* find_as(std::string_view key, bool& wrong) {
        entry* const found = find(key);
        T* const typed = found == nullptr ? nullptr : std::get_if<T>(&found->data);
        wrong = found != nullptr && typed == nullptr;
        return typed;
    }

    /// The live entry, made with an empty `T` where there is none.
    template <class T>
    entry& find_or_make(std::string_view key) {
        entry* const found = find(key);
        return found != nullptr ? *found : entries_.insert_or_assign(std::string{key}, entry{T{}}).first->second;
    }

    /// Replaces the key whatever it holds.
    entry& set(std::string_view key, value data, std::int64_t expires);
    bool erase(std::string_view key);
    /// Says that the content or the expiry of `key` has changed.
    void touch(std::string_view key) {
        dirty_ = true;
        if (records && (touched_.empty() || touched_.back() != key)) {
            touched_.emplace_back(key);
        }
    }
    /// Deletes the key when its collection has become empty.
    void drop_if_empty(std::string_view key);
    void clear();
    /// Active expiry: deletes up to `most` expired keys.
    std::size_t expire_some(std::size_t most);

    bool dirty() const { return dirty_; }
    /// What has changed since the last call; empty unless `records`. Clears `dirty`.
    effects take_effects();
    void apply(const effects& changes);

    /// The live keys, sorted.
    std::vector<std::string> keys() const;
    std::size_t size() const { return entries_.size(); }
    const entry* peek(std::string_view key) const;

private:
    bool expired(const entry& e) const { return e.expires != entry::never && now > e.expires; }

    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
    };
    std::unordered_map<std::string, entry, hasher, std::equal_to<>> entries_;
    bool dirty_ = false;
    std::vector<std::string> touched_;
};

} // namespace distlock::simulation
