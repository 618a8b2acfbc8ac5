// SPDX-License-Identifier: MIT
#include "ledger.hpp"

#include <variant>

namespace distlock::simulation {

namespace {

bool is_over(const entry& held, std::int64_t now_ms) { return held.expires != entry::never && now_ms > held.expires; }

} // namespace

void ledger::asked(std::string_view token, int client, bool late) {
    const auto [at, fresh] = fates_.try_emplace(std::string{token});
    if (!fresh && at->second.owner >= 0) {
        world_.violated("client " + std::to_string(client) + " uses a token again");
    }
    at->second.owner = client;
    at->second.late = late;
    at->second.asked_at = world_.now();
}

void ledger::observe(const server& at, int client) {
    const auto now_ms = at.now_us() / 1000;
    const entry* const found = at.peek(key_);
    const bool live = found != nullptr && !is_over(*found, now_ms);
    const auto* const token = live ? std::get_if<std::string>(&found->data) : nullptr;
    if (live && token == nullptr) {
        world_.violated("the lock's key is no string any more");
    }
    if (!token_.empty() && (token == nullptr || *token != token_)) {
        ended(now_ms > expires_ms_ ? end::expired : client < 0 ? end::lost : end::released, client);
    }
    if (token == nullptr) {
        return;
    }
    if (found->expires == entry::never) {
        world_.violated("the lock never expires");
    }
    const bool is_news = token_.empty() || found->expires != expires_ms_;
    if (client >= 0 && is_news && found->expires - now_ms > longest_ttl_ms_) {
        world_.violated("the lock has more than its ttl left");
    }
    if (token_.empty()) {
        auto& its = fates_[*token];
        if (client >= 0 && its.owner != client) {
            world_.violated("client " + std::to_string(client) + " took the lock under a token that is not its own");
        }
        if (its.granted && client >= 0) {
            world_.violated("an old token is back");
        }
        its.granted = true;
        its.ended = end::none;
        its.epoch = client < 0 ? revived : epoch_;
        token_ = *token;
        ++grants_;
    } else if (found->expires != expires_ms_ && client >= 0 && fates_[token_].owner != client) {
        world_.violated("client " + std::to_string(client) + " extended a lock that is not its own");
    }
    expires_ms_ = found->expires;
}

void ledger::ended(end how, int client) {
    auto& its = fates_[token_];
    if (how == end::released && its.owner != client) {
        world_.violated("client " + std::to_string(client) + " ended the lock of client " + std::to_string(its.owner));
    }
    its.ended = how;
    token_.clear();
    free_since_ = world_.now();
}

ledger::fate ledger::of(std::string_view token) const {
    const auto at = fates_.find(token);
    return at == fates_.end() ? fate{} : at->second;
}

std::string_view ledger::live(const server& at) const {
    const entry* const found = at.peek(key_);
    const auto* const token = found == nullptr ? nullptr : std::get_if<std::string>(&found->data);
    return token == nullptr || is_over(*found, at.now_us() / 1000) ? std::string_view{} : *token;
}

} // namespace distlock::simulation
