// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/clock.hpp"
#include "distlock/detail/fork.hpp"
#include "distlock/detail/hiredis_reader.hpp"
#include "distlock/detail/resp.hpp"
#include "distlock/detail/socket.hpp"
#include "distlock/error.hpp"
#include "distlock/reply.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distlock::detail {

/// One stream to a server from its opening to its drop: commands out, replies in, in order. Knows nothing of
/// connecting again.
class hiredis_stream {
public:
    using time_point = lease_clock::time_point;

    void open(socket connected) {
        close();
        reader_.emplace(); // may throw: before anything is ours
        socket_ = std::move(connected);
        generation_ = fork_generation();
    }

    void close() noexcept {
        socket_.close();
        reader_.reset();
        received_ = sent_; // what is outstanding is lost
    }

    socket& raw() noexcept { return socket_; }
    bool is_open() const noexcept { return socket_.is_open(); }
    /// False in a forked child: the stream is the parent's.
    bool is_ours() const noexcept { return generation_ == fork_generation(); }
    /// Open, ours, and nothing has come that was not asked for (the end of the stream, a doubled reply).
    bool is_usable() const noexcept {
        return is_open() && is_ours() && (outstanding() > 0 || (!reader_->has_leftover() && socket_.is_quiet()));
    }
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t received() const noexcept { return received_; }
    std::uint64_t outstanding() const noexcept { return sent_ - received_; }

    /// On failure: errc::unreachable when no byte left, else errc::unknown_outcome; `why` has the reason.
    void send(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec, std::string& why) {
        out_.clear();
        append_command(out_, argv);
        int error = 0;
        const auto gone = socket_.send(out_, deadline, error);
        if (error != 0) {
            ec = gone == 0 ? errc::unreachable : errc::unknown_outcome;
            why = "sending: " + std::generic_category().message(error);
            return;
        }
        ++sent_;
    }

    /// The oldest reply outstanding.
    reply receive(time_point deadline, std::error_code& ec, std::string& why) {
        if (outstanding() == 0 || !is_open() || !is_ours()) {
            ec = errc::unknown_outcome;
            why = "no reply is outstanding";
            return {};
        }
        for (;;) {
            if (auto got = reader_->next()) {
                ++received_;
                if (outstanding() == 0 && reader_->has_leftover()) {
                    return garbage("more came than the reply", ec, why);
                }
                return std::move(*got);
            }
            if (reader_->failed()) {
                return garbage(reader_->failure(), ec, why);
            }
            std::array<char, 4096> buffer; // not initialised: receive() fills what is used
            int error = 0;
            const auto count = socket_.receive(buffer, deadline, error);
            if (count == 0) {
                ec = errc::unknown_outcome;
                why = error == 0           ? "the server closed the connection"
                      : error == ETIMEDOUT ? "no reply in time"
                                           : "receiving: " + std::generic_category().message(error);
                return {};
            }
            reader_->feed({buffer.data(), count});
        }
    }

private:
    static reply garbage(std::string_view what, std::error_code& ec, std::string& why) {
        ec = errc::protocol;
        why = what;
        return {};
    }

    socket socket_;
    std::optional<hiredis_reader> reader_;
    std::string out_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t generation_ = 0;
};

} // namespace distlock::detail
