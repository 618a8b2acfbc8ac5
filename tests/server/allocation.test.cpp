// SPDX-License-Identifier: MIT
//
// Once a handle and its connection are warm, a cycle allocates nothing of its own. What hiredis takes for a reply comes
// from malloc and is not counted; operator new is ours alone.
#include "support/allocations.hpp"
#include "support/server_test.hpp"

#include "distlock/hiredis.hpp"
#include "distlock/redis_lock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace distlock::test {
namespace {

class Allocation : public server_test {
protected:
    /// What `cycle` allocates in 100 rounds, after 3 to warm up.
    static std::uint64_t steady(const std::function<void()>& cycle) {
        for (int i = 0; i < 3; ++i) {
            cycle();
        }
        const allocation_counter counter;
        for (int i = 0; i < 100; ++i) {
            cycle();
        }
        return counter.count();
    }

    // Longer than a std::string keeps without allocating.
    const std::string key_ = "allocation:" + std::string(40, 'k');
    const lock_options options_{.owner = "a label that is longer than any short string"};
};

TEST_F(Allocation, TheCounterSeesOneMore) {
    if (!test::allocations_are_ours) {
        GTEST_SKIP() << "this sanitizer has its own operator new";
    }
    hiredis_connection redis{server().url_unix()};
    redis_lock lock{redis, key_, options_};
    EXPECT_EQ(steady([&] {
                  lock.lock();
                  const std::string copy{lock.token()};
                  EXPECT_FALSE(copy.empty());
                  lock.unlock();
              }),
              100U);
}

TEST_F(Allocation, NoneForLockAndUnlockOnAUnixSocket) {
    hiredis_connection redis{server().url_unix()};
    redis_lock lock{redis, key_, options_};
    EXPECT_EQ(steady([&] {
                  lock.lock();
                  lock.unlock();
              }),
              0U);
    EXPECT_EQ(lock.last_release(), release_outcome::released);
}

TEST_F(Allocation, NoneForLockAndReleaseOnAUnixSocket) {
    hiredis_connection redis{server().url_unix()};
    redis_lock lock{redis, key_, options_};
    EXPECT_EQ(steady([&] {
                  lock.lock();
                  EXPECT_EQ(lock.release(), release_outcome::released);
              }),
              0U);
}

TEST_F(Allocation, NoneOverTcp) {
    hiredis_connection redis{server().url_tcp()};
    redis_lock lock{redis, key_, options_};
    EXPECT_EQ(steady([&] {
                  lock.lock();
                  lock.unlock();
                  lock.lock();
                  EXPECT_EQ(lock.release(), release_outcome::released);
              }),
              0U);
}

TEST_F(Allocation, NoneOverABorrowedContext) {
    const std::unique_ptr<redisContext, decltype(&redisFree)> context{redisConnectUnix(server().socket_path().c_str()),
                                                                      &redisFree};
    ASSERT_NE(context, nullptr);
    hiredis_ref redis{context.get()};
    redis_lock lock{redis, key_, options_};
    EXPECT_EQ(steady([&] {
                  lock.lock();
                  lock.unlock();
                  lock.lock();
                  EXPECT_EQ(lock.release(), release_outcome::released);
              }),
              0U);
}

TEST_F(Allocation, NoneForExtend) {
    hiredis_connection redis{server().url_unix()};
    redis_lock lock{redis, key_, options_};
    lock.lock();
    EXPECT_EQ(steady([&] { EXPECT_TRUE(lock.extend()); }), 0U);
    EXPECT_EQ(lock.release(), release_outcome::released);
}

} // namespace
} // namespace distlock::test
