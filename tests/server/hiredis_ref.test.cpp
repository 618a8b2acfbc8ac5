// SPDX-License-Identifier: MIT
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include "support/redis_server.hpp"
#include "support/server_test.hpp"
#include "support/signal_storm.hpp"

#include <hiredis/hiredis.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::run;

using context = std::unique_ptr<redisContext, decltype(&redisFree)>;

class HiredisRef : public test::server_test {
protected:
    static context open(bool tcp = false) {
        return {tcp ? redisConnect("127.0.0.1", server().port()) : redisConnectUnix(server().socket_path().c_str()),
                &redisFree};
    }

    /// By hiredis' own call: does the context still work for the program?
    static std::string ping(redisContext* on) {
        auto* const answer = static_cast<redisReply*>(redisCommand(on, "PING"));
        std::string text =
            answer == nullptr ? "no answer" : std::string(answer->str, static_cast<std::size_t>(answer->len));
        freeReplyObject(answer);
        return text;
    }
};

TEST_F(HiredisRef, WorksOverAnyContextOfTheProgram) {
    auto tcp = open(true);
    auto local = open(false);
    const context non_blocking{redisConnectUnixNonBlock(server().socket_path().c_str()), &redisFree};
    timeval limit{};
    limit.tv_sec = 3;
    const context timed{redisConnectUnixWithTimeout(server().socket_path().c_str(), limit), &redisFree};
    for (auto* const each : {tcp.get(), local.get(), non_blocking.get(), timed.get()}) {
        hiredis_ref conn{each};
        EXPECT_EQ(run(conn, {"ECHO", "a\0b\r\n %s"s}), reply::string("a\0b\r\n %s"s));
        redis_lock lock{conn, "k"};
        ASSERT_TRUE(lock.try_lock());
        EXPECT_EQ(text({"GET", "k"}), lock.token());
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

TEST_F(HiredisRef, LeavesTheContextToTheProgram) {
    auto mine = open();
    {
        hiredis_ref conn{mine.get()};
        run(conn, {"PING"});
        EXPECT_EQ(ping(mine.get()), "PONG") << "in between";
        run(conn, {"PING"});
    }
    EXPECT_EQ(mine->err, 0);
    EXPECT_EQ(ping(mine.get()), "PONG") << "afterwards";
}

TEST_F(HiredisRef, RefusesWhatIsNoContext) {
    EXPECT_THROW(hiredis_ref{nullptr}, std::system_error);
    auto mine = open();
    EXPECT_THROW((hiredis_ref{mine.get(), 0ms}), std::system_error);
    EXPECT_THROW((hiredis_ref{mine.get(), -1ms}), std::system_error);
    hiredis_ref conn{mine.get()};
    EXPECT_THROW(conn.reset(nullptr), std::system_error);
}

TEST_F(HiredisRef, BrokenContextIsUnreachableAndSaysWhy) {
    const context broken{redisConnectUnix("/nowhere/redis.sock"), &redisFree};
    hiredis_ref conn{broken.get()};
    std::error_code ec;
    run(conn, {"PING"}, ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_NE(conn.last_error().find("No such file"), std::string_view::npos) << conn.last_error();
}

TEST_F(HiredisRef, AfterTroubleUntilReset) {
    auto mine = open();
    hiredis_ref conn{mine.get()};
    ask({"SET", "a", "value of a"});
    std::error_code ec;
    suspend_server();
    run(conn, {"GET", "a"}, ec, 30ms);
    EXPECT_EQ(ec, errc::unknown_outcome);
    server().resume();
    EXPECT_NE(mine->err, 0) << "the program is told that its context is no good";
    EXPECT_NE(std::string{mine->errstr}, "");
    EXPECT_EQ(ping(mine.get()), "no answer") << "not the late one";
    for (int n = 0; n < 3; ++n) {
        run(conn, {"GET", "a"}, ec);
        EXPECT_EQ(ec, errc::unreachable);
    }
    ASSERT_EQ(redisReconnect(mine.get()), REDIS_OK);
    conn.reset(mine.get());
    EXPECT_EQ(run(conn, {"GET", "a"}), reply::string("value of a"));
    auto other = open(true);
    conn.reset(other.get());
    EXPECT_EQ(run(conn, {"GET", "a"}), reply::string("value of a"));
    EXPECT_EQ(ping(mine.get()), "PONG") << "left behind in good order";
    ask({"DEL", "a"});
}

TEST_F(HiredisRef, DeadlinesHoldWhateverTheContextsTimeOuts) {
    const test::signal_storm storm{10ms};
    for (const bool with_time_out : {false, true}) {
        auto mine = open();
        if (with_time_out) {
            timeval limit{};
            limit.tv_usec = 1000;
            ASSERT_EQ(redisSetTimeout(mine.get(), limit), REDIS_OK);
        }
        hiredis_ref conn{mine.get(), 200ms};
        std::error_code ec;
        const auto start = lease_clock::now();
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec);
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_GE(lease_clock::now() - start, 200ms);
        EXPECT_LT(lease_clock::now() - start, 5s);
    }
}

TEST_F(HiredisRef, NoSigpipe) {
    ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
    test::redis_server doomed;
    const context mine{redisConnectUnix(doomed.socket_path().c_str()), &redisFree};
    hiredis_ref conn{mine.get()};
    run(conn, {"PING"});
    doomed.kill9();
    std::error_code ec;
    for (int n = 0; n < 20; ++n) {
        run(conn, {"PING"}, ec);
        EXPECT_TRUE(ec);
    }
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(HiredisRef, UnlockLeavesNoReplyForTheProgramsNextCommand) {
    static_assert(connection<hiredis_ref> && !pipelined_connection<hiredis_ref>);
    auto mine = open(true);
    hiredis_ref conn{mine.get()};
    redis_lock lock{conn, "k"};
    for (int n = 0; n < 5; ++n) {
        lock.lock();
        EXPECT_EQ(ping(mine.get()), "PONG");
        lock.unlock();
        EXPECT_EQ(ping(mine.get()), "PONG");
        EXPECT_EQ(lock.last_release(), release_outcome::released);
    }
}

TEST_F(HiredisRef, ChildLeavesTheParentsStreamAlone) {
    auto mine = open();
    hiredis_ref conn{mine.get()};
    const auto id = run(conn, {"CLIENT", "ID"}).as_integer();
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::error_code ec;
        run(conn, {"PING"}, ec);
        bool right = ec == errc::unreachable;
        conn.drop();
        const context own{redisConnectUnix(server().socket_path().c_str()), &redisFree};
        conn.reset(own.get());
        right = right && run(conn, {"ECHO", "child"}, ec) == reply::string("child");
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(mine->err, 0);
    EXPECT_EQ(run(conn, {"CLIENT", "ID"}).as_integer(), id);
}

TEST_F(HiredisRef, LockIsTakenAgainAfterReset) {
    auto mine = open();
    hiredis_ref conn{mine.get()};
    redis_lock lock{conn, "k", {.give_up_after = 100ms}};
    ASSERT_TRUE(lock.try_lock());
    const auto id = run(conn, {"CLIENT", "ID"}).as_integer();
    ask({"CLIENT", "KILL", "ID", std::to_string(id)});
    std::error_code ec;
    EXPECT_EQ(lock.release(ec), release_outcome::unknown);
    EXPECT_TRUE(ec);
    auto other = open();
    conn.reset(other.get());
    EXPECT_EQ(lock.release(ec), release_outcome::released) << "it can be repeated";
    EXPECT_FALSE(ec);
    expect_no_keys();
}

} // namespace
} // namespace distlock
