// SPDX-License-Identifier: MIT
#include "distlock/endpoint.hpp"

#include <gtest/gtest.h>

#include <string>
#include <system_error>

namespace distlock {
namespace {

TEST(Url, a_host_is_enough) {
    const auto at = parse_url("redis://db.example");
    EXPECT_EQ(at.host, "db.example");
    EXPECT_EQ(at.port, 6379);
    EXPECT_EQ(at.database, 0);
    EXPECT_EQ(at.user + at.password + at.path, "");
    EXPECT_FALSE(at.tls);
}

TEST(Url, may_have_everything) {
    const auto at = parse_url("rediss://al%40ice:p%3Aw%2F%25@10.0.0.7:7000/15");
    EXPECT_EQ(at.user, "al@ice");
    EXPECT_EQ(at.password, "p:w/%");
    EXPECT_EQ(at.host, "10.0.0.7");
    EXPECT_EQ(at.port, 7000);
    EXPECT_EQ(at.database, 15);
    EXPECT_TRUE(at.tls);
}

TEST(Url, a_password_needs_no_user_and_may_hold_an_at_sign_or_a_colon) {
    const auto at = parse_url("redis://:p@w:d@h");
    EXPECT_EQ(at.user, "");
    EXPECT_EQ(at.password, "p@w:d");
    EXPECT_EQ(at.host, "h");
}

TEST(Url, an_ipv6_host_stands_in_brackets) {
    EXPECT_EQ(parse_url("redis://[::1]:7000").host, "::1");
    EXPECT_EQ(parse_url("redis://[::1]:7000").port, 7000);
    EXPECT_EQ(parse_url("redis://[::1]").port, 6379);
    EXPECT_EQ(parse_url("redis://[::1]/2").database, 2);
    EXPECT_EQ(parse_url("redis://[::1]:7000").address(), "[::1]:7000");
}

TEST(Url, a_unix_socket_has_a_path_and_perhaps_a_database) {
    const auto at = parse_url("unix://:secret@/run/redis%20x.sock?db=3");
    EXPECT_EQ(at.path, "/run/redis x.sock");
    EXPECT_EQ(at.password, "secret");
    EXPECT_EQ(at.database, 3);
    EXPECT_EQ(at.address(), "unix:/run/redis x.sock");
}

TEST(Url, the_address_never_has_credentials) { EXPECT_EQ(parse_url("redis://bob:hunter2@h:1/2").address(), "h:1"); }

TEST(Url, what_is_malformed_is_refused_without_being_shown) {
    for (const std::string url : {"",
                                  "hunter2",
                                  "redis:/h",
                                  "http://hunter2@h",
                                  "redis://",
                                  "redis://:hunter2@",
                                  "redis:///1",
                                  "redis://hunter2@h",
                                  "redis://h:hunter2",
                                  "redis://h:65536",
                                  "redis://h:-1",
                                  "redis://h: 1",
                                  "redis://h:",
                                  "redis://h/hunter2",
                                  "redis://h/-1",
                                  "redis://h/65536",
                                  "redis://h/99999999999999999999",
                                  "redis://h/1/2",
                                  "redis://h?hunter2",
                                  "redis://h?db=",
                                  "redis://h?db=1&x=2",
                                  "redis://::1",
                                  "redis://u:%zz@h",
                                  "redis://u:%4@h",
                                  "redis://u:%@h",
                                  "redis://u:%-1@h",
                                  "redis://u:%+1@h",
                                  "unix://hunter2",
                                  "unix://host/path",
                                  "unix:///",
                                  "unix://",
                                  "REDIS://h"}) {
        try {
            parse_url(url);
            ADD_FAILURE() << url;
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), errc::invalid_argument) << url;
            EXPECT_EQ(std::string{error.what()}.find("hunter2"), std::string::npos) << error.what();
        }
    }
}

} // namespace
} // namespace distlock
