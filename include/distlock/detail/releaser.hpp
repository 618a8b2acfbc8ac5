// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/detail/exchange.hpp"
#include "distlock/detail/message.hpp"
#include "distlock/detail/token.hpp"
#include "distlock/error.hpp"
#include "distlock/outcome.hpp"
#include "distlock/protocol/command.hpp"
#include "distlock/protocol/exclusive.hpp"
#include "distlock/reply.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distlock::detail {

/// Everything about giving tokens back: the form of compare-and-delete that the server has, releases whose reply
/// is read later, releases that were not confirmed, and tokens left over from attempts without an answer.
///
/// | state of the last release | post()/send()  | its reply is read            | abandon()    |
/// | ------------------------- | -------------- | ---------------------------- | ------------ |
/// | settled                   | posted / below | -                            | -            |
/// | posted                    | -              | settled, or unconfirmed      | -            |
/// | unconfirmed               | send() again   | settled, or still unconfirmed| it is a debt |
template <class Protocol, connection Conn, clock_source Clock>
class releaser {
public:
    using time_point = lease_clock::time_point;
    using form = server_memory::release_form;

    releaser(exchange<Conn>& way, const std::string& key) noexcept
        : way_{way}
        , key_{key} {}

    /// Takes the token over (leaving the string empty) for a release that starts now.
    void take(std::string& token, time_point valid_until) noexcept {
        token_.swap(token);
        token.clear();
        valid_until_ = valid_until;
        repeated_ = false;
        state_ = state::unconfirmed;
        outcome_ = release_outcome::unknown;
    }

    /// Sends the release without waiting for its reply. False: not possible (yet), or it could not be sent.
    bool post(time_point deadline) {
        if constexpr (pipelined_connection<Conn>) {
            form_ = way_.memory().release;
            if (form_ == form::untried) {
                return false;
            }
            protocol::command command;
            Protocol::release(command, form_, key_, token_);
            // Maybe nobody will read the reply, so nobody could answer NOSCRIPT with the text: it goes at once.
            if (command.is_script()) {
                command.send_whole_text();
            }
            std::error_code ec;
            ticket_ = way_.post(command, deadline, ec);
            repeated_ = ec && ec != errc::unreachable;
            state_ = ec ? state::unconfirmed : state::posted;
            return !ec;
        } else {
            return false;
        }
    }

    /// Sends the release and waits; once more on a fresh stream when there was no answer. `text` receives the
    /// reason where it failed: the server's words, or the transport's.
    release_outcome send(time_point deadline, std::error_code& ec, std::string& text) {
        for (int round = 0; round < 2; ++round) {
            const auto verdict = compare_and_delete(token_, deadline, ec, text);
            if (!ec && is_definite(verdict)) {
                return settle_as(verdict);
            }
            if (!ec) {
                ec = verdict == protocol::verdict::refused ? errc::refused : errc::protocol;
                if (ec == errc::protocol) {
                    text = "the reply is none to a release";
                }
                repeated_ = repeated_ || verdict == protocol::verdict::garbage; // it may have been carried out
                break;
            }
            text = way_.last_error();
            if (ec == errc::unreachable) {
                break;
            }
            // What was lost may have been the question behind a definite "not ours": that says it had not worked.
            repeated_ = repeated_ || verdict != protocol::verdict::not_ours;
        }
        return outcome_;
    }

    bool posted() const noexcept { return state_ == state::posted; }
    bool unconfirmed() const noexcept { return state_ == state::unconfirmed; }
    /// Of the last release; unknown while it is not settled.
    release_outcome outcome() const noexcept { return outcome_; }

    /// Reads the reply to the posted release. A native form may leave it open whether the key was gone or held by
    /// another: then resolve() has to follow.
    void collect([[maybe_unused]] time_point deadline) {
        if constexpr (pipelined_connection<Conn>) {
            state_ = state::unconfirmed;
            std::error_code ec;
            const auto answer = way_.collect(ticket_, deadline, ec);
            const auto verdict = ec ? protocol::verdict::garbage : Protocol::released(form_, answer);
            if (is_definite(verdict)) {
                settle_as(verdict);
            } else if (verdict == protocol::verdict::not_ours) {
                undecided_ = true;
            } else {
                repeated_ = verdict == protocol::verdict::garbage; // else refused: not carried out
                if (repeated_ && !ec) {
                    way_.drop(); // what comes behind nonsense is not to be believed either
                }
            }
        }
    }

    /// After collect(): decides what it left open by asking the server.
    void resolve(time_point deadline) {
        if (std::exchange(undecided_, false)) {
            std::error_code ec;
            std::string text;
            if (const auto verdict = expired_or_taken(deadline, ec, text); !ec && is_definite(verdict)) {
                settle_as(verdict);
            }
        }
    }
    /// After collect(): decides what it left open by the next command's answer.
    void resolve(bool key_was_gone) noexcept {
        if (std::exchange(undecided_, false) || (key_was_gone && unconfirmed())) {
            settle_as(key_was_gone ? protocol::verdict::expired : protocol::verdict::taken);
        }
    }

    /// Turns an unconfirmed release into a debt.
    void abandon(time_point until) {
        if (state_ == state::unconfirmed) {
            undecided_ = false;
            make_room();
            owe(token_, until);
            state_ = state::settled;
        }
    }

    /// Before a command is sent whose token may have to be owed: then owe() needs no memory and cannot fail.
    void make_room() { debts_.reserve(debts_.size() + 2); }
    /// This token may be on the server, or get there late, and must go. After `until` it cannot matter.
    void owe(std::string& token, time_point until) noexcept { debts_.push_back({std::exchange(token, {}), until}); }
    bool owing() const noexcept { return !debts_.empty(); }
    void forget_debts() noexcept { debts_.clear(); }

    /// Releases all tokens owed, each once. False: some are still owed, because the server did not answer or refused.
    bool pay_debts(time_point deadline, std::error_code& ec, std::string& text) {
        ec.clear();
        while (!debts_.empty()) {
            const bool matters = Clock::now() < debts_.back().until;
            if (matters && !is_definite(compare_and_delete(debts_.back().token, deadline, ec, text))) {
                return false;
            }
            debts_.pop_back();
        }
        return true;
    }

    /// A forked child owns nothing of its parent's.
    void forget_everything() noexcept {
        debts_.clear();
        state_ = state::settled;
        undecided_ = false;
    }

private:
    enum class state : std::uint8_t { settled, posted, unconfirmed };

    struct debt {
        std::string token;
        time_point until;
    };

    static bool is_definite(protocol::verdict verdict) noexcept {
        return verdict == protocol::verdict::yes || verdict == protocol::verdict::expired ||
               verdict == protocol::verdict::taken;
    }

    /// One compare-and-delete, in the form that the server has: tried once a connection, native ones first.
    protocol::verdict compare_and_delete(const std::string& token, time_point deadline, std::error_code& ec,
                                         std::string& text) {
        for (const auto candidate : {form::delex, form::delifeq, form::script}) {
            const auto known = way_.memory().release;
            if (known != form::untried && known != candidate) {
                continue;
            }
            protocol::command command;
            Protocol::release(command, candidate, key_, token);
            const auto answer = way_.call(command, deadline, ec);
            if (ec) {
                return protocol::verdict::garbage;
            }
            const auto verdict = Protocol::released(candidate, answer);
            if (verdict == protocol::verdict::refused) {
                if (candidate != form::script && protocol::is_unsupported(answer.text())) {
                    way_.memory().release = form::untried;
                    continue;
                }
                text = redacted(without_echo(answer.text()), secret_of(token));
                return verdict;
            }
            if (verdict == protocol::verdict::garbage) {
                way_.drop();
                return verdict;
            }
            way_.memory().release = candidate;
            return verdict == protocol::verdict::not_ours ? expired_or_taken(deadline, ec, text) : verdict;
        }
        return protocol::verdict::refused;
    }

    /// A native form said no: is the key gone, or another's? PTTL answers for values of any type and size.
    protocol::verdict expired_or_taken(time_point deadline, std::error_code& ec, std::string& text) {
        protocol::command command;
        command.add("PTTL").add(key_);
        const auto answer = way_.call(command, deadline, ec);
        if (!ec && answer.is_error()) {
            text = without_echo(answer.text());
            return protocol::verdict::refused;
        }
        if (ec || !answer.is_integer()) {
            return protocol::verdict::not_ours;
        }
        return answer.is_integer(-2) ? protocol::verdict::expired : protocol::verdict::taken;
    }

    /// After an unknown first try, what the second one finds may be the first one's work.
    release_outcome settle_as(protocol::verdict verdict) noexcept {
        state_ = state::settled;
        const bool was_first = repeated_ && Clock::now() < valid_until_;
        switch (verdict) {
        case protocol::verdict::yes:
            return outcome_ = release_outcome::released;
        case protocol::verdict::expired:
            return outcome_ = repeated_ ? release_outcome::released : release_outcome::expired;
        default:
            return outcome_ = was_first   ? release_outcome::released
                              : repeated_ ? release_outcome::unknown
                                          : release_outcome::taken;
        }
    }

    exchange<Conn>& way_;
    const std::string& key_;
    state state_ = state::settled;
    bool repeated_ = false;
    bool undecided_ = false;
    form form_ = form::untried;
    release_outcome outcome_ = release_outcome::unknown;
    std::uint64_t ticket_ = 0;
    time_point valid_until_{};
    std::string token_;
    std::vector<debt> debts_;
};

} // namespace distlock::detail
