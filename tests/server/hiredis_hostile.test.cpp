// SPDX-License-Identifier: MIT
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include "support/eventually.hpp"
#include "support/rss.hpp"
#include "support/server_test.hpp"
#include "support/stub_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::run;
using test::stub_answer;

/// What a connection asks on its own account when it has connected.
bool is_of_login(const test::resp::argv& words) { return words[0] == "CLIENT" || words[0] == "INFO"; }

/// Gives its n-th command the n-th answer, and the last one to all further ones. The login is refused, and does not
/// count.
class hostile : public test::stub_server {
public:
    explicit hostile(std::vector<stub_answer> answers)
        : stub_server{[answers = std::move(answers), next = std::size_t{0}](const test::resp::argv& words) mutable {
            if (is_of_login(words)) {
                return stub_answer{"-ERR unknown command\r\n"};
            }
            const auto& answer = answers.at(next);
            next = std::min(next + 1, answers.size() - 1);
            return answer;
        }} {}
};

struct bad_answer {
    const char* name;
    stub_answer answer;
    /// What the transport says of it.
    errc verdict;
};

void PrintTo(const bad_answer& shown, std::ostream* out) { *out << shown.name; }

std::vector<bad_answer> bad_answers() {
    return {
        {"Silence", stub_answer::silence(), errc::unknown_outcome},
        {"EndOfStream", stub_answer::last(""), errc::unknown_outcome},
        {"HalfAStatus", stub_answer::last("+O"), errc::unknown_outcome},
        {"HalfAString", stub_answer::last("$10\r\nabc"), errc::unknown_outcome},
        {"HalfAnArray", stub_answer::last("*2\r\n:1\r\n"), errc::unknown_outcome},
        {"OctetByOctet", stub_answer::dripping("+" + std::string(500, 'O'), 20ms), errc::unknown_outcome},
        {"HugeString", stub_answer::huge_string(), errc::protocol},
        {"HugeArray", stub_answer::huge_array(), errc::protocol},
        {"BigArray", "*1000000\r\n"s + ":1\r\n", errc::protocol},
        {"DeepNesting", stub_answer::nested(1000), errc::protocol},
        {"NestingOverTheLimit", stub_answer::nested(5), errc::protocol},
        {"EndlessLine", stub_answer::endless_line(), errc::protocol},
        {"Doubled", "+OK\r\n+OK\r\n", errc::protocol},
        {"OneOctetTooMany", "+OK\r\n+", errc::protocol},
        {"NoResp", "HTTP/1.1 400 Bad Request\r\n\r\n", errc::protocol},
        {"Null", "\0\0\0\0\r\n"s, errc::protocol},
        {"NegativeLength", "$-2\r\n", errc::protocol},
        {"NegativeCount", "*-2\r\n", errc::protocol},
        {"Resp3Null", "_\r\n", errc::protocol},
        {"Resp3True", "#t\r\n", errc::protocol},
        {"Resp3Double", ",1.5\r\n", errc::protocol},
        {"Resp3Map", "%1\r\n+a\r\n:1\r\n", errc::protocol},
        {"Resp3Set", "~1\r\n+a\r\n", errc::protocol},
        {"Resp3Push", ">2\r\n+a\r\n+OK\r\n", errc::protocol},
        {"Resp3BigNumber", "(3492890328409238509324850943850943825024385\r\n", errc::protocol},
        {"Resp3Verbatim", "=6\r\ntxt:OK\r\n", errc::protocol},
        {"Resp3InAnArray", "*1\r\n#t\r\n", errc::protocol},
    };
}

class HostileServer : public ::testing::TestWithParam<bad_answer> {};

TEST_P(HostileServer, IsNotBelievedAndNotWaitedFor) {
    const auto& [name, answer, verdict] = GetParam();
    const hostile server{{answer, "+FINE\r\n"}};
    for (const auto& url : {server.url_unix(), server.url_tcp()}) {
        hiredis_connection conn{url, {.command_timeout = 150ms}};
        std::error_code ec;
        if (url == server.url_unix()) {
            const auto start = lease_clock::now();
            EXPECT_TRUE(run(conn, {"SET", "k", "v"}, ec).is_nil());
            EXPECT_EQ(ec, verdict) << ec.message() << ": " << conn.last_error();
            EXPECT_LT(lease_clock::now() - start, 5s);
            EXPECT_FALSE(conn.is_open());
            EXPECT_FALSE(conn.last_error().empty());
        }
        EXPECT_EQ(run(conn, {"SET", "k", "v"}, ec), reply::status("FINE")) << "the next stream is a new one";
        EXPECT_FALSE(ec);
    }
}

TEST_P(HostileServer, GrantsNothing) {
    const auto& [name, answer, verdict] = GetParam();
    const hostile server{{answer}};
    hiredis_connection conn{server.url_unix(), {.command_timeout = 60ms}};
    redis_lock lock{conn, "k", {.ttl = 1min, .give_up_after = 100ms}};
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_TRUE(ec) << "neither held nor busy";
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_TRUE(lock.token().empty());
    const auto start = lease_clock::now();
    EXPECT_FALSE(lock.try_lock_for(150ms, ec));
    EXPECT_TRUE(ec);
    EXPECT_LT(lease_clock::now() - start, 5s);
    lock.lock(ec);
    EXPECT_TRUE(ec);
}

INSTANTIATE_TEST_SUITE_P(Answers, HostileServer, ::testing::ValuesIn(bad_answers()),
                         [](const auto& each) { return std::string{each.param.name}; });

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_instrumented = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool memory_is_instrumented = true;
#else
constexpr bool memory_is_instrumented = false;
#endif
#else
constexpr bool memory_is_instrumented = false;
#endif

TEST(HostileMemory, DoesNotGrow) {
    if (memory_is_instrumented) {
        GTEST_SKIP() << "a sanitizer keeps freed memory";
    }
    for (const auto& answer : {stub_answer::huge_string(), stub_answer::huge_array(), stub_answer::nested(100'000),
                               stub_answer::endless_line(), stub_answer{"$9223372036854775807\r\n"},
                               stub_answer{"*9223372036854775807\r\n"}, stub_answer{"*4294967295\r\n"}}) {
        const hostile server{{answer}};
        hiredis_connection conn{server.url_unix(), {.command_timeout = 50ms}};
        std::error_code ec;
        run(conn, {"GET", "k"}, ec);
        const auto before = test::rss_bytes();
        for (int n = 0; n < 10; ++n) {
            run(conn, {"GET", "k"}, ec);
            EXPECT_TRUE(ec);
        }
        const auto after = test::rss_bytes();
        EXPECT_LT(after, before + std::size_t{2} * 1024 * 1024) << "for " << answer.bytes.substr(0, 30);
    }
}

TEST(HostileReplies, OfUpTo64KiBAndThreeLevelsAreFine) {
    const auto text = "$65000\r\n" + std::string(65000, 'x') + "\r\n";
    const hostile generous{{text, stub_answer::nested(3), "*0\r\n", "*-1\r\n", "$-1\r\n", "$0\r\n\r\n", "+\r\n"}};
    hiredis_connection conn{generous.url_unix()};
    EXPECT_EQ(run(conn, {"GET", "k"}).text().size(), 65000U);
    EXPECT_TRUE(run(conn, {"GET", "k"}).is_array());
    EXPECT_EQ(run(conn, {"GET", "k"}), reply::array({}));
    EXPECT_TRUE(run(conn, {"GET", "k"}).is_nil());
    EXPECT_TRUE(run(conn, {"GET", "k"}).is_nil());
    EXPECT_EQ(run(conn, {"GET", "k"}), reply::string(""));
    EXPECT_EQ(run(conn, {"GET", "k"}), reply::status(""));
    EXPECT_EQ(generous.connections(), 1U);
}

TEST(HostileReplies, SecondReplyThatComesLaterEndsTheStream) {
    // The second one is complete long after the first was taken, and before the next command.
    const hostile doubling{{stub_answer::dripping("+OK\r\n+OK\r\n", 2ms), ":7\r\n"}};
    hiredis_connection conn{doubling.url_unix()};
    std::error_code ec;
    const auto first = run(conn, {"SET", "k", "v"}, ec);
    EXPECT_TRUE(ec == errc::protocol || first == reply::status("OK")) << "together, or one after the other";
    std::this_thread::sleep_for(100ms); // the stub takes 10 ms; being early here would only make the test pass
    EXPECT_EQ(run(conn, {"INCR", "n"}), reply::integer(7));
    EXPECT_EQ(doubling.connections(), 2U);
}

TEST(HostileReplies, ServerThatSpeaksFirstIsHungUpOn) {
    const test::stub_server early{[](const auto&) { return stub_answer{"+OK\r\n"}; }, "+HELLO\r\n"};
    hiredis_connection conn{early.url_unix(), {.command_timeout = 200ms}};
    redis_lock lock{conn, "k", {.give_up_after = 100ms}};
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_TRUE(ec) << "an answer from before the question counts for nothing";
}

/// Answers of the right form and the wrong meaning.
TEST(HostileReplies, WrongAnswersToALockAreNoGrantAndNoRelease) {
    for (const auto* const wrong : {":1\r\n", "$2\r\nOK\r\n", "+ok\r\n", "+OKAY\r\n", "+QUEUED\r\n", "*0\r\n",
                                    "*1\r\n+OK\r\n", "+\r\n", ":0\r\n"}) {
        const hostile lying{{wrong}};
        hiredis_connection conn{lying.url_unix()};
        redis_lock lock{conn, "k", {.give_up_after = 200ms}};
        std::error_code ec;
        EXPECT_FALSE(lock.try_lock(ec));
        EXPECT_EQ(ec, errc::protocol) << wrong;
        EXPECT_FALSE(lock.owns_lock());
    }
    for (const auto* const wrong : {"$-1\r\n", "+OK\r\n", ":2\r\n", "$1\r\n1\r\n", "*1\r\n:1\r\n"}) {
        const test::stub_server lying{[&](const test::resp::argv& words) {
            return is_of_login(words)  ? stub_answer{"-ERR unknown command\r\n"}
                   : words[0] == "SET" ? stub_answer{"+OK\r\n"}
                                       : stub_answer{wrong};
        }};
        hiredis_connection conn{lying.url_unix()};
        redis_lock lock{conn, "k", {.give_up_after = 200ms}};
        std::error_code ec;
        ASSERT_TRUE(lock.try_lock(ec)) << ec.message();
        EXPECT_FALSE(lock.extend(ec));
        EXPECT_EQ(ec, errc::protocol) << wrong;
        EXPECT_EQ(lock.release(ec), release_outcome::unknown) << wrong;
        EXPECT_EQ(ec, errc::protocol) << wrong;
        EXPECT_EQ(lock.last_release(), release_outcome::unknown);
    }
}

TEST(HostileServers, LoginThatIsNeverAnsweredEndsAtTheConnectTimeOut) {
    const hostile silent{{stub_answer::silence()}};
    hiredis_connection conn{silent.url_unix(), {.connect_timeout = 100ms, .password = "secret"}};
    std::error_code ec;
    const auto start = lease_clock::now();
    run(conn, {"SET", "k", "v"}, ec);
    EXPECT_EQ(ec, errc::unreachable) << "the command itself was not sent";
    EXPECT_GE(lease_clock::now() - start, 100ms);
    EXPECT_LT(lease_clock::now() - start, 5s);
    for (const auto& command : silent.commands()) {
        EXPECT_NE(command[0], "SET");
    }
}

TEST(HostileServers, LoginThatIsAnsweredWithNonsenseSendsNoCommand) {
    for (const auto* const nonsense : {":1\r\n", "+NO\r\n", "$-1\r\n", "junk\r\n"}) {
        const hostile odd{{nonsense}};
        hiredis_connection conn{odd.url_unix(), {.password = "secret"}};
        std::error_code ec;
        run(conn, {"SET", "k", "v"}, ec);
        EXPECT_TRUE(ec == errc::protocol || ec == errc::unreachable) << ec.message();
        EXPECT_EQ(conn.last_error().find("secret"), std::string_view::npos);
        for (const auto& command : odd.commands()) {
            EXPECT_NE(command[0], "SET");
        }
    }
}

TEST(HostileServers, PasswordThatTheServerEchoesIsNotShown) {
    const hostile echoing{{"-ERR unknown command 'AUTH', with args beginning with: 'locker' 's3cret'\r\n",
                           "-WRONGPASS 's3cret' is not it\r\n"}};
    hiredis_connection conn{echoing.url_unix(), {.user = "locker", .password = "s3cret"}};
    for (int n = 0; n < 2; ++n) {
        const auto answer = run(conn, {"PING"});
        EXPECT_TRUE(answer.is_error());
        EXPECT_EQ(answer.text().find("s3cret"), std::string::npos) << answer.text();
    }
}

} // namespace
} // namespace distlock
