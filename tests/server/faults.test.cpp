// SPDX-License-Identifier: MIT
//
// A redis_lock behind a proxy that harms one command after another: whatever happens to whichever command,
// the caller has the lock or a definite error, nobody shares it, nothing stays on the server that could have
// been removed, and the next lock() works.
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include "support/fault_proxy.hpp"
#include "support/server_test.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <system_error>
#include <tuple>

namespace distlock {
namespace {

using namespace std::chrono_literals;
using test::at_command;
using test::fault;
using test::fault_proxy;

struct named_fault {
    const char* name;
    fault what;
    /// The client learns of it only when its time-out is over.
    bool slow = false;
};

void PrintTo(const named_fault& shown, std::ostream* out) { *out << shown.name; }

const std::array faults{
    named_fault{"LostRequestAndCut", fault::lose_request()},
    named_fault{"LostRequestAndSilence", fault::lose_request(fault::then::silence), true},
    named_fault{"HalfARequest", fault::cut_in_request()},
    named_fault{"LateRequest", fault::delay_request(10ms)},
    named_fault{"RequestAfterTheTimeOut", fault::delay_request(200ms), true},
    named_fault{"RequestAfterTheClose", fault::deliver_after_close(400ms), true},
    named_fault{"LostReplyAndCut", fault::lose_reply()},
    named_fault{"LostReplyAndSilence", fault::lose_reply(fault::then::silence), true},
    named_fault{"LateReply", fault::delay_reply(10ms)},
    named_fault{"ReplyAfterTheTimeOut", fault::delay_reply(200ms), true},
    named_fault{"Garbage", fault::replace_reply("garbage\r\n")},
    named_fault{"WrongReply", fault::replace_reply(":12345\r\n")},
    named_fault{"DoubledReply", fault::duplicate_reply()},
    named_fault{"HalfAReply", fault::truncate_reply(2)},
    named_fault{"HalfAReplyAndSilence", fault::truncate_reply(2, fault::then::silence), true},
    named_fault{"DrippedReply", fault::drip_reply(2ms)},
    named_fault{"DrippedTooLong", fault::drip_reply(40ms), true},
    named_fault{"CutAfterTheReply", fault::cut_after_reply()},
};

constexpr auto time_out = 100ms;

/// A client whose way to the server leads through the proxy.
struct client {
    hiredis_connection connection;
    redis_lock<hiredis_connection> lock;

    client(const std::string& url, lock_options options)
        : connection{url, {.connect_timeout = time_out, .command_timeout = time_out}}
        , lock{connection, "k", std::move(options)} {}
};

class Faults : public test::server_test, public ::testing::WithParamInterface<named_fault> {
protected:
    /// How many commands one undisturbed cycle sends, logging in included.
    template <class Cycle>
    std::size_t length_of(Cycle&& cycle) {
        const fault_proxy proxy{server()};
        {
            client only{proxy.url_unix(), {.ttl = 1min, .give_up_after = 2s}};
            cycle(only);
        }
        EXPECT_TRUE(test::eventually([&] { return proxy.traffic().closed == proxy.traffic().connections; }));
        expect_no_keys();
        return proxy.traffic().commands.size();
    }

    /// Runs `cycle` with the fault at each of its commands in turn. The server has `ttl` for what cannot be
    /// removed.
    template <class Cycle>
    void at_each_command(Cycle&& cycle) {
        const auto count = length_of(cycle);
        ASSERT_GE(count, 3U);
        for (std::size_t index = 1; index <= count; ++index) {
            SCOPED_TRACE("at command " + std::to_string(index) + " of " + std::to_string(count));
            fault_proxy proxy{server()};
            proxy.on(at_command::nth(index), GetParam().what);
            {
                client harmed{proxy.url_unix(), {.ttl = 1min, .give_up_after = 2s}};
                cycle(harmed);
                if (HasFatalFailure()) {
                    return;
                }
            }
            // Late deliveries have happened when all connections are over.
            ASSERT_TRUE(test::eventually([&] { return proxy.traffic().closed == proxy.traffic().connections; }));
            EXPECT_TRUE(test::eventually([&] { return number({"EXISTS", "k"}) == 0; }, 1s)) << "left behind";
            ask({"DEL", "k"});
            client next{server().url_unix(), {}};
            std::error_code ec;
            EXPECT_TRUE(next.lock.try_lock(ec)) << ec.message();
        }
    }

    /// What everybody else may conclude: nobody holds it while the caller does.
    void expect_exclusive(client& owner) {
        if (!owner.lock.owns_lock()) {
            EXPECT_TRUE(owner.lock.token().empty());
            return;
        }
        EXPECT_EQ(text({"GET", "k"}), owner.lock.token()) << "the caller believes in a lock that is not there";
        client other{server().url_unix(), {}};
        std::error_code ec;
        EXPECT_FALSE(other.lock.try_lock(ec)) << "two owners";
        EXPECT_FALSE(ec);
        EXPECT_LE(owner.lock.remaining(), std::chrono::milliseconds{number({"PTTL", "k"})} + 1ms);
    }
};

TEST_P(Faults, InLockAndUnlock) {
    at_each_command([&](client& one) {
        std::error_code ec;
        for (int round = 0; round < 2; ++round) {
            one.lock.lock(ec);
            ASSERT_EQ(!ec, one.lock.owns_lock()) << "neither the lock nor an error, or both";
            EXPECT_TRUE(!ec || ec == errc::protocol) << "one fault is no reason to give up: " << ec.message();
            expect_exclusive(one);
            one.lock.unlock();
            EXPECT_FALSE(one.lock.owns_lock());
        }
        // Whoever asks is told, and what was lost is made good; see LostUnlock for the others.
        (void)one.lock.last_release();
    });
}

TEST_P(Faults, InLockAndRelease) {
    at_each_command([&](client& one) {
        std::error_code ec;
        for (int round = 0; round < 2; ++round) {
            one.lock.lock(ec);
            ASSERT_EQ(!ec, one.lock.owns_lock());
            expect_exclusive(one);
            if (!ec) {
                const auto outcome = one.lock.release(ec);
                EXPECT_TRUE(outcome == release_outcome::released || ec) << static_cast<int>(outcome);
                EXPECT_TRUE(outcome == release_outcome::released || outcome == release_outcome::unknown);
                EXPECT_FALSE(one.lock.owns_lock());
                if (outcome == release_outcome::released) {
                    EXPECT_EQ(number({"EXISTS", "k"}), 0);
                }
            }
        }
    });
}

TEST_P(Faults, InTryLock) {
    at_each_command([&](client& one) {
        std::error_code ec;
        const bool locked = one.lock.try_lock(ec);
        ASSERT_EQ(locked, one.lock.owns_lock());
        EXPECT_NE(locked, static_cast<bool>(ec)) << "nobody else is there, so it is not busy";
        expect_exclusive(one);
        one.lock.unlock();
        (void)one.lock.last_release();
        const bool again = one.lock.try_lock(ec);
        EXPECT_NE(again, static_cast<bool>(ec));
        expect_exclusive(one);
        one.lock.unlock();
        (void)one.lock.last_release();
    });
}

TEST_P(Faults, InExtend) {
    at_each_command([&](client& one) {
        std::error_code ec;
        one.lock.lock(ec);
        if (ec) {
            return;
        }
        const bool extended = one.lock.extend(30s, ec);
        expect_exclusive(one);
        if (extended) {
            EXPECT_TRUE(one.lock.owns_lock());
            EXPECT_LE(one.lock.remaining(), 30s);
        }
        EXPECT_EQ(one.lock.lost(), loss_reason::none);
        EXPECT_TRUE(one.lock.owns_lock()) << "trouble in between does not end a lease";
        one.lock.extend(30s, ec);
        expect_exclusive(one);
    });
}

TEST_P(Faults, WhileWaiting) {
    const auto count = std::size_t{9};
    for (std::size_t index = 1; index <= count; ++index) {
        SCOPED_TRACE("at command " + std::to_string(index));
        client holder{server().url_unix(), {.ttl = 1min}};
        holder.lock.lock();
        fault_proxy proxy{server()};
        proxy.on(at_command::nth(index), GetParam().what);
        {
            client waiter{proxy.url_unix(), {.ttl = 1min, .give_up_after = 2s}};
            std::error_code ec;
            EXPECT_FALSE(waiter.lock.try_lock_for(60ms, ec));
            EXPECT_FALSE(waiter.lock.owns_lock());
            EXPECT_EQ(text({"GET", "k"}), holder.lock.token()) << "the holder's lock is untouched";
            holder.lock.unlock();
            EXPECT_EQ(holder.lock.last_release(), release_outcome::released);
            if (waiter.lock.try_lock_for(5s, ec)) {
                expect_exclusive(waiter);
            } else {
                EXPECT_TRUE(ec) << "nobody holds it";
            }
        }
        ASSERT_TRUE(test::eventually([&] { return proxy.traffic().closed == proxy.traffic().connections; }));
        EXPECT_TRUE(test::eventually([&] { return number({"EXISTS", "k"}) == 0; }, 1s)) << "left behind";
        ask({"DEL", "k"});
    }
}

using LostUnlock = test::server_test;

TEST_F(LostUnlock, ThatNobodyAsksAfter) {
    fault_proxy proxy{server()};
    {
        client one{proxy.url_unix(), {.ttl = 300ms}};
        one.lock.lock();
        EXPECT_EQ(one.lock.release(), release_outcome::released);
        one.lock.lock();
        proxy.on(at_command::nth(1), fault::lose_request());
        one.lock.unlock(); // does not wait, and then the handle is gone: nobody learns that this was lost
    }
    EXPECT_TRUE(test::eventually([&] { return number({"EXISTS", "k"}) == 0; })) << "the ttl bounds it";
}

INSTANTIATE_TEST_SUITE_P(Each, Faults, ::testing::ValuesIn(faults),
                         [](const auto& each) { return std::string{each.param.name}; });

} // namespace
} // namespace distlock
