// SPDX-License-Identifier: MIT
#pragma once

#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/process.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace distlock::test {

/// Lines of text between a parent and its child. What has not come within the time, or never will because the
/// other side is gone, is nothing.
class message_channel {
public:
    explicit message_channel(unique_fd stream);

    void send(std::string_view line);
    std::optional<std::string> receive(std::chrono::milliseconds limit = patience);

private:
    unique_fd stream_;
    std::string buffer_;
};

/// A fork of this process that runs a function and ends with what it returns, without atexit handlers (an
/// exception: 255, its text on stderr). It ends with this object at the latest.
class child_process {
public:
    explicit child_process(const std::function<int(message_channel&)>& body);

    pid_t pid() const noexcept { return process_.pid(); }
    /// The other end of the child's channel.
    message_channel& channel() noexcept { return channel_; }

    void kill9() { process_.kill9(); }
    /// The child stands still; back when it does.
    void suspend() { process_.suspend(); }
    void resume() { process_.resume(); }
    /// Its exit status; nothing when it does not end within `limit` or was ended by a signal.
    std::optional<int> wait(std::chrono::milliseconds limit = patience);

private:
    struct pair {
        unique_fd parent;
        unique_fd child;
    };
    static pair make_pair();
    static pid_t fork_to(pair& ends, const std::function<int(message_channel&)>& body);
    explicit child_process(pair ends, const std::function<int(message_channel&)>& body);

    process process_;
    message_channel channel_;
};

} // namespace distlock::test
