// SPDX-License-Identifier: MIT
//
// What a server refuses is never called busy, keeps the server's words, and is tried again only where it
// passes by itself.
#include <distlock/hiredis.hpp>
#include <distlock/inspect.hpp>
#include <distlock/protocol/server_errors.hpp>
#include <distlock/redis_lock.hpp>

#include "support/net.hpp"
#include "support/redis_server.hpp"
#include "support/server_test.hpp"
#include "support/stub_server.hpp"

#include <hiredis/hiredis.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::eventually;
using test::redis_server;
using test::stub_answer;

class Refusals : public test::server_test {
protected:
    using lock_type = redis_lock<hiredis_connection>;

    /// Every door says so, within its time, and holds nothing.
    static void expect_refused(lock_type& lock, std::string_view code) {
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock(ec));
        EXPECT_EQ(ec, errc::refused) << ec.message();
        EXPECT_NE(lock.last_error().find(code), std::string::npos) << lock.last_error();
        const auto start = lease_clock::now();
        EXPECT_FALSE(lock.try_lock_for(60ms, ec));
        EXPECT_EQ(ec, errc::refused) << ec.message();
        lock.lock(ec);
        EXPECT_EQ(ec, errc::refused) << ec.message();
        EXPECT_LT(lease_clock::now() - start, 5s);
        try {
            lock.lock();
            ADD_FAILURE();
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), errc::refused);
            EXPECT_NE(std::string_view{error.what()}.find(code), std::string_view::npos) << error.what();
        }
        EXPECT_FALSE(lock.owns_lock());
        EXPECT_TRUE(lock.token().empty());
    }

    static constexpr auto soon = 100ms; ///< give_up_after

    /// Starts a command of somebody else, and waits for nothing.
    static std::unique_ptr<redisContext, decltype(&redisFree)> start(const redis_server& at,
                                                                     std::vector<const char*> words) {
        std::unique_ptr<redisContext, decltype(&redisFree)> context{redisConnectUnix(at.socket_path().c_str()),
                                                                    &redisFree};
        redisAppendCommandArgv(context.get(), static_cast<int>(words.size()), words.data(), nullptr);
        int done = 0;
        while (done == 0) {
            redisBufferWrite(context.get(), &done);
        }
        return context;
    }
};

TEST_F(Refusals, OutOfMemory) {
    hiredis_connection conn{server().url_unix()};
    lock_type held{conn, "held", {.ttl = 1min}};
    held.lock();
    held.unlock();
    held.lock();
    ask({"CONFIG", "SET", "maxmemory", "1"});
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "OOM");
    EXPECT_EQ(held.release(), release_outcome::released) << "a release takes no memory";
    ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(lock.try_lock());
}

TEST_F(Refusals, ReadOnlyReplica) {
    redis_server demoted;
    hiredis_connection conn{demoted.url_unix()};
    lock_type held{conn, "held", {.ttl = 1min}};
    held.lock();
    auto admin = demoted.connect_admin();
    admin.command({"REPLICAOF", "127.0.0.1", std::to_string(test::free_port())});
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "READONLY");
    std::error_code ec;
    EXPECT_FALSE(held.extend(ec));
    EXPECT_EQ(ec, errc::refused);
    EXPECT_TRUE(held.owns_lock()) << "a refused extend changes nothing";
    EXPECT_EQ(held.release(ec), release_outcome::unknown);
    EXPECT_EQ(ec, errc::refused);
    admin.command({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(held.release(ec), release_outcome::released) << "it may be repeated";
    EXPECT_TRUE(lock.try_lock());
}

TEST_F(Refusals, ReplicaWithoutItsMaster) {
    redis_server demoted{{.args = {"--replica-serve-stale-data", "no"}}};
    auto admin = demoted.connect_admin();
    admin.command({"REPLICAOF", "127.0.0.1", std::to_string(test::free_port())});
    hiredis_connection conn{demoted.url_unix()};
    // A write meets READONLY before; a read does not.
    std::error_code ec;
    std::string why;
    inspect(conn, "k", ec, &why);
    EXPECT_EQ(ec, errc::refused);
    EXPECT_TRUE(why.starts_with("MASTERDOWN")) << why;
}

TEST_F(Refusals, TooFewReplicas) {
    hiredis_connection conn{server().url_unix()};
    lock_type held{conn, "held", {.ttl = 1min}};
    held.lock();
    ask({"CONFIG", "SET", "min-replicas-to-write", "2"});
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "NOREPLICAS");
    std::error_code ec;
    EXPECT_EQ(held.release(ec), release_outcome::unknown) << "it blocks the release too";
    EXPECT_EQ(ec, errc::refused);
    EXPECT_NE(held.last_error().find("NOREPLICAS"), std::string::npos) << held.last_error();
    ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_EQ(held.release(ec), release_outcome::released);
    EXPECT_TRUE(lock.try_lock());
}

TEST_F(Refusals, SavingFails) {
    const test::temp_dir scratch;
    const auto gone = scratch.path() / "gone";
    std::filesystem::create_directory(gone);
    redis_server broken{{.args = {"--dir", gone.string(), "--save", "3600 1"}}};
    std::filesystem::remove_all(gone);
    auto admin = broken.connect_admin();
    admin.command({"BGSAVE"});
    ASSERT_TRUE(eventually([&] { return admin.info("rdb_last_bgsave_status") == "err"; }));
    hiredis_connection conn{broken.url_unix()};
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "MISCONF");
}

TEST_F(Refusals, BusyWithAScript) {
    redis_server busy{{.args = {"--busy-reply-threshold", "20"}}};
    hiredis_connection conn{busy.url_unix()};
    lock_type lock{conn, "k", {.give_up_after = soon}};
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), release_outcome::released);
    const auto script = start(busy, {"EVAL", "while true do end", "0"});
    auto admin = busy.connect_admin();
    ASSERT_TRUE(eventually([&] { return admin.command({"PING"}).text().starts_with("BUSY"); }));
    expect_refused(lock, "BUSY");
    std::jthread killer{[&] {
        auto other = busy.connect_admin();
        other.command({"SCRIPT", "KILL"});
    }};
    EXPECT_TRUE(lock.try_lock_for(20s)) << "it passes by itself";
}

TEST_F(Refusals, LoadingItsData) {
    redis_server loading{{.args = {"--key-load-delay", "0", "--loading-process-events-interval-bytes", "1024"}}};
    auto admin = loading.connect_admin();
    for (int n = 0; n < 300; ++n) {
        admin.set("key " + std::to_string(n), std::string(100, 'v'));
    }
    admin.command({"CONFIG", "SET", "key-load-delay", "2000"});
    hiredis_connection conn{loading.url_unix()};
    lock_type lock{conn, "k"};
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), release_outcome::released);
    const auto reload = start(loading, {"DEBUG", "RELOAD"});
    ASSERT_TRUE(eventually([&] { return admin.command({"PING"}).text().starts_with("LOADING"); }));
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, errc::refused) << ec.message();
    EXPECT_NE(lock.last_error().find("LOADING"), std::string::npos) << lock.last_error();
    EXPECT_TRUE(lock.try_lock_for(20s)) << "it passes by itself";
}

TEST_F(Refusals, NoPermission) {
    ask({"ACL", "SETUSER", "guest", "on", ">pw", "~allowed:*", "+@all", "-@dangerous"});
    ask({"ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read"});
    {
        hiredis_connection guest{server().url_unix(), {.user = "guest", .password = "pw"}};
        lock_type other_key{guest, "other", {.give_up_after = soon}};
        expect_refused(other_key, "NOPERM");
        lock_type own_key{guest, "allowed:k"};
        EXPECT_TRUE(own_key.try_lock());
        EXPECT_EQ(own_key.release(), release_outcome::released);
        hiredis_connection reader{server().url_unix(), {.user = "reader", .password = "pw"}};
        lock_type lock{reader, "k", {.give_up_after = soon}};
        expect_refused(lock, "NOPERM");
    }
    ask({"ACL", "DELUSER", "guest", "reader"});
}

TEST_F(Refusals, PasswordMissingOrWrong) {
    redis_server guarded{{.args = {"--requirepass", "s3cret"}}};
    {
        hiredis_connection conn{guarded.url_unix()};
        lock_type lock{conn, "k", {.give_up_after = soon}};
        expect_refused(lock, "NOAUTH");
    }
    hiredis_connection conn{guarded.url_unix(), {.password = "wr0ng"}};
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "WRONGPASS");
    EXPECT_EQ(lock.last_error().find("wr0ng"), std::string::npos);
    hiredis_connection right{guarded.url_unix(), {.password = "s3cret"}};
    lock_type works{right, "k"};
    EXPECT_TRUE(works.try_lock());
}

TEST_F(Refusals, KeyThatIsNoLock) {
    for (const auto& make : {std::vector<std::string>{"RPUSH", "k", "x"},
                             {"HSET", "k", "f", "v"},
                             {"ZADD", "k", "1", "m"},
                             {"SADD", "k", "m"},
                             {"XADD", "k", "*", "f", "v"}}) {
        ask(make);
        hiredis_connection conn{server().url_unix()};
        lock_type lock{conn, "k", {.give_up_after = soon}};
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock_for(20s, ec));
        EXPECT_EQ(ec, errc::refused) << "waiting for it would be for ever";
        EXPECT_NE(lock.last_error().find("WRONGTYPE"), std::string::npos) << lock.last_error();
        lock.lock(ec);
        EXPECT_EQ(ec, errc::refused);
        inspect(conn, "k", ec);
        EXPECT_EQ(ec, errc::refused);
        EXPECT_EQ(number({"EXISTS", "k"}), 1) << "not ours to delete";
        ask({"DEL", "k"});

        ASSERT_TRUE(lock.try_lock());
        ask({"DEL", "k"});
        ask(make);
        EXPECT_FALSE(lock.extend(ec));
        EXPECT_EQ(lock.lost(), loss_reason::taken);
        EXPECT_EQ(lock.release(ec), release_outcome::taken);
        EXPECT_EQ(number({"EXISTS", "k"}), 1) << "not ours to delete";
        ask({"DEL", "k"});
    }
}

TEST_F(Refusals, TooManyClients) {
    redis_server full;
    auto admin = full.connect_admin();
    admin.command({"CONFIG", "SET", "maxclients", "1"});
    hiredis_connection conn{full.url_tcp(), {.connect_timeout = 200ms}};
    lock_type lock{conn, "k", {.give_up_after = soon}};
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    // The server speaks and hangs up before it is asked, so its words may get lost.
    EXPECT_TRUE(ec == errc::refused || ec == errc::unreachable) << ec.message();
    if (ec == errc::refused) {
        EXPECT_NE(lock.last_error().find("max number of clients"), std::string::npos) << lock.last_error();
    }
    lock.lock(ec);
    EXPECT_TRUE(ec == errc::refused || ec == errc::unreachable) << ec.message();
    admin.command({"CONFIG", "SET", "maxclients", "100"});
    EXPECT_TRUE(lock.try_lock_for(20s)) << "it passes by itself";
}

TEST_F(Refusals, ClusterThatIsDown) {
    redis_server lonely{{.args = {"--cluster-enabled", "yes"}}};
    hiredis_connection conn{lonely.url_unix()};
    lock_type lock{conn, "k", {.give_up_after = soon}};
    expect_refused(lock, "CLUSTERDOWN");
    lonely.connect_admin().command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    EXPECT_TRUE(lock.try_lock_for(20s));
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(Refusals, EachCodeOfTheTable) {
    for (const auto& row : protocol::server_errors) {
        if (row.what_to_do == protocol::remedy::whole_text) {
            continue;
        }
        SCOPED_TRACE(row.code);
        const test::stub_server refusing{[&](const test::resp::argv& words) {
            return words[0] == "SET" ? stub_answer{reply::error(std::string{row.code} + " the server's own words")}
                                     : stub_answer{reply::error("ERR unknown command")};
        }};
        hiredis_connection conn{refusing.url_unix()};
        lock_type lock{conn, "k", {.give_up_after = soon}};
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock_for(150ms, ec));
        EXPECT_EQ(ec, errc::refused);
        EXPECT_NE(lock.last_error().find(std::string{row.code} + " the server's own words"), std::string::npos)
            << lock.last_error();
        std::size_t attempts = 0;
        for (const auto& command : refusing.commands()) {
            attempts += static_cast<std::size_t>(command[0] == "SET");
        }
        if (row.what_to_do == protocol::remedy::report) {
            EXPECT_EQ(attempts, 1U);
        } else {
            EXPECT_GE(attempts, 2U);
            EXPECT_LE(attempts, 40U) << "a sick server is not stormed";
        }
        EXPECT_EQ(refusing.connections() > 1, row.what_to_do == protocol::remedy::reconnect);
    }
}

} // namespace
} // namespace distlock
