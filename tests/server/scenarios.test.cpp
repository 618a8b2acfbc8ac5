// SPDX-License-Identifier: MIT
//
// Faults of servers, clients and networks that a redis_lock has to live with, one test each.
#include <distlock/hiredis.hpp>
#include <distlock/inspect.hpp>
#include <distlock/redis_lock.hpp>

#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/server_test.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
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
using test::child_process;
using test::eventually;
using test::fault;
using test::fault_proxy;
using test::message_channel;
using test::redis_server;

class Scenarios : public test::server_test {
protected:
    void TearDown() override { expect_no_keys(); }
};

std::size_t open_descriptors() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        count += static_cast<std::size_t>(!entry.path().empty());
    }
    return count;
}

// ---- clients that pause, die, fork

TEST_F(Scenarios, PausedOwnerLearnsThatItsLeaseIsOver) {
    child_process owner{[](message_channel& parent) {
        hiredis_connection conn{server().url_unix()};
        redis_lock lock{conn, "k", {.ttl = 300ms}};
        lock.lock();
        const auto stop = lock.stop_token();
        parent.send("held");
        parent.receive(); // answered only when it has been paused for longer than the lease
        const bool right = !lock.owns_lock() && lock.remaining() == 0ns && lock.lost() == loss_reason::expired &&
                           stop.stop_requested() && !lock.extend() && lock.release() == release_outcome::taken;
        parent.send(right ? "right" : "wrong");
        return 0;
    }};
    ASSERT_EQ(owner.channel().receive(), "held");
    owner.suspend();
    hiredis_connection conn{server().url_unix()};
    redis_lock next{conn, "k", {.ttl = 1min}};
    ASSERT_TRUE(next.try_lock_for(20s));
    owner.resume();
    owner.channel().send("go on");
    EXPECT_EQ(owner.channel().receive(), "right");
    EXPECT_EQ(owner.wait(), 0);
    EXPECT_EQ(text({"GET", "k"}), next.token());
    EXPECT_EQ(next.release(), release_outcome::released);
}

TEST_F(Scenarios, ForkedChildOwnsNothingAndReleasesNothing) {
    hiredis_connection conn{server().url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    const std::string token{lock.token()};
    for (const bool by_exit : {false, true}) {
        child_process child{[&](message_channel& parent) {
            bool right = !lock.owns_lock() && lock.remaining() == 0ns && !lock.extend();
            lock.unlock();
            std::error_code ec;
            lock.release(ec);
            right = right && ec == std::errc::operation_not_permitted;
            right = right && !lock.try_lock(ec) && !ec; // its parent has it: busy
            if (by_exit) {
                lock.~redis_lock();
            }
            parent.send(right ? "right" : "wrong");
            return 0;
        }};
        EXPECT_EQ(child.channel().receive(), "right");
        EXPECT_EQ(child.wait(), 0);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_EQ(text({"GET", "k"}), token);
        EXPECT_TRUE(lock.extend()) << "the parent's stream is intact";
    }
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, ForkWhileAReplyIsOutstanding) {
    hiredis_connection conn{server().url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    lock.unlock();
    lock.lock();
    lock.unlock(); // pipelined from the second on: nobody has read its reply
    child_process child{[&](message_channel&) {
        const bool took = lock.try_lock();
        return took && lock.release() == release_outcome::released ? 0 : 1;
    }};
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

// ---- lost and late messages

TEST_F(Scenarios, LostReplyIsNeverCalledBusy) {
    for (const auto& what : {fault::lose_reply(), fault::lose_reply(fault::then::silence), fault::lose_request(),
                             fault::lose_request(fault::then::silence)}) {
        fault_proxy proxy{server()};
        proxy.on(at_command::every("SET"), what);
        hiredis_connection conn{proxy.url_unix(), {.command_timeout = 50ms}};
        redis_lock lock{conn, "k", {.ttl = 1min}};
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock(ec));
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_EQ(ec, std::errc::timed_out);
        EXPECT_FALSE(lock.owns_lock());
        EXPECT_EQ(number({"EXISTS", "k"}), 0) << "the attempt was not taken back";
        EXPECT_FALSE(lock.try_lock_for(200ms, ec));
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_EQ(number({"EXISTS", "k"}), 0);
    }
}

TEST_F(Scenarios, OneLostReplyIsGotOver) {
    for (const auto& what : {fault::lose_reply(), fault::lose_request()}) {
        fault_proxy proxy{server()};
        proxy.on(at_command::word("SET"), what);
        hiredis_connection conn{proxy.url_unix()};
        redis_lock lock{conn, "k", {.ttl = 1min}};
        EXPECT_TRUE(lock.try_lock());
        EXPECT_EQ(text({"GET", "k"}), lock.token());
        std::vector<std::string> tokens;
        for (const auto& command : proxy.traffic().commands) {
            if (command[0] == "SET") {
                tokens.push_back(command[2]);
            }
        }
        ASSERT_EQ(tokens.size(), 2U);
        EXPECT_NE(tokens[0], tokens[1]) << "a token of unknown fate is not used again";
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

TEST_F(Scenarios, LateSetRevivesNothingAndEndsNothing) {
    fault_proxy proxy{server()};
    proxy.on(at_command::word("SET"), fault::hold_request());
    std::error_code ec;
    {
        // Without CLIENT KILL the held command cannot be stopped: it runs after all has been cleaned up.
        ask({"ACL", "SETUSER", "default", "-client|kill"});
        hiredis_connection conn{proxy.url_unix(), {.command_timeout = 60ms}};
        redis_lock lock{conn, "k", {.ttl = 400ms}};
        EXPECT_TRUE(lock.try_lock(ec)) << "the second try gets through: " << ec.message();
        const std::string token{lock.token()};
        EXPECT_EQ(text({"GET", "k"}), token);
        EXPECT_EQ(proxy.deliver_held(), 1U);
        EXPECT_EQ(text({"GET", "k"}), token) << "NX: the late one finds the key taken";
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
    proxy.on(at_command::word("SET"), fault::hold_request());
    {
        hiredis_connection conn{proxy.url_unix(), {.command_timeout = 60ms}};
        redis_lock lock{conn, "k", {.ttl = 400ms}};
        EXPECT_TRUE(lock.try_lock());
        EXPECT_EQ(lock.release(), release_outcome::released);
        EXPECT_EQ(proxy.deliver_held(), 1U);
        EXPECT_FALSE(lock.owns_lock()) << "an orphan on the server is nobody's";
        EXPECT_GT(number({"PTTL", "k"}), 0) << "and ends by itself";
        redis_lock next{conn, "k"};
        EXPECT_TRUE(next.try_lock_for(20s));
    }
    ask({"ACL", "SETUSER", "default", "+client|kill"});
}

TEST_F(Scenarios, LateReleaseDoesNotTouchTheNextHold) {
    fault_proxy proxy{server()};
    hiredis_connection conn{proxy.url_unix(), {.command_timeout = 60ms}};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    EXPECT_EQ(lock.release(), release_outcome::released); // finds out how this server compares and deletes
    ask({"ACL", "SETUSER", "default", "-client|kill"});
    lock.lock();
    proxy.on(at_command::every("EVALSHA"), fault::hold_request());
    std::error_code ec;
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::unknown_outcome);
    proxy.clear();
    ASSERT_TRUE(lock.try_lock(ec)) << ec.message();
    const std::string token{lock.token()};
    EXPECT_GE(proxy.deliver_held(), 1U);
    EXPECT_EQ(text({"GET", "k"}), token);
    EXPECT_TRUE(lock.extend());
    EXPECT_EQ(lock.release(), release_outcome::released);
    ask({"ACL", "SETUSER", "default", "+client|kill"});
}

TEST_F(Scenarios, LostReplyToAReleaseIsAskedAgain) {
    for (const auto& what : {fault::lose_reply(), fault::lose_request()}) {
        fault_proxy proxy{server()};
        hiredis_connection conn{proxy.url_unix()};
        redis_lock lock{conn, "k", {.ttl = 1min}};
        lock.lock();
        EXPECT_EQ(lock.release(), release_outcome::released);
        lock.lock();
        proxy.on(at_command::word("EVALSHA"), what);
        EXPECT_EQ(lock.release(), release_outcome::released);
        EXPECT_EQ(number({"EXISTS", "k"}), 0);
    }
}

TEST_F(Scenarios, PartitionWhileHeld) {
    fault_proxy proxy{server()};
    hiredis_connection conn{proxy.url_unix(), {.connect_timeout = 50ms, .command_timeout = 50ms}};
    redis_lock lock{conn, "k", {.ttl = 400ms, .give_up_after = 100ms}};
    lock.lock();
    const auto before = lock.valid_until();
    proxy.set_mode(fault_proxy::mode::black_hole);
    std::error_code ec;
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_TRUE(ec);
    EXPECT_LE(lock.valid_until(), before + 400ms);
    ASSERT_TRUE(eventually([&] { return !lock.owns_lock(); }));
    EXPECT_EQ(lock.lost(), loss_reason::unreachable);
    const auto start = lease_clock::now();
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_TRUE(ec);
    EXPECT_LT(lease_clock::now() - start, 5s);
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_TRUE(lock.try_lock_for(20s)) << "healed";
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, DestructorWhileTheServerIsAway) {
    fault_proxy proxy{server()};
    hiredis_connection conn{proxy.url_unix(), {.connect_timeout = 100ms, .command_timeout = 100ms}};
    const auto start = lease_clock::now();
    try {
        redis_lock lock{conn, "k", {.ttl = 400ms, .give_up_after = 300ms}};
        const std::lock_guard guard{lock};
        proxy.set_mode(fault_proxy::mode::black_hole);
        throw std::runtime_error{"the user's own"};
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the user's own");
    }
    EXPECT_LT(lease_clock::now() - start, 5s);
    EXPECT_TRUE(eventually([&] { return number({"EXISTS", "k"}) == 0; })) << "the ttl frees it";
}

TEST_F(Scenarios, ServerAwayIsAnErrorAndNotBusy) {
    fault_proxy proxy{server()};
    hiredis_connection conn{proxy.url_tcp(), {.connect_timeout = 50ms}};
    redis_lock lock{conn, "k", {.give_up_after = 150ms}};
    proxy.set_mode(fault_proxy::mode::refuse);
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_FALSE(lock.try_lock_for(100ms, ec));
    EXPECT_EQ(ec, errc::unreachable);
    const auto start = lease_clock::now();
    lock.lock(ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_GE(lease_clock::now() - start, 150ms);
    try {
        lock.lock();
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        const std::string_view what = error.what();
        EXPECT_NE(what.find("\"k\""), what.npos) << what;
        EXPECT_NE(what.find("127.0.0.1:" + std::to_string(proxy.port())), what.npos) << what;
        EXPECT_NE(what.find("Connection refused"), what.npos) << what;
    }
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, OutageShorterThanTheWaitIsGotOver) {
    fault_proxy proxy{server()};
    hiredis_connection conn{proxy.url_tcp(), {.connect_timeout = 100ms}};
    redis_lock lock{conn, "k"};
    proxy.set_mode(fault_proxy::mode::refuse);
    std::jthread healer{[&] {
        std::this_thread::sleep_for(100ms); // the outage; its length does not matter
        proxy.set_mode(fault_proxy::mode::pass);
    }};
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(lock.release(), release_outcome::released);
}

// ---- servers that stall, restart, forget

TEST_F(Scenarios, ServerStandsStillLongerThanTheLease) {
    hiredis_connection conn{server().url_unix(), {.connect_timeout = 50ms, .command_timeout = 50ms}};
    redis_lock lock{conn, "k", {.ttl = 300ms, .give_up_after = 100ms}};
    lock.lock();
    suspend_server();
    std::error_code ec;
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_TRUE(ec);
    ASSERT_TRUE(eventually([&] { return !lock.owns_lock(); }));
    EXPECT_NE(lock.lost(), loss_reason::none);
    server().resume();
    EXPECT_FALSE(lock.owns_lock()) << "once lost, always lost";
    EXPECT_FALSE(lock.extend(ec));
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, ServerStandsStillDuringAnAcquire) {
    hiredis_connection conn{server().url_unix(), {.command_timeout = 50ms}};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    EXPECT_EQ(lock.release(), release_outcome::released);
    suspend_server();
    std::error_code ec;
    const auto start = lease_clock::now();
    EXPECT_FALSE(lock.try_lock_for(100ms, ec));
    EXPECT_TRUE(ec == errc::unknown_outcome || ec == errc::unreachable) << ec.message();
    EXPECT_LT(lease_clock::now() - start, 5s);
    EXPECT_FALSE(lock.owns_lock());
    server().resume();
    // The SET that waited in the server's buffer may run now; the next call finds and removes it.
    EXPECT_TRUE(lock.try_lock(ec)) << ec.message();
    EXPECT_EQ(text({"GET", "k"}), lock.token());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, DestructorRemovesWhatAnAcquireLeft) {
    {
        hiredis_connection conn{server().url_unix(), {.command_timeout = 50ms}};
        redis_lock lock{conn, "k", {.ttl = 1min}};
        suspend_server();
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock(ec));
        EXPECT_TRUE(ec);
        server().resume();
    }
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
}

TEST_F(Scenarios, WritesPausedByTheServer) {
    hiredis_connection conn{server().url_unix(), {.command_timeout = 60ms}};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    ask({"CLIENT", "PAUSE", "20000", "WRITE"});
    std::error_code ec;
    const auto start = lease_clock::now();
    EXPECT_FALSE(lock.try_lock_for(150ms, ec));
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_LT(lease_clock::now() - start, 5s);
    ask({"CLIENT", "UNPAUSE"});
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(text({"GET", "k"}), lock.token());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, ConnectionsKilledByTheServer) {
    hiredis_connection conn{server().url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    const auto kill = [&] { ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); };
    for (int round = 0; round < 5; ++round) {
        kill();
        ASSERT_TRUE(lock.try_lock());
        kill();
        ASSERT_TRUE(lock.extend());
        kill();
        ASSERT_EQ(lock.release(), release_outcome::released);
        lock.lock();
        kill();
        lock.unlock();
        kill();
        const auto outcome = lock.last_release();
        EXPECT_TRUE(outcome == release_outcome::released || outcome == release_outcome::unknown);
    }
    lock.lock();
    lock.unlock();
}

TEST_F(Scenarios, ConnectionsKilledUnderLoad) {
    std::atomic<bool> over{false};
    std::int64_t counter = 0;
    std::atomic<std::int64_t> entered{0};
    {
        std::vector<std::jthread> crowd;
        for (int n = 0; n < 4; ++n) {
            crowd.emplace_back([&] {
                hiredis_connection conn{server().url_unix()};
                redis_lock lock{conn, "k", {.ttl = 1min}};
                std::error_code ec;
                while (!over) {
                    lock.lock(ec);
                    if (!ec) {
                        ++counter;
                        ++entered;
                        lock.unlock();
                    }
                }
            });
        }
        for (int n = 0; n < 100; ++n) {
            ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
            std::this_thread::sleep_for(3ms); // the pace of the fault
        }
        over = true;
    }
    EXPECT_EQ(counter, entered) << "two were inside at once";
    EXPECT_GT(entered, 10);
}

TEST_F(Scenarios, ScriptsFlushedBetweenCalls) {
    hiredis_connection conn{server().url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    for (int round = 0; round < 3; ++round) {
        lock.lock();
        ask({"SCRIPT", "FLUSH"});
        EXPECT_TRUE(lock.extend());
        ask({"SCRIPT", "FLUSH"});
        EXPECT_EQ(lock.release(), release_outcome::released);
        lock.lock();
        ask({"SCRIPT", "FLUSH"});
        lock.unlock();
        ask({"SCRIPT", "FLUSH"});
        EXPECT_EQ(lock.last_release(), round == 0 ? release_outcome::released : lock.last_release());
        EXPECT_TRUE(lock.try_lock()) << "a release that met NOSCRIPT is made good before the next attempt";
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

TEST_F(Scenarios, ServerRestartsWithoutData) {
    redis_server forgetful;
    hiredis_connection conn{forgetful.url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    forgetful.restart(redis_server::data::lose);
    hiredis_connection other_conn{forgetful.url_unix()};
    redis_lock other{other_conn, "k", {.ttl = 1min}};
    EXPECT_TRUE(other.try_lock()) << "what the server forgets it cannot guard: assumption A3";
    EXPECT_FALSE(lock.extend());
    EXPECT_EQ(lock.lost(), loss_reason::taken);
    EXPECT_EQ(lock.release(), release_outcome::taken);
    EXPECT_EQ(other.release(), release_outcome::released);
}

TEST_F(Scenarios, ServerRestartsWithItsData) {
    redis_server durable{{.args = {"--appendonly", "yes", "--appendfsync", "always"}}};
    hiredis_connection conn{durable.url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    durable.kill9();
    durable.start();
    EXPECT_TRUE(lock.owns_lock());
    auto admin = durable.connect_admin();
    EXPECT_EQ(admin.get("k"), lock.token());
    EXPECT_GT(admin.pttl("k"), 0);
    EXPECT_TRUE(lock.extend());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Scenarios, RestartsUnderLoadLeakNoSocket) {
    redis_server shaky;
    hiredis_connection first{shaky.url_tcp()};
    redis_lock warm{first, "warm"};
    EXPECT_TRUE(warm.try_lock());
    warm.unlock();
    const auto before = open_descriptors();
    {
        std::atomic<bool> over{false};
        std::vector<std::jthread> crowd;
        for (int n = 0; n < 4; ++n) {
            crowd.emplace_back([&] {
                hiredis_connection conn{shaky.url_tcp(), {.connect_timeout = 200ms, .command_timeout = 200ms}};
                redis_lock lock{conn, "k", {.ttl = 1min, .give_up_after = 100ms}};
                std::error_code ec;
                while (!over) {
                    lock.lock(ec);
                    EXPECT_EQ(!ec, lock.owns_lock());
                    lock.unlock();
                }
            });
        }
        for (int n = 0; n < 4; ++n) {
            shaky.restart(redis_server::data::lose);
        }
        over = true;
    }
    warm.lock();
    warm.unlock();
    EXPECT_LE(open_descriptors(), before);
}

// ---- clocks

TEST_F(Scenarios, ServerClockJumpsForward) {
    redis_server jumping{{.movable_clock = true}};
    hiredis_connection conn{jumping.url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    lock.lock();
    jumping.set_clock_offset(1h);
    hiredis_connection other_conn{jumping.url_unix()};
    redis_lock other{other_conn, "k", {.ttl = 1min}};
    EXPECT_TRUE(other.try_lock()) << "the server's clock decides when a key ends: assumption A2";
    EXPECT_FALSE(lock.extend()) << "the loser learns of it at its next contact";
    EXPECT_EQ(lock.lost(), loss_reason::taken);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_EQ(lock.release(), release_outcome::taken);
    EXPECT_EQ(other.release(), release_outcome::released);
}

TEST_F(Scenarios, ServerClockJumpsBack) {
    redis_server jumping{{.movable_clock = true}};
    hiredis_connection conn{jumping.url_unix()};
    redis_lock lock{conn, "k", {.ttl = 200ms}};
    lock.lock();
    jumping.set_clock_offset(-10min);
    hiredis_connection other_conn{jumping.url_unix()};
    redis_lock other{other_conn, "k", {.ttl = 1min}};
    std::error_code ec;
    EXPECT_FALSE(other.try_lock_for(300ms, ec)) << "no second holder: it only takes longer";
    EXPECT_FALSE(ec);
    EXPECT_FALSE(lock.owns_lock()) << "the owner's own clock has not jumped";
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_TRUE(other.try_lock());
    EXPECT_EQ(other.release(), release_outcome::released);
}

// ---- names and durations

TEST_F(Scenarios, NamesDoNotCollide) {
    hiredis_connection conn{server().url_unix()};
    const std::array names{"a"s,
                           "a "s,
                           "a:fence"s,
                           "a\0"s,
                           "a\r\n"s,
                           "{a}"s,
                           "}{"s,
                           "%s"s,
                           std::string(512, 'a'),
                           std::string(513, 'a'),
                           "\xc3\xa4"s,
                           "A"s};
    for (const auto& name : names) {
        redis_lock lock{conn, name};
        ASSERT_TRUE(lock.try_lock()) << name;
        for (const auto& other : names) {
            if (other != name) {
                EXPECT_EQ(number({"EXISTS", other}), 0);
            }
        }
    }
}

TEST_F(Scenarios, ShortestAndLongestLeases) {
    hiredis_connection conn{server().url_unix()};
    std::error_code ec;
    for (const auto ttl : {1ms, 2ms}) {
        redis_lock lock{conn, "k", {.ttl = ttl}};
        EXPECT_FALSE(lock.try_lock(ec)) << "nothing of it is left when its grant arrives";
        EXPECT_EQ(ec, errc::lease_too_short);
        EXPECT_FALSE(lock.owns_lock());
    }
    redis_lock longest{conn, "k", {.ttl = 24h * 365}};
    EXPECT_TRUE(longest.try_lock());
    EXPECT_GT(longest.remaining(), 24h * 360);
    EXPECT_TRUE(longest.extend(1s));
    EXPECT_LE(longest.remaining(), 1s);
}

// ---- handles and threads

TEST_F(Scenarios, HandleThatThreadsUseInTurnNeedsNoMore) {
    hiredis_connection conn{server().url_unix()};
    redis_lock lock{conn, "k", {.ttl = 1min}};
    std::mutex turn;
    int counter = 0;
    {
        std::vector<std::jthread> crowd;
        for (int n = 0; n < 4; ++n) {
            crowd.emplace_back([&] {
                for (int round = 0; round < 50; ++round) {
                    const std::lock_guard mine{turn};
                    const std::lock_guard guard{lock};
                    ++counter;
                }
            });
        }
    }
    EXPECT_EQ(counter, 200);
}

TEST_F(Scenarios, TwoLocksOnOneConnection) {
    hiredis_connection conn{server().url_unix()};
    redis_lock a{conn, "a", {.ttl = 1min}};
    redis_lock b{conn, "b", {.ttl = 1min}};
    for (int round = 0; round < 20; ++round) {
        a.lock();
        b.lock();
        a.unlock();
        b.unlock(); // two replies outstanding on one stream
        if (round % 3 == 0) {
            EXPECT_EQ(b.last_release(), release_outcome::released);
            EXPECT_TRUE(a.last_release() == release_outcome::released || a.last_release() == release_outcome::unknown)
                << "b's question may have read past a's reply";
        }
        if (round % 3 == 1) {
            EXPECT_EQ(a.last_release(), release_outcome::released);
            EXPECT_EQ(b.last_release(), release_outcome::released);
        }
    }
}

} // namespace
} // namespace distlock
