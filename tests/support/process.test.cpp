// SPDX-License-Identifier: MIT
#include "support/process.hpp"
#include "support/allocations.hpp"
#include "support/child_process.hpp"
#include "support/rss.hpp"
#include "support/signal_storm.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace distlock::test {
namespace {

using namespace std::chrono_literals;

std::string content(const std::filesystem::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(Process, RunsAProgramAndTellsItsEnd) {
    const temp_dir dir;
    process made{{"sh", "-c", "echo $WORD; exit 3"}, dir.path() / "out", {{"WORD", "hello"}}};
    const auto status = made.wait(patience);
    ASSERT_TRUE(status);
    EXPECT_EQ(WEXITSTATUS(*status), 3);
    EXPECT_FALSE(made.is_running());
    EXPECT_EQ(content(dir.path() / "out"), "hello\n");
}

TEST(Process, EndsWithItsObject) {
    const temp_dir dir;
    pid_t pid = 0;
    {
        process made{{"sleep", "1000"}, dir.path() / "out"};
        pid = made.pid();
        made.suspend();
        EXPECT_TRUE(made.is_running());
    }
    EXPECT_EQ(::kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST(Process, AMissingProgramIsAnError) {
    EXPECT_TRUE(process::find("no-such-program-anywhere").empty());
    EXPECT_THROW(process({"no-such-program-anywhere"}, "/dev/null"), std::system_error);
}

TEST(ChildProcess, TalksAndReturns) {
    child_process child{[](message_channel& parent) {
        const auto question = parent.receive();
        parent.send(question.value_or("nothing") + "!");
        return question ? 7 : 8;
    }};
    child.channel().send("hello");
    EXPECT_EQ(child.channel().receive(), "hello!");
    EXPECT_EQ(child.wait(), 7);
    EXPECT_EQ(child.channel().receive(), std::nullopt);
}

TEST(ChildProcess, IsKilledSuspendedAndResumed) {
    child_process child{[](message_channel& parent) {
        while (const auto line = parent.receive()) {
            parent.send(*line);
        }
        return 0;
    }};
    child.suspend();
    child.channel().send("one");
    EXPECT_EQ(child.channel().receive(20ms), std::nullopt);
    child.resume();
    EXPECT_EQ(child.channel().receive(), "one");
    child.kill9();
    EXPECT_EQ(child.channel().receive(), std::nullopt);
}

TEST(ChildProcess, AnExceptionIsItsEnd) {
    child_process child{[](message_channel&) -> int { throw std::runtime_error{"expected by the test"}; }};
    EXPECT_EQ(child.wait(), 255);
}

TEST(ChildProcess, MayStartThreads) {
    child_process child{[](message_channel&) {
        int result = 0;
        std::thread{[&] { result = 5; }}.join();
        return result;
    }};
    EXPECT_EQ(child.wait(), 5);
}

TEST(ChildProcess, LeavesTheParentsDirectoryAlone) {
    auto dir = std::make_unique<temp_dir>();
    const auto path = dir->path();
    child_process child{[&](message_channel&) {
        dir.reset();
        return 0;
    }};
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(std::filesystem::exists(path));
    dir.reset();
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SignalStorm, InterruptsSystemCalls) {
    const signal_storm storm{1ms};
    EXPECT_EQ(::poll(nullptr, 0, 10'000), -1);
    EXPECT_EQ(errno, EINTR);
    EXPECT_GT(storm.count(), 0U);
}

TEST(SignalStorm, PutsTheOldHandlerBack) {
    struct sigaction before {};
    ::sigaction(SIGUSR1, nullptr, &before);
    { const signal_storm storm; }
    struct sigaction after {};
    ::sigaction(SIGUSR1, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Allocations, AreCountedForThisThread) {
    if (!allocations_are_ours) {
        GTEST_SKIP() << "operator new belongs to the sanitizer";
    }
    // Called by name: the compiler may leave out the calls of a new-expression.
    const allocation_counter counter;
    EXPECT_EQ(counter.count(), 0U);
    ::operator delete(::operator new(100));
    EXPECT_EQ(counter.count(), 1U);
    EXPECT_EQ(counter.bytes(), 100U);
    constexpr std::align_val_t alignment{64};
    void* const aligned = ::operator new(1, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 64, 0U);
    ::operator delete(aligned, alignment);
    EXPECT_EQ(counter.count(), 2U);
    std::thread{[] { ::operator delete(::operator new(1000)); }}.join();
    EXPECT_LT(counter.bytes(), 1000U);
}

TEST(Allocations, TheNthFails) {
    if (!allocations_are_ours) {
        GTEST_SKIP() << "operator new belongs to the sanitizer";
    }
    const failing_allocation second{2};
    ::operator delete(::operator new(1));
    EXPECT_FALSE(second.has_failed());
    EXPECT_THROW(::operator delete(::operator new(1)), std::bad_alloc);
    EXPECT_TRUE(second.has_failed());
    EXPECT_NO_THROW(::operator delete(::operator new(1)));
}

TEST(Rss, GrowsWithWhatIsTouched) {
    const auto before = rss_bytes();
    constexpr std::size_t size = 64 << 20;
    const std::vector<char> touched(size, 'x');
    EXPECT_GT(rss_bytes(), before + size / 2);
    EXPECT_EQ(touched.back(), 'x');
}

} // namespace
} // namespace distlock::test
