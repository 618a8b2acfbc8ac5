// SPDX-License-Identifier: MIT
#pragma once

#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/resp.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace distlock::test {

/// The client side of a stream, octet by octet: what servers and proxies of the tests really send.
class raw_client {
public:
    explicit raw_client(const std::filesystem::path& socket)
        : stream_{connect_unix(socket)} {
        if (!stream_) {
            throw std::runtime_error{"nobody listens on " + socket.string()};
        }
    }

    void send(std::string_view bytes) const {
        if (::send(stream_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error{"cannot send"};
        }
    }
    void send(const resp::argv& command) const { send(resp::encode(command)); }

    /// All that has come, once it is `size` octets or more, or the stream has ended, or the time is over.
    const std::string& received(std::size_t size, std::chrono::milliseconds limit = patience) {
        eventually([&] { return read() >= size || closed_; }, limit);
        return input_;
    }
    /// The reply to `command`, raw.
    std::string ask(const resp::argv& command) {
        input_.clear();
        send(command);
        eventually([&] {
            read();
            return resp::reply_length(input_) || closed_;
        });
        return input_;
    }
    bool is_closed(std::chrono::milliseconds limit = patience) {
        return eventually(
            [&] {
                read();
                return closed_;
            },
            limit);
    }
    void hang_up() { stream_.reset(); }

private:
    std::size_t read() {
        closed_ = closed_ || !receive_into(input_, stream_);
        return input_.size();
    }

    unique_fd stream_;
    std::string input_;
    bool closed_ = false;
};

} // namespace distlock::test
