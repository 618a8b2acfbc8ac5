// SPDX-License-Identifier: MIT
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/raw_client.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace distlock::test {
namespace {

using namespace std::chrono_literals;

TEST(RedisServer, IsUpOnBothDoorsAndGoneAfterwards) {
    pid_t pid = 0;
    std::filesystem::path dir;
    {
        redis_server server;
        pid = server.pid();
        dir = server.dir();
        EXPECT_EQ(server.connect_admin().command({"PING"}), reply::status("PONG"));
        EXPECT_EQ(admin{server.port()}.command({"PING"}), reply::status("PONG"));
        EXPECT_EQ(server.url_tcp(), "redis://127.0.0.1:" + std::to_string(server.port()));
        EXPECT_EQ(server.url_unix(), "unix://" + (dir / "redis.sock").string());
    }
    EXPECT_EQ(::kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
    EXPECT_FALSE(std::filesystem::exists(dir));
}

TEST(RedisServer, AdminReadsAndWrites) {
    redis_server server;
    auto redis = server.connect_admin();
    const std::string octets{"a\0b\r\n", 5};
    redis.set(octets, octets);
    redis.set("k", "v", 60s);
    EXPECT_EQ(redis.get(octets), octets);
    EXPECT_EQ(redis.get("none"), std::nullopt);
    EXPECT_TRUE(redis.exists("k"));
    EXPECT_EQ(redis.pttl(octets), -1);
    EXPECT_EQ(redis.pttl("none"), -2);
    EXPECT_GT(redis.pttl("k"), 0);
    EXPECT_LE(redis.pttl("k"), 60'000);
    EXPECT_EQ(redis.keys(), (std::vector<std::string>{octets, "k"}));
    EXPECT_EQ(redis.keys("k*"), std::vector<std::string>{"k"});
    EXPECT_TRUE(redis.del("k"));
    EXPECT_FALSE(redis.del("k"));
    redis.flushall();
    EXPECT_TRUE(redis.keys().empty());
    EXPECT_TRUE(redis.command({"NOSUCH"}).is_error());
    EXPECT_THROW(redis.info("nosuch"), std::runtime_error);
    EXPECT_EQ(redis.info("loading"), "0");
}

TEST(RedisServer, AdminCountsCallsAndClients) {
    redis_server server;
    auto redis = server.connect_admin();
    auto other = server.connect_admin();
    redis.reset_calls();
    other.get("k");
    other.get("k");
    EXPECT_EQ(redis.calls("get"), 2U);
    EXPECT_EQ(redis.calls("set"), 0U);
    EXPECT_EQ(redis.client_list().size(), 2U);
    EXPECT_EQ(redis.kill_clients(), 1);
    EXPECT_THROW(other.get("k"), std::runtime_error);
    EXPECT_EQ(other.get("k"), std::nullopt); // by a connection of its own again
}

TEST(RedisServer, RestartsWithAndWithoutItsData) {
    redis_server server;
    const auto port = server.port();
    server.connect_admin().set("k", "v");
    server.restart(redis_server::data::keep);
    EXPECT_EQ(server.connect_admin().get("k"), "v");
    server.restart(redis_server::data::lose);
    EXPECT_EQ(admin{port}.get("k"), std::nullopt);
    server.stop();
    EXPECT_FALSE(server.is_running());
    EXPECT_THROW(admin{port}.get("k"), std::runtime_error);
    server.start();
    EXPECT_EQ(admin{port}.get("k"), std::nullopt);
    EXPECT_THROW(server.start(), std::logic_error);
}

TEST(RedisServer, AnAppendOnlyFileSurvivesACrash) {
    redis_server server{{.args = {"--appendonly", "yes", "--appendfsync", "always"}}};
    server.connect_admin().set("k", "v", 60s);
    server.kill9();
    server.start();
    EXPECT_EQ(server.connect_admin().get("k"), "v");
    EXPECT_GT(server.connect_admin().pttl("k"), 0);
    server.restart(redis_server::data::lose);
    EXPECT_EQ(server.connect_admin().get("k"), std::nullopt);
}

TEST(RedisServer, StandsStill) {
    redis_server server;
    raw_client client{server.socket_path()};
    EXPECT_EQ(client.ask({"PING"}), "+PONG\r\n");
    server.suspend();
    client.send(resp::argv{"PING"});
    EXPECT_EQ(client.received(8, 20ms), "+PONG\r\n");
    server.resume();
    EXPECT_EQ(client.received(14), "+PONG\r\n+PONG\r\n");
    server.suspend(); // it has to end all the same
}

TEST(RedisServer, APasswordDoesNotHinderTheStart) {
    redis_server server{{.args = {"--requirepass", "secret"}}};
    EXPECT_TRUE(server.connect_admin().command({"PING"}).text().starts_with("NOAUTH"));
}

TEST(RedisServer, SaysWhyItDoesNotStart) {
    try {
        const redis_server server{{.args = {"--no-such-option", "1"}}};
        ADD_FAILURE() << "it has started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("no-such-option"), std::string::npos) << error.what();
    }
    try {
        const redis_server server{{.program = "no-such-server"}};
        ADD_FAILURE() << "it has started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("DISTLOCK_REDIS_SERVER"), std::string::npos) << error.what();
    }
}

TEST(RedisServer, AChildLeavesItAloneAndItDiesWithItsParent) {
    redis_server server;
    pid_t childs_server = 0;
    child_process child{[&](message_channel& parent) {
        server.kill9();
        redis_server own;
        parent.send(std::to_string(own.pid()));
        parent.send(own.dir().string());
        parent.receive();
        return 0;
    }};
    const auto line = child.channel().receive();
    const auto dir = child.channel().receive();
    ASSERT_TRUE(line && dir);
    childs_server = std::stoi(*line);
    EXPECT_EQ(server.connect_admin().command({"PING"}), reply::status("PONG"));
    EXPECT_EQ(::kill(childs_server, 0), 0);
    child.kill9();
    // Once its own parent is gone, whoever collects it may be slow: a dead one has no command line.
    EXPECT_TRUE(eventually([&] {
        std::ifstream in{"/proc/" + std::to_string(childs_server) + "/cmdline"};
        return in.peek() == std::ifstream::traits_type::eof();
    }));
    std::filesystem::remove_all(*dir); // the killed child could not
}

TEST(RedisServer, HasAClockThatMoves) {
    redis_server server{{.movable_clock = true}};
    auto redis = server.connect_admin();
    const auto seconds = [&] { return std::stoll(redis.command({"TIME"}).elements().at(0).text()); };
    const auto before = seconds();
    redis.set("k", "v", 60s);
    server.set_clock_offset(1h);
    EXPECT_GE(seconds(), before + 3600);
    EXPECT_EQ(redis.pttl("k"), -2);
    redis.set("k", "v", 60s);
    server.set_clock_offset(0ms);
    EXPECT_GT(redis.pttl("k"), 3'600'000);
    server.set_clock_offset(-10s);
    EXPECT_LT(seconds(), before + 3600);
    server.kill9();
    server.start();
    EXPECT_EQ(server.connect_admin().get("k"), std::nullopt);
    EXPECT_THROW(redis_server{}.set_clock_offset(1s), std::logic_error);
}

} // namespace
} // namespace distlock::test
