// SPDX-License-Identifier: MIT
#include "basic_lock/vocabulary.hpp"

#include "distlock/distlock.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <type_traits>

namespace distlock::test {
namespace {

/// How the locks go with the standard library's guards.
class RedisLock : public lock_test {
protected:
    RedisLock() { knows(redis, form::script); }

    scripted_connection redis;
};

TEST_F(RedisLock, deduces_its_types) {
    redis_lock plain{redis, "k"};
    static_assert(std::is_same_v<decltype(plain), redis_lock<scripted_connection, retry::backoff, lease_clock>>);
    redis_lock optioned{redis, "k", {.ttl = 5s, .owner = "me"}};
    static_assert(std::is_same_v<decltype(optioned), decltype(plain)>);
    redis_lock paced{redis, "k", {.ttl = 5s}, retry::sleep{200ms}};
    static_assert(std::is_same_v<decltype(paced), redis_lock<scripted_connection, retry::sleep, lease_clock>>);
    redis_lock custom{redis, "k", {}, [](const retry::attempt&) { return 5ms; }};
    EXPECT_EQ(custom.key(), "k");
}

TEST_F(RedisLock, does_no_io_before_it_is_asked_to_and_owns_nothing) {
    const blocking_lock lock{redis, "k", {.ttl = 10s}};
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.token(), "");
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_EQ(lock.lost(), loss_reason::none);
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    EXPECT_TRUE(redis.calls().empty());
}

TEST_F(RedisLock, lock_guard) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    redis.expect(del(same_as(token))).answers(yes());
    {
        const std::lock_guard guard{lock};
        EXPECT_TRUE(lock.owns_lock());
    }
    EXPECT_EQ(lock.last_release(), release_outcome::released);
}

// Row 69: an unlock must not hide what the body has thrown.
TEST_F(RedisLock, case_69_a_guard_lets_the_bodys_exception_through_on_a_dead_server) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    redis.expect(del(same_as(token))).fails(errc::unreachable);
    try {
        const std::lock_guard guard{lock};
        throw 42;
    } catch (int thrown) {
        EXPECT_EQ(thrown, 42);
    }
    redis.expect(delex(same_as(token))).fails(errc::unreachable); // the destructor's
}

TEST_F(RedisLock, unique_lock_waits_as_long_as_it_is_told) {
    blocking_lock lock{redis, "k", {.ttl = 10s}, {1h}};
    redis.expect(set(any())).answers(reply::nil());
    redis.expect(ask()).answers(held_for(5000));
    expect_busy_and_asks(redis);
    const std::unique_lock guard{lock, 200ms};
    EXPECT_FALSE(guard);
    EXPECT_EQ(manual_clock::elapsed(), 200ms);
}

TEST_F(RedisLock, unique_lock_deferred_and_tried) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    std::unique_lock guard{lock, std::defer_lock};
    expect_busy_and_asks(redis);
    EXPECT_FALSE(guard.try_lock());
    redis.expect(set(capture(token)));
    EXPECT_TRUE(guard.try_lock_until(std::chrono::steady_clock::now() + 1h));
    redis.expect(del(same_as(token))).answers(yes());
}

TEST_F(RedisLock, scoped_lock_and_std_lock_over_two) {
    scripted_connection second;
    knows(second, form::script);
    blocking_lock a{redis, "k", {.ttl = 10s}};
    blocking_lock b{second, "k", {.ttl = 10s}};
    redis.expect(set(capture(token)));
    expect_busy_and_asks(second); // std::lock steps back and starts at the busy one
    redis.expect(del(same_as(token))).answers(yes());
    second.expect(set(capture(token2)));
    redis.expect(set(capture(token3)));
    {
        const std::scoped_lock guard{a, b};
        EXPECT_TRUE(a.owns_lock() && b.owns_lock());
        redis.expect(del(same_as(token3))).answers(yes());
        second.expect(del(same_as(token2))).answers(yes());
    }
    EXPECT_FALSE(a.owns_lock() || b.owns_lock());
}

// Row 66 and scenario 44: keys of any octets go out as they are.
TEST_F(RedisLock, case_66_any_key_goes_out_as_it_is) {
    for (const std::string& key : {std::string{"a b"}, std::string{"\0\r\n", 3}, std::string{"%s%n"}, std::string{"}{"},
                                   std::string{"\xff\xc3\xa9"}, std::string(4096, 'k')}) {
        blocking_lock lock{redis, key, {.ttl = 10s}};
        redis.expect({"SET", key, capture(token), "NX", "PX", "10000"});
        lock.lock();
        EXPECT_EQ(lock.key(), key);
        redis.expect({"EVALSHA", any(), "1", key, same_as(token)}).answers(yes());
    }
}

// Row 5: a default "" was taken for a token.
TEST_F(RedisLock, case_05_a_lock_that_never_asked_has_nothing_to_give_back) {
    blocking_lock lock{redis, "k", {.ttl = 10s}};
    lock.unlock();
    EXPECT_FALSE(lock.extend());
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, std::errc::operation_not_permitted);
}

} // namespace
} // namespace distlock::test
