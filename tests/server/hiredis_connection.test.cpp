// SPDX-License-Identifier: MIT
#include <distlock/hiredis.hpp>

#include "support/net.hpp"
#include "support/redis_server.hpp"
#include "support/server_test.hpp"
#include "support/signal_storm.hpp"
#include "support/temp_dir.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::run;

constexpr auto plenty = 20s;

class HiredisConnection : public test::server_test {
protected:
    std::string where_tcp() const {
        const auto url = server().url_tcp();
        return url.substr(url.find("//") + 2);
    }
};

/// The sockets that this process has open.
std::vector<int> open_sockets() {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int fd = std::atoi(entry.path().filename().c_str());
        struct stat info {};
        if (::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) {
            found.push_back(fd);
        }
    }
    return found;
}

// ---- connecting

TEST_F(HiredisConnection, AnswersOverTcpAndUnix) {
    for (const auto& url : {server().url_tcp(), server().url_unix()}) {
        hiredis_connection conn{url};
        EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG")) << url;
        EXPECT_EQ(run(conn, {"SET", "k", "v"}), reply::status("OK"));
        EXPECT_EQ(run(conn, {"GET", "k"}), reply::string("v"));
        EXPECT_TRUE(run(conn, {"GET", "none"}).is_nil());
        EXPECT_EQ(run(conn, {"INCR", "n"}).as_integer() > 0, true);
        EXPECT_EQ(run(conn, {"MGET", "k", "none"}), reply::array({reply::string("v"), reply::nil()}));
        EXPECT_TRUE(run(conn, {"NONSENSE"}).is_error());
        EXPECT_EQ(run(conn, {"GET", "k"}), reply::string("v")) << "an error reply is a reply like others";
    }
    ask({"FLUSHALL"});
}

TEST_F(HiredisConnection, ConnectsAtTheFirstCommand) {
    const auto total = [&] { return info("total_connections_received"); };
    const auto before = total();
    hiredis_connection conn{server().url_unix()};
    EXPECT_FALSE(conn.is_open());
    EXPECT_EQ(total(), before);
    run(conn, {"PING"});
    EXPECT_TRUE(conn.is_open());
    run(conn, {"PING"});
    EXPECT_EQ(total(), before + 1);
}

TEST_F(HiredisConnection, BadOptionsAreRefusedAtOnce) {
    const auto refused = [](std::string_view url, hiredis_options options) {
        try {
            const hiredis_connection conn{url, options};
            ADD_FAILURE() << url << " accepted";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), errc::invalid_argument);
            EXPECT_EQ(std::string_view{error.what()}.find("secret"), std::string_view::npos) << error.what();
        }
    };
    const auto* const good = "redis://:secret@127.0.0.1:1";
    refused(good, {.connect_timeout = 0ms});
    refused(good, {.command_timeout = 0ms});
    refused(good, {.command_timeout = -1ms});
    refused(good, {.command_timeout = std::chrono::milliseconds::max()});
    refused(good, {.connect_timeout = 24h + 1ms});
    refused(good, {.database = -1});
    refused("rediss://:secret@127.0.0.1:1", {});
    refused("http://:secret@127.0.0.1:1", {});
    refused("redis://:secret@127.0.0.1:port", {});
    refused("redis://secret@127.0.0.1:1", {});
    refused("", {});
}

TEST_F(HiredisConnection, PasswordOfTheDefaultUser) {
    ask({"CONFIG", "SET", "requirepass", "p@ss:/ word"});
    {
        hiredis_connection none{server().url_unix()};
        EXPECT_TRUE(run(none, {"PING"}).text().starts_with("NOAUTH"));

        hiredis_connection by_option{server().url_unix(), {.password = "p@ss:/ word"}};
        EXPECT_EQ(run(by_option, {"PING"}), reply::status("PONG"));

        hiredis_connection by_url{"redis://:p%40ss%3a%2F%20word@" + where_tcp()};
        EXPECT_EQ(run(by_url, {"PING"}), reply::status("PONG"));

        hiredis_connection option_wins{"redis://:wrong@" + where_tcp(), {.password = "p@ss:/ word"}};
        EXPECT_EQ(run(option_wins, {"PING"}), reply::status("PONG"));

        hiredis_connection wrong{server().url_unix(), {.password = "wrong-secret"}};
        const auto answer = run(wrong, {"SET", "k", "v"});
        EXPECT_TRUE(answer.text().starts_with("WRONGPASS")) << answer.text();
        EXPECT_EQ(answer.text().find("wrong-secret"), std::string::npos);
        EXPECT_FALSE(wrong.is_open()) << "nobody is logged in on it";
    }
    ask({"CONFIG", "SET", "requirepass", ""});
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
}

TEST_F(HiredisConnection, UserOfTheAccessList) {
    ask({"ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "+@all"});
    {
        hiredis_connection by_url{"redis://locker:s3cret@" + where_tcp()};
        EXPECT_EQ(run(by_url, {"ACL", "WHOAMI"}), reply::string("locker"));
        hiredis_connection by_option{server().url_unix(), {.user = "locker", .password = "s3cret"}};
        EXPECT_EQ(run(by_option, {"ACL", "WHOAMI"}), reply::string("locker"));
        hiredis_connection wrong{server().url_unix(), {.user = "locker", .password = "other"}};
        EXPECT_TRUE(run(wrong, {"PING"}).text().starts_with("WRONGPASS"));
        std::error_code ec;
        const std::array<std::string_view, 1> ping{"PING"};
        wrong.send(ping, lease_clock::now() + plenty, ec);
        EXPECT_EQ(ec, errc::unreachable) << "nothing was sent";
        EXPECT_NE(wrong.last_error().find("WRONGPASS"), std::string_view::npos) << wrong.last_error();
    }
    ask({"ACL", "DELUSER", "locker"});
}

TEST_F(HiredisConnection, DatabaseOfTheUrlOrTheOptions) {
    const auto database = [](hiredis_connection& conn) {
        const auto list = run(conn, {"CLIENT", "INFO"}).text();
        return list.substr(list.find(" db=") + 4, list.find(' ', list.find(" db=") + 4) - list.find(" db=") - 4);
    };
    hiredis_connection tcp{server().url_tcp() + "/3"};
    EXPECT_EQ(database(tcp), "3");
    hiredis_connection unix_socket{server().url_unix() + "?db=4"};
    EXPECT_EQ(database(unix_socket), "4");
    hiredis_connection option{server().url_tcp() + "/3", {.database = 5}};
    EXPECT_EQ(database(option), "5");
    hiredis_connection back_to_first{server().url_tcp() + "/3", {.database = 0}};
    EXPECT_EQ(database(back_to_first), "0");
    hiredis_connection too_far{server().url_tcp() + "/60000"};
    EXPECT_TRUE(run(too_far, {"SET", "k", "v"}).text().starts_with("ERR DB index"));
    EXPECT_EQ(number({"EXISTS", "k"}), 0) << "a command must not land in another database";
}

TEST_F(HiredisConnection, UnixPathWithOddOctets) {
    const test::temp_dir dir;
    const auto link = dir.path() / "a b%?.sock";
    std::filesystem::create_symlink(server().socket_path(), link);
    hiredis_connection conn{"unix://" + dir.path().string() + "/a%20b%25%3f.sock"};
    EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG"));
    endpoint plain;
    plain.path = link;
    hiredis_connection by_endpoint{plain};
    EXPECT_EQ(run(by_endpoint, {"PING"}), reply::status("PONG"));
}

TEST_F(HiredisConnection, MissingServerIsNamed) {
    const auto reason = [](const endpoint& where) {
        hiredis_connection conn{where};
        std::error_code ec;
        EXPECT_TRUE(run(conn, {"PING"}, ec).is_nil());
        EXPECT_EQ(ec, errc::unreachable);
        EXPECT_EQ(ec, std::errc::host_unreachable);
        return std::string{conn.address()} + " " + std::string{conn.last_error()};
    };
    endpoint closed_port;
    closed_port.port = static_cast<std::uint16_t>(test::free_port());
    EXPECT_EQ(reason(closed_port), "127.0.0.1:" + std::to_string(closed_port.port) + " Connection refused");
    endpoint no_path;
    no_path.path = "/nowhere/redis.sock";
    EXPECT_EQ(reason(no_path), "unix:/nowhere/redis.sock No such file or directory");
    endpoint long_path;
    long_path.path = "/" + std::string(200, 'p');
    EXPECT_NE(reason(long_path).find("too long"), std::string::npos);
    endpoint no_host;
    no_host.host = "no-such-host.invalid";
    EXPECT_TRUE(reason(no_host).starts_with("no-such-host.invalid:6379 "));
    EXPECT_GT(reason(no_host).size(), "no-such-host.invalid:6379 "s.size());
}

/// A listener that accepts nobody, its queue full, so that connecting blocks.
class full_listener {
public:
    full_listener() {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        ::listen(fd_, 0);
        socklen_t size = sizeof address;
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        for (int n = 0; n < 4; ++n) {
            const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            ::connect(filler, reinterpret_cast<sockaddr*>(&address), sizeof address);
            fillers_.push_back(filler);
        }
    }
    full_listener(const full_listener&) = delete;
    full_listener& operator=(const full_listener&) = delete;
    ~full_listener() {
        for (const int filler : fillers_) {
            ::close(filler);
        }
        ::close(fd_);
    }

    std::uint16_t port = 0;

private:
    int fd_ = -1;
    std::vector<int> fillers_;
};

TEST_F(HiredisConnection, ConnectingEndsAtItsTimeOut) {
    const full_listener nobody;
    endpoint where;
    where.port = nobody.port;
    hiredis_connection conn{where, {.connect_timeout = 150ms}};
    std::error_code ec;
    const auto start = lease_clock::now();
    run(conn, {"PING"}, ec);
    const auto took = lease_clock::now() - start;
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_EQ(conn.last_error(), "Connection timed out");
    EXPECT_GE(took, 150ms);
    EXPECT_LT(took, 5s);

    hiredis_connection patient{where, {.connect_timeout = 1h}};
    run(patient, {"PING"}, ec, 100ms);
    EXPECT_EQ(ec, errc::unreachable) << "the caller's deadline is nearer";
}

TEST_F(HiredisConnection, FullUnixQueueEndsAtTheTimeOutToo) {
    const test::temp_dir dir;
    const auto path = (dir.path() / "s").string();
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener, 0), 0);
    std::vector<int> fillers;
    for (int error = 0; error == 0;) {
        fillers.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        error = ::connect(fillers.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
        ASSERT_LT(fillers.size(), 1000U);
    }
    hiredis_connection conn{"unix://" + path, {.connect_timeout = 150ms}};
    std::error_code ec;
    const auto start = lease_clock::now();
    run(conn, {"PING"}, ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_FALSE(conn.last_error().empty());
    EXPECT_GE(lease_clock::now() - start, 150ms);
    EXPECT_LT(lease_clock::now() - start, 5s);
    for (const int filler : fillers) {
        ::close(filler);
    }
    ::close(listener);
}

// ---- deadlines

TEST_F(HiredisConnection, CommandEndsAtTheNearerOfDeadlineAndTimeOut) {
    hiredis_connection conn{server().url_unix(), {.command_timeout = 300ms}};
    run(conn, {"PING"});
    const auto took = [&](auto within) {
        std::error_code ec;
        const auto start = lease_clock::now();
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec, within);
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_EQ(ec, std::errc::timed_out);
        EXPECT_EQ(conn.last_error(), "no reply in time");
        EXPECT_FALSE(conn.is_open()) << "the stream is of no use any more";
        return lease_clock::now() - start;
    };
    const auto by_deadline = took(100ms);
    EXPECT_GE(by_deadline, 100ms);
    EXPECT_LT(by_deadline, 300ms);
    const auto by_time_out = took(1h);
    EXPECT_GE(by_time_out, 300ms);
    EXPECT_LT(by_time_out, 5s);
    for (const auto over : {0ms, -1ms}) {
        std::error_code ec;
        const auto start = lease_clock::now();
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec, over);
        EXPECT_TRUE(ec);
        EXPECT_LT(lease_clock::now() - start, 5s);
    }
}

TEST_F(HiredisConnection, SignalsDoNotStretchDeadlines) {
    const test::signal_storm storm{10ms};
    for (const auto& url : {server().url_unix(), server().url_tcp()}) {
        hiredis_connection conn{url, {.connect_timeout = 300ms, .command_timeout = 300ms}};
        for (int n = 0; n < 200; ++n) {
            ASSERT_EQ(run(conn, {"PING"}), reply::status("PONG"));
        }
        std::error_code ec;
        const auto start = lease_clock::now();
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec);
        const auto took = lease_clock::now() - start;
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_GE(took, 300ms);
        EXPECT_LT(took, 3s);
    }
    const full_listener nobody;
    endpoint where;
    where.port = nobody.port;
    hiredis_connection conn{where, {.connect_timeout = 200ms}};
    std::error_code ec;
    const auto start = lease_clock::now();
    run(conn, {"PING"}, ec);
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_LT(lease_clock::now() - start, 3s);
    EXPECT_GT(storm.count(), 10U);
}

TEST_F(HiredisConnection, SignalsDoNotDisturbConnecting) {
    const test::signal_storm storm{1ms};
    for (int n = 0; n < 200; ++n) {
        hiredis_connection conn{n % 2 == 0 ? server().url_unix() : server().url_tcp()};
        ASSERT_EQ(run(conn, {"PING"}), reply::status("PONG")) << conn.last_error();
    }
}

TEST_F(HiredisConnection, SendingToAServerThatDoesNotReadEnds) {
    test::redis_server asleep;
    hiredis_connection conn{asleep.url_unix(), {.command_timeout = 300ms}};
    run(conn, {"PING"});
    asleep.suspend();
    const std::string big(std::size_t{8} * 1024 * 1024, 'b');
    std::error_code ec;
    const auto start = lease_clock::now();
    run(conn, {"SET", "k", big}, ec);
    EXPECT_EQ(ec, errc::unknown_outcome) << "some of it was written";
    EXPECT_NE(conn.last_error().find("sending"), std::string_view::npos) << conn.last_error();
    EXPECT_GE(lease_clock::now() - start, 300ms);
    EXPECT_LT(lease_clock::now() - start, 5s);
    asleep.resume();
    EXPECT_TRUE(run(conn, {"GET", "k"}).is_nil()) << "half a command is none";
}

// ---- after trouble

TEST_F(HiredisConnection, LateReplyNeverAnswersTheNextCommand) {
    ask({"MSET", "a", "value of a", "b", "value of b"});
    for (const auto& url : {server().url_unix(), server().url_tcp()}) {
        hiredis_connection conn{url};
        run(conn, {"PING"});
        for (int n = 0; n < 3; ++n) {
            std::error_code ec;
            suspend_server();
            run(conn, {"GET", "a"}, ec, 30ms);
            EXPECT_EQ(ec, errc::unknown_outcome);
            server().resume();
            EXPECT_EQ(run(conn, {"GET", "b"}), reply::string("value of b"));
            EXPECT_EQ(run(conn, {"GET", "a"}), reply::string("value of a"));
        }
    }
    ask({"FLUSHALL"});
}

TEST_F(HiredisConnection, LateCommandOfAnOldStreamDoesNotRun) {
    for (const auto& url : {server().url_unix(), server().url_tcp()}) {
        hiredis_connection conn{url};
        run(conn, {"PING"});
        ask({"CLIENT", "PAUSE", "20000", "WRITE"});
        std::error_code ec;
        run(conn, {"SET", "late", "1"}, ec, 50ms);
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG")) << "on a fresh stream, the old one killed";
        ask({"CLIENT", "UNPAUSE"});
        EXPECT_EQ(run(conn, {"SET", "next", "1"}), reply::status("OK"));
        EXPECT_EQ(number({"EXISTS", "late"}), 0);
        ask({"DEL", "next"});
    }
}

TEST_F(HiredisConnection, ReconnectRestoresLoginDatabaseAndTimeOuts) {
    ask({"ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "+@all"});
    for (const auto& url : {server().url_unix(), server().url_tcp()}) {
        hiredis_connection conn{url, {.command_timeout = 200ms, .user = "locker", .password = "s3cret", .database = 7}};
        run(conn, {"PING"});
        const auto first = run(conn, {"CLIENT", "ID"}).as_integer();
        ask({"CLIENT", "KILL", "ID", std::to_string(first)});
        std::error_code ec;
        ASSERT_TRUE(test::eventually([&] { // the news may need a moment
            return run(conn, {"CLIENT", "ID"}, ec).as_integer() > first;
        }));
        EXPECT_EQ(run(conn, {"ACL", "WHOAMI"}), reply::string("locker"));
        EXPECT_NE(run(conn, {"CLIENT", "INFO"}).text().find(" db=7 "), std::string::npos);
        const auto start = lease_clock::now();
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec);
        EXPECT_EQ(ec, errc::unknown_outcome);
        EXPECT_LT(lease_clock::now() - start, 5s);
        EXPECT_EQ(run(conn, {"ACL", "WHOAMI"}), reply::string("locker"));
    }
    ask({"ACL", "DELUSER", "locker"});
}

TEST_F(HiredisConnection, ServerRestart) {
    test::redis_server restarted;
    for (const auto& url : {restarted.url_unix(), restarted.url_tcp()}) {
        hiredis_connection conn{url, {.database = 2}};
        EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG"));
        restarted.kill9();
        std::error_code ec;
        for (int n = 0; n < 3; ++n) {
            run(conn, {"SET", "k", "v"}, ec);
            EXPECT_TRUE(ec);
        }
        EXPECT_EQ(ec, errc::unreachable);
        restarted.start();
        EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG"));
        EXPECT_NE(run(conn, {"CLIENT", "INFO"}).text().find(" db=2 "), std::string::npos);
    }
}

TEST_F(HiredisConnection, StreamThatWentStaleCostsNoCommand) {
    hiredis_connection conn{server().url_unix()};
    for (int n = 0; n < 5; ++n) {
        const auto id = run(conn, {"CLIENT", "ID"}).as_integer();
        ASSERT_EQ(ask({"CLIENT", "KILL", "ID", std::to_string(id)}), reply::integer(1));
        // CLIENT KILL closes before it answers, so the stream's end is there to be seen.
        EXPECT_EQ(run(conn, {"INCR", "n"}), reply::integer(n + 1));
    }
    ask({"DEL", "n"});
}

TEST_F(HiredisConnection, NoSigpipeEver) {
    ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR); // it would end this process
    for (const bool tcp : {false, true}) {
        test::redis_server doomed;
        hiredis_connection conn{tcp ? doomed.url_tcp() : doomed.url_unix()};
        run(conn, {"PING"});
        doomed.kill9();
        std::error_code ec;
        const std::array<std::string_view, 3> set{"SET", "k", "v"};
        for (int n = 0; n < 50; ++n) {
            conn.send(set, lease_clock::now() + plenty, ec);
            run(conn, {"PING"}, ec);
            EXPECT_TRUE(ec);
        }
    }
}

TEST_F(HiredisConnection, SigpipeDoesNotComeFromAPipelineEither) {
    ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
    test::redis_server doomed;
    hiredis_connection conn{doomed.url_unix()};
    std::error_code ec;
    const std::array<std::string_view, 3> set{"SET", "k", "v"};
    conn.send(set, lease_clock::now() + plenty, ec);
    ASSERT_FALSE(ec);
    doomed.kill9();
    for (int n = 0; n < 50; ++n) {
        conn.send(set, lease_clock::now() + plenty, ec);
    }
    EXPECT_TRUE(ec);
    conn.receive(lease_clock::now() + plenty, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
}

TEST_F(HiredisConnection, TroubleLeaksNoDescriptor) {
    hiredis_connection conn{server().url_unix()};
    run(conn, {"PING"});
    const auto before = open_sockets().size();
    for (int n = 0; n < 100; ++n) {
        std::error_code ec;
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec, 1ms);
        EXPECT_TRUE(ec);
    }
    run(conn, {"PING"});
    EXPECT_EQ(open_sockets().size(), before);
    const auto killed_too = [&] { return info("connected_clients") <= 2; };
    EXPECT_TRUE(test::eventually(killed_too)) << "the server still has old ones";
}

TEST_F(HiredisConnection, DescriptorsAreClosedOnExec) {
    const auto before = open_sockets();
    hiredis_connection unix_socket{server().url_unix()};
    hiredis_connection tcp{server().url_tcp()};
    run(unix_socket, {"PING"});
    run(tcp, {"PING"});
    std::size_t found = 0;
    for (const int fd : open_sockets()) {
        if (std::find(before.begin(), before.end(), fd) == before.end()) {
            ++found;
            EXPECT_TRUE((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        }
    }
    EXPECT_EQ(found, 2U);
}

TEST_F(HiredisConnection, ServerThatTakesNoMoreClients) {
    const auto taken = info("connected_clients");
    ask({"CONFIG", "SET", "maxclients", std::to_string(taken)});
    for (int n = 0; n < 20; ++n) {
        hiredis_connection conn{n % 2 == 0 ? server().url_unix() : server().url_tcp()};
        std::error_code ec;
        const auto answer = run(conn, {"SET", "k", "v"}, ec);
        // The server hangs up at once, so its words may get lost; the command never runs.
        if (!ec) {
            EXPECT_TRUE(answer.text().starts_with("ERR max number of clients")) << answer.text();
        } else {
            EXPECT_EQ(ec, errc::unreachable);
        }
    }
    ask({"CONFIG", "SET", "maxclients", "10000"});
    EXPECT_EQ(number({"EXISTS", "k"}), 0);
    hiredis_connection conn{server().url_unix()};
    EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG"));
}

// ---- what goes over the wire

TEST_F(HiredisConnection, AnyOctetGoesThereAndBack) {
    hiredis_connection conn{server().url_unix()};
    std::string all;
    for (int octet = 0; octet < 256; ++octet) {
        all += static_cast<char>(octet);
    }
    for (const auto& octets : {"nul\0nul"s, "\r\n$3\r\nfoo\r\n"s, "two words"s, "%s%n%d%b"s, ""s, all, "\0"s}) {
        EXPECT_EQ(run(conn, {"ECHO", octets}), reply::string(octets));
        EXPECT_EQ(run(conn, {"SET", "k" + octets, octets}), reply::status("OK"));
        EXPECT_EQ(run(conn, {"GET", "k" + octets}), reply::string(octets));
        EXPECT_EQ(run(conn, {"DEL", "k" + octets}), reply::integer(1));
    }
}

TEST_F(HiredisConnection, RepliesComeInTheOrderOfSends) {
    hiredis_connection conn{server().url_tcp()};
    std::error_code ec;
    const auto deadline = lease_clock::now() + plenty;
    const auto base = conn.sent();
    for (int n = 0; n < 500; ++n) {
        const auto text = std::to_string(n);
        conn.send(std::array<std::string_view, 2>{"ECHO", text}, deadline, ec);
        ASSERT_FALSE(ec);
    }
    const auto sent = conn.sent();
    EXPECT_GE(sent - base, 500U);
    for (int n = 0; n < 500; ++n) {
        EXPECT_EQ(conn.receive(deadline, ec), reply::string(std::to_string(n)));
        ASSERT_FALSE(ec);
    }
    EXPECT_EQ(conn.received(), sent);
    conn.receive(deadline, ec);
    EXPECT_TRUE(ec) << "no reply is outstanding";
    EXPECT_EQ(run(conn, {"ECHO", "next"}), reply::string("next"));
}

TEST_F(HiredisConnection, ExecuteReadsPastOutstandingReplies) {
    hiredis_connection conn{server().url_unix()};
    std::error_code ec;
    const auto deadline = lease_clock::now() + plenty;
    for (int n = 0; n < 3; ++n) {
        conn.send(std::array<std::string_view, 2>{"ECHO", "outstanding"}, deadline, ec);
    }
    EXPECT_EQ(run(conn, {"ECHO", "mine"}), reply::string("mine"));
    EXPECT_EQ(conn.received(), conn.sent());
    EXPECT_EQ(run(conn, {"ECHO", "next"}), reply::string("next"));
}

TEST_F(HiredisConnection, LossOfOneReplyIsTheLossOfAllOutstanding) {
    hiredis_connection conn{server().url_unix()};
    std::error_code ec;
    const auto deadline = lease_clock::now() + plenty;
    conn.send(std::array<std::string_view, 3>{"BLPOP", "nobody pushes", "0"}, deadline, ec);
    conn.send(std::array<std::string_view, 2>{"ECHO", "one"}, deadline, ec);
    conn.receive(lease_clock::now() + 30ms, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
    EXPECT_EQ(conn.received(), conn.sent());
    conn.receive(deadline, ec);
    EXPECT_EQ(ec, errc::unknown_outcome);
    conn.send(std::array<std::string_view, 2>{"ECHO", "two"}, deadline, ec);
    EXPECT_FALSE(ec);
    EXPECT_EQ(conn.receive(deadline, ec), reply::string("two"));
}

TEST_F(HiredisConnection, DropAndGoOn) {
    hiredis_connection conn{server().url_unix()};
    run(conn, {"PING"});
    conn.drop();
    EXPECT_FALSE(conn.is_open());
    conn.drop();
    EXPECT_EQ(run(conn, {"PING"}), reply::status("PONG"));
}

TEST_F(HiredisConnection, MemoryOfTheServerEndsWithTheStream) {
    hiredis_connection conn{server().url_unix()};
    run(conn, {"PING"});
    conn.memory().release = server_memory::release_form::script;
    run(conn, {"PING"});
    EXPECT_EQ(conn.memory().release, server_memory::release_form::script);
    conn.drop();
    run(conn, {"PING"});
    EXPECT_EQ(conn.memory().release, server_memory::release_form::untried) << "another server, maybe";
}

// ---- fork, threads, silence

TEST_F(HiredisConnection, ForkedChildGetsAConnectionOfItsOwn) {
    hiredis_connection conn{server().url_unix()};
    const auto mine = run(conn, {"CLIENT", "ID"}).as_integer();
    std::error_code ec;
    const auto deadline = lease_clock::now() + plenty;
    conn.send(std::array<std::string_view, 2>{"ECHO", "the parent's"}, deadline, ec);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int wrong = 0;
        for (int n = 0; n < 20; ++n) {
            const auto text = "the child's " + std::to_string(n);
            wrong += static_cast<int>(run(conn, {"ECHO", text}, ec) != reply::string(text));
        }
        wrong += static_cast<int>(run(conn, {"CLIENT", "ID"}, ec).as_integer() == mine);
        conn.drop();
        ::_exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(conn.receive(deadline, ec), reply::string("the parent's"));
    EXPECT_EQ(run(conn, {"CLIENT", "ID"}).as_integer(), mine) << "the parent's stream is untouched";
}

TEST_F(HiredisConnection, ChildThatOnlyExitsDisturbsNothing) {
    hiredis_connection conn{server().url_tcp()};
    const auto mine = run(conn, {"CLIENT", "ID"}).as_integer();
    for (int n = 0; n < 3; ++n) {
        const auto child = ::fork();
        if (child == 0) {
            { const hiredis_connection copied_away{server().url_tcp()}; }
            conn.drop();
            ::_exit(0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(run(conn, {"CLIENT", "ID"}).as_integer(), mine);
    }
}

TEST_F(HiredisConnection, DistinctConnectionsAreIndependent) {
    std::vector<std::jthread> crowd;
    for (int n = 0; n < 8; ++n) {
        crowd.emplace_back([n] {
            hiredis_connection conn{n % 2 == 0 ? server().url_unix() : server().url_tcp()};
            for (int round = 0; round < 200; ++round) {
                const auto text = std::to_string(n) + ":" + std::to_string(round);
                std::error_code ec;
                EXPECT_EQ(run(conn, {"ECHO", text}, ec), reply::string(text));
            }
        });
    }
}

TEST_F(HiredisConnection, NothingIsPrinted) {
    const int sink = ::memfd_create("printed", MFD_CLOEXEC);
    ASSERT_GE(sink, 0);
    std::fflush(nullptr);
    const int out = ::dup(STDOUT_FILENO);
    const int err = ::dup(STDERR_FILENO);
    ::dup2(sink, STDOUT_FILENO);
    ::dup2(sink, STDERR_FILENO);
    {
        std::error_code ec;
        hiredis_connection gone{"redis://:secret@127.0.0.1:" + std::to_string(test::free_port())};
        run(gone, {"PING"}, ec);
        hiredis_connection wrong{server().url_unix(), {.user = "nobody", .password = "wrong"}};
        run(wrong, {"PING"}, ec);
        hiredis_connection conn{server().url_unix()};
        run(conn, {"NONSENSE"}, ec);
        run(conn, {"BLPOP", "nobody pushes", "0"}, ec, 10ms);
        run(conn, {"PING"}, ec);
    }
    std::fflush(nullptr);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::close(out);
    ::close(err);
    EXPECT_EQ(::lseek(sink, 0, SEEK_END), 0);
    ::close(sink);
}

} // namespace
} // namespace distlock
