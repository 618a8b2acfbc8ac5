// SPDX-License-Identifier: MIT
#include "distlock/detail/socket.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace distlock::detail {
namespace {

using namespace std::chrono_literals;

lease_clock::time_point in(lease_clock::duration time) { return lease_clock::now() + time; }

/// A pair of connected sockets: the one under test, and its other end as a plain descriptor.
class Socket : public testing::Test {
protected:
    Socket() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        fd = ends[0];
        far = ends[1];
    }
    ~Socket() override {
        ::close(fd);
        hang_up();
    }
    void hang_up() {
        if (far >= 0) {
            ::close(std::exchange(far, -1));
        }
    }
    void say(std::string_view octets) const {
        EXPECT_EQ(::write(far, octets.data(), octets.size()), static_cast<ssize_t>(octets.size()));
    }

    int fd = -1;
    int far = -1;
    int error = 0;
    std::array<char, 64> buffer{};
};

TEST_F(Socket, sends_and_receives) {
    distlock::detail::socket it{fd};
    EXPECT_TRUE(it.is_open());
    EXPECT_EQ(it.send("hello", in(1s), error), 5U);
    EXPECT_EQ(::read(far, buffer.data(), buffer.size()), 5);
    say("world");
    EXPECT_EQ(it.receive(buffer, in(1s), error), 5U);
    EXPECT_EQ(error, 0);
    EXPECT_EQ(std::string_view(buffer.data(), 5), "world");
}

TEST_F(Socket, a_receive_ends_at_the_deadline) {
    distlock::detail::socket it{fd};
    const auto deadline = in(10ms);
    EXPECT_EQ(it.receive(buffer, deadline, error), 0U);
    EXPECT_EQ(error, ETIMEDOUT);
    EXPECT_GE(lease_clock::now(), deadline);
    EXPECT_EQ(it.receive(buffer, lease_clock::now() - 1h, error), 0U);
    EXPECT_EQ(error, ETIMEDOUT);
}

TEST_F(Socket, what_is_there_is_received_even_after_the_deadline) {
    distlock::detail::socket it{fd};
    say("x");
    EXPECT_EQ(it.receive(buffer, lease_clock::now() - 1h, error), 1U);
    EXPECT_EQ(error, 0);
}

TEST_F(Socket, patience_changes_no_deadline) {
    distlock::detail::socket it{fd};
    it.expect_patience(20ms);
    for (const auto wait : {1ms, 20ms, 60ms}) {
        const auto deadline = in(wait);
        EXPECT_EQ(it.receive(buffer, deadline, error), 0U);
        EXPECT_EQ(error, ETIMEDOUT);
        EXPECT_GE(lease_clock::now(), deadline);
    }
}

TEST_F(Socket, the_end_of_the_stream_is_no_error_and_no_octets) {
    distlock::detail::socket it{fd};
    hang_up();
    EXPECT_EQ(it.receive(buffer, in(1s), error), 0U);
    EXPECT_EQ(error, 0);
}

TEST_F(Socket, sending_to_nobody_is_an_error_and_no_signal) {
    distlock::detail::socket it{fd};
    hang_up();
    EXPECT_EQ(it.send("hello", in(1s), error), 0U);
    EXPECT_EQ(error, EPIPE);
}

TEST_F(Socket, sending_to_a_reader_that_does_not_read_ends_at_the_deadline_and_tells_how_much_went) {
    distlock::detail::socket it{fd};
    const std::string much(8 << 20, 'x');
    const auto sent = it.send(much, in(10ms), error);
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, much.size());
    EXPECT_EQ(error, ETIMEDOUT);
}

TEST_F(Socket, is_quiet_while_nothing_has_come_and_the_stream_is_open) {
    distlock::detail::socket it{fd};
    EXPECT_TRUE(it.is_quiet());
    say("x");
    EXPECT_FALSE(it.is_quiet());
    EXPECT_EQ(it.receive(buffer, in(1s), error), 1U) << "looking takes nothing away";
    EXPECT_TRUE(it.is_quiet());
    hang_up();
    EXPECT_FALSE(it.is_quiet());
}

// Rows 74 and 75: signals that stretch a wait or end it.
TEST_F(Socket, case_74_signals_neither_end_a_receive_nor_stretch_it) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
    itimerval storm{{0, 2000}, {0, 2000}};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &storm, nullptr), 0);
    distlock::detail::socket it{fd};
    for (const auto patience : {0ms, 50ms}) {
        it.expect_patience(patience);
        const auto deadline = in(50ms);
        EXPECT_EQ(it.receive(buffer, deadline, error), 0U);
        EXPECT_EQ(error, ETIMEDOUT);
        EXPECT_GE(lease_clock::now(), deadline);
        EXPECT_LT(lease_clock::now(), deadline + 10s);
    }
    storm = {};
    ::setitimer(ITIMER_REAL, &storm, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
}

TEST_F(Socket, a_borrowed_descriptor_stays_open_and_an_own_one_does_not) {
    {
        distlock::detail::socket it{fd};
        distlock::detail::socket moved{std::move(it)};
        EXPECT_TRUE(moved.is_open());
        EXPECT_FALSE(it.is_open()); // NOLINT(bugprone-use-after-move): that is the point
    }
    EXPECT_NE(::fcntl(fd, F_GETFD), -1);
}

TEST(SocketConnect, names_why_it_did_not) {
    std::string why;
    EXPECT_FALSE(distlock::detail::socket::connect({.path = "/nowhere/redis.sock"}, in(1s), why).is_open());
    EXPECT_EQ(why, "No such file or directory");
    EXPECT_FALSE(distlock::detail::socket::connect({.path = std::string(200, 'p')}, in(1s), why).is_open());
    EXPECT_EQ(why, "the path is too long for a Unix socket");
    EXPECT_FALSE(distlock::detail::socket::connect({.host = "127.0.0.1", .port = 1}, in(1s), why).is_open());
    EXPECT_EQ(why, "Connection refused");
    EXPECT_FALSE(distlock::detail::socket::connect({.host = "300.1.1.1"}, in(1s), why).is_open());
    EXPECT_NE(why, "");
}

} // namespace
} // namespace distlock::detail
