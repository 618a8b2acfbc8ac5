// SPDX-License-Identifier: MIT
#pragma once

#include "contract/subject.hpp"
#include "support/server_test.hpp"

#include <distlock/error.hpp>
#include <distlock/inspect.hpp>
#include <distlock/lock_options.hpp>
#include <distlock/outcome.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

/// What every exclusive lock keeps, over every transport, on a real server. A lock or a transport joins by a
/// line where the suite is instantiated.
namespace distlock::contract {

using namespace std::chrono_literals;
using namespace std::string_literals;

template <class Subject>
class LockContract : public test::server_test {
protected:
    using handle = typename Subject::owner;

    const std::string key = "contract:" + std::to_string(::getpid());

    /// When the key's lease ends, in ms of the server's clock.
    std::int64_t ends() { return number({"PEXPIRETIME", key}); }

    void TearDown() override { expect_no_keys(); }
};
TYPED_TEST_SUITE_P(LockContract);

// ---- exclusion

TYPED_TEST_P(LockContract, OneOwnerAtATime) {
    typename TestFixture::handle first{this->server(), this->key};
    typename TestFixture::handle second{this->server(), this->key};
    ASSERT_TRUE(first.lock.try_lock());
    EXPECT_TRUE(first.lock.owns_lock());
    EXPECT_FALSE(second.lock.try_lock());
    EXPECT_FALSE(second.lock.owns_lock());
    first.lock.unlock();
    EXPECT_FALSE(first.lock.owns_lock());
    EXPECT_TRUE(second.lock.try_lock());
    EXPECT_FALSE(first.lock.try_lock());
    second.lock.unlock();
}

TYPED_TEST_P(LockContract, DifferentKeysDoNotMeet) {
    typename TestFixture::handle first{this->server(), this->key};
    typename TestFixture::handle second{this->server(), this->key + "2"};
    ASSERT_TRUE(first.lock.try_lock());
    EXPECT_TRUE(second.lock.try_lock());
    first.lock.unlock();
    EXPECT_TRUE(second.lock.owns_lock());
    second.lock.unlock();
}

TYPED_TEST_P(LockContract, StandardGuards) {
    typename TestFixture::handle first{this->server(), this->key};
    typename TestFixture::handle second{this->server(), this->key};
    {
        const std::lock_guard guard{first.lock};
        EXPECT_FALSE(second.lock.try_lock());
    }
    {
        const std::unique_lock guard{second.lock};
        EXPECT_TRUE(guard.owns_lock());
        EXPECT_FALSE(first.lock.try_lock());
        const std::unique_lock refused{first.lock, std::try_to_lock};
        EXPECT_FALSE(refused.owns_lock());
        const std::unique_lock late{first.lock, 30ms};
        EXPECT_FALSE(late.owns_lock());
    }
    const std::scoped_lock guard{first.lock};
    EXPECT_TRUE(first.lock.owns_lock());
}

TYPED_TEST_P(LockContract, StdLockOverTwoLocksInOppositeOrders) {
    int inside = 0; // guarded by both locks
    int worst = 0;
    const auto work = [&](bool swapped) {
        typename TestFixture::handle a{this->server(), this->key + "a"};
        typename TestFixture::handle b{this->server(), this->key + "b"};
        for (int round = 0; round < 25; ++round) {
            auto& first = swapped ? b.lock : a.lock;
            auto& second = swapped ? a.lock : b.lock;
            const std::scoped_lock guard{first, second};
            worst = std::max(worst, ++inside);
            --inside;
        }
    };
    {
        const std::jthread one{work, false};
        const std::jthread other{work, true};
    }
    EXPECT_EQ(worst, 1);
}

TYPED_TEST_P(LockContract, ExcludesEveryClientThatSetsTheKey) {
    typename TestFixture::handle ours{this->server(), this->key};
    ASSERT_EQ(this->ask({"SET", this->key, "another client", "NX", "PX", "60000"}), reply::status("OK"));
    EXPECT_FALSE(ours.lock.try_lock());
    EXPECT_EQ(this->text({"GET", this->key}), "another client");
    this->ask({"DEL", this->key});
    ASSERT_TRUE(ours.lock.try_lock());
    EXPECT_TRUE(this->ask({"SET", this->key, "another client", "NX", "PX", "60000"}).is_nil());
    ours.lock.unlock();
}

TYPED_TEST_P(LockContract, CounterIsExactOverThreads) {
    constexpr int threads = 8;
    constexpr int rounds = 2000;
    std::int64_t counter = 0; // plain on purpose: the lock is all that guards it
    std::atomic<int> inside{0};
    std::atomic<int> worst{0};
    {
        std::vector<std::jthread> crowd;
        for (int n = 0; n < threads; ++n) {
            crowd.emplace_back([&] {
                typename TestFixture::handle mine{this->server(), this->key, {.ttl = 60s}};
                for (int round = 0; round < rounds; ++round) {
                    const std::lock_guard guard{mine.lock};
                    worst = std::max(worst.load(), ++inside);
                    // The counter itself must not need an atomic: volatile only keeps the compiler from
                    // joining steps.
                    auto& plain = const_cast<volatile std::int64_t&>(counter);
                    const auto read = plain;
                    plain = read + 1;
                    --inside;
                }
            });
        }
    }
    EXPECT_EQ(counter, threads * rounds);
    EXPECT_EQ(worst, 1);
}

TYPED_TEST_P(LockContract, CounterIsExactOverProcesses) {
    constexpr int processes = 8;
    constexpr int rounds = 250;
    auto* const shared = static_cast<volatile std::int64_t*>(
        ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(shared, MAP_FAILED);
    std::vector<pid_t> children;
    for (int n = 0; n < processes; ++n) {
        const auto child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            int failed = 0;
            try {
                typename TestFixture::handle mine{this->server(), this->key, {.ttl = 60s}};
                for (int round = 0; round < rounds; ++round) {
                    const std::lock_guard guard{mine.lock};
                    const auto read = *shared;
                    *shared = read + 1;
                }
            } catch (...) {
                failed = 1;
            }
            ::_exit(failed);
        }
        children.push_back(child);
    }
    for (const auto child : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    EXPECT_EQ(*shared, processes * rounds);
    ::munmap(const_cast<std::int64_t*>(shared), sizeof(std::int64_t));
}

TYPED_TEST_P(LockContract, KilledOwnerFreesTheLockAtItsTtlAndNotBefore) {
    constexpr auto ttl = 700ms;
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        try {
            typename TestFixture::handle mine{this->server(), this->key, {.ttl = ttl}};
            mine.lock.lock();
            [[maybe_unused]] const auto told = ::write(ready[1], "!", 1);
            for (;;) {
                ::pause();
            }
        } catch (...) {
            ::_exit(1);
        }
    }
    ::close(ready[1]);
    char told{};
    EXPECT_EQ(::read(ready[0], &told, 1), 1);
    ::close(ready[0]);
    const auto old_end = this->ends();
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    constexpr auto next_ttl = 60s;
    typename TestFixture::handle next{this->server(), this->key, {.ttl = next_ttl}};
    ASSERT_TRUE(next.lock.try_lock_for(20s));
    const auto granted = this->ends() - std::chrono::milliseconds{next_ttl}.count();
    EXPECT_GE(granted, old_end) << "before the dead owner's lease was over";
    EXPECT_LE(granted, old_end + 5000) << "long after the dead owner's lease was over";
    next.lock.unlock();
}

// ---- waiting

TYPED_TEST_P(LockContract, WaitsEndAtTheirDeadline) {
    typename TestFixture::handle holder{this->server(), this->key};
    typename TestFixture::handle waiter{this->server(), this->key};
    const std::lock_guard guard{holder.lock};
    const auto took_at_least = [](auto wait, auto&& call) {
        const auto start = lease_clock::now();
        EXPECT_FALSE(call());
        const auto took = lease_clock::now() - start;
        EXPECT_GE(took, wait * 9 / 10) << "the last attempt is made in time to be answered in time";
        EXPECT_LT(took, wait + 5s);
    };
    took_at_least(80ms, [&] { return waiter.lock.try_lock_for(80ms); });
    took_at_least(79ms, [&] { return waiter.lock.try_lock_until(std::chrono::steady_clock::now() + 80ms); });
    took_at_least(79ms, [&] { return waiter.lock.try_lock_until(std::chrono::system_clock::now() + 80ms); });
    took_at_least(0ms, [&] { return waiter.lock.try_lock_for(0ms); });
    took_at_least(0ms, [&] { return waiter.lock.try_lock_for(-1h); });
    took_at_least(0ms, [&] { return waiter.lock.try_lock_until(std::chrono::system_clock::now() - 1h); });
}

TYPED_TEST_P(LockContract, WaiterGetsWhatIsGivenBack) {
    typename TestFixture::handle holder{this->server(), this->key};
    holder.lock.lock();
    std::atomic<bool> got{false};
    std::jthread waiter{[&] {
        typename TestFixture::handle mine{this->server(), this->key};
        got = mine.lock.try_lock_for(30s);
    }};
    EXPECT_TRUE(test::eventually([&] { return this->commands("set") >= 3; }));
    EXPECT_FALSE(got);
    holder.lock.unlock();
    EXPECT_EQ(holder.lock.last_release(), release_outcome::released);
    waiter.join();
    EXPECT_TRUE(got);
}

TYPED_TEST_P(LockContract, StopEndsAWait) {
    typename TestFixture::handle holder{this->server(), this->key};
    typename TestFixture::handle waiter{this->server(), this->key};
    const std::lock_guard guard{holder.lock};
    std::stop_source source;
    std::jthread stopper{[&] {
        test::eventually([&] { return this->commands("set") >= 3; });
        source.request_stop();
    }};
    std::error_code ec;
    waiter.lock.lock(source.get_token(), ec);
    EXPECT_EQ(ec, errc::cancelled);
    stopper.join();
    EXPECT_FALSE(waiter.lock.owns_lock());
    EXPECT_FALSE(waiter.lock.try_lock_for(30s, source.get_token(), ec));
    EXPECT_EQ(ec, errc::cancelled);
    EXPECT_THROW(waiter.lock.lock(source.get_token()), std::system_error);
    EXPECT_EQ(this->text({"GET", this->key}), holder.lock.token());
}

TYPED_TEST_P(LockContract, LockingTwiceIsADeadlockAtOnce) {
    typename TestFixture::handle owner{this->server(), this->key};
    const std::lock_guard guard{owner.lock};
    const std::string token{owner.lock.token()};
    std::error_code ec;
    owner.lock.lock(ec);
    EXPECT_EQ(ec, std::errc::resource_deadlock_would_occur);
    EXPECT_FALSE(owner.lock.try_lock(ec));
    EXPECT_EQ(ec, std::errc::resource_deadlock_would_occur);
    EXPECT_TRUE(owner.lock.owns_lock());
    EXPECT_EQ(owner.lock.token(), token);
    EXPECT_EQ(this->text({"GET", this->key}), token);
}

// ---- releasing

TYPED_TEST_P(LockContract, ReleaseTellsItsFourOutcomes) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s}};
    EXPECT_EQ(owner.lock.last_release(), release_outcome::unknown);

    owner.lock.lock();
    EXPECT_EQ(owner.lock.release(), release_outcome::released);
    EXPECT_EQ(this->number({"EXISTS", this->key}), 0);

    owner.lock.lock();
    this->ask({"DEL", this->key});
    EXPECT_EQ(owner.lock.release(), release_outcome::expired);

    owner.lock.lock();
    this->ask({"SET", this->key, "another"});
    EXPECT_EQ(owner.lock.release(), release_outcome::taken);
    EXPECT_EQ(owner.lock.last_release(), release_outcome::taken);
    EXPECT_EQ(this->text({"GET", this->key}), "another") << "not ours to delete";
    this->ask({"DEL", this->key});

    std::error_code ec;
    owner.lock.release(ec);
    EXPECT_EQ(ec, std::errc::operation_not_permitted) << "nothing is held";
    EXPECT_THROW(owner.lock.release(), std::system_error);
}

TYPED_TEST_P(LockContract, UnlockHasTheSameOutcomes) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s}};
    static_assert(noexcept(owner.lock.unlock()));
    // Several rounds: the first ones on a connection find out how the server compares and deletes.
    for (int round = 0; round < 3; ++round) {
        owner.lock.lock();
        owner.lock.unlock();
        EXPECT_FALSE(owner.lock.owns_lock());
        EXPECT_TRUE(owner.lock.token().empty());
        EXPECT_EQ(owner.lock.last_release(), release_outcome::released) << round;

        owner.lock.lock();
        this->ask({"DEL", this->key});
        owner.lock.unlock();
        EXPECT_EQ(owner.lock.last_release(), release_outcome::expired) << round;

        owner.lock.lock();
        this->ask({"SET", this->key, "another"});
        owner.lock.unlock();
        EXPECT_EQ(owner.lock.last_release(), release_outcome::taken) << round;
        EXPECT_EQ(this->text({"GET", this->key}), "another");
        this->ask({"DEL", this->key});
    }
    owner.lock.unlock(); // nothing is held, nothing happens
    EXPECT_EQ(owner.lock.last_release(), release_outcome::taken);
}

TYPED_TEST_P(LockContract, DestructorReleases) {
    {
        typename TestFixture::handle owner{this->server(), this->key};
        owner.lock.lock();
        EXPECT_EQ(this->number({"EXISTS", this->key}), 1);
    }
    EXPECT_TRUE(test::eventually([&] { return this->number({"EXISTS", this->key}) == 0; }));
}

// ---- the lease

TYPED_TEST_P(LockContract, WhatIsOnTheServer) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s, .owner = "web-3"}};
    std::set<std::string> tokens;
    for (int round = 0; round < 20; ++round) {
        owner.lock.lock();
        const std::string token{owner.lock.token()};
        EXPECT_EQ(this->text({"GET", this->key}), token);
        EXPECT_EQ(token.size(), 32 + std::string{"|web-3"}.size());
        EXPECT_TRUE(tokens.insert(token).second) << "a token twice";
        const auto left = this->number({"PTTL", this->key});
        EXPECT_GT(left, 0);
        EXPECT_LE(left, 60'000);
        owner.lock.unlock();
    }
}

TYPED_TEST_P(LockContract, OwnerStopsBelievingBeforeTheServerDoes) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s}};
    for (int round = 0; round < 20; ++round) {
        owner.lock.lock();
        if (round % 2 == 1) {
            ASSERT_TRUE(owner.lock.extend(30s));
        }
        const std::chrono::milliseconds on_the_server{this->number({"PTTL", this->key})};
        EXPECT_LT(owner.lock.remaining(), on_the_server);
        EXPECT_GT(owner.lock.remaining(), on_the_server / 2);
        owner.lock.unlock();
    }
}

TYPED_TEST_P(LockContract, LeaseRunsOutByItself) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 150ms}};
    typename TestFixture::handle next{this->server(), this->key, {.ttl = 60s}};
    owner.lock.lock();
    const auto stop = owner.lock.stop_token();
    EXPECT_FALSE(stop.stop_requested());
    ASSERT_TRUE(next.lock.try_lock_for(20s));
    EXPECT_FALSE(owner.lock.owns_lock()) << "two owners";
    EXPECT_EQ(owner.lock.remaining(), lease_clock::duration::zero());
    EXPECT_EQ(owner.lock.lost(), loss_reason::expired);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_EQ(owner.lock.release(), release_outcome::taken);
    EXPECT_TRUE(next.lock.extend()) << "the late release must not touch it";
    next.lock.unlock();
}

TYPED_TEST_P(LockContract, ExtendSetsTheRemainingTime) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 20s}};
    const std::lock_guard guard{owner.lock};
    for (int n = 0; n < 5; ++n) {
        ASSERT_TRUE(owner.lock.extend(40s));
    }
    EXPECT_LE(this->number({"PTTL", this->key}), 40'000) << "extensions do not add up";
    EXPECT_GT(this->number({"PTTL", this->key}), 20'000);
    ASSERT_TRUE(owner.lock.extend(10s)) << "it may be shortened too";
    EXPECT_LE(this->number({"PTTL", this->key}), 10'000);
    EXPECT_LE(owner.lock.remaining(), 10s);
    ASSERT_TRUE(owner.lock.extend());
    EXPECT_GT(this->number({"PTTL", this->key}), 10'000);
    EXPECT_LE(this->number({"PTTL", this->key}), 20'000);
}

TYPED_TEST_P(LockContract, ExtendNeverCreatesAndNeverSteals) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s}};
    EXPECT_FALSE(owner.lock.extend()) << "nothing is held";
    EXPECT_EQ(this->number({"EXISTS", this->key}), 0);

    owner.lock.lock();
    auto stop = owner.lock.stop_token();
    this->ask({"DEL", this->key});
    EXPECT_FALSE(owner.lock.extend());
    EXPECT_EQ(owner.lock.lost(), loss_reason::expired);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(owner.lock.owns_lock());
    EXPECT_FALSE(owner.lock.extend()) << "once lost, always lost";
    EXPECT_EQ(this->number({"EXISTS", this->key}), 0);
    EXPECT_EQ(owner.lock.release(), release_outcome::expired);

    owner.lock.lock();
    EXPECT_EQ(owner.lock.lost(), loss_reason::none);
    stop = owner.lock.stop_token();
    EXPECT_FALSE(stop.stop_requested());
    this->ask({"SET", this->key, "another", "PX", "50000"});
    EXPECT_FALSE(owner.lock.extend(1h));
    EXPECT_EQ(owner.lock.lost(), loss_reason::taken);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_EQ(this->text({"GET", this->key}), "another");
    EXPECT_LE(this->number({"PTTL", this->key}), 50'000);
    EXPECT_EQ(owner.lock.release(), release_outcome::taken);
    this->ask({"DEL", this->key});
}

TYPED_TEST_P(LockContract, InspectTellsWhoHoldsIt) {
    typename TestFixture::handle owner{this->server(), this->key, {.ttl = 60s, .owner = "web-3"}};
    EXPECT_FALSE(inspect(owner.connection(), this->key).has_value());
    const std::lock_guard guard{owner.lock};
    const auto found = inspect(owner.connection(), this->key);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->token, owner.lock.token());
    EXPECT_EQ(found->owner, "web-3");
    ASSERT_TRUE(found->remaining.has_value());
    EXPECT_GT(*found->remaining, 0ms);
    EXPECT_LE(*found->remaining, 60s);
}

// ---- bad input

TYPED_TEST_P(LockContract, BadInputIsRefusedBeforeAByteIsSent) {
    using any = typename TestFixture::handle;
    const auto before = this->commands("set") + this->commands("evalsha") + this->commands("eval");
    const auto refused = [](auto&& call) {
        try {
            call();
            ADD_FAILURE() << "accepted";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), errc::invalid_argument) << error.what();
            EXPECT_EQ(error.code(), std::errc::invalid_argument);
        }
    };
    refused([&] { any{this->server(), ""}; });
    refused([&] { any{this->server(), std::string(4097, 'k')}; });
    refused([&] { any{this->server(), "a:distlock.fence"}; });
    for (const auto ttl : {0ms, -1ms, std::chrono::milliseconds::min(), std::chrono::milliseconds::max(),
                           std::chrono::milliseconds{365 * 24h} + 1ms}) {
        refused([&] { any{this->server(), this->key, {.ttl = ttl}}; });
    }
    refused([&] { any{this->server(), this->key, {.owner = std::string(257, 'o')}}; });
    refused([&] { any{this->server(), this->key, {.give_up_after = -1ms}}; });

    any fine{this->server(), this->key};
    refused([&] { fine.lock.extend(0ms); });
    refused([&] { fine.lock.extend(std::chrono::milliseconds::max()); });
    refused([&] { (void)fine.lock.try_lock_for(std::chrono::hours::max()); });
    refused(
        [&] { (void)fine.lock.try_lock_for(std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}); });
    refused([&] { (void)fine.lock.try_lock_until(std::chrono::sys_time<std::chrono::hours>::max()); });
    EXPECT_EQ(this->commands("set") + this->commands("evalsha") + this->commands("eval"), before);
}

TYPED_TEST_P(LockContract, KeysMayHoldAnyOctet) {
    for (const auto& name :
         {"with space"s, "nul\0inside"s, "line\r\nbreaks"s, "%s%n%b%"s, "gr\xc3\xbc\xc3\x9f"s, "\xff\xfe"s, "{tag}x"s,
          "}{"s, "$3\r\nGET\r\n"s, std::string(4096, 'k'), " "s, "a:fence"s}) {
        typename TestFixture::handle owner{this->server(), name};
        ASSERT_TRUE(owner.lock.try_lock()) << name;
        EXPECT_EQ(this->text({"GET", name}), owner.lock.token());
        EXPECT_EQ(this->number({"DBSIZE"}), 1);
        EXPECT_TRUE(owner.lock.extend());
        EXPECT_EQ(owner.lock.release(), release_outcome::released);
        EXPECT_EQ(this->number({"DBSIZE"}), 0);
    }
}

static_assert(std::is_same_v<std::chrono::milliseconds, decltype(lock_options::ttl)>, "a ttl has a unit");

REGISTER_TYPED_TEST_SUITE_P(LockContract, OneOwnerAtATime, DifferentKeysDoNotMeet, StandardGuards,
                            StdLockOverTwoLocksInOppositeOrders, ExcludesEveryClientThatSetsTheKey,
                            CounterIsExactOverThreads, CounterIsExactOverProcesses,
                            KilledOwnerFreesTheLockAtItsTtlAndNotBefore, WaitsEndAtTheirDeadline,
                            WaiterGetsWhatIsGivenBack, StopEndsAWait, LockingTwiceIsADeadlockAtOnce,
                            ReleaseTellsItsFourOutcomes, UnlockHasTheSameOutcomes, DestructorReleases,
                            WhatIsOnTheServer, OwnerStopsBelievingBeforeTheServerDoes, LeaseRunsOutByItself,
                            ExtendSetsTheRemainingTime, ExtendNeverCreatesAndNeverSteals, InspectTellsWhoHoldsIt,
                            BadInputIsRefusedBeforeAByteIsSent, KeysMayHoldAnyOctet);

} // namespace distlock::contract
