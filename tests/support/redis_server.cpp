// SPDX-License-Identifier: MIT
#include "support/redis_server.hpp"

#include "support/eventually.hpp"
#include "support/net.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace distlock::test {
namespace {

std::vector<std::string> program_words(const std::string& wanted) {
    const char* from_environment = std::getenv("DISTLOCK_REDIS_SERVER");
    std::istringstream in{!wanted.empty() ? wanted : from_environment != nullptr ? from_environment : "redis-server"};
    return {std::istream_iterator<std::string>{in}, {}};
}

} // namespace

/// The file that clock_shim.c maps: nanoseconds to add to the wall clock.
class redis_server::clock_offset {
public:
    explicit clock_offset(const std::filesystem::path& file)
        : file_{file} {
        const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(std::int64_t)) != 0) {
            throw std::system_error{errno, std::generic_category(), file.string()};
        }
        void* memory = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory == MAP_FAILED) {
            throw std::system_error{errno, std::generic_category(), "mmap"};
        }
        value_ = static_cast<std::int64_t*>(memory);
    }
    clock_offset(const clock_offset&) = delete;
    clock_offset& operator=(const clock_offset&) = delete;
    ~clock_offset() { ::munmap(value_, sizeof(std::int64_t)); }

    void set(std::chrono::nanoseconds offset) { std::atomic_ref{*value_}.store(offset.count()); }
    std::map<std::string, std::string> environment() const {
        return {{"LD_PRELOAD", DISTLOCK_CLOCK_SHIM}, {"DISTLOCK_CLOCK_OFFSET_FILE", file_.string()}};
    }

private:
    std::filesystem::path file_;
    std::int64_t* value_ = nullptr;
};

redis_server::redis_server(redis_server_options options)
    : options_{std::move(options)} {
    if (options_.movable_clock) {
        clock_ = std::make_unique<clock_offset>(dir_.path() / "clock-offset");
    }
    // Between the choice of a port and its use somebody else may take it.
    constexpr int tries = 5;
    for (int i = 0; i < tries; ++i) {
        port_ = free_port();
        launch();
        if (comes_up()) {
            return;
        }
    }
    throw std::runtime_error{"redis-server found no free port:\n" + log()};
}

redis_server::~redis_server() = default;

bool redis_server::is_available() {
    const auto words = program_words({});
    return !words.empty() && !process::find(words.front()).empty();
}

void redis_server::launch() {
    auto argv = program_words(options_.program);
    if (argv.empty() || process::find(argv.front()).empty()) {
        throw std::runtime_error{"there is no " + (argv.empty() ? "redis-server" : argv.front()) +
                                 ": install redis-server or say in DISTLOCK_REDIS_SERVER where it is"};
    }
    const std::vector<std::string> own{"--port",
                                       std::to_string(port_),
                                       "--bind",
                                       "127.0.0.1",
                                       "--unixsocket",
                                       socket_path().string(),
                                       "--dir",
                                       dir_.path().string(),
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--daemonize",
                                       "no",
                                       "--enable-debug-command",
                                       "local",
                                       "--repl-diskless-sync-delay",
                                       "0"};
    argv.insert(argv.end(), own.begin(), own.end());
    argv.insert(argv.end(), options_.args.begin(), options_.args.end());
    process_ =
        process{argv, dir_.path() / "log", clock_ ? clock_->environment() : std::map<std::string, std::string>{}};
}

bool redis_server::comes_up() {
    const auto answers = [this] {
        try {
            const auto answer = admin{socket_path(), std::chrono::seconds{1}}.command({"PING"});
            return !answer.text().starts_with("LOADING"); // NOAUTH is an answer too
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    if (eventually([&] { return !process_.is_running() || answers(); }) && process_.is_running()) {
        return true;
    }
    if (!process_.is_running() && log().find("Address already in use") != std::string::npos) {
        std::filesystem::remove(dir_.path() / "log");
        return false;
    }
    throw std::runtime_error{"redis-server does not come up:\n" + log()};
}

std::string redis_server::log() const {
    std::ifstream in{dir_.path() / "log"};
    return {std::istreambuf_iterator<char>{in}, {}};
}

void redis_server::stop() {
    resume();
    process_.signal(SIGTERM);
    if (!process_.wait(patience)) {
        process_.kill9();
    }
}

void redis_server::kill9() { process_.kill9(); }

void redis_server::start() {
    if (process_.is_running()) {
        throw std::logic_error{"the server is running"};
    }
    launch();
    if (!comes_up()) {
        throw std::runtime_error{"somebody else has taken port " + std::to_string(port_)};
    }
}

void redis_server::restart(data what) {
    if (what == data::keep) {
        resume();
        try {
            connect_admin().command({"SHUTDOWN", "SAVE"});
        } catch (const std::runtime_error&) { // it hangs up instead of answering
        }
        if (!process_.wait(patience)) {
            throw std::runtime_error{"the server refuses to shut down:\n" + log()};
        }
    } else {
        kill9();
        std::filesystem::remove(dir_.path() / "dump.rdb");
        std::filesystem::remove_all(dir_.path() / "appendonlydir");
    }
    start();
}

void redis_server::suspend() { process_.suspend(); }
void redis_server::resume() { process_.resume(); }

void redis_server::set_clock_offset(std::chrono::milliseconds offset) {
    if (!clock_) {
        throw std::logic_error{"set_clock_offset() needs a server with movable_clock"};
    }
    clock_->set(offset);
}

} // namespace distlock::test
