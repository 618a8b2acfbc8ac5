// SPDX-License-Identifier: MIT
#pragma once

#include "ledger.hpp"
#include "site.hpp"
#include "wire.hpp"
#include "world.hpp"

#include "distlock/error.hpp"
#include "distlock/outcome.hpp"
#include "distlock/retry.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

/// The exclusive lock's part of the simulation: what its clients do, and what they may say.
///
/// A lock joins by a file like this one: clients' lives as code that uses the lock, with a check behind every
/// answer, the invariants over all clients, and an entry in workloads.cpp. Mutants of it are listed in
/// mutants.cmake.
namespace distlock::simulation {

/// One life: lock, hold, extend, release, rest, and the same again, each in one of the ways in which people
/// do it.
template <class Lock>
class exclusive_life {
public:
    exclusive_life(client& me, site& to, Lock& lock)
        : me_{me}
        , site_{to}
        , books_{to.books()}
        , lock_{lock} {}

    void live() {
        me_.held_token = [this] { return lock_.owns_lock() ? lock_.token() : std::string_view{}; };
        me_.where().tell(me_.name(), "lives");
        while (!me_.where().closing()) {
            if (acquire()) {
                hold();
                give_back();
            }
            rest(me_.where().drawn().longest_rest);
        }
        me_.held_token = nullptr;
    }

private:
    using milliseconds = std::chrono::milliseconds;

    std::string token() const { return std::string{lock_.token()}; }
    void say(const std::string& what) const { me_.where().tell(me_.name(), what); }

    void rest(std::int64_t longest) {
        const auto wake = me_.clock() + std::chrono::nanoseconds{me_.dice().between(100'000, longest)};
        virtual_clock::sleep_until(wake, {});
    }

    bool acquire() {
        const auto begun = me_.clock();
        const auto paused = me_.paused_for();
        call_begun_ = me_.where().now();
        std::error_code ec;
        bool got = false;
        std::chrono::nanoseconds bound = std::chrono::seconds{3600};
        const auto exchanges = std::chrono::milliseconds{101}; // an attempt and its clean-up, begun at the deadline
        switch (me_.dice().between(0, 3)) {
        case 0:
            got = lock_.try_lock(ec);
            break;
        case 1:
        case 2: {
            const std::chrono::nanoseconds wait{me_.dice().scale(parameters::ms, me_.where().drawn().longest_wait)};
            me_.waits_since = call_begun_;
            got = lock_.try_lock_for(wait, ec);
            bound = wait + exchanges;
            break;
        }
        default:
            me_.waits_since = call_begun_;
            lock_.lock(ec);
            got = !ec;
            if (ec == errc::refused || ec == errc::unreachable || ec == errc::unknown_outcome) {
                say("lock() gives up");
            }
        }
        me_.waits_since.reset();
        const auto took = me_.clock() - begun - std::chrono::nanoseconds{me_.paused_for() - paused};
        if (took > bound) {
            me_.where().violated(me_.name() + " waited " + std::to_string(took.count() / 1000) + " us, " +
                                 std::to_string((took - bound).count() / 1000) + " too long");
        }
        if (me_.where().tells()) {
            say(got ? "has it, token " + token().substr(0, 8) : ec ? "failed: " + ec.message() : "found it busy");
        }
        check_acquired(got, ec, paused != me_.paused_for());
        return got;
    }

    void check_acquired(bool got, std::error_code ec, bool was_paused) {
        if (got && ec) {
            me_.where().violated("granted with an error");
        }
        if (got) {
            const auto fate = books_.of(lock_.token());
            if (!fate.granted || fate.owner != me_.number()) {
                me_.where().violated(me_.name() + " was told of a grant that never was");
            }
            const bool has_some_left = me_.ask([&] { return lock_.owns_lock(); });
            if (!has_some_left && !was_paused) {
                me_.where().violated(me_.name() + " was given a lease with nothing left");
            }
            return;
        }
        // Busy and refused and not sent say that nothing of ours is there; an unknown outcome does not.
        if (!ec || ec == errc::refused || ec == errc::unreachable) {
            check_nothing_left("gave up");
        }
    }

    void check_nothing_left(const char* when) {
        if (auto* const up = site_.serving()) {
            const auto fate = books_.of(books_.live(*up));
            // (An earlier hold's release may still be unknown: that was said, and is not this call's doing.)
            const bool of_this_call = fate.owner == me_.number() && fate.asked_at >= call_begun_;
            // (Behind a clock that stepped back a key outlives its ttl, which is as long as a clean-up is tried.)
            const auto& drawn = me_.where().drawn();
            const bool outlived = drawn.steps > 0 && me_.where().now() - fate.asked_at > drawn.ttl;
            if (of_this_call && !fate.late && !outlived && fate.epoch == books_.epoch()) {
                me_.where().violated(me_.name() + ' ' + when + " and left its token behind");
            }
        }
    }

    void hold() {
        const auto& drawn = me_.where().drawn();
        rest(drawn.longest_hold);
        if (!drawn.extends) {
            return;
        }
        for (auto rounds = me_.dice().between(0, 6); rounds > 0; --rounds) {
            std::error_code ec;
            const milliseconds ttl{std::max<std::int64_t>(1, drawn.ttl / parameters::ms / me_.dice().between(1, 6))};
            const auto token_before = token();
            const bool was_lost = me_.ask([&] { return lock_.lost() != loss_reason::none; });
            const bool kept = lock_.extend(ttl, ec);
            say(kept ? "extended" : ec ? "could not extend: " + ec.message() : "extended in vain");
            if (kept && (was_lost || !books_.of(token_before).granted)) {
                me_.where().violated(me_.name() + " extended what it had lost");
            }
            rest(std::min(drawn.longest_hold, drawn.ttl / 6));
        }
        rest(drawn.longest_hold);
    }

    void give_back() {
        const std::string held = token();
        switch (me_.dice().between(0, 3)) {
        case 0: {
            std::error_code ec;
            const auto outcome = lock_.release(ec);
            say("released, outcome " + std::to_string(static_cast<int>(outcome)));
            check_released(held, outcome);
            break;
        }
        case 1:
            lock_.unlock();
            check_released(held, lock_.last_release());
            break;
        default:
            say("unlocks");
            lock_.unlock();
        }
        if (me_.ask([&] { return lock_.owns_lock(); })) {
            me_.where().violated(me_.name() + " owns what it gave back");
        }
    }

    void check_released(const std::string& held, release_outcome outcome) {
        const auto fate = books_.of(held);
        if (fate.epoch != books_.epoch() || fate.owner != me_.number()) {
            return; // the server itself has lost or revived keys since
        }
        using end = ledger::end;
        const bool gone = fate.ended != end::none;
        const bool true_word = outcome == release_outcome::unknown    ? true
                               : outcome == release_outcome::released ? gone
                                                                      : gone && fate.ended != end::released;
        if (!true_word) {
            me_.where().violated(me_.name() + " was told of a release that is not what happened");
        }
    }

    client& me_;
    site& site_;
    ledger& books_;
    Lock& lock_;
    std::int64_t call_begun_ = 0;
};

/// Who says to own the lock does own it by the server, and so at most one does; except for what a lease
/// cannot know (the server lost or forgot it: the ledger's epoch).
inline void check_exclusion(world& where, site& to) {
    auto& books = to.books();
    std::string_view owner;
    for (const auto& each : where.clients()) {
        if (!each->held_token) {
            continue;
        }
        const auto token = each->ask(each->held_token);
        if (token.empty() || books.of(token).epoch != books.epoch()) {
            continue;
        }
        if (!owner.empty()) {
            where.violated(each->name() + " is not the only one who owns the lock");
        }
        owner = token;
    }
    if (auto* const up = owner.empty() ? nullptr : to.serving(); up != nullptr && books.live(*up) != owner) {
        where.violated("a client says to own the lock, and the server does not");
    }
}

/// Where nothing goes wrong, a free lock does not stay free while somebody waits for it: no longer than a policy's
/// longest pause, and the messages. (Where things do go wrong, check_nothing_left has the other half: what is free by
/// right, because no call says that it is ours, is free.)
inline void check_progress(world& where, site& to, std::int64_t longest_pause) {
    const auto& drawn = where.drawn();
    const auto free_since = to.books().free_since();
    if (!free_since || !drawn.is_calm()) {
        return;
    }
    for (const auto& each : where.clients()) {
        if (each->waits_since &&
            where.now() - std::max(*free_since, *each->waits_since) > longest_pause + 12 * drawn.longest_trip) {
            where.violated(each->name() + " waits for a lock that is free");
        }
    }
}

} // namespace distlock::simulation
