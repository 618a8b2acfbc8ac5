// SPDX-License-Identifier: MIT
#include "distlock/connection.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace distlock {
namespace {

using words = std::span<const std::string_view>;
using time_point = lease_clock::time_point;

struct least {
    reply execute(words, time_point, std::error_code&);
};
struct answers_another_type {
    std::string execute(words, time_point, std::error_code&);
};
struct answers_a_reference {
    const reply& execute(words, time_point, std::error_code&);
};
struct has_no_deadline {
    reply execute(words, std::error_code&);
};
struct tells_no_trouble {
    reply execute(words, time_point);
};
struct wants_to_change_the_words {
    reply execute(std::span<std::string_view>, time_point, std::error_code&);
};
struct is_const {
    reply execute(words, time_point, std::error_code&) const;
};
struct only_sends : least {
    void send(words, time_point, std::error_code&);
};
struct only_receives : least {
    reply receive(time_point, std::error_code&);
};
struct pipelined : only_sends {
    reply receive(time_point, std::error_code&);
};
struct pipelined_without_execute {
    void send(words, time_point, std::error_code&);
    reply receive(time_point, std::error_code&);
};

static_assert(connection<least>);
static_assert(connection<is_const>);
static_assert(!connection<answers_another_type>);
static_assert(!connection<answers_a_reference>);
static_assert(!connection<has_no_deadline>);
static_assert(!connection<tells_no_trouble>);
static_assert(!connection<wants_to_change_the_words>);
static_assert(!connection<const least>);
static_assert(!connection<int>);

static_assert(pipelined_connection<pipelined>);
static_assert(!pipelined_connection<least>);
static_assert(!pipelined_connection<only_sends>);
static_assert(!pipelined_connection<only_receives>);
static_assert(!pipelined_connection<pipelined_without_execute>);

TEST(ServerMemory, knows_nothing_of_a_server_at_first) {
    const server_memory fresh;
    EXPECT_EQ(fresh.release, server_memory::release_form::untried);
}

} // namespace
} // namespace distlock
