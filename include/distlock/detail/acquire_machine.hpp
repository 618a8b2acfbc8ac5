// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/error.hpp"
#include "distlock/protocol/server_errors.hpp"
#include "distlock/retry.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace distlock::detail {

/// What the driver of an acquisition is to do next.
struct next_step {
    enum class action : std::uint8_t {
        attempt,    ///< ask for the lock under a fresh token; at = deadline of the exchange
        ask_holder, ///< ask what the holder's lease has left; at = deadline of the exchange
        clean_up,   ///< release the tokens whose fate is unknown; at = deadline of the exchange
        pause,      ///< wait until at
        yield,      ///< let others run
        done,       ///< result() has the outcome
    };
    action what = action::done;
    lease_clock::time_point at{};
};

/// How long an acquisition may take.
struct patience {
    /// False: one attempt, and its busy answer is the outcome (try_lock).
    bool waits = false;
    /// The caller's deadline; nothing: as long as the server answers.
    std::optional<lease_clock::time_point> deadline;
    /// Without a deadline: how long to carry on without a useful answer.
    lease_clock::duration give_up_after{};
};

/// Decides how one acquisition goes on: which exchange is next, how long to pause, when to stop and with which
/// outcome. Does nothing itself: the driver reports what happened and is told what to do, so tests read as
/// transcripts and any driver (blocking, coroutine, simulated) can run it.
///
/// | event                          | lock is asked once       | the caller waits                             |
/// | ------------------------------ | ------------------------ | -------------------------------------------- |
/// | granted                        | done                     | done                                         |
/// | granted with nothing left      | clean up, lease_too_short| clean up, pause, attempt                     |
/// | busy                           | ask the holder, done     | ask the holder (1st, 2nd, 4th, ...), pause   |
/// | refused, passes by itself      | refused                  | pause (own back-off), attempt                |
/// | refused, final                 | refused                  | refused                                      |
/// | not sent                       | unreachable              | pause (own back-off), attempt                |
/// | no answer                      | clean up, attempt once more | clean up, attempt (pause from the 2nd)    |
/// | garbage                        | clean up, protocol       | clean up, protocol                           |
///
/// Each exchange gets 20 ms in any case, on a slow network twice what the slowest answer so far took, up to 50 ms: a
/// call may outlast its deadline by two of these (an attempt and its clean-up), by four where an earlier release is still
/// unconfirmed, never more. The holder is asked so that policies know its remaining time, and
/// so that a key of another type is an error instead of a lock that is never free.
template <retry_policy Retry>
class acquire_machine {
public:
    using time_point = lease_clock::time_point;
    using duration = lease_clock::duration;

    static constexpr duration shortest_exchange = std::chrono::milliseconds{20};
    static constexpr duration longest_grace = std::chrono::milliseconds{50};

    acquire_machine(Retry& retry, patience limits) noexcept
        : retry_{retry}
        , limits_{limits} {}

    /// The first step. `owing`: a token from an earlier call still has to be released.
    next_step begin(time_point now, bool owing) noexcept {
        begun_ = now;
        useful_answer_ = now;
        then_ = after_cleaning::attempt;
        return owing ? exchange_step(next_step::action::clean_up, now) : attempt(now);
    }

    next_step granted() noexcept {
        acquired_ = true;
        return finish({});
    }

    /// Granted, but its lease is over already. The driver owes the release of its token.
    next_step granted_too_late(time_point now) noexcept {
        failure_ = errc::lease_too_short;
        return clean_up(now, after_cleaning::pause);
    }

    /// Busy. `owing` as in begin(): our own old token may be what keeps it so.
    next_step busy(time_point now, bool owing, std::uint64_t random) {
        ++busy_answers_;
        useful_answer_ = now;
        slowest_answer_ = std::max(slowest_answer_, now - asked_);
        failure_.clear();
        went_unanswered_ = false;
        outages_ = 0;
        if (owing) {
            return clean_up(now, after_cleaning::attempt);
        }
        if (std::has_single_bit(busy_answers_)) {
            return exchange_step(next_step::action::ask_holder, now);
        }
        return pause_by_policy(now, random);
    }

    /// The holder's lease ends then (nothing: unknown).
    next_step holder(std::optional<time_point> ends, time_point now, std::uint64_t random) {
        holder_ends_ = ends;
        return pause_by_policy(now, random);
    }

    /// The server refused, to anything but a clean-up.
    next_step refused(protocol::remedy remedy, time_point now, std::uint64_t random) {
        failure_ = errc::refused;
        const bool passes = remedy == protocol::remedy::retry || remedy == protocol::remedy::reconnect;
        return passes ? pause_in_outage(now, random) : finish(failure_);
    }

    /// The attempt did not leave: it was not applied.
    next_step not_sent(time_point now, std::uint64_t random) {
        failure_ = errc::unreachable;
        return pause_in_outage(now, random);
    }

    /// The attempt has no answer. The driver owes the release of its token.
    next_step no_answer(time_point now) noexcept {
        failure_ = errc::unknown_outcome;
        const bool first = !std::exchange(went_unanswered_, true);
        if (limits_.waits && !time_is_over(now)) {
            return clean_up(now, first ? after_cleaning::attempt : after_cleaning::pause);
        }
        return clean_up(now, first && !limits_.waits ? after_cleaning::attempt : after_cleaning::finish);
    }

    /// The answer makes no sense. The driver owes the release of the attempt's token.
    next_step garbage(time_point now) noexcept {
        failure_ = errc::protocol;
        return clean_up(now, after_cleaning::finish);
    }

    /// Nothing is owed any more.
    next_step cleaned(time_point now, std::uint64_t random) {
        switch (then_) {
        case after_cleaning::attempt:
            return failure_ && time_is_over(now) ? finish(failure_) : attempt(now);
        case after_cleaning::pause:
            return pause_in_outage(now, random);
        case after_cleaning::finish:
            break;
        }
        return finish(failure_);
    }

    /// The clean-up was not confirmed: it went without an answer, or was refused.
    next_step not_cleaned(time_point now, std::uint64_t random) {
        if (failure_ != errc::protocol) {
            failure_ = errc::unknown_outcome; // whatever it was: something of ours may be there
        }
        return then_ == after_cleaning::finish ? finish(failure_) : pause_in_outage(now, random);
    }

    /// A pause or a yield is over.
    next_step woken(time_point now, bool owing) noexcept {
        if (owing) {
            return exchange_step(next_step::action::clean_up, now);
        }
        // An attempt that could not be answered in time would turn a busy lock into an unknown outcome.
        const bool too_late = limits_.deadline && *limits_.deadline - now < slowest_answer_;
        if (!too_late || failure_) {
            return attempt(now);
        }
        return time_is_over(now) ? finish({}) : next_step{next_step::action::pause, *limits_.deadline};
    }

    /// The caller does not want to wait any longer.
    next_step cancelled(time_point now, bool owing) noexcept {
        failure_ = errc::cancelled;
        return owing ? clean_up(now, after_cleaning::finish) : finish(failure_);
    }

    bool acquired() const noexcept { return acquired_; }
    /// Why it was not acquired; none when the lock was busy to the end.
    std::error_code failure() const noexcept { return failure_; }
    duration waited(time_point now) const noexcept { return now - begun_; }
    std::uint64_t attempts() const noexcept { return attempts_; }

private:
    enum class after_cleaning : std::uint8_t { attempt, pause, finish };

    next_step attempt(time_point now) noexcept {
        ++attempts_;
        return exchange_step(next_step::action::attempt, now);
    }

    next_step clean_up(time_point now, after_cleaning then) noexcept {
        then_ = then;
        return exchange_step(next_step::action::clean_up, now);
    }

    next_step exchange_step(next_step::action what, time_point now) noexcept {
        asked_ = now;
        const auto last = limits_.deadline ? *limits_.deadline : useful_answer_ + limits_.give_up_after;
        return {what, std::max(last, now + std::clamp(2 * slowest_answer_, shortest_exchange, longest_grace))};
    }

    next_step finish(std::error_code failure) noexcept {
        failure_ = failure;
        return {next_step::action::done, {}};
    }

    bool time_is_over(time_point now) const noexcept { return limits_.deadline && now >= *limits_.deadline; }

    next_step pause_by_policy(time_point now, std::uint64_t random) {
        if (!limits_.waits || time_is_over(now)) {
            return finish({});
        }
        retry::attempt told{busy_answers_, now - begun_, std::nullopt, random};
        if (holder_ends_ && *holder_ends_ > now) {
            told.holder_remaining = *holder_ends_ - now;
        }
        const retry::pause wanted = retry_(std::as_const(told));
        if (wanted.length < duration::zero()) {
            return finish(errc::invalid_argument);
        }
        if (wanted.length == duration::zero()) {
            return wanted.yields ? next_step{next_step::action::yield, now} : attempt(now);
        }
        return pause(now, wanted.length);
    }

    // Trouble is paced by the library, not by the policy: a policy that spins must not storm a sick server.
    next_step pause_in_outage(time_point now, std::uint64_t random) {
        const bool given_up = !limits_.deadline && now - useful_answer_ >= limits_.give_up_after;
        if (!limits_.waits || given_up || time_is_over(now)) {
            return finish(failure_);
        }
        constexpr retry::backoff outage{std::chrono::milliseconds{20}, std::chrono::milliseconds{500}};
        return pause(now, outage({++outages_, now - begun_, std::nullopt, random}).length);
    }

    next_step pause(time_point now, duration length) const noexcept {
        auto longest = duration::max();
        if (limits_.deadline) {
            const auto left = *limits_.deadline - now;
            longest = left > slowest_answer_ ? left - slowest_answer_ : left; // for a last attempt in time
        }
        const auto countable = time_point::max() - now;
        return {next_step::action::pause, now + std::min({length, longest, countable})};
    }

    Retry& retry_;
    patience limits_;
    time_point begun_{};
    time_point useful_answer_{};
    time_point asked_{};
    duration slowest_answer_{};
    std::optional<time_point> holder_ends_;
    std::uint64_t busy_answers_ = 0;
    std::uint64_t attempts_ = 0;
    std::uint64_t outages_ = 0;
    std::error_code failure_;
    after_cleaning then_ = after_cleaning::attempt;
    bool went_unanswered_ = false;
    bool acquired_ = false;
};

} // namespace distlock::detail
