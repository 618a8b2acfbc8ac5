// SPDX-License-Identifier: MIT
#include "exclusive_workload.hpp"
#include "ledger.hpp"
#include "old_recipes.hpp"
#include "run.hpp"
#include "site.hpp"
#include "wire.hpp"
#include "world.hpp"

#include "distlock/redis_lock.hpp"

#include <algorithm>
#include <chrono>

namespace distlock::simulation {

namespace {

using namespace std::chrono_literals;

/// Any of the library's policies, drawn for the seed.
struct drawn_policy {
    static constexpr std::int64_t longest_pause = 256 * parameters::ms;
    std::int64_t kind;

    retry::pause operator()(const retry::attempt& now) const {
        switch (kind) {
        case 0:
            return retry::backoff{}(now);
        case 1:
            return retry::backoff{5ms, 200ms}(now);
        case 2:
            return retry::sleep{35ms}(now);
        case 3:
            return retry::sleep{77ms}(now);
        default:
            return now.elapsed < 2ms ? retry::yield{}(now) : retry::backoff{}(now);
        }
    }
};

template <class Wire>
result run_redis_lock(const parameters& drawn, bool tells) {
    result out;
    world where{drawn, tells};
    ledger books{where, "lock", drawn.ttl};
    site to{where, books};
    const lock_options options{.ttl = std::chrono::milliseconds{drawn.ttl / parameters::ms}, .give_up_after = 3s};
    const drawn_policy policy{chance{drawn.seed, "policy"}.between(0, 4)};
    const auto life = [&](client& me) {
        Wire connection{me, to};
        redis_lock<Wire, drawn_policy, virtual_clock> lock{connection, books.key(), options, policy};
        exclusive_life{me, to, lock}.live();
    };
    try {
        if (tells) {
            where.tell("", drawn.describe());
        }
        for (int i = 0; i < drawn.clients; ++i) {
            where.add(life);
        }
        where.run_lives(drawn.length + 60 * parameters::s, [&] {
            check_exclusion(where, to);
            check_progress(where, to, drawn_policy::longest_pause);
        });
        // (lock() has no deadline, and behind a clock that stepped back the key outlives everybody.)
        if (drawn.steps == 0 && std::ranges::any_of(where.clients(), [](const auto& each) { return each->alive(); })) {
            where.violated("a client never came back");
        }
        // Everybody is gone: what is left is what nobody could remove, and that not for long.
        where.run_on(2 * drawn.ttl + drawn.longest_downtime + drawn.longest_delay + parameters::s);
        if (auto* const up = to.serving(); up != nullptr && drawn.steps == 0 && !books.live(*up).empty()) {
            where.violated("the lock is still there when everybody has gone");
        }
    } catch (const violation& broken) {
        out.violation = broken.what();
    }
    where.end_lives();
    out.grants = books.grants();
    out.events = where.events();
    out.simulated_ns = where.now();
    return out;
}

result run_exclusive(const parameters& drawn, bool tells) {
    return drawn.pipelined ? run_redis_lock<pipelined_wire>(drawn, tells) : run_redis_lock<wire>(drawn, tells);
}

} // namespace

const std::vector<workload>& workloads() {
    static const std::vector<workload> all{
        {"redis_lock", &run_exclusive},
        {"get_then_del", &run_redis_lock<get_then_del>, true},
        {"setnx_then_expire", &run_redis_lock<setnx_then_expire>, true},
        {"getset_timestamp", &run_redis_lock<getset_timestamp>, true},
    };
    return all;
}

} // namespace distlock::simulation
