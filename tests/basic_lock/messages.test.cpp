// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distlock::test {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A server that repeats the token in its error text.
std::function<reply(const std::vector<std::string>&)> echoing(std::string code, std::size_t token_at) {
    return [code = std::move(code), token_at](const std::vector<std::string>& argv) {
        return reply::error(code + " no such thing as " + argv.at(token_at) + " here");
    };
}

class Messages : public lock_test {
protected:
    scripted_connection redis;
};

TEST_F(Messages, name_operation_key_server_and_reason) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(any())).answers(reply::error("OOM command not allowed"));
    try {
        lock.lock();
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        const std::string what = error.what();
        EXPECT_EQ(error.code(), errc::refused);
        EXPECT_TRUE(contains(what, "lock \"k\" at script: OOM command not allowed")) << what;
    }
    EXPECT_EQ(lock.last_error(), "\"k\" at script: OOM command not allowed");
}

TEST_F(Messages, carry_the_transports_reason) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(any())).fails(errc::unreachable);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(lock.last_error(), "\"k\" at script: scripted");
}

TEST_F(Messages, quote_a_key_that_would_break_a_log) {
    try {
        blocking_lock lock{redis, std::string{"a\r\n\0b:distlock.x", 16}, {}};
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_TRUE(contains(error.what(), R"("a\x0d\x0a\x00b:distlock.x")")) << error.what();
    }
}

TEST_F(Messages, of_an_acquire_show_no_token) {
    blocking_lock lock{redis, "k", {.ttl = 10s, .owner = "me"}};
    redis.expect(set(capture(token))).answers(echoing("ERR", 2));
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_FALSE(contains(lock.last_error(), token)) << lock.last_error();
    EXPECT_FALSE(contains(lock.last_error(), token.substr(0, 32)));
    EXPECT_TRUE(contains(lock.last_error(), "no such thing"));
}

TEST_F(Messages, of_an_extend_show_no_token) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    lock.lock();
    redis.expect(extend_to("10000", same_as(token))).answers(echoing("ERR", 4));
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_FALSE(contains(lock.last_error(), token)) << lock.last_error();
    redis.expect(del(any())).answers(yes());
}

TEST_F(Messages, of_a_release_show_no_token) {
    knows(redis, form::script);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    lock.lock();
    redis.expect(del(same_as(token))).answers(echoing("ERR", 4));
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_FALSE(contains(lock.last_error(), token)) << lock.last_error();
    EXPECT_TRUE(contains(lock.last_error(), "no such thing"));
    redis.expect(del(any())).answers(yes());
}

TEST_F(Messages, of_a_clean_up_show_no_token) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token))).fails(errc::unknown_outcome);
    redis.expect(delex(any())).answers([](const auto& argv) {
        return reply::error("NOPERM no permission, with args beginning with: 'k' 'IFEQ' '" + argv.at(3) + "'");
    });
    redis.expect(delifeq(any())).answers(no_command());
    redis.expect(del(any())).answers(echoing("ERR", 4));
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_FALSE(contains(lock.last_error(), token)) << lock.last_error();
    redis.expect(delex(any())).answers(no_command()); // the debt, at the end
    redis.expect(delifeq(any())).answers(no_command());
    redis.expect(del(any())).answers(reply::integer(1));
}

TEST_F(Messages, of_a_probe_that_was_refused_leave_out_what_the_server_echoes) {
    knows(redis, form::untried);
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    lock.lock();
    const auto echo = [](const std::vector<std::string>& argv) {
        return reply::error("ERR unknown command '" + argv[0] + "', with args beginning with: 'k' '" + argv.back() +
                            "' ");
    };
    redis.expect(delex(any())).answers(echo);
    redis.expect(delifeq(any())).answers(echo);
    redis.expect(del(any())).answers(echo);
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(lock.last_error(), "\"k\" at script: ERR unknown command 'EVALSHA'");
    redis.expect_any("DELEX").answers(yes());
}

// ---- observers are guests

struct thrower : observer {
    [[noreturn]] static void object() { throw std::runtime_error{"observer"}; }
    void acquired(std::string_view, duration, std::uint64_t) override { object(); }
    void contended(std::string_view, duration, std::uint64_t) override { object(); }
    void renewed(std::string_view, duration) override { object(); }
    void lost(std::string_view, loss_reason) override { object(); }
    void released(std::string_view, release_outcome, duration) override { object(); }
};

TEST_F(Messages, what_an_observer_throws_disturbs_nothing) {
    knows(redis, form::script);
    thrower notes;
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
    expect_busy_and_asks(redis);
    EXPECT_FALSE(lock.try_lock());
    redis.expect(set(capture(token)));
    EXPECT_TRUE(lock.try_lock());
    redis.expect(extend_to("10000", same_as(token))).answers(yes());
    EXPECT_TRUE(lock.extend());
    manual_clock::advance(1h);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    redis.expect(del(same_as(token))).answers(gone());
    EXPECT_EQ(lock.release(), release_outcome::expired);
}

struct asker : observer {
    explicit asker(blocking_lock*& lock)
        : lock_{lock} {}
    void acquired(std::string_view, duration, std::uint64_t) override { owned_when_told = lock_->owns_lock(); }
    void lost(std::string_view, loss_reason) override { owned_when_lost = lock_->owns_lock(); }
    blocking_lock*& lock_;
    bool owned_when_told = false;
    bool owned_when_lost = true;
};

TEST_F(Messages, an_observer_may_ask_the_lock_that_tells_it) {
    knows(redis, form::script);
    blocking_lock* address = nullptr;
    asker notes{address};
    blocking_lock lock{redis, "k", {.ttl = 10s, .observe = &notes}};
    address = &lock;
    redis.expect(set(capture(token)));
    lock.lock();
    EXPECT_TRUE(notes.owned_when_told);
    manual_clock::advance(1h);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_FALSE(notes.owned_when_lost);
    redis.expect(del(same_as(token))).answers(gone());
}

} // namespace
} // namespace distlock::test
