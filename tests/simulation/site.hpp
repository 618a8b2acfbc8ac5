// SPDX-License-Identifier: MIT
#pragma once

#include "ledger.hpp"
#include "server.hpp"
#include "world.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace distlock::simulation {

/// The server side of a run: the primary that serves, a replica that lags behind it, and what befalls them.
class site {
public:
    site(world& where, ledger& books);

    /// The server that answers, with its clock set; nullptr while it is down.
    server* serving();
    /// Grows whenever the server's connections have all gone: by a crash, by a failover.
    std::uint64_t incarnation() const noexcept { return incarnation_; }
    /// After anything that may have changed the server.
    void observe(int client) { books_.observe(*primary_, client); }
    ledger& books() noexcept { return books_; }

private:
    void set_clock(server& which) const;
    void schedule(std::int64_t times, const char* name, void (site::*fault)());
    void tick();
    void replicate();
    void crash();
    void wipe();
    void fail_over();
    void step();
    void flush();
    void evict();
    void refuse();
    void go_down(std::int64_t length);
    void break_trust();

    world& world_;
    ledger& books_;
    chance dice_;
    std::unique_ptr<server> primary_ = std::make_unique<server>();
    std::unique_ptr<server> replica_;
    std::int64_t start_us_;
    std::int64_t stepped_us_ = 0;
    std::int64_t down_until_ = 0;
    std::int64_t refuses_until_ = 0;
    std::int64_t refusal_ = 0; // which kind
    std::uint64_t incarnation_ = 1;
};

} // namespace distlock::simulation
