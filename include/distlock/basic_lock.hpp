// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/detail/acquire_machine.hpp"
#include "distlock/detail/exchange.hpp"
#include "distlock/detail/fork.hpp"
#include "distlock/detail/hold.hpp"
#include "distlock/detail/limits.hpp"
#include "distlock/detail/message.hpp"
#include "distlock/detail/releaser.hpp"
#include "distlock/detail/token.hpp"
#include "distlock/error.hpp"
#include "distlock/lock_options.hpp"
#include "distlock/outcome.hpp"
#include "distlock/protocol/exclusive.hpp"
#include "distlock/protocol/holder.hpp"
#include "distlock/retry.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distlock {

/// The engine behind every kind of lock: the std operations, retry, validity, unknown outcomes and release, each
/// once. A lock class derives from it and names its `Protocol`; users read the lock class.
///
/// Two doors to every operation that talks to the server: one throws std::system_error, the other sets its last
/// argument (cleared on success) and throws only what memory, the retry policy and the system's random numbers throw.
template <class Protocol, connection Conn, retry_policy Retry, clock_source Clock>
class basic_lock {
public:
    using duration = lease_clock::duration;
    using time_point = lease_clock::time_point;
    using milliseconds = std::chrono::milliseconds;

    basic_lock(const basic_lock&) = delete;
    basic_lock& operator=(const basic_lock&) = delete;

    /// Waits until the lock is ours. Throws when there was no useful answer for `give_up_after`, on a refusal that
    /// does not pass by itself, and std::errc::resource_deadlock_would_occur when this handle owns it already.
    /// One round trip when it is free.
    void lock() { lock(std::stop_token{}); }
    void lock(std::error_code& ec) { lock(std::stop_token{}, ec); }
    /// As lock(); errc::cancelled when a stop is requested first. An exchange under way is finished before.
    void lock(const std::stop_token& stop) { // NOLINT(performance-unnecessary-value-param)
        throwing("lock", [&](std::error_code& ec) { lock(stop, ec); });
    }
    void lock(const std::stop_token& stop, std::error_code& ec) {
        acquire({.waits = true, .deadline = {}, .give_up_after = options_.give_up_after}, stop, ec);
    }

    /// Asks once. False: another owner holds it, and nothing else is called false. One round trip; one more when it is
    /// not free, to tell a lock from a key of another type (errc::refused, WRONGTYPE).
    [[nodiscard]] bool try_lock() {
        return throwing("try_lock", [&](std::error_code& ec) { return try_lock(ec); });
    }
    bool try_lock(std::error_code& ec) {
        return acquire({.waits = false, .deadline = {}, .give_up_after = options_.give_up_after}, {}, ec);
    }

    /// Waits up to `wait`, I/O included (each exchange gets 20 to 50 ms in any case). False: another owner held it, as far as
    /// could be asked in time. An outage is thrown, not called false. A wait that is not positive asks once, as try_lock(); one that
    /// overflows the clock is errc::invalid_argument.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait, const std::stop_token& stop = {}) {
        return throwing("try_lock_for", [&](std::error_code& ec) { return try_lock_for(wait, stop, ec); });
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& wait, std::error_code& ec) {
        return try_lock_for(wait, std::stop_token{}, ec);
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& wait, const std::stop_token& stop,
                      std::error_code& ec) {
        if (wait <= wait.zero()) {
            return try_lock(ec);
        }
        const auto deadline = detail::deadline_after(Clock::now(), wait);
        if (!deadline) {
            fail(errc::invalid_argument, "the wait is longer than the clock can count", ec);
            return false;
        }
        return acquire({.waits = true, .deadline = deadline, .give_up_after = options_.give_up_after}, stop, ec);
    }

    /// As try_lock_for, until a time point of any clock (which is read once, at the call).
    template <class Source, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Source, Duration>& deadline,
                                      const std::stop_token& stop = {}) {
        return throwing("try_lock_until", [&](std::error_code& ec) { return try_lock_until(deadline, stop, ec); });
    }
    template <class Source, class Duration>
    bool try_lock_until(const std::chrono::time_point<Source, Duration>& deadline, std::error_code& ec) {
        return try_lock_until(deadline, std::stop_token{}, ec);
    }
    template <class Source, class Duration>
    bool try_lock_until(const std::chrono::time_point<Source, Duration>& deadline, const std::stop_token& stop,
                        std::error_code& ec) {
        using exact = std::chrono::duration<long double, std::nano>;
        const exact now = now_of<Source>();
        return try_lock_for(exact{deadline.time_since_epoch()} - now, stop, ec);
    }

    /// Gives the lock back. Never throws, and on a pipelined connection does not wait for the answer; nothing
    /// happens when nothing is held. last_release() tells what came of it.
    void unlock() noexcept {
        if (!hold_.active() || !belongs_to_this_process()) {
            return;
        }
        try {
            if (begin_release() && !releaser_.post(io_deadline())) {
                std::error_code ec;
                finish_release(ec);
            }
        } catch (...) { // out of memory: the token is kept, the next operation tries again
        }
    }

    /// Gives the lock back and waits for the server's word. `unknown`: no answer, even to a second try on a fresh
    /// connection (`ec` has the reason); it may be called again, and a key that is then missing counts as released.
    /// Throws std::errc::operation_not_permitted when nothing was held, and errc::refused when the server does not let
    /// us; no answer is no exception. One round trip; one more for the first release on a connection for each native
    /// form that the server lacks.
    release_outcome release() {
        std::error_code ec;
        const auto outcome = release(ec);
        if (ec == std::errc::operation_not_permitted || ec == errc::refused) {
            throw_failure("release", ec);
        }
        return outcome;
    }
    release_outcome release(std::error_code& ec) {
        ec.clear();
        enter();
        if (hold_.active() && begin_release()) {
            return finish_release(ec);
        }
        if (releaser_.posted()) {
            read_posted();
        } else if (!releaser_.unconfirmed()) {
            fail(std::make_error_code(std::errc::operation_not_permitted), "nothing is held", ec);
            return release_outcome::unknown;
        }
        if (releaser_.unconfirmed()) {
            return finish_release(ec);
        }
        tell_released();
        return releaser_.outcome();
    }

    /// Sets the remaining time of the lease to `ttl` (by default the lock's own) from now; never adds, never
    /// creates the key. False: the lease is lost, or none was held. On trouble the lease stays what it was, or
    /// gets shorter where the answer is missing. One round trip.
    bool extend() { return extend(options_.ttl); }
    bool extend(std::error_code& ec) { return extend(options_.ttl, ec); }
    bool extend(milliseconds ttl) {
        return throwing("extend", [&](std::error_code& ec) { return extend(ttl, ec); });
    }
    bool extend(milliseconds ttl, std::error_code& ec) {
        ec.clear();
        if (const auto complaint = detail::complaint_about_ttl(ttl); !complaint.empty()) {
            fail(errc::invalid_argument, complaint, ec);
            return false;
        }
        for (bool again = false; owns_lock(); again = true) {
            const auto sent = Clock::now();
            protocol::command command;
            Protocol::extend(command, key_, token_, ttl);
            const auto before = hold_.begin_extension(sent, ttl);
            const auto answer = way_.call(command, std::max(before, sent), ec);
            if (!ec) {
                return extension_answered(answer, sent, ttl, before, ec);
            }
            fail(ec, way_.last_error(), ec);
            if (ec == errc::unreachable) {
                hold_.extension_failed(before, true);
                return false;
            }
            hold_.extension_unknown(sent, ttl);
            if (again) {
                return false;
            }
        }
        return false;
    }

    /// Granted, not given back, and the local deadline has not passed. Reads the clock at each call; no I/O. False
    /// in a forked child.
    bool owns_lock() const noexcept {
        note_overdue();
        return belongs_to_this_process() && hold_.valid(Clock::now());
    }
    /// owns_lock().
    explicit operator bool() const noexcept { return owns_lock(); }

    /// The local deadline of the last lease: sent + ttl - drift, counted from before its command was sent.
    time_point valid_until() const noexcept { return hold_.valid_until(); }
    /// What is left until then; zero when nothing is owned.
    duration remaining() const noexcept {
        return owns_lock() ? std::max(hold_.valid_until() - Clock::now(), duration::zero()) : duration::zero();
    }

    std::string_view key() const noexcept { return key_; }
    /// The token of the current hold; empty when there is none. Whoever knows it can release the lock.
    std::string_view token() const noexcept {
        return hold_.active() && belongs_to_this_process() ? std::string_view{token_} : std::string_view{};
    }

    /// Is stopped when the current hold is lost: by a definite answer, or by the first call on this handle that
    /// sees the local deadline passed. Take a new one for each hold. The first call in a hold allocates.
    std::stop_token stop_token() const {
        note_overdue();
        return hold_.stop_token();
    }
    /// Why the last hold was lost; `none` while it is not.
    loss_reason lost() const noexcept {
        note_overdue();
        return hold_.loss();
    }

    /// What became of the last release; `unknown` before the first one. After an unlock() whose answer has not been
    /// read yet, this reads it: it may wait for the connection's time-out.
    release_outcome last_release() const noexcept {
        if (releaser_.posted() && belongs_to_this_process()) {
            try {
                read_posted();
                tell_released();
            } catch (...) { // out of memory: unknown for now
            }
        }
        return releaser_.outcome();
    }

    /// The words behind the last `ec`: key, server and reason, as in the exception that the other door throws.
    std::string last_error() const {
        std::string text = detail::in_quotes(key_);
        if (const auto address = way_.address(); !address.empty()) {
            text.append(" at ").append(address);
        }
        return reason_.empty() ? text : text + ": " + reason_;
    }

protected:
    basic_lock(Conn& conn, std::string key, lock_options options, Retry retry)
        : way_{conn}
        , key_{std::move(key)}
        , options_{std::move(options)}
        , retry_{std::move(retry)}
        , releaser_{way_, key_} {
        auto complaint = detail::complaint_about_key(key_);
        if (complaint.empty()) {
            complaint = detail::complaint_about(options_);
        }
        if (complaint.empty() && !retry::is_valid(retry_)) {
            complaint = "the retry policy has a negative duration";
        }
        if (!complaint.empty()) {
            std::error_code ec;
            fail(errc::invalid_argument, complaint, ec);
            throw_failure("construct", ec);
        }
    }

    /// Releases what is held, and tries once to release what an earlier failure has left behind.
    ~basic_lock() {
        if (!belongs_to_this_process()) {
            return;
        }
        unlock();
        try {
            if (releaser_.posted() && options_.observe != nullptr) {
                read_posted();
                tell_released();
            }
            std::error_code ec;
            releaser_.abandon(leftovers_until());
            releaser_.pay_debts(io_deadline(), ec, reason_);
        } catch (...) { // out of memory: the ttl frees the key
        }
    }

private:
    using action = detail::next_step::action;
    using machine = detail::acquire_machine<Retry>;

    // ---- acquiring: the driver of the machine

    bool acquire(detail::patience limits, const std::stop_token& stop, std::error_code& ec) {
        ec.clear();
        enter();
        if (owns_lock()) {
            fail(std::make_error_code(std::errc::resource_deadlock_would_occur), "this handle owns it already", ec);
            return false;
        }
        reason_.clear();
        owe_leftovers();
        machine decides{retry_, limits};
        auto step = decides.begin(Clock::now(), releaser_.owing());
        while (step.what != action::done) {
            if (step.what != action::clean_up && stop.stop_requested()) {
                step = decides.cancelled(Clock::now(), releaser_.owing());
            } else {
                step = act(decides, step, stop);
            }
        }
        ec = decides.failure();
        const auto waited = decides.waited(Clock::now());
        if (decides.acquired()) {
            tell([&](observer& o) { o.acquired(key_, waited, decides.attempts()); });
        } else if (!ec) {
            tell([&](observer& o) { o.contended(key_, waited, decides.attempts()); });
        }
        return decides.acquired();
    }

    detail::next_step act(machine& decides, detail::next_step step, const std::stop_token& stop) {
        switch (step.what) {
        case action::attempt:
            return attempt(decides, step.at);
        case action::ask_holder:
            return ask_holder(decides, step.at);
        case action::clean_up:
            return clean_up(decides, step.at);
        case action::pause:
            Clock::sleep_until(step.at, stop);
            break;
        case action::yield:
            Clock::yield();
            break;
        case action::done:
            return step;
        }
        return decides.woken(Clock::now(), releaser_.owing());
    }

    detail::next_step attempt(machine& decides, time_point deadline) {
        releaser_.make_room();
        detail::make_token<Clock>(token_, options_.owner);
        protocol::command command;
        Protocol::acquire(command, key_, token_, options_.ttl);
        std::error_code ec;
        const auto sent = Clock::now();
        reply answer;
        try {
            answer = call_behind_posted(command, deadline, ec);
        } catch (...) { // out of memory, with the command maybe on its way
            owe_token(Clock::now());
            throw;
        }
        const auto now = Clock::now();
        if (ec) {
            note_reason(way_.last_error());
            if (ec == errc::unreachable) {
                return decides.not_sent(now, random());
            }
            owe_token(now);
            return ec == errc::protocol ? decides.garbage(now) : decides.no_answer(now);
        }
        const auto verdict = Protocol::acquired(answer);
        if (verdict == protocol::verdict::yes) {
            return granted(decides, sent, now);
        }
        settle_posted(verdict);
        switch (verdict) {
        case protocol::verdict::busy:
            return decides.busy(now, releaser_.owing(), random());
        case protocol::verdict::refused:
            return refused(decides, answer, now);
        default:
            note_reason("the reply is none to an acquire");
            way_.drop();
            owe_token(now);
            return decides.garbage(now);
        }
    }

    detail::next_step granted(machine& decides, time_point sent, time_point now) {
        settle_posted(protocol::verdict::yes);
        releaser_.forget_debts(); // the key was free, so no old token of ours can be on it
        if (now >= detail::validity(sent, options_.ttl)) {
            note_reason("the grant took longer than the lease lasts");
            owe_token(now);
            return decides.granted_too_late(now);
        }
        hold_.grant(sent, now, options_.ttl);
        return decides.granted();
    }

    detail::next_step refused(machine& decides, const reply& answer, time_point now) {
        note_reason(answer.text());
        return decides.refused(protocol::remedy_for(answer.text()), now, random());
    }

    detail::next_step ask_holder(machine& decides, time_point deadline) {
        protocol::command command;
        protocol::holder::ask(command, key_);
        std::error_code ec;
        const auto answer = way_.call(command, deadline, ec);
        const auto now = Clock::now();
        if (!ec && answer.is_error() && protocol::has_code(answer.text(), "WRONGTYPE")) {
            return refused(decides, answer, now);
        }
        // Any other trouble only means that the holder's time is not known: the next attempt meets it again.
        const auto holder = ec ? std::nullopt : protocol::holder::in(answer);
        const auto left = holder ? holder->remaining : std::nullopt;
        return decides.holder(left ? detail::deadline_after(now, *left) : std::nullopt, now, random());
    }

    detail::next_step clean_up(machine& decides, time_point deadline) {
        std::error_code ec;
        const bool all = releaser_.pay_debts(deadline, ec, reason_);
        if (ec) {
            note_reason(way_.last_error());
        }
        return all ? decides.cleaned(Clock::now(), random()) : decides.not_cleaned(Clock::now(), random());
    }

    /// The reply to `command`, sent behind a release whose reply is still outstanding: one round trip for both.
    reply call_behind_posted(protocol::command& command, time_point deadline, std::error_code& ec) {
        if constexpr (pipelined_connection<Conn>) {
            if (releaser_.posted()) {
                const auto ticket = way_.post(command, deadline, ec);
                releaser_.collect(deadline);
                return ec ? reply{} : way_.collect(ticket, deadline, ec);
            }
        }
        return way_.call(command, deadline, ec);
    }

    /// The reply to an acquire also decides what the posted release before it has left open; what is still open then
    /// is owed.
    void settle_posted(protocol::verdict acquired) {
        if (acquired == protocol::verdict::yes || acquired == protocol::verdict::busy) {
            releaser_.resolve(acquired == protocol::verdict::yes);
        }
        tell_released();
        releaser_.abandon(leftovers_until());
    }

    /// Before a new attempt: what an earlier hold or failure may have left on the server.
    void owe_leftovers() {
        const auto until = leftovers_until();
        releaser_.make_room();
        if (hold_.active()) { // over by our clock, maybe not yet by the server's
            hold_.end();
            releaser_.owe(token_, until);
        }
        releaser_.abandon(until);
    }

    /// When the server has forgotten the last hold at the latest: an extend may have made it longer than the ttl.
    time_point leftovers_until() const noexcept { return Clock::now() + std::max(options_.ttl, hold_.longest_ttl()); }

    void owe_token(time_point now) noexcept { releaser_.owe(token_, now + options_.ttl); }

    // ---- releasing

    /// False when there is nothing to release any more: being told of a loss, the user may have released it already.
    bool begin_release() {
        note_overdue();
        if (!hold_.active()) {
            return false;
        }
        release_begun_ = Clock::now();
        releaser_.take(token_, hold_.valid_until());
        hold_.end();
        untold_release_ = options_.observe != nullptr;
        return true;
    }

    release_outcome finish_release(std::error_code& ec) {
        const auto outcome = releaser_.send(io_deadline(), ec, reason_);
        tell_released();
        return outcome;
    }

    void read_posted() const {
        releaser_.collect(io_deadline());
        releaser_.resolve(io_deadline());
    }

    void tell_released() const {
        if (untold_release_ && !releaser_.posted()) {
            untold_release_ = false;
            tell([&](observer& o) { o.released(key_, releaser_.outcome(), release_begun_ - hold_.granted_at()); });
        }
    }

    // ---- extending

    bool extension_answered(const reply& answer, time_point sent, milliseconds ttl, time_point before,
                            std::error_code& ec) {
        switch (Protocol::extended(answer)) {
        case protocol::verdict::yes:
            hold_.extend(sent, ttl);
            if (!owns_lock()) {
                return false;
            }
            tell([&](observer& o) { o.renewed(key_, remaining()); });
            return true;
        case protocol::verdict::expired:
            lose(loss_reason::expired);
            return false;
        case protocol::verdict::taken:
            lose(loss_reason::taken);
            return false;
        case protocol::verdict::refused:
            hold_.extension_failed(before, false);
            fail(errc::refused, answer.text(), ec);
            return false;
        default:
            way_.drop();
            hold_.extension_unknown(sent, ttl);
            fail(errc::protocol, "the reply is none to an extend", ec);
            return false;
        }
    }

    // ---- loss, and other processes

    void lose(loss_reason why) const {
        if (hold_.lose(why)) {
            tell([&](observer& o) { o.lost(key_, why); });
        }
    }

    void note_overdue() const noexcept {
        if (belongs_to_this_process() && hold_.overdue(Clock::now())) {
            lose(hold_.overdue_reason());
        }
    }

    bool belongs_to_this_process() const noexcept { return generation_ == detail::fork_generation(); }

    /// In a forked child the lease, the debts and the reply outstanding are the parent's business.
    void enter() noexcept {
        if (!belongs_to_this_process()) {
            generation_ = detail::fork_generation();
            random_state_ = 0;
            hold_.end();
            releaser_.forget_everything();
            untold_release_ = false;
        }
    }

    // ---- small things

    time_point io_deadline() const noexcept {
        return Clock::now() + std::max<duration>(options_.give_up_after, machine::shortest_exchange);
    }

    template <class Source>
    static std::chrono::duration<long double, std::nano> now_of() {
        if constexpr (std::same_as<Source, lease_clock>) {
            return Clock::now().time_since_epoch(); // virtual time, in a simulation
        } else {
            return Source::now().time_since_epoch();
        }
    }

    /// Jitter needs no secret: one seed from the system, then splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    std::uint64_t random() {
        if (random_state_ == 0) {
            Clock::random_octets(std::as_writable_bytes(std::span{&random_state_, 1}));
        }
        random_state_ += 0x9e3779b97f4a7c15;
        auto z = random_state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
        return z ^ (z >> 31U);
    }

    /// Observers are guests: what they throw stays with them.
    template <class Call>
    void tell(Call&& call) const noexcept {
        if (options_.observe != nullptr) {
            try {
                std::forward<Call>(call)(*options_.observe);
            } catch (...) { // an observer may not disturb a lock
            }
        }
    }

    void note_reason(std::string_view text) {
        reason_ = detail::redacted(detail::without_echo(text), detail::secret_of(token_));
    }

    void fail(std::error_code why, std::string_view text, std::error_code& ec) {
        note_reason(text);
        ec = why;
    }

    template <class Operation>
    auto throwing(const char* name, Operation operation) {
        std::error_code ec;
        if constexpr (std::is_void_v<decltype(operation(ec))>) {
            operation(ec);
            if (ec) {
                throw_failure(name, ec);
            }
        } else {
            const auto result = operation(ec);
            if (ec) {
                throw_failure(name, ec);
            }
            return result;
        }
    }

    [[noreturn]] void throw_failure(const char* operation, std::error_code ec) const {
        throw std::system_error{ec, std::string{operation} + ' ' + last_error()};
    }

    detail::exchange<Conn> way_;
    std::string key_;
    lock_options options_;
    Retry retry_;
    std::string token_;
    // Reading the reply to an unlock(), and noticing that a lease is over, belong to asking: both may change what
    // const functions see, never what is on the server.
    mutable detail::hold hold_;
    mutable detail::releaser<Protocol, Conn, Clock> releaser_;
    mutable bool untold_release_ = false;
    time_point release_begun_{};
    std::uint64_t generation_ = detail::fork_generation();
    std::uint64_t random_state_ = 0;
    std::string reason_;
};

} // namespace distlock
