// SPDX-License-Identifier: MIT
#pragma once

#include "support/manual_clock.hpp"

#include "distlock/connection.hpp"
#include "distlock/error.hpp"
#include "distlock/reply.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distlock::test {

/// One argument that a script expects: a text, or one of the functions below.
class word {
public:
    word(const char* text) // NOLINT(google-explicit-constructor): argv is written as a list of texts
        : word{std::string{text}} {}
    word(std::string text) // NOLINT(google-explicit-constructor)
        : shown_{text}
        , matches_{[text = std::move(text)](std::string_view got) { return got == text; }} {}
    word(std::string shown, std::function<bool(std::string_view)> matches)
        : shown_{std::move(shown)}
        , matches_{std::move(matches)} {}

    bool matches(std::string_view got) const { return matches_(got); }
    const std::string& shown() const noexcept { return shown_; }
    bool is_rest() const noexcept { return rest_; }

    /// This argument and all after it, if any, may be anything.
    static word rest() {
        word made{"...", [](std::string_view) { return true; }};
        made.rest_ = true;
        return made;
    }

private:
    std::string shown_;
    std::function<bool(std::string_view)> matches_;
    bool rest_ = false;
};

/// Any argument.
inline word any() {
    return {"<any>", [](std::string_view) { return true; }};
}
/// Any argument; it is stored in `into`, which must outlive the script.
inline word capture(std::string& into) {
    return {"<captured>", [&into](std::string_view got) {
                into = got;
                return true;
            }};
}
/// The argument that capture() has stored by then.
inline word same_as(const std::string& captured) {
    return {"<as captured>", [&captured](std::string_view got) { return got == captured; }};
}

/// What a scripted connection was asked.
struct scripted_call {
    std::vector<std::string> argv;
    lease_clock::time_point deadline;
    lease_clock::time_point at;
};

/// One expected command and what comes of it; without further words the answer is the status OK.
class scripted_step {
public:
    explicit scripted_step(std::vector<word> pattern)
        : pattern_{std::move(pattern)} {}

    scripted_step& answers(reply value) {
        return answers([value = std::move(value)](const std::vector<std::string>&) { return value; });
    }
    scripted_step& answers(std::function<reply(const std::vector<std::string>&)> make) {
        make_ = std::move(make);
        return *this;
    }
    /// No reply but this error. errc::unreachable is told by send(), the others by receive().
    scripted_step& fails(std::error_code error) {
        error_ = error;
        return *this;
    }
    /// The reply does not come before the deadline: the manual clock goes there, the outcome is unknown.
    scripted_step& times_out() {
        to_deadline_ = true;
        return fails(errc::unknown_outcome);
    }
    /// The reply takes so long, on the manual clock.
    scripted_step& after(manual_clock::duration delay) {
        delay_ = delay;
        return *this;
    }
    /// Runs while the command is under way.
    scripted_step& meanwhile(std::function<void()> action) {
        action_ = std::move(action);
        return *this;
    }

private:
    friend class scripted_connection;
    friend class scripted_pipeline;

    bool matches(const std::vector<std::string>& argv) const {
        for (std::size_t i = 0; i < pattern_.size(); ++i) {
            if (pattern_[i].is_rest()) {
                return true;
            }
            if (i >= argv.size() || !pattern_[i].matches(argv[i])) {
                return false;
            }
        }
        return pattern_.size() == argv.size();
    }

    std::string shown() const {
        std::string out;
        for (const auto& each : pattern_) {
            out += (out.empty() ? "" : " ") + each.shown();
        }
        return out;
    }

    std::vector<word> pattern_;
    std::function<reply(const std::vector<std::string>&)> make_ = [](const auto&) { return reply::status("OK"); };
    std::error_code error_;
    bool to_deadline_ = false;
    manual_clock::duration delay_{0};
    std::function<void()> action_;
};

/// A connection (concept connection) that follows a script, so that a test reads as a transcript:
///
///     scripted_connection redis;
///     redis.expect({"SET", "k", capture(token), "NX", "PX", "30000"}).after(30ms);
///     redis.expect({"EVALSHA", any(), "1", "k", same_as(token)}).answers(reply::integer(1));
///
/// Another command than expected, one too many, or steps left over at the end of its life fail the test.
class scripted_connection {
public:
    scripted_connection() = default;
    scripted_connection(const scripted_connection&) = delete;
    scripted_connection& operator=(const scripted_connection&) = delete;
    ~scripted_connection() { expect_done(); }

    /// The next step; the reference is good until the connection's end.
    scripted_step& expect(std::initializer_list<word> argv) { return script_.emplace_back(argv); }
    scripted_step& expect(std::vector<word> argv) { return script_.emplace_back(std::move(argv)); }
    /// A step for any command whose first word is this.
    scripted_step& expect_any(std::string first) { return expect({word{std::move(first)}, word::rest()}); }

    reply execute(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
        ec.clear();
        auto* step = next(argv, deadline, ec);
        return step == nullptr ? reply{} : play(*step, calls_.back(), deadline, ec);
    }

    std::string_view address() const noexcept { return "script"; }
    std::string_view last_error() const noexcept { return last_error_; }
    void drop() { ++drops_; }
    server_memory& memory() noexcept { return memory_; }

    const std::vector<scripted_call>& calls() const noexcept { return calls_; }
    std::size_t drops() const noexcept { return drops_; }
    std::size_t steps_left() const noexcept { return script_.size() - played_; }

    /// Fails the test if steps are left, and forgets them.
    void expect_done() {
        if (steps_left() > 0) {
            ADD_FAILURE() << steps_left() << " scripted commands never came; the next is: " << script_[played_].shown();
        }
        played_ = script_.size();
    }

private:
    friend class scripted_pipeline;

    // Records the command; null and unreachable when the script has nothing (more) to say to it.
    scripted_step* next(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
        calls_.push_back({{argv.begin(), argv.end()}, deadline, manual_clock::now()});
        const auto& got = calls_.back().argv;
        if (steps_left() == 0) {
            ADD_FAILURE() << "a command more than scripted: " << testing::PrintToString(got);
        } else if (!script_[played_].matches(got)) {
            ADD_FAILURE() << "expected: " << script_[played_].shown() << "\n     got: " << testing::PrintToString(got);
            ++played_;
        } else {
            return &script_[played_++];
        }
        ec = errc::unreachable;
        last_error_ = "not in the script";
        return nullptr;
    }

    reply play(scripted_step& step, const scripted_call& call, lease_clock::time_point deadline, std::error_code& ec) {
        // By value: the action may use this connection's script.
        const auto argv = call.argv;
        if (step.action_) {
            step.action_();
        }
        if (step.to_deadline_) {
            manual_clock::advance(std::max(deadline - manual_clock::now(), manual_clock::duration{0}));
        } else {
            manual_clock::advance(step.delay_);
        }
        ec = step.error_;
        if (ec) {
            last_error_ = "scripted";
            memory_ = {};
            return {};
        }
        return step.make_(argv);
    }

    std::deque<scripted_step> script_;
    std::size_t played_ = 0;
    std::vector<scripted_call> calls_;
    std::size_t drops_ = 0;
    std::string last_error_;
    server_memory memory_;
};

/// The same with send and receive (concept pipelined_connection). Steps are taken in the order of sends;
/// their delays, actions and errors are played when the reply is received.
class scripted_pipeline : public scripted_connection {
public:
    reply execute(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
        while (!outstanding_.empty()) {
            receive(deadline, ec);
            if (ec) {
                return {};
            }
        }
        send(argv, deadline, ec);
        return ec ? reply{} : receive(deadline, ec);
    }

    void send(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
        ec.clear();
        auto* step = next(argv, deadline, ec);
        if (step != nullptr && step->error_ == errc::unreachable) {
            play(*step, calls_.back(), deadline, ec);
        }
        if (ec) {
            lose_outstanding();
            return;
        }
        ++sent_;
        outstanding_.push_back({step, calls_.size() - 1});
    }

    reply receive(lease_clock::time_point deadline, std::error_code& ec) {
        ec.clear();
        if (outstanding_.empty()) {
            ec = errc::unknown_outcome; // lost with its stream, as on a real transport
            last_error_ = "no reply is outstanding";
            return {};
        }
        const auto [step, call] = outstanding_.front();
        outstanding_.pop_front();
        ++received_;
        auto answer = play(*step, calls_[call], deadline, ec);
        if (ec) {
            lose_outstanding();
        }
        return answer;
    }

    void drop() {
        scripted_connection::drop();
        lose_outstanding();
    }

    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t received() const noexcept { return received_; }

private:
    void lose_outstanding() {
        outstanding_.clear();
        received_ = sent_;
    }

    struct waiting {
        scripted_step* step;
        std::size_t call;
    };
    std::deque<waiting> outstanding_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

static_assert(connection<scripted_connection> && !pipelined_connection<scripted_connection>);
static_assert(pipelined_connection<scripted_pipeline>);

} // namespace distlock::test
