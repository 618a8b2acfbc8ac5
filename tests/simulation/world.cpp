// SPDX-License-Identifier: MIT
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace distlock::simulation {

thread_local client* client::current_ = nullptr;

world::world(parameters chosen, bool tells)
    : parameters_{std::move(chosen)}
    , tells_{tells} {}

void world::end_lives() noexcept {
    // A fiber may only go when its code has ended: killed code runs to its end without waiting.
    for (auto& each : clients_) {
        each->held_token = nullptr;
        each->kill();
        for (int i = 0; each->alive() && i < 1000; ++i) {
            each->paused_until_ = 0;
            each->run();
        }
    }
}

void world::at(std::int64_t when, std::function<void()> what) {
    queue_.push_back({std::max(when, now_), order_++, std::move(what)});
    std::ranges::push_heap(queue_, std::greater{}, &event::rank);
}

client& world::add(std::function<void(client&)> life) {
    clients_.push_back(std::make_unique<client>(*this, static_cast<int>(clients_.size()), std::move(life)));
    auto& made = *clients_.back();
    at(now_, [&made] { made.run(); });
    return made;
}

bool world::step(std::int64_t end) {
    if (queue_.empty() || queue_.front().when > end) {
        now_ = std::max(now_, end);
        return false;
    }
    std::ranges::pop_heap(queue_, std::greater{}, &event::rank);
    const auto due = std::move(queue_.back());
    queue_.pop_back();
    now_ = due.when;
    ++events_;
    due.what();
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return true;
}

void world::run_lives(std::int64_t end, const std::function<void()>& after_each) {
    while (std::ranges::any_of(clients_, [](const auto& each) { return each->alive(); }) && step(end)) {
        after_each();
    }
}

void world::run_on(std::int64_t length) {
    const auto end = now_ + length;
    while (step(end)) {
    }
}

void world::tell(const std::string& who, const std::string& what) {
    if (tells_) {
        std::printf("%12.6f  %-10s %s\n", static_cast<double>(now_) / 1e9, who.c_str(), what.c_str());
    }
}

void world::violated(const std::string& what) const {
    throw violation{"seed " + std::to_string(parameters_.seed) + ", at " + std::to_string(now_ / 1000) +
                    " us: " + what};
}

client::client(world& where, int number, std::function<void(client&)> life)
    : world_{where}
    , number_{number}
    , dice_{where.drawn().seed, "client " + std::to_string(number)}
    , pause_dice_{where.drawn().seed, "pauses of " + std::to_string(number)}
    , kill_dice_{where.drawn().seed, "end of " + std::to_string(number)}
    , clock_start_{dice_.between(1'000'000'000, 1'000'000'000'000'000)}
    , clock_ppm_{dice_.between(-where.drawn().client_drift_ppm, where.drawn().client_drift_ppm)}
    , fiber_{[this, life = std::move(life)] {
        try {
            life(*this);
        } catch (const killed&) { // what was on its stack is gone, as with any dead process
        } catch (...) {
            world_.keep_failure();
        }
        held_token = nullptr;
    }} {}

lease_clock::time_point client::clock() const noexcept {
    const auto elapsed = world_.now();
    return lease_clock::time_point{lease_clock::duration{clock_start_ + elapsed + elapsed * clock_ppm_ / 1'000'000}};
}

std::int64_t client::true_time_of(lease_clock::time_point local) const noexcept {
    const auto shown = local.time_since_epoch().count() - clock_start_;
    const auto guess = static_cast<double>(shown) / (1.0 + static_cast<double>(clock_ppm_) * 1e-6);
    return guess > 9e18 ? INT64_MAX : static_cast<std::int64_t>(guess) + 1'000;
}

void client::run() {
    if (!alive()) {
        return;
    }
    waiting_ = false;
    auto* const before = std::exchange(current_, this);
    fiber_.resume();
    current_ = before;
}

void client::wait(lease_clock::time_point local) {
    if (killed_) {
        throw killed{};
    }
    waiting_ = true;
    wake_at(true_time_of(local));
    fiber_.suspend();
    if (!killed_ && kill_dice_.happens(world_.drawn().kills)) {
        world_.tell(name(), "is killed");
        kill();
    }
    if (killed_) {
        throw killed{};
    }
}

void client::wake() {
    if (!waiting_) {
        return;
    }
    if (world_.now() < paused_until_) {
        wake_at(paused_until_);
        return;
    }
    run();
}

void client::wake_at(std::int64_t when) {
    due_ = when;
    if (when >= alarm_) {
        return; // an earlier alarm is set, and will set the next one
    }
    alarm_ = when;
    world_.at(when, [this, when] {
        if (alarm_ != when) {
            return;
        }
        alarm_ = no_alarm;
        if (waiting_ && world_.now() < due_) {
            wake_at(due_);
        } else if (waiting_) {
            wake();
        }
    });
}

void client::may_pause() noexcept {
    const auto& drawn = world_.drawn();
    if (asked_ || killed_ || !pause_dice_.happens(drawn.pauses)) {
        return;
    }
    const auto length = pause_dice_.scale(100'000, drawn.longest_pause);
    paused_until_ = world_.now() + length;
    paused_for_ += length;
    if (world_.tells()) {
        world_.tell(name(), "is paused for " + std::to_string(length / 1000) + " us");
    }
    waiting_ = true;
    wake_at(paused_until_);
    while (!killed_ && world_.now() < paused_until_) {
        waiting_ = true;
        fiber_.suspend();
    }
}

void client::kill() {
    killed_ = true;
    waits_since.reset();
    held_token = nullptr;
}

void virtual_clock::sleep_until(lease_clock::time_point wake, const std::stop_token& stop) {
    auto& me = *client::current();
    while (me.clock() < wake && !stop.stop_requested()) {
        me.wait(wake);
    }
}

void virtual_clock::yield() {
    auto& me = *client::current();
    me.wait(me.clock() + std::chrono::microseconds{50});
}

void virtual_clock::random_octets(std::span<std::byte> out) {
    for (auto& octet : out) {
        octet = static_cast<std::byte>(client::current()->dice().bits());
    }
}

} // namespace distlock::simulation
