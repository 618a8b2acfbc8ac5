// SPDX-License-Identifier: MIT
#include "site.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace distlock::simulation {

namespace {
constexpr std::int64_t tick_every = 100 * parameters::ms; // as Redis' hz 10
} // namespace

site::site(world& where, ledger& books)
    : world_{where}
    , books_{books}
    , dice_{where.drawn().seed, "site"}
    , start_us_{primary_->now_us()} {
    const auto& drawn = world_.drawn();
    schedule(drawn.crashes, "crashes", &site::crash);
    schedule(drawn.wipes, "wipes", &site::wipe);
    schedule(drawn.steps, "steps", &site::step);
    schedule(drawn.script_flushes, "flushes", &site::flush);
    schedule(drawn.evictions, "evictions", &site::evict);
    schedule(drawn.refusals, "refusals", &site::refuse);
    if (drawn.failovers > 0) {
        replica_ = std::make_unique<server>();
        replica_->follow(*primary_);
        schedule(drawn.failovers, "failovers", &site::fail_over);
        replicate();
    }
    world_.at(tick_every, [this] { tick(); });
}

void site::schedule(std::int64_t times, const char* name, void (site::*fault)()) {
    chance dice{world_.drawn().seed, name};
    for (; times > 0; --times) {
        world_.at(dice.between(0, world_.drawn().length), [this, fault, name] {
            world_.tell("server", name);
            set_clock(*primary_);
            observe(-1);
            (this->*fault)();
            observe(-1);
        });
    }
}

void site::set_clock(server& which) const {
    const auto elapsed = world_.now();
    which.set_clock(start_us_ + stepped_us_ + elapsed / 1000 +
                    elapsed * world_.drawn().server_drift_ppm / 1'000'000'000);
}

server* site::serving() {
    if (world_.now() < down_until_) {
        return nullptr;
    }
    set_clock(*primary_);
    auto& trouble = primary_->trouble;
    const auto kind = world_.now() < refuses_until_ ? refusal_ : -1;
    trouble.loading = kind == 0;
    trouble.misconf = kind == 1;
    trouble.out_of_memory = kind == 2;
    trouble.too_few_replicas = kind == 3;
    trouble.denied.clear();
    if (kind == 4) {
        trouble.denied = {"evalsha", "eval"};
    } else if (kind == 5) {
        trouble.denied = {"set"};
    }
    return primary_.get();
}

void site::tick() {
    if (auto* const up = serving()) {
        observe(-1);
        up->tick();
        observe(-1);
    }
    world_.at(world_.now() + tick_every, [this] { tick(); });
}

void site::replicate() {
    set_clock(*replica_);
    const auto seen = primary_->offset();
    const auto lag = dice_.scale(2 * parameters::ms, std::max(world_.drawn().longest_lag, 3 * parameters::ms));
    world_.at(world_.now() + lag, [this, seen, from = primary_.get()] {
        if (from == primary_.get()) {
            set_clock(*replica_);
            replica_->pull(seen);
        }
        replicate();
    });
}

void site::go_down(std::int64_t length) {
    down_until_ = world_.now() + length;
    ++incarnation_;
}

void site::break_trust() { books_.trust_is_lost(); }

void site::crash() {
    primary_->crash(true);
    go_down(dice_.scale(100'000, world_.drawn().longest_downtime));
    if (replica_) {
        replica_->follow(*primary_);
    }
}

void site::wipe() {
    break_trust();
    primary_->crash(false);
    go_down(dice_.scale(100'000, world_.drawn().longest_downtime));
    if (replica_) {
        replica_->follow(*primary_);
    }
}

void site::fail_over() {
    break_trust();
    primary_->crash(true);
    set_clock(*replica_);
    replica_->promote();
    primary_.swap(replica_);
    replica_->follow(*primary_);
    go_down(dice_.scale(100'000, world_.drawn().longest_downtime));
}

void site::step() {
    const auto length = dice_.scale(1'000, world_.drawn().longest_step / 1000);
    const bool forward = dice_.happens(0.5);
    if (forward) {
        break_trust();
    }
    stepped_us_ += forward ? length : -length;
    set_clock(*primary_);
}

void site::flush() {
    if (auto* const up = serving()) {
        up->evict_scripts();
    }
}

void site::evict() {
    break_trust();
    primary_->evict(books_.key());
}

void site::refuse() {
    refusal_ = dice_.between(0, 5);
    refuses_until_ = world_.now() + dice_.scale(10 * parameters::ms, parameters::s);
}

} // namespace distlock::simulation
