// SPDX-License-Identifier: MIT
#include "private_server.hpp"

#include "redis_calls.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace seckill {
namespace {

constexpr int not_installed = 127;

[[noreturn]] void become(std::vector<const char*> argv, pid_t parent) {
    // Not in the terminal's process group: its Ctrl-C is for us, who stop the server after the buyers.
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
        argv.push_back(nullptr);
        execvp(argv.front(), const_cast<char**>(argv.data())); // exec does not write to them
    }
    _exit(not_installed);
}

} // namespace

private_server::private_server(std::uint64_t clients, interrupts& signals) {
    auto name = (std::filesystem::temp_directory_path() / "seckill-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::system_error{errno, std::generic_category(), "a temporary folder"};
    }
    folder_ = name;
    try {
        start(clients);
        await_answer(signals);
    } catch (...) {
        stop();
        throw;
    }
}

private_server::~private_server() { stop(); }

// A percent sign in the folder's name would be an escape.
std::string private_server::url() const {
    std::string escaped;
    for (const char c : (folder_ / "socket").string()) {
        escaped += c == '%' ? "%25" : c == '?' ? "%3F" : std::string{c};
    }
    return "unix://" + escaped;
}

void private_server::start(std::uint64_t clients) {
    const auto socket = (folder_ / "socket").string();
    const auto log = (folder_ / "log").string();
    // Twice, because a buyer may connect afresh before the server has noticed that he is gone.
    const auto most = std::to_string(2 * clients + 32);
    const std::vector<const char*> argv{"redis-server",
                                        "--port",
                                        "0",
                                        "--unixsocket",
                                        socket.c_str(),
                                        "--unixsocketperm",
                                        "700",
                                        "--dir",
                                        folder_.c_str(),
                                        "--logfile",
                                        log.c_str(),
                                        "--save",
                                        "",
                                        "--appendonly",
                                        "no",
                                        "--maxclients",
                                        most.c_str(),
                                        "--tcp-backlog",
                                        "4096"};
    const auto parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
        become(argv, parent);
    }
    if (pid_ < 0) {
        throw std::system_error{errno, std::generic_category(), "starting redis-server"};
    }
}

void private_server::await_answer(interrupts& signals) {
    distlock::hiredis_connection redis{url()};
    const std::array<std::string_view, 1> ping{"PING"};
    std::error_code ec;
    for (const auto limit = soon(); !signals.sleep_for(std::chrono::milliseconds{10});) {
        if (redis.execute(ping, limit, ec).is_status("PONG")) {
            return;
        }
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            throw std::runtime_error{WIFEXITED(status) && WEXITSTATUS(status) == not_installed
                                         ? "redis-server is not installed (or name a server of yours with --url)"
                                         : "redis-server did not start: " + last_words()};
        }
        if (distlock::lease_clock::now() >= limit) {
            throw std::runtime_error{"redis-server does not answer: " + last_words()};
        }
    }
}

std::string private_server::last_words() const {
    std::ifstream log{folder_ / "log"};
    std::string last = "it said nothing";
    for (std::string line; std::getline(log, line);) {
        last = line;
    }
    return last;
}

void private_server::stop() noexcept {
    if (pid_ > 0) {
        kill(pid_, SIGKILL); // it has nothing to save
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

} // namespace seckill
