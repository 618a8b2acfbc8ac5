// SPDX-License-Identifier: MIT
//
// Faults that users of other lock libraries met, one test each. The numbers are those of the list they come
// from.
#include <distlock/hiredis.hpp>
#include <distlock/observer.hpp>
#include <distlock/redis_lock.hpp>
#include <distlock/retry.hpp>

#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/net.hpp"
#include "support/server_test.hpp"
#include "support/signal_storm.hpp"
#include "support/stub_server.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::at_command;
using test::eventually;
using test::fault;
using test::fault_proxy;
using test::stub_answer;

class Cases : public test::server_test {
protected:
    using lock_type = redis_lock<hiredis_connection>;
    void TearDown() override { expect_no_keys(); }

    hiredis_connection conn{server().url_unix()};
    hiredis_connection other_conn{server().url_unix()};

    /// As if the lease had run out by the server's clock only, and somebody else had come.
    void taken_by_another(std::string_view ttl = "60000") { ask({"SET", "k", "another", "PX", std::string{ttl}}); }
};

std::vector<std::string> tokens_in(const test::proxy_traffic& traffic) {
    std::vector<std::string> tokens;
    for (const auto& command : traffic.commands) {
        if (command[0] == "SET") {
            tokens.push_back(command[2]);
        }
    }
    return tokens;
}

// ---- release

TEST_F(Cases, case_01_release_after_expiry_leaves_the_next_owner_alone) {
    lock_type first{conn, "k", {.ttl = 100ms}};
    lock_type second{other_conn, "k", {.ttl = 1min}};
    first.lock();
    ASSERT_TRUE(second.try_lock_for(20s));
    EXPECT_EQ(first.release(), release_outcome::taken);
    EXPECT_EQ(text({"GET", "k"}), second.token());
    EXPECT_EQ(second.release(), release_outcome::released);
}

TEST_F(Cases, case_02_compare_and_delete_is_one_step_of_the_server) {
    fault_proxy proxy{server()};
    hiredis_connection watched{proxy.url_unix()};
    lock_type lock{watched, "k"};
    lock.lock();
    EXPECT_EQ(lock.release(), release_outcome::released);
    lock.lock();
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    EXPECT_EQ(proxy.traffic().count("GET") + proxy.traffic().count("DEL"), 0U);
}

TEST_F(Cases, case_03_tokens_do_not_repeat) {
    std::set<std::string, std::less<>> seen;
    lock_type lock{conn, "k"};
    for (int n = 0; n < 2000; ++n) {
        lock.lock();
        ASSERT_EQ(lock.token().size(), 32U);
        ASSERT_TRUE(seen.emplace(lock.token()).second);
        lock.unlock();
    }
    // Nor over processes that come from one.
    std::vector<std::string> from_children;
    for (int n = 0; n < 3; ++n) {
        test::child_process child{[&](test::message_channel& parent) {
            hiredis_connection own{server().url_unix()};
            lock_type mine{own, "of a child"};
            mine.lock();
            parent.send(mine.token());
            mine.release();
            return 0;
        }};
        EXPECT_TRUE(seen.insert(child.channel().receive().value_or("")).second);
        EXPECT_EQ(child.wait(), 0);
    }
}

TEST_F(Cases, case_04_exit_of_a_child_does_not_release_the_parents_lock) {
    lock_type lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    test::child_process child{[&](test::message_channel&) {
        lock.~redis_lock();
        return 0;
    }};
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(text({"GET", "k"}), lock.token());
    EXPECT_TRUE(lock.extend());
    lock.unlock();
}

TEST_F(Cases, case_05_handle_that_never_locked_owns_nothing) {
    const lock_type lock{conn, "k"};
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_FALSE(static_cast<bool>(lock));
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_TRUE(lock.token().empty());
    EXPECT_EQ(lock.lost(), loss_reason::none);
    EXPECT_FALSE(conn.is_open()) << "asking it takes no I/O";
}

TEST_F(Cases, case_06_release_can_be_repeated_until_it_is_definite) {
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix(), {.connect_timeout = 50ms, .command_timeout = 50ms}};
    lock_type lock{harmed, "k", {.ttl = 1min, .give_up_after = 100ms}};
    lock.lock();
    proxy.set_mode(fault_proxy::mode::refuse);
    proxy.cut_all();
    std::error_code ec;
    for (int n = 0; n < 3; ++n) {
        EXPECT_EQ(lock.release(ec), release_outcome::unknown);
        EXPECT_TRUE(ec);
    }
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_EQ(lock.release(ec), release_outcome::released);
    EXPECT_FALSE(ec);
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, std::errc::operation_not_permitted) << "nothing is held any more";
}

TEST_F(Cases, case_06_unlock_that_could_not_be_sent_is_made_good) {
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix(), {.connect_timeout = 50ms, .command_timeout = 50ms}};
    lock_type lock{harmed, "k", {.ttl = 1min, .give_up_after = 100ms}};
    lock.lock();
    proxy.set_mode(fault_proxy::mode::refuse);
    proxy.cut_all();
    lock.unlock();
    EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    EXPECT_EQ(number({"EXISTS", "k"}), 1);
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_TRUE(lock.try_lock()) << "its own old token is not in the way";
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_07_tokens_of_any_octets_compare) {
    for (const auto& label : {"nul\0nul"s, "\xff\xfe\x00"s, "caf\xc3\xa9"s, "a|b|c"s, "\r\n"s}) {
        lock_type lock{conn, "k", {.owner = label}};
        lock.lock();
        EXPECT_EQ(text({"GET", "k"}), lock.token());
        EXPECT_TRUE(lock.token().ends_with("|" + label));
        EXPECT_TRUE(lock.extend());
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

// ---- validity

TEST_F(Cases, case_09_validity_counts_from_the_attempt_that_won) {
    lock_type holder{other_conn, "k", {.ttl = 300ms}};
    lock_type lock{conn, "k", {.ttl = 10s}};
    holder.lock();
    ASSERT_TRUE(lock.try_lock_for(20s)) << "after 300 ms of busy attempts";
    const auto remaining = lock.remaining();
    const std::chrono::milliseconds on_the_server{number({"PTTL", "k"})};
    EXPECT_GT(remaining, 5s);
    EXPECT_LT(remaining, on_the_server + 1ms);
    lock.unlock();
}

TEST_F(Cases, case_09_grant_that_arrives_too_late_is_given_back) {
    fault_proxy proxy{server()};
    hiredis_connection slow{proxy.url_unix()};
    lock_type lock{slow, "k", {.ttl = 150ms}};
    proxy.on(at_command::word("SET"), fault::delay_reply(200ms));
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::lease_too_short);
    EXPECT_FALSE(lock.owns_lock());
    proxy.clear();
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_10_sub_second_ttl_stays_what_it_is) {
    lock_type lock{conn, "k", {.ttl = 500ms}};
    lock.lock();
    const auto left = number({"PTTL", "k"});
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 500);
    ASSERT_TRUE(lock.extend(400ms));
    EXPECT_GT(number({"PTTL", "k"}), 0);
    EXPECT_LE(number({"PTTL", "k"}), 400);
    lock.unlock();
}

TEST_F(Cases, case_11_absurd_ttl_is_refused_before_any_byte) {
    for (const auto ttl : {std::chrono::milliseconds::max(), std::chrono::milliseconds{24h * 366}, 0ms, -5ms}) {
        EXPECT_THROW((lock_type{conn, "k", {.ttl = ttl}}), std::system_error);
    }
    EXPECT_FALSE(conn.is_open());
}

TEST_F(Cases, case_12_extend_sets_and_does_not_add) {
    lock_type lock{conn, "k", {.ttl = 10s}};
    lock.lock();
    for (int n = 0; n < 6; ++n) {
        ASSERT_TRUE(lock.extend(10s));
    }
    EXPECT_LE(number({"PTTL", "k"}), 10'000);
    EXPECT_LE(lock.remaining(), 10s);
    lock.unlock();
}

TEST_F(Cases, case_25_extend_never_acquires_after_a_conflict) {
    lock_type lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    taken_by_another("100");
    EXPECT_FALSE(lock.extend());
    ASSERT_TRUE(eventually([&] { return number({"EXISTS", "k"}) == 0; }));
    for (int n = 0; n < 3; ++n) {
        EXPECT_FALSE(lock.extend());
        EXPECT_FALSE(lock.owns_lock());
    }
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
}

TEST_F(Cases, case_26_extend_does_not_resurrect_an_expired_lease) {
    lock_type lock{conn, "k", {.ttl = 100ms}};
    lock.lock();
    {
        lock_type between{other_conn, "k", {.ttl = 1min}};
        ASSERT_TRUE(between.try_lock_for(20s));
    }
    EXPECT_FALSE(lock.extend());
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
    EXPECT_EQ(lock.lost(), loss_reason::expired);
}

TEST_F(Cases, case_29_lease_ends_by_the_clock_not_by_a_flag) {
    lock_type lock{conn, "k", {.ttl = 100ms}};
    lock.lock();
    const auto token = lock.stop_token();
    EXPECT_TRUE(lock.owns_lock());
    ASSERT_TRUE(eventually([&] { return lease_clock::now() >= lock.valid_until(); }));
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.remaining(), 0ns);
    EXPECT_TRUE(token.stop_requested());
}

TEST_F(Cases, case_30_one_failed_extend_is_no_loss) {
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix(), {.command_timeout = 50ms}};
    lock_type lock{harmed, "k", {.ttl = 1min}};
    lock.lock();
    for (const auto& what : {fault::lose_reply(), fault::lose_request(), fault::lose_reply(fault::then::silence)}) {
        proxy.on(at_command::word("EVALSHA"), what);
        std::error_code ec;
        lock.extend(ec);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_EQ(lock.lost(), loss_reason::none);
        EXPECT_TRUE(lock.extend(ec)) << ec.message();
    }
    ask({"DEL", "k"});
    EXPECT_FALSE(lock.extend()) << "a definite answer ends it";
    EXPECT_EQ(lock.lost(), loss_reason::expired);
}

TEST_F(Cases, case_31_reason_of_a_loss_is_told) {
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix(), {.connect_timeout = 30ms, .command_timeout = 30ms}};
    lock_type lock{harmed, "k", {.ttl = 300ms, .give_up_after = 50ms}};
    lock.lock();
    ask({"DEL", "k"});
    EXPECT_FALSE(lock.extend());
    EXPECT_EQ(lock.lost(), loss_reason::expired);
    lock.lock();
    taken_by_another();
    EXPECT_FALSE(lock.extend());
    EXPECT_EQ(lock.lost(), loss_reason::taken);
    ask({"DEL", "k"});
    lock.lock();
    proxy.set_mode(fault_proxy::mode::refuse);
    proxy.cut_all();
    std::error_code ec;
    EXPECT_FALSE(lock.extend(ec));
    ASSERT_TRUE(eventually([&] { return !lock.owns_lock(); }));
    EXPECT_EQ(lock.lost(), loss_reason::unreachable);
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_32_loss_needs_no_reply) {
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix()};
    lock_type lock{harmed, "k", {.ttl = 200ms, .give_up_after = 50ms}};
    lock.lock();
    const auto token = lock.stop_token();
    proxy.set_mode(fault_proxy::mode::black_hole);
    const auto commands = proxy.traffic().commands.size();
    ASSERT_TRUE(eventually([&] { return lock.lost() != loss_reason::none; }));
    EXPECT_TRUE(token.stop_requested());
    EXPECT_EQ(proxy.traffic().commands.size(), commands);
    proxy.set_mode(fault_proxy::mode::pass);
}

TEST_F(Cases, case_67_and_82_every_grant_has_a_ttl) {
    lock_type lock{conn, "k"};
    for (int n = 0; n < 50; ++n) {
        lock.lock();
        EXPECT_GT(number({"PTTL", "k"}), 0);
        if (n % 2 == 0) {
            EXPECT_TRUE(lock.extend());
            EXPECT_GT(number({"PTTL", "k"}), 0);
        }
        lock.unlock();
    }
}

TEST_F(Cases, case_73_owner_that_stood_still_knows_at_once) {
    test::child_process owner{[](test::message_channel& parent) {
        hiredis_connection own{server().url_unix()};
        lock_type lock{own, "k", {.ttl = 50ms}};
        lock.lock();
        parent.send("held");
        parent.receive();
        parent.send(lock.owns_lock() ? "believes" : "knows");
        return 0;
    }};
    ASSERT_EQ(owner.channel().receive(), "held");
    owner.suspend();
    std::this_thread::sleep_for(500ms); // ten times the ttl
    owner.channel().send("go on");
    owner.resume();
    EXPECT_EQ(owner.channel().receive(), "knows");
    EXPECT_EQ(owner.wait(), 0);
}

TEST_F(Cases, case_80_lock_taken_again_after_a_foreign_delete_is_a_whole_lock) {
    lock_type lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    ask({"DEL", "k"});
    EXPECT_FALSE(lock.extend());
    lock.lock();
    EXPECT_EQ(lock.lost(), loss_reason::none);
    EXPECT_TRUE(lock.extend());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

// ---- unknown outcomes

TEST_F(Cases, case_13_acquire_whose_reply_is_late_is_taken_back) {
    hiredis_connection impatient{server().url_unix(), {.command_timeout = 50ms}};
    lock_type lock{impatient, "k", {.ttl = 1min}};
    ask({"CLIENT", "PAUSE", "20000", "WRITE"});
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    ask({"CLIENT", "UNPAUSE"});
    EXPECT_TRUE(lock.try_lock()) << "nothing of the first try is in the way";
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_14_and_85_own_key_of_a_lost_reply_is_not_in_the_way) {
    fault_proxy proxy{server()};
    proxy.on(at_command::word("SET"), fault::lose_reply());
    hiredis_connection harmed{proxy.url_unix()};
    lock_type lock{harmed, "k", {.ttl = 1min}};
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), release_outcome::released) << "one unlock is enough";
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
}

TEST_F(Cases, case_15_every_attempt_of_a_stormy_wait_is_taken_back) {
    fault_proxy proxy{server()};
    for (std::size_t n = 1; n <= 5; ++n) {
        proxy.on(at_command::word("SET", n), n % 2 == 0 ? fault::lose_request() : fault::lose_reply());
    }
    hiredis_connection harmed{proxy.url_unix()};
    lock_type lock{harmed, "k", {.ttl = 1min}};
    ASSERT_TRUE(lock.try_lock_for(20s));
    const auto tokens = tokens_in(proxy.traffic());
    EXPECT_EQ(tokens.size(), 6U);
    EXPECT_EQ(std::set<std::string>(tokens.begin(), tokens.end()).size(), tokens.size());
    EXPECT_EQ(text({"GET", "k"}), lock.token());
    EXPECT_EQ(text({"GET", "k"}), tokens.back());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_16_cancelled_acquire_leaves_nothing_queued) {
    hiredis_connection impatient{server().url_unix(), {.command_timeout = 50ms}};
    {
        lock_type lock{impatient, "k", {.ttl = 1min}};
        ask({"CLIENT", "PAUSE", "20000", "WRITE"});
        std::stop_source stop;
        std::jthread canceller{[&] { stop.request_stop(); }};
        std::error_code ec;
        lock.lock(stop.get_token(), ec);
        EXPECT_TRUE(ec);
    }
    ask({"CLIENT", "UNPAUSE"});
    // What was queued would run before this.
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
    EXPECT_EQ(test::run(impatient, {"PING"}), reply::status("PONG"));
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
}

TEST_F(Cases, case_17_time_out_after_a_write_is_unknown) {
    hiredis_connection impatient{server().url_unix(), {.command_timeout = 20ms}};
    test::run(impatient, {"PING"});
    suspend_server();
    std::error_code ec;
    test::run(impatient, {"SET", "k", "v"}, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
    server().resume();
    ask({"DEL", "k"});
    ASSERT_TRUE(eventually([&] { return number({"DEL", "k"}) == 0; }));
}

TEST_F(Cases, case_18_late_reply_is_not_the_answer_to_the_next_command) {
    hiredis_connection impatient{server().url_unix(), {.command_timeout = 20ms}};
    lock_type a{impatient, "a", {.ttl = 1min}};
    test::run(impatient, {"PING"});
    suspend_server();
    std::error_code ec;
    EXPECT_FALSE(a.try_lock(ec));
    server().resume();
    hiredis_connection patient{server().url_unix()};
    ask({"SET", "b", "another", "PX", "60000"});
    lock_type b{impatient, "b", {.ttl = 1min}};
    EXPECT_FALSE(b.try_lock_for(100ms, ec)) << "the late OK was for another lock";
    ask({"DEL", "b"});
    EXPECT_TRUE(a.try_lock_for(20s));
    EXPECT_EQ(a.release(), release_outcome::released);
}

TEST_F(Cases, case_74_signals_are_no_errors) {
    const test::signal_storm storm{1ms};
    for (int n = 0; n < 200; ++n) {
        hiredis_connection own{n % 2 == 0 ? server().url_unix() : server().url_tcp()};
        lock_type lock{own, "k"};
        std::error_code ec;
        ASSERT_TRUE(lock.try_lock(ec)) << ec.message();
        ASSERT_EQ(lock.release(ec), release_outcome::released) << ec.message();
    }
}

// ---- waiting

TEST_F(Cases, case_20_wait_is_bounded_when_the_server_is_down) {
    hiredis_connection nobody{"redis://127.0.0.1:" + std::to_string(test::free_port())};
    lock_type lock{nobody, "k"};
    std::error_code ec;
    const auto start = lease_clock::now();
    EXPECT_FALSE(lock.try_lock_for(200ms, ec));
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_LT(lease_clock::now() - start, 5s);
}

TEST_F(Cases, case_35_errors_are_paced_like_busy_answers) {
    const test::stub_server sick{[](const auto&) { return stub_answer{"-CLUSTERDOWN The cluster is down\r\n"}; }};
    hiredis_connection own{sick.url_unix()};
    redis_lock lock{own, "k", {}, retry::spin{}};
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock_for(300ms, ec));
    EXPECT_EQ(ec, errc::refused);
    EXPECT_LT(sick.commands().size(), 60U) << "even if the policy spins";
}

TEST_F(Cases, case_36_waiters_do_not_march_in_step) {
    std::set<std::chrono::nanoseconds> pauses;
    retry::backoff policy;
    lock_type holder{other_conn, "k", {.ttl = 1min}};
    holder.lock();
    const auto spying = [&](const retry::attempt& now) -> retry::pause {
        const auto pause = policy(now);
        pauses.insert(pause.length);
        return pause;
    };
    redis_lock waiter{conn, "k", {}, spying};
    EXPECT_FALSE(waiter.try_lock_for(300ms));
    EXPECT_GT(pauses.size(), 3U);
    holder.unlock();
}

TEST_F(Cases, case_37_wait_is_not_capped_by_the_ttl) {
    lock_type holder{other_conn, "k", {.ttl = 600ms}};
    holder.lock();
    lock_type waiter{conn, "k", {.ttl = 100ms}};
    EXPECT_TRUE(waiter.try_lock_for(20s)) << "it waited for six times its own ttl";
    EXPECT_TRUE(waiter.owns_lock());
    waiter.unlock();
}

TEST_F(Cases, case_38_flushall_while_waiting_just_frees_the_lock) {
    lock_type holder{other_conn, "k", {.ttl = 1min}};
    holder.lock();
    std::jthread flusher{[&] {
        eventually([&] { return commands("set") >= 3; });
        ask({"FLUSHALL"});
    }};
    lock_type waiter{conn, "k"};
    EXPECT_TRUE(waiter.try_lock_for(20s));
    flusher.join();
    EXPECT_EQ(holder.release(), release_outcome::taken);
    EXPECT_EQ(waiter.release(), release_outcome::released);
}

TEST_F(Cases, case_39_waiter_that_loses_a_race_goes_on_waiting) {
    lock_type waiter{conn, "k"};
    std::atomic<bool> over{false};
    std::jthread rival{[&] {
        lock_type quick{other_conn, "k", {.ttl = 1min}};
        for (int n = 0; n < 30; ++n) {
            quick.lock();
            quick.unlock();
            quick.lock(); // and again before the waiter is there
            quick.unlock();
        }
        over = true;
    }};
    EXPECT_TRUE(waiter.try_lock_for(20s));
    waiter.unlock();
    rival.join();
}

TEST_F(Cases, case_40_wait_that_is_busy_to_the_end_takes_its_time_and_no_more) {
    lock_type holder{other_conn, "k", {.ttl = 1min}};
    holder.lock();
    lock_type waiter{conn, "k"};
    const auto start = lease_clock::now();
    EXPECT_FALSE(waiter.try_lock_for(100ms));
    EXPECT_GE(lease_clock::now() - start, 90ms);
    EXPECT_LT(lease_clock::now() - start, 5s);
    holder.unlock();
}

TEST_F(Cases, case_70_body_is_not_entered_without_the_lock) {
    lock_type holder{other_conn, "k", {.ttl = 1min}};
    holder.lock();
    lock_type waiter{conn, "k"};
    if (const std::unique_lock guard{waiter, 30ms}) {
        ADD_FAILURE() << "inside";
    }
    {
        hiredis_connection nobody{"redis://127.0.0.1:" + std::to_string(test::free_port())};
        lock_type away{nobody, "k", {.give_up_after = 30ms}};
        EXPECT_THROW((std::unique_lock{away, 30ms}), std::system_error);
        EXPECT_THROW(std::lock_guard{away}, std::system_error);
    }
    holder.unlock();
}

TEST_F(Cases, case_71_held_by_another_and_unreachable_are_two_things) {
    taken_by_another();
    fault_proxy proxy{server()};
    hiredis_connection harmed{proxy.url_unix()};
    lock_type lock{harmed, "k", {.give_up_after = 50ms}};
    std::error_code ec = errc::protocol;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_FALSE(ec) << "busy is no error";
    proxy.set_mode(fault_proxy::mode::refuse);
    proxy.cut_all();
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unreachable);
    ask({"DEL", "k"});
}

TEST_F(Cases, case_75_wait_can_be_ended_although_signals_do_not_end_it) {
    lock_type holder{other_conn, "k", {.ttl = 1min}};
    holder.lock();
    const test::signal_storm storm{1ms};
    std::stop_source stop;
    std::jthread canceller{[&] {
        std::this_thread::sleep_for(50ms);
        stop.request_stop();
    }};
    redis_lock waiter{conn, "k", {}, retry::sleep{1h}};
    std::error_code ec;
    waiter.lock(stop.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
    EXPECT_EQ(text({"GET", "k"}), holder.token());
    holder.unlock();
}

TEST_F(Cases, case_78_slow_server_is_no_reason_to_fail) {
    fault_proxy proxy{server()};
    proxy.on(at_command::every(), fault::delay_reply(30ms));
    hiredis_connection slow{proxy.url_unix()};
    lock_type lock{slow, "k", {.ttl = 1min}};
    EXPECT_TRUE(lock.try_lock());
    EXPECT_TRUE(lock.extend());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_78_short_wait_over_a_slow_server_says_what_ended_it) {
    fault_proxy proxy{server()};
    hiredis_connection slow{proxy.url_unix()};
    lock_type lock{slow, "k", {.ttl = 1min}};
    lock.lock();
    lock.unlock();
    proxy.on(at_command::every("SET"), fault::lose_reply(fault::then::silence));
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock_for(40ms, ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_NE(lock.last_error().find("no reply in time"), std::string::npos) << lock.last_error();
}

// ---- servers and scripts

TEST_F(Cases, case_60_readonly_connection_is_left) {
    // The first connection meets a demoted master, the next one the new master.
    std::atomic<int> sets{0};
    const test::stub_server moved{[&](const test::resp::argv& words) {
        if (words[0] == "SET") {
            return ++sets == 1 ? stub_answer{"-READONLY You can't write against a read only replica.\r\n"}
                               : stub_answer{"+OK\r\n"};
        }
        const bool of_login = words[0] == "CLIENT" || words[0] == "INFO";
        return stub_answer{of_login ? "-ERR unknown command\r\n" : ":1\r\n"};
    }};
    hiredis_connection own{moved.url_unix()};
    lock_type lock{own, "k"};
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(moved.connections(), 2U);
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Cases, case_62_full_memory_that_may_be_evicted_is_no_obstacle) {
    for (int n = 0; n < 50; ++n) {
        ask({"SET", "filler" + std::to_string(n), std::string(100'000, 'f')});
    }
    ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    const auto used = info("used_memory");
    ask({"CONFIG", "SET", "maxmemory", std::to_string(used - 200'000)});
    lock_type lock{conn, "k", {.ttl = 1min}};
    EXPECT_TRUE(lock.try_lock()) << "a plain SET evicts what a script may not";
    EXPECT_EQ(lock.release(), release_outcome::released);
    ask({"CONFIG", "SET", "maxmemory", "0"});
    ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    ask({"FLUSHALL"});
}

TEST_F(Cases, case_63_unknown_script_is_sent_whole) {
    lock_type lock{conn, "k", {.ttl = 1min}};
    ask({"SCRIPT", "FLUSH"});
    lock.lock();
    EXPECT_EQ(lock.release(), release_outcome::released);
    ask({"SCRIPT", "FLUSH"});
    lock.lock();
    EXPECT_TRUE(lock.extend());
    lock.unlock();
    ask({"SCRIPT", "FLUSH"});
    EXPECT_EQ(lock.last_release(), release_outcome::released);
}

TEST_F(Cases, case_64_script_command_is_never_needed) {
    ask({"ACL", "SETUSER", "proxied", "on", ">pw", "~*", "+@all", "-script"});
    {
        hiredis_connection own{server().url_unix(), {.user = "proxied", .password = "pw"}};
        lock_type lock{own, "k", {.ttl = 1min}};
        ask({"SCRIPT", "FLUSH"});
        lock.lock();
        EXPECT_TRUE(lock.extend());
        EXPECT_EQ(lock.release(), release_outcome::released);
        EXPECT_EQ(commands("script|load"), 0U);
    }
    ask({"ACL", "DELUSER", "proxied"});
}

TEST_F(Cases, case_64_and_65_little_is_asked_of_the_access_list) {
    // Without CLIENT, SELECT and the script administration, and on the lock's own key only.
    ask({"ACL", "SETUSER", "locker", "reset", "on", ">pw", "~rl:*", "-@all", "+set", "+get", "+del", "+pexpire",
         "+pttl", "+eval", "+evalsha"});
    {
        hiredis_connection own{server().url_unix(), {.user = "locker", .password = "pw"}};
        lock_type lock{own, "rl:k", {.ttl = 1min}};
        for (int n = 0; n < 3; ++n) {
            lock.lock();
            EXPECT_TRUE(lock.extend());
            EXPECT_EQ(lock.release(), release_outcome::released);
            lock.lock();
            lock.unlock();
            EXPECT_EQ(lock.last_release(), release_outcome::released);
        }
        hiredis_connection rival_conn{server().url_unix(), {.user = "locker", .password = "pw"}};
        lock_type rival{rival_conn, "rl:k"};
        lock.lock();
        EXPECT_FALSE(rival.try_lock_for(50ms)) << "asking for the holder's time is allowed too";
        lock.unlock();
    }
    ask({"ACL", "DELUSER", "locker"});
}

TEST_F(Cases, case_66_spaces_and_formats_in_keys_are_octets) {
    for (const auto& name : {"a b"s, "%s %d %n"s, "k NX"s, "\"quoted\""s, "'"s, "a\nb"s}) {
        lock_type lock{conn, name};
        lock.lock();
        EXPECT_EQ(text({"GET", name}), lock.token());
        EXPECT_EQ(number({"DBSIZE"}), 1);
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

// ---- the user's own code

TEST_F(Cases, case_68_and_69_scope_exit_after_a_loss_throws_nothing) {
    lock_type lock{conn, "k", {.ttl = 50ms}};
    try {
        const std::lock_guard guard{lock};
        ASSERT_TRUE(eventually([&] { return !lock.owns_lock(); }));
        throw std::runtime_error{"the body's"};
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the body's") << "not masked";
    }
    const auto outcome = lock.last_release();
    EXPECT_TRUE(outcome == release_outcome::expired || outcome == release_outcome::released);
    lock.lock();
    ask({"DEL", "k"});
    EXPECT_EQ(lock.release(), release_outcome::expired) << "a value, not an exception";
}

TEST_F(Cases, case_77_keys_of_one_process_are_independent) {
    std::vector<std::unique_ptr<lock_type>> locks;
    for (int n = 0; n < 300; ++n) {
        locks.push_back(std::make_unique<lock_type>(conn, "key" + std::to_string(n)));
        ASSERT_TRUE(locks.back()->try_lock());
    }
    for (auto& lock : locks) {
        EXPECT_EQ(lock->release(), release_outcome::released);
    }
    EXPECT_EQ(number({"DBSIZE"}), 0);
}

} // namespace
} // namespace distlock
