// SPDX-License-Identifier: MIT
//
// What the types promise, checked by the compiler.
#include "support/manual_clock.hpp"
#include "support/scripted_connection.hpp"

#include "distlock/distlock.hpp"
#include "distlock/hiredis.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distlock::test {
namespace {

// C++20 [thread.req.lockable]
template <class L>
concept basic_lockable = requires(L& l) {
    { l.lock() } -> std::same_as<void>;
    { l.unlock() } -> std::same_as<void>;
};
template <class L>
concept lockable = basic_lockable<L> && requires(L& l) {
    { l.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept timed_lockable = lockable<L> && requires(L& l) {
    { l.try_lock_for(std::chrono::hours{1}) } -> std::same_as<bool>;
    { l.try_lock_for(std::chrono::duration<float>{1}) } -> std::same_as<bool>;
    { l.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
    { l.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
    { l.try_lock_until(lease_clock::now()) } -> std::same_as<bool>;
};

template <class L>
concept keeps_the_promises =
    timed_lockable<L> && !std::is_copy_constructible_v<L> && !std::is_move_constructible_v<L> &&
    !std::is_copy_assignable_v<L> && !std::is_move_assignable_v<L> && !std::is_default_constructible_v<L> &&
    std::is_nothrow_destructible_v<L> && requires(L & l, const L& c, std::error_code& ec, const std::stop_token& stop) {
    requires noexcept(l.unlock());
    requires noexcept(c.owns_lock());
    requires noexcept(static_cast<bool>(c));
    requires noexcept(c.valid_until());
    requires noexcept(c.remaining());
    requires noexcept(c.key());
    requires noexcept(c.token());
    requires noexcept(c.lost());
    requires noexcept(c.last_release());
    { c.valid_until() } -> std::same_as<lease_clock::time_point>;
    { c.remaining() } -> std::same_as<lease_clock::duration>;
    { c.key() } -> std::same_as<std::string_view>;
    { c.token() } -> std::same_as<std::string_view>;
    { c.lost() } -> std::same_as<loss_reason>;
    { c.last_release() } -> std::same_as<release_outcome>;
    { c.stop_token() } -> std::same_as<std::stop_token>;
    { c.last_error() } -> std::same_as<std::string>;
    { l.release() } -> std::same_as<release_outcome>;
    { l.extend() } -> std::same_as<bool>;
    { l.extend(std::chrono::seconds{1}) } -> std::same_as<bool>;
    // The second door of each.
    { l.lock(ec) } -> std::same_as<void>;
    { l.lock(stop) } -> std::same_as<void>;
    { l.lock(stop, ec) } -> std::same_as<void>;
    { l.try_lock(ec) } -> std::same_as<bool>;
    { l.try_lock_for(std::chrono::seconds{1}, ec) } -> std::same_as<bool>;
    { l.try_lock_for(std::chrono::seconds{1}, stop) } -> std::same_as<bool>;
    { l.try_lock_for(std::chrono::seconds{1}, stop, ec) } -> std::same_as<bool>;
    { l.try_lock_until(lease_clock::now(), ec) } -> std::same_as<bool>;
    { l.try_lock_until(lease_clock::now(), stop, ec) } -> std::same_as<bool>;
    { l.release(ec) } -> std::same_as<release_outcome>;
    { l.extend(ec) } -> std::same_as<bool>;
    { l.extend(std::chrono::milliseconds{1}, ec) } -> std::same_as<bool>;
};

static_assert(keeps_the_promises<redis_lock<hiredis_connection>>);
static_assert(keeps_the_promises<redis_lock<hiredis_ref, retry::spin>>);
static_assert(keeps_the_promises<redis_lock<scripted_connection, retry::sleep, manual_clock>>);
static_assert(keeps_the_promises<redis_lock<scripted_pipeline, retry::yield, manual_clock>>);
static_assert(!keeps_the_promises<std::timed_mutex>, "the concept can say no");

// A connection outlives its locks by being named, not by being temporary.
static_assert(!std::is_constructible_v<redis_lock<hiredis_connection>, hiredis_connection&&, std::string>);
// No implicit bool that would make arithmetic of a lock.
static_assert(!std::is_convertible_v<redis_lock<hiredis_connection>, bool>);
// A basic_lock is not deleted through the base, nor made without a lock class.
static_assert(!std::is_destructible_v<basic_lock<protocol::exclusive, hiredis_connection, retry::spin, lease_clock>>);

static_assert(!std::is_copy_constructible_v<hiredis_connection> && !std::is_move_constructible_v<hiredis_connection>);
static_assert(!std::is_copy_constructible_v<hiredis_ref> && !std::is_move_constructible_v<hiredis_ref>);

static_assert(std::is_error_code_enum_v<errc>);
static_assert(std::is_convertible_v<errc, std::error_code>);
static_assert(!std::is_convertible_v<errc, int>);

TEST(Promises, an_errc_is_compared_with_std_errc_where_it_has_a_counterpart) {
    const std::system_error thrown{errc::invalid_argument, "example"};
    EXPECT_TRUE(thrown.code() == std::errc::invalid_argument);
    EXPECT_TRUE(thrown.code() == errc::invalid_argument);
    EXPECT_FALSE(thrown.code() == errc::refused);
}

} // namespace
} // namespace distlock::test
