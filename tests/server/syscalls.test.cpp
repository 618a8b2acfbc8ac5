// SPDX-License-Identifier: MIT
//
// Each system call in a lock's life fails in turn, by strace's hand: no crash, no leak, and what the owner believes is
// what the server says.
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include "support/child_process.hpp"
#include "support/process.hpp"
#include "support/server_test.hpp"
#include "support/temp_dir.hpp"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <new>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

namespace distlock {
namespace {

using namespace std::chrono_literals;

struct failing_call {
    const char* name;
    int most; ///< so many of them are tried, one in each run
    std::vector<const char*> errors;
};

void PrintTo(const failing_call& shown, std::ostream* out) { *out << shown.name; }

/// A flag that a child sees change without a system call.
class shared_flag {
public:
    shared_flag()
        : flag_{new (::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0)) std::atomic<int>{0}} {}
    shared_flag(const shared_flag&) = delete;
    shared_flag& operator=(const shared_flag&) = delete;
    ~shared_flag() { ::munmap(flag_, sizeof *flag_); }

    void raise() noexcept { *flag_ = 1; }
    void wait() const noexcept {
        while (*flag_ == 0) {
        }
    }

private:
    std::atomic<int>* flag_;
};

bool is_traced(pid_t pid) {
    std::ifstream in{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("TracerPid:")) {
            return line.find_first_of("123456789") != std::string::npos;
        }
    }
    return false;
}

/// One life of a lock. 0: all that it said of itself was right.
int live(const std::string& url) {
    int wrong = 0;
    std::error_code ec;
    try {
        hiredis_connection conn{url, {.connect_timeout = 200ms, .command_timeout = 200ms}};
        redis_lock lock{conn, "k", {.ttl = 1min, .give_up_after = 1s}};
        for (int round = 0; round < 2; ++round) {
            lock.lock(ec);
            wrong += static_cast<int>(!ec != lock.owns_lock());
            if (ec) {
                continue;
            }
            lock.extend(ec);
            if (round == 0) {
                const auto outcome = lock.release(ec);
                wrong += static_cast<int>(outcome != release_outcome::released && !ec);
            } else {
                lock.unlock();
                (void)lock.last_release();
            }
            wrong += static_cast<int>(lock.owns_lock());
        }
    } catch (const std::system_error&) { // the system has no random numbers: thrown by both doors
    }
    return wrong;
}

class SyscallsSlow : public test::server_test, public ::testing::WithParamInterface<failing_call> {
protected:
    void SetUp() override {
        if (test::process::find("strace").empty()) {
            GTEST_SKIP() << "there is no strace: failing system calls are NOT tested";
        }
    }
};

TEST_P(SyscallsSlow, OutcomeIsWhatTheServerSays) {
    const test::temp_dir scratch;
    for (const auto* const error : GetParam().errors) {
        for (int nth = 1; nth <= GetParam().most; ++nth) {
            const auto what = std::string{GetParam().name} + ":error=" + error + ":when=" + std::to_string(nth);
            SCOPED_TRACE(what);
            shared_flag go;
            test::child_process child{[&](test::message_channel&) {
                go.wait();
                return live(server().url_unix());
            }};
            test::process tracer{{"strace", "-qq", "-e", "trace=" + std::string{GetParam().name}, "-e",
                                  "inject=" + what, "-p", std::to_string(child.pid())},
                                 scratch.path() / "strace"};
            if (!test::eventually([&] { return is_traced(child.pid()) || !tracer.is_running(); }) ||
                !tracer.is_running()) {
                GTEST_SKIP() << "strace may not attach here: failing system calls are NOT tested";
            }
            go.raise();
            EXPECT_EQ(child.wait(), 0);
            EXPECT_TRUE(tracer.wait(test::patience).has_value());
            EXPECT_TRUE(test::eventually([&] { return number({"DBSIZE"}) == 0; }, 1s)) << "left behind";
            ask({"FLUSHALL"});
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SyscallsSlow,
    ::testing::Values(failing_call{"socket", 1, {"EMFILE", "ENOBUFS"}},
                      failing_call{"connect", 1, {"ECONNREFUSED", "ENOENT", "EINTR", "EAGAIN", "EINPROGRESS"}},
                      failing_call{"sendto", 10, {"EINTR", "ECONNRESET", "EPIPE", "ENOBUFS"}},
                      failing_call{"recvfrom", 16, {"EINTR", "EAGAIN", "ECONNRESET", "ENOMEM"}},
                      failing_call{"poll", 2, {"EINTR", "ENOMEM"}}, failing_call{"setsockopt", 1, {"EINVAL"}},
                      failing_call{"fcntl", 3, {"EINVAL"}},
                      failing_call{"getrandom", 2, {"EINTR", "ENOSYS", "EAGAIN"}}),
    [](const auto& each) { return std::string{each.param.name}; });

} // namespace
} // namespace distlock
