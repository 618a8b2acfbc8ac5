// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/reply.hpp"

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distlock::detail {

/// hiredis' reader with limits: bytes in, replies out. What is too big, too deep or no RESP2 ends in failed(), and
/// nothing is allocated by an announced length. One source for hiredis 0.14 to 1.x.
class hiredis_reader {
public:
    static constexpr std::size_t most_octets = std::size_t{64} * 1024;
    static constexpr int most_levels = 3;

    hiredis_reader()
        : reader_{redisReaderCreate(), &redisReaderFree} {
        if (!reader_) {
            throw std::bad_alloc{};
        }
        functions_ = *reader_->fn;
        make_array_ = functions_.createArray;
        functions_.createArray = &bounded_array;
        reader_->fn = &functions_;
        reader_->privdata = this;
    }
    hiredis_reader(const hiredis_reader&) = delete; // hiredis holds its address
    hiredis_reader& operator=(const hiredis_reader&) = delete;

    void feed(std::string_view octets) {
        unread_ += octets.size();
        if (unread_ > most_octets) {
            failure_ = "the reply is larger than 64 KiB";
        } else if (redisReaderFeed(reader_.get(), octets.data(), octets.size()) != REDIS_OK) {
            failure_ = "hiredis' reader is out of memory";
        }
    }

    /// The next whole reply, or nothing: more octets are needed, or it has failed().
    std::optional<reply> next() {
        if (failed()) {
            return std::nullopt;
        }
        void* raw = nullptr;
        if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
            failure_ = too_big_ ? "an array in the reply is too long or too deep" : "the reply is no RESP";
            return std::nullopt;
        }
        if (raw == nullptr) {
            return std::nullopt;
        }
        const std::unique_ptr<void, decltype(&freeReplyObject)> owned{raw, &freeReplyObject};
        unread_ = reader_->len - reader_->pos;
        failure_ = "out of memory"; // should the next line throw: this reply is lost, and with it the order
        auto made = converted(*static_cast<redisReply*>(raw));
        failure_ = made ? std::string_view{} : "the reply has a type that was not asked for";
        return made;
    }

    bool failed() const noexcept { return !failure_.empty(); }
    std::string_view failure() const noexcept { return failure_; }
    /// Octets beyond the last reply.
    bool has_leftover() const noexcept { return unread_ > 0; }

private:
    // int up to 0.14, size_t since 1.0: the function pointer's own type picks.
    template <class Count>
    static void* bounded_array(const redisReadTask* task, Count count) {
        int level = 1;
        for (const auto* parent = task->parent; parent != nullptr; parent = parent->parent) {
            ++level;
        }
        auto& self = *static_cast<hiredis_reader*>(task->privdata);
        constexpr auto smallest_element = std::size_t{4}; // ":1\r\n"
        if (level > most_levels || static_cast<std::size_t>(count) > most_octets / smallest_element) {
            self.too_big_ = true;
            return nullptr; // as if out of memory: hiredis stops
        }
        return self.make_array_(task, count);
    }

    static std::optional<reply> converted(const redisReply& raw) {
        switch (raw.type) {
        case REDIS_REPLY_NIL:
            return reply::nil();
        case REDIS_REPLY_INTEGER:
            return reply::integer(raw.integer);
        case REDIS_REPLY_STATUS:
            return reply::status(text_of(raw));
        case REDIS_REPLY_STRING:
            return reply::string(text_of(raw));
        case REDIS_REPLY_ERROR:
            return reply::error(text_of(raw));
        case REDIS_REPLY_ARRAY: {
            std::vector<reply> elements;
            elements.reserve(raw.elements);
            for (std::size_t i = 0; i < raw.elements; ++i) {
                auto element = converted(*raw.element[i]); // at most most_levels deep
                if (!element) {
                    return std::nullopt;
                }
                elements.push_back(std::move(*element));
            }
            return reply::array(std::move(elements));
        }
        default: // RESP3, which nobody asked for
            return std::nullopt;
        }
    }

    static std::string text_of(const redisReply& raw) { return {raw.str, static_cast<std::size_t>(raw.len)}; }

    std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader_;
    redisReplyObjectFunctions functions_{};
    decltype(redisReplyObjectFunctions::createArray) make_array_ = nullptr;
    std::size_t unread_ = 0;
    bool too_big_ = false;
    std::string_view failure_;
};

} // namespace distlock::detail
