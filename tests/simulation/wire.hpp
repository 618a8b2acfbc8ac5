// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/connection.hpp"
#include "distlock/reply.hpp"
#include "site.hpp"
#include "world.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distlock::simulation {

/// A client's connection over a network that delays, loses and cuts. It behaves as distlock::connection asks,
/// no better: what it reports is true, a dropped stream never answers again, and commands on it may still run
/// late.
class wire {
public:
    using time_point = lease_clock::time_point;

    wire(client& whose, site& to);
    ~wire();
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    reply execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec);
    void drop();
    server_memory& memory() noexcept { return memory_; }

protected:
    void send(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec);
    reply receive(time_point deadline, std::error_code& ec);
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t received() const noexcept { return received_; }

private:
    struct stream;

    void connect(time_point deadline, std::error_code& ec);
    time_point bounded(time_point deadline) const;
    client& me_;
    site& site_;
    std::shared_ptr<chance> dice_; // messages outlive a connection
    std::shared_ptr<stream> stream_;
    std::shared_ptr<stream> unanswered_; // a dropped stream on which commands may still be
    server_memory memory_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

/// The same, and pipelined.
class pipelined_wire : public wire {
public:
    using wire::receive;
    using wire::received;
    using wire::send;
    using wire::sent;
    using wire::wire;
};

static_assert(connection<wire> && !pipelined_connection<wire>);
static_assert(pipelined_connection<pipelined_wire>);

} // namespace distlock::simulation
