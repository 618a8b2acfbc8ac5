// SPDX-License-Identifier: MIT
#include "distlock/protocol/server_errors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace distlock::protocol {
namespace {

struct server_words {
    const char* text;
    remedy expected;
};

// What redis-server 7 says, word for word.
constexpr server_words as_said[]{
    {"NOSCRIPT No matching script. Please use EVAL.", remedy::whole_text},
    {"LOADING Redis is loading the dataset in memory", remedy::retry},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", remedy::retry},
    {"CLUSTERDOWN The cluster is down", remedy::retry},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", remedy::retry},
    {"TRYAGAIN Multiple keys request during rehashing of slot", remedy::retry},
    {"NOREPLICAS Not enough good replicas to write.", remedy::retry},
    {"ERR max number of clients reached", remedy::retry},
    {"READONLY You can't write against a read only replica.", remedy::reconnect},
    {"UNBLOCKED force unblock from blocking operation, instance state changed", remedy::reconnect},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     remedy::report},
    {"OOM command not allowed when used memory > 'maxmemory'.", remedy::report},
    {"MOVED 3999 127.0.0.1:6381", remedy::report},
    {"ASK 3999 127.0.0.1:6381", remedy::report},
    {"NOAUTH Authentication required.", remedy::report},
    {"WRONGPASS invalid username-password pair or user is disabled.", remedy::report},
    {"NOPERM this user has no permissions to run the 'set' command", remedy::report},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", remedy::report},
    {"CROSSSLOT Keys in request don't hash to the same slot", remedy::report},
    {"DENIED Redis is running in protected mode", remedy::report},
    {"ERR unknown command 'SET'", remedy::report},
    {"", remedy::report},
};

TEST(ServerErrors, each_of_the_servers_own_texts_has_its_remedy) {
    for (const auto& said : as_said) {
        EXPECT_EQ(remedy_for(said.text), said.expected) << said.text;
    }
}

TEST(ServerErrors, every_row_of_the_table_is_spoken_here) {
    for (const auto& row : server_errors) {
        bool met = false;
        for (const auto& said : as_said) {
            met = met || has_code(said.text, row.code);
        }
        EXPECT_TRUE(met) << row.code;
    }
}

TEST(ServerErrors, a_code_is_a_whole_word_at_the_beginning) {
    EXPECT_TRUE(has_code("BUSY", "BUSY"));
    EXPECT_TRUE(has_code("BUSY now", "BUSY"));
    EXPECT_FALSE(has_code("BUSYGROUP Consumer Group name already exists", "BUSY"));
    EXPECT_FALSE(has_code("ERR BUSY", "BUSY"));
    EXPECT_FALSE(has_code("busy", "BUSY"));
    EXPECT_FALSE(has_code("BUS", "BUSY"));
    EXPECT_EQ(remedy_for("BUSYGROUP Consumer Group name already exists"), remedy::report);
    EXPECT_EQ(remedy_for("READONLYX"), remedy::report);
}

TEST(ServerErrors, a_command_is_missing_only_where_the_server_says_so) {
    EXPECT_TRUE(is_unsupported("ERR unknown command 'DELEX', with args beginning with: 'k' "));
    EXPECT_TRUE(is_unsupported("ERR unknown command `DELEX`"));
    EXPECT_TRUE(is_unsupported("NOPERM this user has no permissions to run the 'delex' command"));
    EXPECT_FALSE(is_unsupported("ERR wrong number of arguments for 'delex' command"));
    EXPECT_FALSE(is_unsupported("LOADING Redis is loading the dataset in memory"));
    EXPECT_FALSE(is_unsupported("WRONGTYPE Operation against a key holding the wrong kind of value"));
    EXPECT_FALSE(is_unsupported(""));
}

} // namespace
} // namespace distlock::protocol
