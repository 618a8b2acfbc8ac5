// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/reply.hpp"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

/// A client of a real redis-server that hands out replies as they are, whatever they are.
namespace distlock::simulation {

inline reply to_reply(const redisReply& from) {
    const std::string text = from.str == nullptr ? std::string{} : std::string{from.str, from.len};
    switch (from.type) {
    case REDIS_REPLY_STATUS:
        return reply::status(text);
    case REDIS_REPLY_ERROR:
        return reply::error(text);
    case REDIS_REPLY_STRING:
        return reply::string(text);
    case REDIS_REPLY_INTEGER:
        return reply::integer(from.integer);
    case REDIS_REPLY_ARRAY: {
        std::vector<reply> elements;
        for (std::size_t i = 0; i < from.elements; ++i) {
            elements.push_back(to_reply(*from.element[i]));
        }
        return reply::array(std::move(elements));
    }
    default:
        return reply::nil();
    }
}

class real_client {
public:
    explicit real_client(const std::string& path)
        : context_{redisConnectUnix(path.c_str())} {
        redisSetTimeout(context_.get(), timeval{5, 0});
    }

    bool connected() const { return context_ != nullptr && context_->err == 0; }

    void send(std::span<const std::string_view> argv) {
        std::vector<const char*> words;
        std::vector<std::size_t> sizes;
        for (const auto word : argv) {
            words.push_back(word.data());
            sizes.push_back(word.size());
        }
        redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(), sizes.data());
        for (int done = 0; done == 0 && redisBufferWrite(context_.get(), &done) == REDIS_OK;) {
        }
    }

    /// Throws when the server closes the connection or does not answer in seconds.
    reply receive() {
        void* raw = nullptr;
        if (redisGetReply(context_.get(), &raw) != REDIS_OK) {
            throw std::runtime_error{std::string{"redis-server: "} + context_->errstr};
        }
        const std::unique_ptr<redisReply, void (*)(void*)> held{static_cast<redisReply*>(raw), freeReplyObject};
        return to_reply(*held);
    }

    reply execute(std::span<const std::string_view> argv) {
        send(argv);
        return receive();
    }
    reply execute(std::initializer_list<std::string_view> argv) { return execute({argv.begin(), argv.size()}); }

private:
    struct closer {
        void operator()(redisContext* open) const { redisFree(open); }
    };
    std::unique_ptr<redisContext, closer> context_;
};

} // namespace distlock::simulation
