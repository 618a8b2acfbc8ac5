// SPDX-License-Identifier: MIT
//
// A transport of one's own: the locks work over any class that models distlock::connection. This one lets
// hiredis do the reading and writing, so that it could have TLS, for example: see connect(). Usage:
// own_transport [port]; the server is on this machine.
#include <distlock/redis_lock.hpp>

#include <hiredis/hiredis.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using distlock::errc, distlock::lease_clock, distlock::reply;

struct freed {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* answer) const { freeReplyObject(answer); }
};

reply converted(const redisReply& answer) {
    switch (answer.type) {
    case REDIS_REPLY_STATUS:
        return reply::status({answer.str, answer.len});
    case REDIS_REPLY_ERROR:
        return reply::error({answer.str, answer.len});
    case REDIS_REPLY_STRING:
        return reply::string({answer.str, answer.len});
    case REDIS_REPLY_INTEGER:
        return reply::integer(answer.integer);
    case REDIS_REPLY_ARRAY: {
        std::vector<reply> elements;
        for (const auto* element : std::span{answer.element, answer.elements}) {
            elements.push_back(converted(*element));
        }
        return reply::array(std::move(elements));
    }
    default:
        return reply::nil();
    }
}

class own_transport {
public:
    explicit own_transport(int port)
        : port_{port} {}

    reply execute(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
        bool fine = context_ || connect(deadline);
        ec = fine ? errc::unknown_outcome : errc::unreachable; // unless an answer comes
        std::vector<const char*> words;
        std::vector<std::size_t> sizes; // so that a key or a token may hold any octet
        for (const auto word : argv) {
            words.push_back(word.data());
            sizes.push_back(word.size());
        }
        if (fine) {
            redisAppendCommandArgv(context_.get(), static_cast<int>(argv.size()), words.data(), sizes.data());
        }
        for (int sent = 0; fine && sent == 0;) {
            fine = ready(POLLOUT, deadline) && redisBufferWrite(context_.get(), &sent) == REDIS_OK;
        }
        void* answer = nullptr;
        while (fine && redisGetReplyFromReader(context_.get(), &answer) == REDIS_OK && answer == nullptr) {
            fine = ready(POLLIN, deadline) && redisBufferRead(context_.get()) == REDIS_OK;
        }
        if (answer == nullptr) {
            context_.reset(); // a late reply must never answer the next command, which connects afresh
            return {};
        }
        ec.clear();
        return converted(*std::unique_ptr<redisReply, freed>{static_cast<redisReply*>(answer)});
    }

private:
    bool connect(lease_clock::time_point deadline) {
        context_.reset(redisConnectNonBlock("127.0.0.1", port_));
        int error = 0;
        socklen_t size = sizeof error;
        // For TLS, redisInitiateSSLWithContext() follows here; for a password, an AUTH.
        return context_ && context_->err == 0 && ready(POLLOUT, deadline) &&
               getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }

    /// Waits for the socket, but not longer than until the deadline, however many signals come.
    bool ready(short event, lease_clock::time_point deadline) const {
        for (pollfd entry{context_->fd, event, 0};;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - lease_clock::now());
            const int found = poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
            if (found > 0 || left.count() <= 0 || (found < 0 && errno != EINTR)) {
                return found > 0;
            }
        }
    }

    int port_;
    std::unique_ptr<redisContext, freed> context_;
};

static_assert(distlock::connection<own_transport>);

const char* yes_or_no(bool answer) { return answer ? "yes" : "no"; }

} // namespace

int main(int argc, char** argv) try {
    std::signal(SIGPIPE, SIG_IGN); // hiredis raises it when the server has hung up
    const int port = argc > 1 ? std::stoi(argv[1]) : 6379;
    own_transport mine{port};
    own_transport yours{port};
    distlock::redis_lock my_lock{mine, "orders:42"};
    distlock::redis_lock your_lock{yours, "orders:42"};
    {
        const std::lock_guard guard{my_lock};
        std::cout << "I have it. Do you get it? " << yes_or_no(your_lock.try_lock()) << '\n';
    }
    std::cout << "I gave it back. Do you get it? " << yes_or_no(your_lock.try_lock()) << '\n';
} catch (const std::exception& trouble) {
    std::cerr << trouble.what() << '\n';
    return 1;
}
