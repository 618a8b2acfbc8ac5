// SPDX-License-Identifier: MIT
#pragma once

#include "support/manual_clock.hpp"
#include "support/scripted_connection.hpp"

#include "distlock/protocol/exclusive.hpp"
#include "distlock/protocol/holder.hpp"
#include "distlock/redis_lock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// The words in which transcripts of a lock are written: every command goes to the key "k" unless it says otherwise.
namespace distlock::test {

using namespace std::chrono_literals;
using form = server_memory::release_form;

using blocking_lock = redis_lock<scripted_connection, retry::sleep, manual_clock>;
using pipelined_lock = redis_lock<scripted_pipeline, retry::sleep, manual_clock>;

inline std::string sha1_of(const protocol::script& code) { return {code.sha1.data(), code.sha1.size()}; }

inline std::vector<word> set(word token, std::string ttl = "10000") {
    return {"SET", "k", std::move(token), "NX", "PX", std::move(ttl)};
}
inline std::vector<word> by_sha1(const protocol::script& code, word token) {
    return {"EVALSHA", sha1_of(code), "1", "k", std::move(token)};
}
inline std::vector<word> by_text(const protocol::script& code, word token) {
    return {"EVAL", std::string{code.text}, "1", "k", std::move(token)};
}
inline std::vector<word> del(word token) { return by_sha1(protocol::exclusive::release_script, std::move(token)); }
inline std::vector<word> del_text(word token) { return by_text(protocol::exclusive::release_script, std::move(token)); }
inline std::vector<word> delex(word token) { return {"DELEX", "k", "IFEQ", std::move(token)}; }
inline std::vector<word> delifeq(word token) { return {"DELIFEQ", "k", std::move(token)}; }
inline std::vector<word> pttl() { return {"PTTL", "k"}; }
inline std::vector<word> ask() { return {"EVALSHA", sha1_of(protocol::holder::ask_script), "1", "k"}; }
inline std::vector<word> extend_to(std::string ttl, word token) {
    auto words = by_sha1(protocol::exclusive::extend_script, std::move(token));
    words.emplace_back(std::move(ttl));
    return words;
}

inline reply yes() { return reply::integer(1); }
inline reply gone() { return reply::integer(0); }
inline reply taken() { return reply::integer(-1); }
inline reply no_command() { return reply::error("ERR unknown command 'DELEX', with args beginning with: 'k' "); }
inline reply no_script() { return reply::error("NOSCRIPT No matching script. Please use EVAL."); }
inline reply held_for(std::int64_t ms) { return reply::array({reply::string("somebody"), reply::integer(ms)}); }

/// Lets the connection know its server, so that a transcript needs no probing.
template <class Conn>
void knows(Conn& conn, form release) {
    conn.memory().release = release;
}

/// A busy answer, behind which the holder is asked.
template <class Conn>
void expect_busy_and_asks(Conn& conn) {
    conn.expect(set(any())).answers(reply::nil());
    conn.expect(ask()).answers(held_for(60'000));
}

/// Writes down what it is told.
struct note_taker : observer {
    void acquired(std::string_view key, duration waited, std::uint64_t attempts) override {
        note("acquired ", key, waited, attempts);
    }
    void contended(std::string_view key, duration waited, std::uint64_t attempts) override {
        note("contended ", key, waited, attempts);
    }
    void renewed(std::string_view key, duration remaining) override { note("renewed ", key, remaining, 0); }
    void lost(std::string_view key, loss_reason why) override {
        note("lost ", key, {}, static_cast<std::uint64_t>(why));
    }
    void released(std::string_view key, release_outcome outcome, duration held) override {
        note("released ", key, held, static_cast<std::uint64_t>(outcome));
    }

    std::vector<std::string> notes;

private:
    void note(std::string text, std::string_view key, duration time, std::uint64_t number) {
        text.append(key).append(" ");
        text += std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + "ms ";
        notes.push_back(text + std::to_string(number));
    }
};

/// A test with a clock of its own, an error code and the tokens of its attempts.
class lock_test : public testing::Test {
protected:
    lock_test() { manual_clock::reset(); }

    std::error_code ec;
    std::string token, token2, token3, token4;
};

} // namespace distlock::test
