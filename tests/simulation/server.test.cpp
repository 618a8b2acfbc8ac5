// SPDX-License-Identifier: MIT
//
// What the comparison with a real server cannot reach: clocks that jump, replicas that lag, crashes,
// evictions.
#include "server.hpp"
#include "sha1.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace distlock::simulation {
namespace {

std::optional<reply> run(server& at, session& as, std::initializer_list<std::string_view> argv) {
    return at.execute(as, arguments{argv.begin(), argv.size()});
}

const reply nil = reply::nil();
const reply zero = reply::integer(0);
const reply one = reply::integer(1);
const reply okay = reply::status("OK");

reply pair(const char* first, const char* second) {
    return reply::array({reply::string(first), reply::string(second)});
}

class SimulatedRedis : public testing::Test {
protected:
    std::optional<reply> run(std::initializer_list<std::string_view> argv) {
        return simulation::run(redis, client, argv);
    }

    server redis;
    session client{redis};
};

TEST_F(SimulatedRedis, KeysExpireByItsOwnClock) {
    EXPECT_EQ(run({"SET", "k", "v", "PX", "100"}), okay);
    redis.advance(100'000);
    EXPECT_EQ(run({"PTTL", "k"}), zero) << "gone only when the time is past";
    redis.advance(1'000);
    EXPECT_EQ(redis.live_keys().size(), 0U);
    EXPECT_EQ(run({"GET", "k"}), nil);
    EXPECT_EQ(run({"DBSIZE"}), zero);
}

TEST_F(SimulatedRedis, ActiveExpiryDeletesWhatNobodyAsksFor) {
    EXPECT_EQ(run({"SET", "a", "v", "PX", "5"}), okay);
    EXPECT_EQ(run({"SET", "b", "v", "PX", "5"}), okay);
    EXPECT_EQ(run({"SET", "c", "v"}), okay);
    redis.advance(10'000);
    EXPECT_EQ(run({"DBSIZE"}), reply::integer(3));
    redis.tick(1);
    EXPECT_EQ(run({"DBSIZE"}), reply::integer(2));
    redis.tick();
    EXPECT_EQ(run({"DBSIZE"}), one);
}

TEST_F(SimulatedRedis, AClockSteppedForwardFreesAHeldKey) {
    EXPECT_EQ(run({"SET", "k", "v", "NX", "PX", "30000"}), okay);
    redis.advance(60'000'000);
    EXPECT_EQ(run({"SET", "k", "w", "NX", "PX", "30000"}), okay);
}

TEST_F(SimulatedRedis, AClockSteppedBackLengthensAKeysLife) {
    EXPECT_EQ(run({"SET", "k", "v", "PX", "30000"}), okay);
    redis.advance(-3'600'000'000);
    EXPECT_EQ(run({"PTTL", "k"}), reply::integer(3'630'000));
    const auto before = redis.now_us();
    EXPECT_EQ(run({"TIME"}),
              pair(std::to_string(before / 1'000'000).c_str(), std::to_string(before % 1'000'000).c_str()));
}

TEST_F(SimulatedRedis, BlockedClientsAreServedInOrderOfArrival) {
    session first{redis};
    session second{redis};
    session third{redis};
    EXPECT_FALSE(simulation::run(redis, first, {"BLPOP", "q", "0"}));
    EXPECT_FALSE(simulation::run(redis, second, {"BLPOP", "other", "q", "0"}));
    EXPECT_FALSE(simulation::run(redis, third, {"BLPOP", "q", "0"}));
    EXPECT_EQ(run({"RPUSH", "q", "a", "b"}), reply::integer(2));
    const auto woken = redis.take_wakeups();
    ASSERT_EQ(woken.size(), 2U);
    EXPECT_EQ(woken[0].who, &first);
    EXPECT_EQ(woken[0].answer, pair("q", "a"));
    EXPECT_EQ(woken[1].who, &second);
    EXPECT_EQ(woken[1].answer, pair("q", "b"));
    EXPECT_TRUE(third.is_blocked());
    EXPECT_EQ(run({"EXISTS", "q"}), zero);
}

TEST_F(SimulatedRedis, ABlockedClientThatIsGoneTakesNothing) {
    {
        session gone{redis};
        EXPECT_FALSE(simulation::run(redis, gone, {"BLPOP", "q", "0"}));
        EXPECT_EQ(redis.blocked_sessions(), 1U);
    }
    EXPECT_EQ(redis.blocked_sessions(), 0U);
    EXPECT_EQ(run({"RPUSH", "q", "a"}), one);
    EXPECT_EQ(run({"LLEN", "q"}), one);
    EXPECT_TRUE(redis.take_wakeups().empty());
}

TEST_F(SimulatedRedis, AKilledClientIsClosedAndTakesNothing) {
    session other{redis};
    EXPECT_FALSE(simulation::run(redis, other, {"BLPOP", "q", "0"}));
    EXPECT_EQ(run({"CLIENT", "KILL", "ID", std::to_string(other.id())}), one);
    EXPECT_FALSE(other.is_open());
    EXPECT_EQ(run({"RPUSH", "q", "a"}), one);
    EXPECT_EQ(run({"LLEN", "q"}), one);
}

TEST_F(SimulatedRedis, TimeOutsGoByTheWallClock) {
    EXPECT_FALSE(run({"BLPOP", "q", "2"}));
    EXPECT_EQ(redis.next_deadline_ms(), redis.now_us() / 1000 + 2'001);
    redis.advance(-60'000'000);
    redis.advance(5'000'000);
    redis.tick();
    EXPECT_TRUE(client.is_blocked()) << "a step back keeps it waiting";
    redis.advance(57'001'000);
    redis.tick();
    const auto woken = redis.take_wakeups();
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].answer, nil);
    EXPECT_FALSE(redis.next_deadline_ms());
}

TEST_F(SimulatedRedis, CommandsBehindABlockedOneRunWhenItIsServed) {
    session other{redis};
    EXPECT_FALSE(simulation::run(redis, other, {"BLPOP", "q", "0"}));
    EXPECT_FALSE(simulation::run(redis, other, {"SET", "k", "v", "NX"}));
    EXPECT_EQ(redis.peek("k"), nullptr);
    EXPECT_EQ(run({"RPUSH", "q", "a"}), one);
    const auto woken = redis.take_wakeups();
    ASSERT_EQ(woken.size(), 2U);
    EXPECT_EQ(woken[1].answer, okay);
    EXPECT_NE(redis.peek("k"), nullptr);
}

TEST_F(SimulatedRedis, PausesEndByTheClock) {
    EXPECT_EQ(run({"CLIENT", "PAUSE", "100"}), okay);
    session other{redis};
    EXPECT_FALSE(simulation::run(redis, other, {"GET", "k"}));
    redis.advance(100'000);
    redis.tick();
    EXPECT_TRUE(other.is_blocked());
    redis.advance(1'000);
    redis.tick();
    const auto woken = redis.take_wakeups();
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].answer, nil);
}

TEST_F(SimulatedRedis, ScriptsAreForgottenOnDemand) {
    const char* const text = "return redis.call('incr', KEYS[1])";
    const std::string sha = sha1(text);
    EXPECT_TRUE(run({"EVALSHA", sha, "1", "k"})->text().starts_with("NOSCRIPT"));
    EXPECT_EQ(run({"EVAL", text, "1", "k"}), one);
    EXPECT_EQ(run({"EVALSHA", sha, "1", "k"}), reply::integer(2));
    redis.evict_scripts();
    EXPECT_TRUE(run({"EVALSHA", sha, "1", "k"})->text().starts_with("NOSCRIPT"));
    EXPECT_EQ(redis.calls("incr"), 2U);
}

TEST(SimulatedServers, NewerOnesForgetTheScriptThatIsLeastUsed) {
    for (const auto kind : {flavour::redis_7_0, flavour::valkey_8_1}) {
        server redis{{.kind = kind}};
        session client{redis};
        EXPECT_TRUE(run(redis, client, {"SCRIPT", "LOAD", "return 'loaded'"})->is_string());
        EXPECT_EQ(run(redis, client, {"EVAL", "return 0", "0"}), zero);
        EXPECT_EQ(run(redis, client, {"EVAL", "return 1", "0"}), one);
        EXPECT_EQ(run(redis, client, {"EVALSHA", sha1("return 0"), "0"}), zero);
        for (int i = 2; i <= 500; ++i) {
            run(redis, client, {"EVAL", std::string{"return "}.append(std::to_string(i)), "0"});
        }
        const bool forgets = kind != flavour::redis_7_0;
        EXPECT_EQ(run(redis, client, {"EVALSHA", sha1("return 1"), "0"})->is_error(), forgets);
        EXPECT_EQ(run(redis, client, {"EVALSHA", sha1("return 0"), "0"}), zero);
        EXPECT_TRUE(run(redis, client, {"EVALSHA", sha1("return 'loaded'"), "0"})->is_string());
    }
}

TEST(SimulatedServers, KnowTheirOwnCompareAndX) {
    for (const auto kind : {flavour::redis_7_0, flavour::redis_8_4, flavour::valkey_8_1, flavour::valkey_9}) {
        server redis{{.kind = kind}};
        session client{redis};
        run(redis, client, {"SET", "k", "token", "PX", "1000"});
        EXPECT_EQ(run(redis, client, {"SET", "k", "token", "IFEQ", "token", "PX", "5000"})->is_error(),
                  kind == flavour::redis_7_0);
        if (kind != flavour::redis_7_0) {
            EXPECT_EQ(run(redis, client, {"PTTL", "k"}), reply::integer(5'000));
            EXPECT_EQ(run(redis, client, {"SET", "k", "x", "IFEQ", "other"}), nil);
            EXPECT_EQ(run(redis, client, {"SET", "absent", "x", "IFEQ", "x"}), nil);
            EXPECT_EQ(redis.peek("absent"), nullptr);
        }
        const bool delifeq = kind == flavour::valkey_9;
        const bool delex = kind == flavour::redis_8_4;
        EXPECT_EQ(run(redis, client, {"DELIFEQ", "k", "other"})->is_error(), !delifeq);
        EXPECT_EQ(run(redis, client, {"DELEX", "k", "IFEQ", "other"})->is_error(), !delex);
        EXPECT_NE(redis.peek("k"), nullptr);
        EXPECT_EQ(run(redis, client, {"DELIFEQ", "k", "token"})->is_integer(1), delifeq);
        EXPECT_EQ(run(redis, client, {"DELEX", "k", "IFEQ", "token"})->is_integer(1), delex);
    }
}

TEST_F(SimulatedRedis, RefusesWhileLoading) {
    redis.trouble.loading = true;
    EXPECT_TRUE(run({"GET", "k"})->text().starts_with("LOADING "));
    EXPECT_TRUE(run({"EVAL", "return 1", "0"})->text().starts_with("LOADING "));
    EXPECT_TRUE(run({"PING"})->text().starts_with("LOADING "));
    EXPECT_TRUE(run({"ROLE"})->is_array());
    redis.trouble.loading = false;
    EXPECT_EQ(run({"GET", "k"}), nil);
}

TEST_F(SimulatedRedis, ACrashLosesConnectionsAndScriptsAndMaybeData) {
    session blocked{redis};
    for (const bool keeps : {true, false}) {
        session before{redis};
        simulation::run(redis, before, {"SET", "k", "v"});
        simulation::run(redis, before, {"EVAL", "return 1", "0"});
        EXPECT_FALSE(simulation::run(redis, before, {"BLPOP", "q", "0"}));
        redis.crash(keeps);
        EXPECT_FALSE(before.is_open());
        EXPECT_EQ(redis.blocked_sessions(), 0U);
        session after{redis};
        EXPECT_EQ(after.id(), 1U) << "ids begin again";
        EXPECT_EQ(simulation::run(redis, after, {"EXISTS", "k"}), keeps ? one : zero);
        EXPECT_TRUE(simulation::run(redis, after, {"EVALSHA", sha1("return 1"), "0"})->is_error());
    }
    EXPECT_FALSE(blocked.is_open());
}

TEST_F(SimulatedRedis, EvictionDeletesOneKey) {
    EXPECT_EQ(run({"SET", "k", "v"}), okay);
    EXPECT_TRUE(redis.evict("k"));
    EXPECT_FALSE(redis.evict("k"));
    EXPECT_EQ(run({"GET", "k"}), nil);
}

TEST(SimulatedServers, SessionsMayOutliveTheirServer) {
    auto redis = std::make_unique<server>();
    session client{*redis};
    redis.reset();
    EXPECT_FALSE(client.is_open());
}

class Replication : public testing::Test {
protected:
    Replication() { replica.follow(primary); }

    std::optional<reply> at_primary(std::initializer_list<std::string_view> argv) { return run(primary, client, argv); }
    std::optional<reply> at_replica(std::initializer_list<std::string_view> argv) { return run(replica, reader, argv); }

    server primary;
    server replica;
    session client{primary};
    session reader{replica};
};

TEST_F(Replication, AReplicaHasWhatItHasPulled) {
    at_primary({"SET", "k", "1"});
    const auto first = primary.offset();
    at_primary({"SET", "k", "2", "PX", "1000"});
    EXPECT_EQ(at_replica({"GET", "k"}), nil);
    EXPECT_TRUE(replica.pull(first));
    EXPECT_EQ(at_replica({"GET", "k"}), reply::string("1"));
    EXPECT_TRUE(replica.pull());
    EXPECT_EQ(at_replica({"PTTL", "k"}), reply::integer(1'000));
    EXPECT_EQ(replica.offset(), primary.offset());
    EXPECT_TRUE(at_replica({"SET", "k", "3"})->text().starts_with("READONLY "));
    at_primary({"FLUSHALL"});
    replica.pull();
    EXPECT_EQ(at_replica({"DBSIZE"}), zero);
}

TEST_F(Replication, ReadsAreNoWrites) {
    at_primary({"SET", "k", "1"});
    const auto before = primary.offset();
    at_primary({"GET", "k"});
    at_primary({"SET", "k", "2", "NX"});
    at_primary({"DEL", "absent"});
    at_primary({"EVAL", "return redis.call('get', KEYS[1])", "1", "k"});
    EXPECT_EQ(primary.offset(), before);
}

TEST_F(Replication, AScriptsWritesArriveTogether) {
    const auto before = primary.offset();
    at_primary({"EVAL", "redis.call('set', 'a', 1) redis.call('rpush', 'b', 1, 2) redis.call('del', 'a')", "0"});
    EXPECT_EQ(primary.offset(), before + 1);
    replica.pull();
    EXPECT_EQ(at_replica({"EXISTS", "a"}), zero);
    EXPECT_EQ(at_replica({"LLEN", "b"}), reply::integer(2));
}

TEST_F(Replication, APopThatServesABlockedClientIsAWrite) {
    session waiter{primary};
    run(primary, waiter, {"BLPOP", "q", "0"});
    at_primary({"RPUSH", "q", "a"});
    replica.pull();
    EXPECT_EQ(at_replica({"EXISTS", "q"}), zero);
}

TEST_F(Replication, AReplicaTakesExpiredKeysForAbsentButKeepsThem) {
    at_primary({"SET", "k", "v", "PX", "10"});
    replica.pull();
    replica.advance(11'000);
    EXPECT_EQ(at_replica({"EXISTS", "k"}), zero);
    replica.tick();
    EXPECT_EQ(at_replica({"DBSIZE"}), one);
    primary.advance(11'000);
    primary.tick();
    replica.pull();
    EXPECT_EQ(at_replica({"DBSIZE"}), zero);
}

TEST_F(Replication, PromotionLosesWhatWasNotPulled) {
    at_primary({"SET", "kept", "v"});
    replica.pull();
    at_primary({"SET", "lost", "v", "NX"});
    replica.promote();
    EXPECT_FALSE(replica.pull());
    EXPECT_EQ(at_replica({"SET", "lost", "w", "NX"}), okay);
    EXPECT_EQ(at_replica({"EXISTS", "kept"}), one);
    EXPECT_EQ(at_primary({"GET", "lost"}), reply::string("v")) << "the old primary goes on by itself";
    primary.follow(replica);
    EXPECT_EQ(at_primary({"GET", "lost"}), reply::string("w"));
    EXPECT_TRUE(at_primary({"SET", "k", "v"})->text().starts_with("READONLY "));
    EXPECT_EQ(at_replica({"ROLE"})->elements()[0], reply::string("master"));
    EXPECT_EQ(at_primary({"ROLE"})->elements()[0], reply::string("slave"));
}

TEST_F(Replication, WaitCountsAcknowledgements) {
    at_primary({"SET", "k", "v"});
    EXPECT_FALSE(at_primary({"WAIT", "1", "100"}));
    replica.pull();
    primary.acknowledge(replica, replica.offset() - 1);
    EXPECT_TRUE(client.is_blocked());
    primary.acknowledge(replica, replica.offset());
    auto woken = primary.take_wakeups();
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].answer, one);
    EXPECT_EQ(at_primary({"WAIT", "1", "100"}), one);
    EXPECT_FALSE(at_primary({"WAIT", "2", "100"}));
    primary.advance(101'000);
    primary.tick();
    woken = primary.take_wakeups();
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].answer, one);
}

TEST_F(Replication, ACrashCutsTheLink) {
    at_primary({"SET", "k", "v"});
    replica.pull();
    primary.crash(false);
    EXPECT_FALSE(replica.pull());
    EXPECT_EQ(at_replica({"EXISTS", "k"}), one);
    replica.follow(primary);
    EXPECT_EQ(at_replica({"EXISTS", "k"}), zero);
}

} // namespace
} // namespace distlock::simulation
