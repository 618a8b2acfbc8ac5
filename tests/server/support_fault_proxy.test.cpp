// SPDX-License-Identifier: MIT
#include "support/fault_proxy.hpp"

#include "support/raw_client.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace distlock::test {
namespace {

using namespace std::chrono_literals;
using then = fault::then;

class FaultProxy : public testing::Test {
protected:
    const resp::argv set_{"SET", "k", "v"};
    const resp::argv ping_{"PING"};
    const std::string ok_ = "+OK\r\n";
    const std::string pong_ = "+PONG\r\n";

    redis_server server;
    fault_proxy proxy{server};
    admin direct = server.connect_admin();
    raw_client client{proxy.socket_path()};

    bool key_appears() {
        return eventually([&] { return direct.exists("k"); });
    }
    // Whatever came before it on the same connection has been run by the server when this is back.
    void settle() { EXPECT_EQ(direct.command({"PING"}), reply::status("PONG")); }
};

TEST_F(FaultProxy, IsAWireWithoutFaults) {
    const std::string octets{"a\0b\r\n", 5};
    admin through_tcp{proxy.port()};
    through_tcp.set(octets, octets);
    EXPECT_EQ(through_tcp.get(octets), octets);
    EXPECT_EQ(client.ask(ping_), pong_);
    const auto seen = proxy.traffic();
    EXPECT_EQ(seen.commands, (std::vector<resp::argv>{{"SET", octets, octets}, {"GET", octets}, {"PING"}}));
    EXPECT_EQ(seen.replies, 3U);
    EXPECT_EQ(seen.connections, 2U);
    EXPECT_EQ(seen.count("GET"), 1U);
    client.hang_up();
    EXPECT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.closed == 1; }));
    EXPECT_FALSE(proxy.wait_for([](const proxy_traffic& now) { return now.closed == 2; }, 1ms));
}

TEST_F(FaultProxy, ALargeReplyPasses) {
    direct.set("large", std::string(5'000'000, 'x'));
    EXPECT_EQ(client.ask({"GET", "large"}).size(), 5'000'000U + sizeof "$5000000\r\n\r\n" - 1);
}

TEST_F(FaultProxy, LosesARequestAndCuts) {
    proxy.on(at_command::word("SET", 2), fault::lose_request());
    EXPECT_EQ(client.ask({"SET", "first", "v"}), ok_);
    client.send(resp::encode(ping_) + resp::encode(set_) + resp::encode(ping_));
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(client.received(0), ok_ + pong_); // what came before it is answered
    settle();
    EXPECT_FALSE(direct.exists("k"));
    EXPECT_TRUE(direct.exists("first"));
}

TEST_F(FaultProxy, LosesARequestAndIsSilent) {
    proxy.on(at_command::word("SET"), fault::lose_request(then::silence));
    client.send(set_);
    ASSERT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.count("SET") == 1; }));
    client.send(ping_);
    EXPECT_FALSE(client.is_closed(20ms));
    EXPECT_EQ(client.received(1, 1ms), "");
    EXPECT_FALSE(direct.exists("k"));
    raw_client other{proxy.socket_path()};
    EXPECT_EQ(other.ask(set_), ok_);
}

TEST_F(FaultProxy, CutsInARequest) {
    proxy.on(at_command::nth(1), fault::cut_in_request());
    client.send(set_);
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(client.received(0), "");
    settle();
    EXPECT_FALSE(direct.exists("k"));
}

TEST_F(FaultProxy, LosesAReplyAndCuts) {
    proxy.on(at_command::nth(2), fault::lose_reply());
    client.send(resp::encode(ping_) + resp::encode(set_) + resp::encode(ping_));
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(client.received(0), pong_);
    EXPECT_TRUE(direct.exists("k"));
}

TEST_F(FaultProxy, LosesAReplyAndIsSilent) {
    proxy.on(at_command::word("SET"), fault::lose_reply(then::silence));
    client.send(set_);
    EXPECT_TRUE(key_appears());
    EXPECT_FALSE(client.is_closed(20ms));
    EXPECT_EQ(client.received(1, 1ms), "");
}

TEST_F(FaultProxy, DelaysRequestsAndReplies) {
    proxy.on(at_command::nth(1), fault::delay_request(30ms));
    proxy.on(at_command::nth(2), fault::delay_reply(30ms));
    for (int i = 0; i < 2; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(client.ask(ping_), pong_);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
    }
    EXPECT_EQ(client.ask(ping_), pong_);
}

TEST_F(FaultProxy, ADelayedRequestOutlivesItsClient) {
    proxy.on(at_command::nth(1), fault::delay_request(30ms));
    client.send(set_);
    client.hang_up();
    EXPECT_TRUE(key_appears());
}

TEST_F(FaultProxy, HoldsARequestUntilToldOtherwise) {
    proxy.on(at_command::word("SET"), fault::hold_request());
    client.send(set_);
    ASSERT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.count("SET") == 1; }));
    client.hang_up();
    settle();
    EXPECT_FALSE(direct.exists("k"));
    EXPECT_EQ(proxy.deliver_held(), 1U);
    EXPECT_TRUE(direct.exists("k"));
    EXPECT_EQ(proxy.deliver_held(), 0U);
    EXPECT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.closed == 1; }));
}

TEST_F(FaultProxy, AHeldRequestIsAnsweredToAClientThatStayed) {
    proxy.on(at_command::word("SET"), fault::hold_request());
    client.send(resp::encode(set_) + resp::encode(ping_));
    ASSERT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.commands.size() == 2; }));
    EXPECT_EQ(client.received(1, 1ms), "");
    EXPECT_EQ(proxy.deliver_held(), 1U);
    EXPECT_EQ(client.received(12), ok_ + pong_);
}

TEST_F(FaultProxy, AHeldRequestDiesWithTheServersConnection) {
    proxy.on(at_command::word("SET"), fault::hold_request());
    EXPECT_EQ(client.ask(ping_), pong_);
    client.send(set_);
    ASSERT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.count("SET") == 1; }));
    direct.kill_clients();
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(proxy.deliver_held(), 0U);
    EXPECT_FALSE(direct.exists("k"));
}

TEST_F(FaultProxy, DeliversARequestAfterItsClientHasLeft) {
    proxy.on(at_command::word("SET"), fault::deliver_after_close(10ms));
    client.send(set_);
    ASSERT_TRUE(proxy.wait_for([](const proxy_traffic& now) { return now.count("SET") == 1; }));
    settle();
    EXPECT_FALSE(direct.exists("k"));
    client.hang_up();
    EXPECT_TRUE(key_appears());
}

TEST_F(FaultProxy, SpoilsReplies) {
    proxy.on(at_command::nth(1), fault::replace_reply("junk\r\n"));
    proxy.on(at_command::nth(2), fault::duplicate_reply());
    proxy.on(at_command::nth(3), fault::truncate_reply(3, then::silence));
    client.send(set_);
    EXPECT_EQ(client.received(6), "junk\r\n");
    client.send(set_);
    EXPECT_EQ(client.received(16), "junk\r\n" + ok_ + ok_);
    client.send(set_);
    EXPECT_EQ(client.received(19), "junk\r\n" + ok_ + ok_ + "+OK");
    EXPECT_FALSE(client.is_closed(20ms));
    EXPECT_EQ(client.received(0).size(), 19U);
}

TEST_F(FaultProxy, TruncatesAndCuts) {
    proxy.on(at_command::nth(1), fault::truncate_reply(2));
    client.send(set_);
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(client.received(0), "+O");
}

TEST_F(FaultProxy, CutsBehindAReply) {
    proxy.on(at_command::nth(1), fault::cut_after_reply());
    client.send(resp::encode(set_) + resp::encode(ping_));
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(client.received(0), ok_);
}

TEST_F(FaultProxy, DripsAReply) {
    proxy.on(at_command::every("SET"), fault::drip_reply(10ms));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(client.ask(set_), ok_);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
}

TEST_F(FaultProxy, CountsFromTheCallAndForgetsPlans) {
    EXPECT_EQ(client.ask(set_), ok_);
    proxy.on(at_command::every("SET"), fault::replace_reply("+every\r\n"));
    proxy.on(at_command::nth(2), fault::replace_reply("+second\r\n"));
    EXPECT_EQ(client.ask(set_), "+every\r\n");
    EXPECT_EQ(client.ask(ping_), "+second\r\n");
    EXPECT_EQ(client.ask(set_), "+every\r\n");
    proxy.clear();
    EXPECT_EQ(client.ask(set_), ok_);
    proxy.on({[](const resp::argv& argv) { return argv.size() == 3 && argv[2] == "special"; }, 1},
             fault::replace_reply("+special\r\n"));
    EXPECT_EQ(client.ask(set_), ok_);
    EXPECT_EQ(client.ask({"SET", "k", "special"}), "+special\r\n");
}

TEST_F(FaultProxy, Refuses) {
    EXPECT_EQ(client.ask(ping_), pong_);
    proxy.set_mode(fault_proxy::mode::refuse);
    EXPECT_THROW(raw_client{proxy.socket_path()}, std::runtime_error);
    EXPECT_THROW(admin{proxy.port()}.get("k"), std::runtime_error);
    EXPECT_EQ(client.ask(ping_), pong_);
    proxy.cut_all();
    EXPECT_TRUE(client.is_closed());
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_EQ(raw_client{proxy.socket_path()}.ask(ping_), pong_);
    EXPECT_EQ(admin{proxy.port()}.get("k"), std::nullopt);
}

TEST_F(FaultProxy, IsABlackHole) {
    EXPECT_EQ(client.ask(ping_), pong_);
    proxy.set_mode(fault_proxy::mode::black_hole);
    raw_client newcomer{proxy.socket_path()};
    newcomer.send(set_);
    client.send(set_);
    EXPECT_FALSE(client.is_closed(20ms));
    EXPECT_FALSE(newcomer.is_closed(1ms));
    EXPECT_EQ(newcomer.received(0), "");
    proxy.set_mode(fault_proxy::mode::pass);
    EXPECT_EQ(raw_client{proxy.socket_path()}.ask(ping_), pong_);
    EXPECT_FALSE(direct.exists("k"));
}

TEST_F(FaultProxy, ServerAndClientEndsAreToldToTheOther) {
    EXPECT_EQ(client.ask(ping_), pong_);
    client.hang_up();
    EXPECT_TRUE(eventually([&] { return direct.client_list().size() == 1; }));
    raw_client other{proxy.socket_path()};
    EXPECT_EQ(other.ask(ping_), pong_);
    server.kill9();
    EXPECT_TRUE(other.is_closed());
    EXPECT_TRUE(raw_client{proxy.socket_path()}.is_closed());
    server.start();
    EXPECT_EQ(raw_client{proxy.socket_path()}.ask(ping_), pong_);
}

TEST_F(FaultProxy, ABlockedClientThatLeavesIsSeenByTheServer) {
    client.send(resp::argv{"BLPOP", "list", "0"});
    ASSERT_TRUE(eventually([&] { return direct.info("blocked_clients") == "1"; }));
    client.hang_up();
    EXPECT_TRUE(eventually([&] { return direct.info("blocked_clients") == "0"; }));
}

TEST_F(FaultProxy, ServesManyClientsAtOnce) {
    proxy.on(at_command::every("GET"), fault::delay_reply(1ms));
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            admin mine{proxy.socket_path()};
            for (int n = 0; n < 50; ++n) {
                mine.command({"INCR", "counter"});
                mine.get("counter");
            }
        });
    }
    for (int n = 0; n < 20; ++n) {
        proxy.on(at_command::word("NOSUCH"), fault::lose_reply());
        proxy.traffic();
    }
    for (auto& each : threads) {
        each.join();
    }
    EXPECT_EQ(direct.get("counter"), "400");
    EXPECT_EQ(proxy.traffic().count("INCR"), 400U);
}

} // namespace
} // namespace distlock::test
