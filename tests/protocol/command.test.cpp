// SPDX-License-Identifier: MIT
#include "distlock/protocol/command.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace distlock::protocol {
namespace {

constexpr script sample{"return KEYS[1]"};

std::vector<std::string> words(const command& c) { return {c.argv().begin(), c.argv().end()}; }
using strings = std::vector<std::string>;

static_assert(!std::is_copy_constructible_v<command>, "its words point into it");

TEST(Command, is_the_words_in_order) {
    command c;
    c.add("SET").add("k").add("").add(std::int64_t{30000});
    EXPECT_EQ(words(c), (strings{"SET", "k", "", "30000"}));
    EXPECT_FALSE(c.is_script());
}

TEST(Command, writes_the_longest_numbers) {
    command c;
    c.add(std::numeric_limits<std::int64_t>::min()).add(std::numeric_limits<std::int64_t>::max()).add(std::int64_t{0});
    EXPECT_EQ(words(c), (strings{"-9223372036854775808", "9223372036854775807", "0"}));
}

TEST(Command, calls_a_script_by_its_sha1_and_on_demand_by_its_text) {
    command c;
    c.call(sample, {"k1", "k2"}).add("token");
    EXPECT_TRUE(c.is_script());
    // printf 'return KEYS[1]' | sha1sum
    const std::string sha1 = "4a2267357833227dd98abdedb8cf24b15a986445";
    EXPECT_EQ(words(c), (strings{"EVALSHA", sha1, "2", "k1", "k2", "token"}));
    c.send_whole_text();
    EXPECT_EQ(words(c), (strings{"EVAL", "return KEYS[1]", "2", "k1", "k2", "token"}));
}

} // namespace
} // namespace distlock::protocol
