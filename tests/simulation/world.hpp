// SPDX-License-Identifier: MIT
#pragma once

#include "chance.hpp"
#include "distlock/clock.hpp"
#include "fiber.hpp"
#include "parameters.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distlock::simulation {

class client;

/// An invariant does not hold. Ends the run; carries the whole story in one line.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown through a client's code when its process is killed: nothing it does from then on has any effect.
struct killed {};

/// Virtual time, the events that are due, and the clients whose code runs when they are woken. Everything
/// happens in one thread, in an order that is a function of the parameters.
class world {
public:
    explicit world(parameters chosen, bool tells);
    ~world() = default;
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    const parameters& drawn() const noexcept { return parameters_; }
    /// True time since the start, in ns. No client and no server sees it.
    std::int64_t now() const noexcept { return now_; }
    void at(std::int64_t when, std::function<void()> what);

    client& add(std::function<void(client&)> life);
    const std::vector<std::unique_ptr<client>>& clients() const noexcept { return clients_; }

    /// Runs until `end`, or until nobody lives; `after_each` after every event.
    void run_lives(std::int64_t end, const std::function<void()>& after_each);
    /// Lets time pass: what is still under way arrives.
    void run_on(std::int64_t length);
    /// Ends whoever still lives, while what their code refers to is still there.
    void end_lives() noexcept;
    /// True while the wards, the clients, are to end their lives at the next opportunity.
    bool closing() const noexcept { return now_ >= parameters_.length; }
    std::uint64_t events() const noexcept { return events_; }

    /// Whether anybody reads the trace: do not build a line that nobody wants.
    bool tells() const noexcept { return tells_; }
    void tell(const std::string& who, const std::string& what);
    [[noreturn]] void violated(const std::string& what) const;
    /// Keeps the exception under way, which cannot leave a fiber, for run() to throw.
    void keep_failure() noexcept { failure_ = std::current_exception(); }

private:
    bool step(std::int64_t end);

    struct event {
        std::int64_t when;
        std::uint64_t order;
        std::function<void()> what;
        std::pair<std::int64_t, std::uint64_t> rank() const noexcept { return {when, order}; }
    };

    parameters parameters_;
    bool tells_;
    std::int64_t now_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t order_ = 0;
    std::vector<event> queue_; // a heap
    std::exception_ptr failure_;
    std::vector<std::unique_ptr<client>> clients_;
};

/// One simulated process: a fiber, a clock of its own, and the faults that befall processes.
class client {
public:
    client(world& where, int number, std::function<void(client&)> life);

    world& where() noexcept { return world_; }
    int number() const noexcept { return number_; }
    std::string name() const { return "client " + std::to_string(number_); }
    bool alive() const noexcept { return !fiber_.done(); }
    bool is_killed() const noexcept { return killed_; }
    chance& dice() noexcept { return dice_; }

    /// Its lease clock, as it is now.
    lease_clock::time_point clock() const noexcept;
    /// The true time at which its clock will show `local`.
    std::int64_t true_time_of(lease_clock::time_point local) const noexcept;

    /// From its own code: stands still until wake() or until `local`. Throws killed.
    void wait(lease_clock::time_point local);
    /// From its own code, at any step: it may be paused here. Never throws.
    void may_pause() noexcept;
    /// Lets its code go on when it is waiting (and not paused: then as soon as that is over).
    void wake();
    /// Ends the process: whatever its code does from now on throws or has no effect.
    void kill();
    /// Total time it stood still by no fault of its code; for judging deadlines.
    std::int64_t paused_for() const noexcept { return paused_for_; }

    /// Whose code is running.
    static client* current() noexcept { return current_; }
    /// Runs `question` with this client's clock, as its own code would see it.
    template <class Question>
    auto ask(Question question) {
        auto* const before = std::exchange(current_, this);
        const bool asked = std::exchange(asked_, true);
        const auto answer = question();
        asked_ = asked;
        current_ = before;
        return answer;
    }

    /// For the invariants: the token under which its lock says that it owns, now, or an empty one. Not set
    /// while it has no lock object.
    std::function<std::string_view()> held_token;
    /// Since when (true time) its code has been waiting for the lock, if it is.
    std::optional<std::int64_t> waits_since;

private:
    void run();
    void wake_at(std::int64_t when);

    world& world_;
    int number_;
    chance dice_;
    chance pause_dice_;
    chance kill_dice_;
    std::int64_t clock_start_;
    std::int64_t clock_ppm_;
    bool waiting_ = false;
    bool killed_ = false;
    bool asked_ = false;
    // One alarm at a time is enough: what it finds not yet due, it sets anew. (Stale alarms were most of all events.)
    static constexpr std::int64_t no_alarm = INT64_MAX;
    std::int64_t alarm_ = no_alarm;
    std::int64_t due_ = no_alarm;
    std::int64_t paused_until_ = 0;
    std::int64_t paused_for_ = 0;
    fiber fiber_;
    static thread_local client* current_;

    friend class world;
};

/// The clock of whichever client runs: what the library takes as its Clock parameter.
struct virtual_clock {
    static lease_clock::time_point now() noexcept {
        auto& me = *client::current();
        me.may_pause();
        return me.clock();
    }
    static void sleep_until(lease_clock::time_point wake, const std::stop_token& stop);
    static void yield();
    static void random_octets(std::span<std::byte> out);
};

static_assert(clock_source<virtual_clock>);

} // namespace distlock::simulation
