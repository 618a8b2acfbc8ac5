// SPDX-License-Identifier: MIT
#include "support/admin.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace distlock::test {
namespace {

// For the calling thread; the SIGPIPE of a write to a closed connection is dropped.
class signals_blocked {
public:
    signals_blocked() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked() {
        sigset_t pipe;
        ::sigemptyset(&pipe);
        ::sigaddset(&pipe, SIGPIPE);
        const timespec at_once{};
        while (::sigtimedwait(&pipe, nullptr, &at_once) > 0) {
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
};

reply converted(const redisReply& from) {
    const auto text = [&] { return std::string(from.str, static_cast<std::size_t>(from.len)); };
    switch (from.type) {
    case REDIS_REPLY_STATUS:
        return reply::status(text());
    case REDIS_REPLY_ERROR:
        return reply::error(text());
    case REDIS_REPLY_STRING:
        return reply::string(text());
    case REDIS_REPLY_INTEGER:
        return reply::integer(from.integer);
    case REDIS_REPLY_ARRAY: {
        std::vector<reply> elements;
        for (std::size_t i = 0; i < from.elements; ++i) {
            elements.push_back(converted(*from.element[i]));
        }
        return reply::array(std::move(elements));
    }
    default:
        return reply::nil();
    }
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        if (line.ends_with('\r')) {
            line.pop_back();
        }
        if (!line.empty()) {
            out.push_back(std::move(line));
        }
    }
    return out;
}

} // namespace

void admin::closer::operator()(redisContext* context) const noexcept { ::redisFree(context); }

admin::admin(std::filesystem::path unix_socket, std::chrono::milliseconds timeout)
    : path_{std::move(unix_socket)}
    , timeout_{timeout} {}
admin::admin(int tcp_port, std::chrono::milliseconds timeout)
    : port_{tcp_port}
    , timeout_{timeout} {}
admin::admin(admin&&) noexcept = default;
admin& admin::operator=(admin&&) noexcept = default;
admin::~admin() = default;

void admin::connect() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout_);
    const timeval limit{seconds.count(), std::chrono::microseconds{timeout_ - seconds}.count()};
    context_.reset(path_.empty() ? ::redisConnectWithTimeout("127.0.0.1", port_, limit)
                                 : ::redisConnectUnixWithTimeout(path_.c_str(), limit));
    if (context_ == nullptr || context_->err != 0) {
        const auto why = context_ == nullptr ? "no memory" : std::string{context_->errstr};
        context_.reset();
        throw std::runtime_error{"admin cannot connect: " + why};
    }
    ::redisSetTimeout(context_.get(), limit);
}

reply admin::command(const std::vector<std::string>& argv) {
    const signals_blocked quiet;
    if (context_ == nullptr) {
        connect();
    }
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    for (const auto& each : argv) {
        words.push_back(each.data());
        lengths.push_back(each.size());
    }
    const auto free_reply = [](redisReply* got) { ::freeReplyObject(got); };
    const std::unique_ptr<redisReply, decltype(free_reply)> got{
        static_cast<redisReply*>(
            ::redisCommandArgv(context_.get(), static_cast<int>(argv.size()), words.data(), lengths.data())),
        free_reply};
    if (got == nullptr) {
        const std::string why = context_->errstr;
        context_.reset();
        throw std::runtime_error{"admin " + argv.front() + ": " + why};
    }
    return converted(*got);
}

reply admin::succeeding(const std::vector<std::string>& argv) {
    auto answer = command(argv);
    if (answer.is_error()) {
        throw std::runtime_error{"admin " + argv.front() + ": " + answer.text()};
    }
    return answer;
}

std::optional<std::string> admin::get(const std::string& key) {
    const auto answer = succeeding({"GET", key});
    return answer.is_nil() ? std::nullopt : std::optional{answer.text()};
}

void admin::set(const std::string& key, const std::string& value, std::chrono::milliseconds ttl) {
    std::vector<std::string> argv{"SET", key, value};
    if (ttl > ttl.zero()) {
        argv.insert(argv.end(), {"PX", std::to_string(ttl.count())});
    }
    succeeding(argv);
}

bool admin::del(const std::string& key) { return succeeding({"DEL", key}).as_integer() == 1; }
bool admin::exists(const std::string& key) { return succeeding({"EXISTS", key}).as_integer() == 1; }
std::int64_t admin::pttl(const std::string& key) { return succeeding({"PTTL", key}).as_integer(); }
void admin::flushall() { succeeding({"FLUSHALL"}); }

std::vector<std::string> admin::keys(const std::string& pattern) {
    std::vector<std::string> out;
    const auto found = succeeding({"KEYS", pattern});
    for (const auto& each : found.elements()) {
        out.push_back(each.text());
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::map<std::string, std::uint64_t> admin::calls() {
    // cmdstat_get:calls=1,usec=2,...
    constexpr std::string_view prefix = "cmdstat_";
    constexpr std::string_view count = ":calls=";
    std::map<std::string, std::uint64_t> out;
    for (const auto& line : lines(succeeding({"INFO", "commandstats"}).text())) {
        const auto at = line.find(count);
        if (line.starts_with(prefix) && at != line.npos) {
            out[line.substr(prefix.size(), at - prefix.size())] = std::stoull(line.substr(at + count.size()));
        }
    }
    return out;
}

std::uint64_t admin::calls(const std::string& command) {
    const auto all = calls();
    const auto found = all.find(command);
    return found == all.end() ? 0 : found->second;
}

void admin::reset_calls() { succeeding({"CONFIG", "RESETSTAT"}); }

std::string admin::info(std::string_view field) {
    const auto prefix = std::string{field} + ':';
    for (const auto& line : lines(succeeding({"INFO", "everything"}).text())) {
        if (line.starts_with(prefix)) {
            return line.substr(prefix.size());
        }
    }
    throw std::runtime_error{"INFO has no " + std::string{field}};
}

std::vector<std::string> admin::client_list() { return lines(succeeding({"CLIENT", "LIST"}).text()); }

std::int64_t admin::kill_clients() {
    return succeeding({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}).as_integer();
}

} // namespace distlock::test
