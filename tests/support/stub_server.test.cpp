// SPDX-License-Identifier: MIT
#include "support/stub_server.hpp"

#include "support/admin.hpp"
#include "support/raw_client.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace distlock::test {
namespace {

using namespace std::chrono_literals;

TEST(StubServer, AnswersByItsFunctionOverBothDoors) {
    stub_server server{[](const resp::argv& argv) -> stub_answer {
        return argv[0] == "DELEX" ? reply::integer(1) : reply::error("ERR unknown command '" + argv[0] + "'");
    }};
    admin by_unix{server.socket_path()};
    admin by_tcp{server.port()};
    EXPECT_EQ(by_unix.command({"DELEX", "k", "IFEQ", "v"}), reply::integer(1));
    EXPECT_EQ(by_tcp.command({"GET", "k"}), reply::error("ERR unknown command 'GET'"));
    EXPECT_EQ(server.connections(), 2U);
    EXPECT_TRUE(server.wait_for_commands(2));
    EXPECT_FALSE(server.wait_for_commands(3, 1ms));
    EXPECT_EQ(server.commands()[0], (resp::argv{"DELEX", "k", "IFEQ", "v"}));
}

TEST(StubServer, GreetsAndAnswersPipelines) {
    stub_server server{[](const resp::argv& argv) { return stub_answer{"+" + argv[0] + "\r\n"}; }, "+HI\r\n"};
    raw_client client{server.socket_path()};
    EXPECT_EQ(client.received(5), "+HI\r\n");
    client.send(resp::encode(resp::argv{"A"}) + resp::encode(resp::argv{"B"}));
    EXPECT_EQ(client.received(13), "+HI\r\n+A\r\n+B\r\n");
}

TEST(StubServer, TellsWhatIsNoCommand) {
    stub_server server{[](const resp::argv&) { return stub_answer{"+OK\r\n"}; }};
    raw_client client{server.socket_path()};
    client.send("*1\r\n:3\r\n");
    EXPECT_TRUE(client.is_closed());
    EXPECT_TRUE(client.received(1).starts_with("-ERR Protocol error"));
}

TEST(HostileServer, GivesAnswersInTurnAndTheLastForEver) {
    hostile_server server{{"+OK\r\n+OK\r\n", "junk", stub_answer::last("$3\r\nab")}};
    raw_client first{server.socket_path()};
    first.send(resp::argv{"CLIENT", "ID"});
    EXPECT_EQ(first.received(1), "-ERR unknown command 'CLIENT'\r\n");
    const auto before = first.received(1).size();
    first.send(resp::argv{"GET", "k"});
    EXPECT_EQ(first.received(before + 10).substr(before), "+OK\r\n+OK\r\n");
    for (int i = 0; i < 2; ++i) {
        raw_client other{server.socket_path()};
        if (i == 0) {
            other.send(resp::argv{"GET", "k"});
            EXPECT_EQ(other.received(4), "junk");
        }
        other.send(resp::argv{"GET", "k"});
        EXPECT_TRUE(other.is_closed());
        EXPECT_TRUE(other.received(0).ends_with("$3\r\nab"));
    }
}

TEST(HostileServer, DripsAndDelays) {
    hostile_server server{{stub_answer::dripping("+OK\r\n", 5ms), stub_answer::delayed("+OK\r\n", 20ms)}};
    raw_client client{server.socket_path()};
    const auto begin = std::chrono::steady_clock::now();
    client.send(resp::argv{"GET", "k"});
    EXPECT_EQ(client.received(5), "+OK\r\n");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
    const auto second = std::chrono::steady_clock::now();
    client.send(resp::argv{"GET", "k"});
    EXPECT_EQ(client.received(10), "+OK\r\n+OK\r\n");
    EXPECT_GE(std::chrono::steady_clock::now() - second, 20ms);
}

TEST(HostileServer, FallsSilent) {
    hostile_server server{{stub_answer::silence(), "+OK\r\n"}};
    raw_client client{server.socket_path()};
    client.send(resp::argv{"GET", "k"});
    ASSERT_TRUE(server.wait_for_commands(1));
    client.send(resp::argv{"GET", "k"});
    EXPECT_FALSE(client.is_closed(20ms));
    EXPECT_EQ(client.received(1, 1ms), "");
    raw_client other{server.socket_path()};
    EXPECT_EQ(other.ask({"GET", "k"}), "+OK\r\n");
}

TEST(HostileServer, FloodsWithoutEnd) {
    hostile_server server{{stub_answer::huge_string(), stub_answer::huge_array(), stub_answer::endless_line(),
                           stub_answer::nested(1000), "+OK\r\n"}};
    constexpr std::size_t much = 1 << 20;
    for (const auto* head : {"$314572800\r\nxxx", "*4294967295\r\n:1\r\n", ":11111"}) {
        raw_client client{server.socket_path()};
        client.send(resp::argv{"GET", "k"});
        EXPECT_GE(client.received(much).size(), much);
        EXPECT_TRUE(client.received(0).starts_with(head));
    }
    raw_client client{server.socket_path()};
    client.send(resp::argv{"GET", "k"});
    EXPECT_EQ(client.received(4004).size(), 4004U);
    // What floods one client does not starve another.
    EXPECT_EQ(admin{server.socket_path()}.command({"GET", "k"}), reply::status("OK"));
}

} // namespace
} // namespace distlock::test
