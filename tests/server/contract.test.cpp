// SPDX-License-Identifier: MIT
#include "contract/lock_contract.hpp"
#include "contract/subject.hpp"

#include <gtest/gtest.h>

namespace distlock::contract {
namespace {

/// A lock or a transport joins by a line here.
using subjects = ::testing::Types<subject<the_redis_lock, over_unix>,    //
                                  subject<the_redis_lock, over_tcp>,     //
                                  subject<the_redis_lock, over_context>, //
                                  subject<the_redis_lock, over_the_bare_concept>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Exclusive, LockContract, subjects, names);

} // namespace
} // namespace distlock::contract
