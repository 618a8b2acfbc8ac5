// SPDX-License-Identifier: MIT
#include "support/process.hpp"

#include "support/eventually.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

namespace distlock::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& each : texts) {
        out.push_back(each.data());
    }
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
    std::vector<std::string> out;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string text = *each;
        if (!more.contains(text.substr(0, text.find('=')))) {
            out.push_back(text);
        }
    }
    for (const auto& [name, value] : more) {
        out.push_back(name + '=' + value);
    }
    return out;
}

} // namespace

process::process(pid_t forked) noexcept
    : pid_{forked}
    , maker_{::getpid()} {}

process::process(const std::vector<std::string>& argv, const std::filesystem::path& output,
                 const std::map<std::string, std::string>& more_environment)
    : maker_{::getpid()} {
    const auto program = find(argv.at(0));
    if (program.empty()) {
        throw std::system_error{ENOENT, std::generic_category(), argv[0]};
    }
    // All that needs memory comes before the fork: other threads may hold malloc's lock.
    auto arguments = argv;
    auto environment = environment_with(more_environment);
    const auto arguments_for_exec = pointers(arguments);
    const auto environment_for_exec = pointers(environment);
    const bool tie = ::gettid() == maker_;
    pid_ = ::fork();
    if (pid_ < 0) {
        throw std::system_error{errno, std::generic_category(), "fork"};
    }
    if (pid_ > 0) {
        return;
    }
    if (tie) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != maker_) {
            ::_exit(127);
        }
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    // A client's socket that stayed open here would never look closed to the other side.
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execve(program.c_str(), arguments_for_exec.data(), environment_for_exec.data());
    ::_exit(127);
}

process::process(process&& other) noexcept
    : pid_{std::exchange(other.pid_, 0)}
    , maker_{other.maker_} {}

process& process::operator=(process&& other) noexcept {
    if (this != &other) {
        kill9();
        pid_ = std::exchange(other.pid_, 0);
        maker_ = other.maker_;
    }
    return *this;
}

process::~process() { kill9(); }

bool process::is_running() {
    wait(std::chrono::milliseconds{0});
    return pid_ != 0;
}

void process::signal(int number) const {
    // In a forked child the process is the parent's.
    if (pid_ > 0 && ::getpid() == maker_) {
        ::kill(pid_, number);
    }
}

void process::suspend() {
    signal(SIGSTOP);
    siginfo_t info;
    // WNOWAIT: should it have ended instead, that is left for wait() to find.
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
}

void process::resume() { signal(SIGCONT); }

void process::kill9() {
    signal(SIGKILL);
    if (pid_ > 0 && ::getpid() == maker_) {
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = 0;
}

std::optional<int> process::wait(std::chrono::milliseconds limit) {
    int status = 0;
    if (pid_ == 0 || !eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, limit)) {
        return std::nullopt;
    }
    pid_ = 0;
    return status;
}

std::filesystem::path process::find(const std::string& program) {
    const auto runs = [](const std::filesystem::path& path) { return ::access(path.c_str(), X_OK) == 0; };
    if (program.find('/') != program.npos) {
        return runs(program) ? std::filesystem::path{program} : std::filesystem::path{};
    }
    const char* path = std::getenv("PATH");
    std::istringstream folders{path == nullptr ? "/usr/bin:/bin" : path};
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (const auto candidate = std::filesystem::path{folder} / program; !folder.empty() && runs(candidate)) {
            return candidate;
        }
    }
    return {};
}

} // namespace distlock::test
