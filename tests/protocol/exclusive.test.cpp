// SPDX-License-Identifier: MIT
#include "distlock/protocol/exclusive.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace distlock::protocol {
namespace {

using namespace std::chrono_literals;
using form = server_memory::release_form;
using strings = std::vector<std::string>;

strings words(const command& c) { return {c.argv().begin(), c.argv().end()}; }

const std::vector<reply>& nonsense() {
    static const std::vector<reply> some{
        reply::status("ok"), reply::status("QUEUED"), reply::string("OK"),
        reply::integer(2),   reply::array({}),        reply::array({reply::integer(1)}),
        reply::string("1"),  reply::status("PONG"),   reply::integer(-2)};
    return some;
}

TEST(Exclusive, acquires_by_one_plain_set) {
    command c;
    exclusive::acquire(c, "k", "t", 1500ms);
    EXPECT_EQ(words(c), (strings{"SET", "k", "t", "NX", "PX", "1500"}));
}

TEST(Exclusive, only_ok_is_a_grant_and_only_nil_is_busy) {
    EXPECT_EQ(exclusive::acquired(reply::status("OK")), verdict::yes);
    EXPECT_EQ(exclusive::acquired(reply::nil()), verdict::busy);
    EXPECT_EQ(exclusive::acquired(reply::error("OOM command not allowed")), verdict::refused);
    EXPECT_EQ(exclusive::acquired(reply::error("OK")), verdict::refused);
    EXPECT_EQ(exclusive::acquired(reply::integer(1)), verdict::garbage);
    for (const auto& answer : nonsense()) {
        EXPECT_EQ(exclusive::acquired(answer), verdict::garbage) << static_cast<int>(answer.type()) << answer.text();
    }
}

TEST(Exclusive, releases_in_the_form_that_the_server_has) {
    command delex;
    exclusive::release(delex, form::delex, "k", "t");
    EXPECT_EQ(words(delex), (strings{"DELEX", "k", "IFEQ", "t"}));
    command delifeq;
    exclusive::release(delifeq, form::delifeq, "k", "t");
    EXPECT_EQ(words(delifeq), (strings{"DELIFEQ", "k", "t"}));
    command scripted;
    exclusive::release(scripted, form::script, "k", "t");
    EXPECT_TRUE(scripted.is_script());
    scripted.send_whole_text();
    EXPECT_EQ(words(scripted), (strings{"EVAL", std::string{exclusive::release_script.text}, "1", "k", "t"}));
}

TEST(Exclusive, reads_the_release_scripts_answers) {
    EXPECT_EQ(exclusive::released(form::script, reply::integer(1)), verdict::yes);
    EXPECT_EQ(exclusive::released(form::script, reply::integer(0)), verdict::expired);
    EXPECT_EQ(exclusive::released(form::script, reply::integer(-1)), verdict::taken);
    EXPECT_EQ(exclusive::released(form::script, reply::error("WRONGTYPE Operation against")), verdict::taken);
    EXPECT_EQ(exclusive::released(form::script, reply::error("NOSCRIPT No matching")), verdict::refused);
    EXPECT_EQ(exclusive::released(form::script, reply::nil()), verdict::garbage);
    for (const auto& answer : nonsense()) {
        EXPECT_EQ(exclusive::released(form::script, answer), verdict::garbage);
    }
}

TEST(Exclusive, a_native_no_does_not_say_whose_the_key_is) {
    for (const auto native : {form::delex, form::delifeq}) {
        EXPECT_EQ(exclusive::released(native, reply::integer(1)), verdict::yes);
        EXPECT_EQ(exclusive::released(native, reply::integer(0)), verdict::not_ours);
        EXPECT_EQ(exclusive::released(native, reply::integer(-1)), verdict::garbage);
        EXPECT_EQ(exclusive::released(native, reply::error("WRONGTYPE Operation against")), verdict::taken);
        EXPECT_EQ(exclusive::released(native, reply::error("NOPERM this user")), verdict::refused);
        EXPECT_EQ(exclusive::released(native, reply::nil()), verdict::garbage);
        for (const auto& answer : nonsense()) {
            EXPECT_EQ(exclusive::released(native, answer), verdict::garbage);
        }
    }
}

TEST(Exclusive, extends_by_a_script_that_names_key_token_and_ttl) {
    command c;
    exclusive::extend(c, "k", "t", 2s);
    c.send_whole_text();
    EXPECT_EQ(words(c), (strings{"EVAL", std::string{exclusive::extend_script.text}, "1", "k", "t", "2000"}));
    EXPECT_EQ(exclusive::extended(reply::integer(1)), verdict::yes);
    EXPECT_EQ(exclusive::extended(reply::integer(0)), verdict::expired);
    EXPECT_EQ(exclusive::extended(reply::integer(-1)), verdict::taken);
    EXPECT_EQ(exclusive::extended(reply::error("WRONGTYPE Operation against")), verdict::taken);
    EXPECT_EQ(exclusive::extended(reply::error("LOADING Redis is")), verdict::refused);
    for (const auto& answer : nonsense()) {
        EXPECT_EQ(exclusive::extended(answer), verdict::garbage);
    }
}

// Rows 8 and 26: an extend that can create a key revives a lock.
TEST(Exclusive, case_08_no_extend_can_create_a_key) {
    const auto text = exclusive::extend_script.text;
    EXPECT_NE(text.find("'pexpire'"), text.npos);
    EXPECT_EQ(text.find("'set"), text.npos);
}

} // namespace
} // namespace distlock::protocol
