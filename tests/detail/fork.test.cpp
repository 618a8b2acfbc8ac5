// SPDX-License-Identifier: MIT
#include "distlock/detail/fork.hpp"
#include "support/in_a_fork.hpp"

#include <gtest/gtest.h>

namespace distlock::detail {
namespace {

using test::in_a_fork;

TEST(ForkGeneration, stands_still_within_a_process) {
    EXPECT_EQ(fork_generation(), fork_generation());
    const auto before = fork_generation();
    in_a_fork([] { return 0; });
    EXPECT_EQ(fork_generation(), before) << "a fork changes nothing for the parent";
}

TEST(ForkGeneration, is_another_in_the_child_and_in_its_child) {
    const auto parent = fork_generation();
    const auto status = in_a_fork([parent] {
        const auto child = fork_generation();
        const auto grandchild = in_a_fork([child] { return fork_generation() == child + 1 ? 7 : 1; });
        return child == parent + 1 && grandchild == 7 ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace distlock::detail
