// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace distlock::test {

/// Runs `child` in a forked process; its value is the exit status. What it finds wrong has its number there; 0 is all
/// well.
template <class Child>
int in_a_fork(Child child) {
    const auto pid = ::fork();
    if (pid == 0) {
        ::_exit(child());
    }
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace distlock::test
