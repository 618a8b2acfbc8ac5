// SPDX-License-Identifier: MIT
#include "distlock/detail/hiredis_reader.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distlock::detail {
namespace {

using namespace std::string_literals;

std::optional<reply> read(std::string_view octets) {
    hiredis_reader reader;
    reader.feed(octets);
    auto got = reader.next();
    EXPECT_FALSE(got && reader.failed());
    return got;
}

bool is_refused(std::string_view octets) {
    hiredis_reader reader;
    reader.feed(octets);
    return !reader.next() && reader.failed() && !reader.failure().empty();
}

TEST(HiredisReader, reads_the_six_kinds) {
    EXPECT_EQ(read("+OK\r\n"), reply::status("OK"));
    EXPECT_EQ(read("-ERR no\r\n"), reply::error("ERR no"));
    EXPECT_EQ(read(":-9223372036854775807\r\n"), reply::integer(-9223372036854775807));
    EXPECT_EQ(read("$6\r\na\0b\r\nc\r\n"s), reply::string("a\0b\r\nc"s));
    EXPECT_EQ(read("$0\r\n\r\n"), reply::string(""));
    EXPECT_EQ(read("$-1\r\n"), reply::nil());
    EXPECT_EQ(read("*-1\r\n"), reply::nil());
    EXPECT_EQ(read("*0\r\n"), reply::array({}));
    EXPECT_EQ(read("*3\r\n:1\r\n$-1\r\n*1\r\n+x\r\n"),
              reply::array({reply::integer(1), reply::nil(), reply::array({reply::status("x")})}));
}

TEST(HiredisReader, waits_for_the_last_octet_however_they_drip) {
    const std::string octets = "*2\r\n$3\r\nabc\r\n:12\r\n";
    hiredis_reader reader;
    for (std::size_t i = 0; i < octets.size(); ++i) {
        ASSERT_FALSE(reader.next()) << i;
        ASSERT_FALSE(reader.failed()) << i;
        reader.feed(octets.substr(i, 1));
    }
    EXPECT_EQ(reader.next(), reply::array({reply::string("abc"), reply::integer(12)}));
    EXPECT_FALSE(reader.has_leftover());
}

TEST(HiredisReader, tells_when_more_has_come_than_one_reply) {
    hiredis_reader reader;
    reader.feed("+OK\r\n+OK\r\n");
    EXPECT_EQ(reader.next(), reply::status("OK"));
    EXPECT_TRUE(reader.has_leftover());
    EXPECT_EQ(reader.next(), reply::status("OK"));
    EXPECT_FALSE(reader.has_leftover());
    EXPECT_FALSE(reader.next());
    reader.feed("+");
    EXPECT_TRUE(reader.has_leftover());
}

TEST(HiredisReader, refuses_what_is_no_resp2) {
    for (const auto* octets : {"hello\r\n", "\r\n", "?\r\n", ":abc\r\n", "*x\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n",
                               "*2147483648\r\n", "*4294967295\r\n", "*9223372036854775808\r\n"}) {
        EXPECT_TRUE(is_refused(octets)) << octets;
    }
    for (const auto* octets : {"_\r\n", "#t\r\n", "%1\r\n+a\r\n+b\r\n", "~1\r\n+a\r\n", ">1\r\n+a\r\n"}) {
        EXPECT_TRUE(is_refused(octets)) << "RESP3, which nobody asked for: " << octets;
    }
}

TEST(HiredisReader, believes_nothing_more_after_a_failure) {
    hiredis_reader reader;
    reader.feed("hello\r\n");
    EXPECT_FALSE(reader.next());
    reader.feed("+OK\r\n");
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.failed());
}

std::string nested(int levels) {
    std::string out;
    for (int i = 0; i < levels; ++i) {
        out += "*1\r\n";
    }
    return out + ":1\r\n";
}

TEST(HiredisReader, goes_three_levels_deep_and_no_deeper) {
    EXPECT_TRUE(read(nested(3)));
    EXPECT_TRUE(is_refused(nested(4)));
    EXPECT_TRUE(is_refused(nested(1000)));
}

TEST(HiredisReader, takes_64_kib_and_not_an_octet_more) {
    const std::string header = "$65520\r\n";
    const std::string whole = header + std::string(65'520, 'x') + "\r\n";
    ASSERT_LE(whole.size(), hiredis_reader::most_octets);
    EXPECT_TRUE(read(whole));

    hiredis_reader reader;
    reader.feed("$300000000\r\n");
    std::size_t fed = 12;
    while (!reader.failed() && fed < 1'000'000) {
        reader.feed(std::string(4096, 'x'));
        fed += 4096;
        EXPECT_FALSE(reader.next());
    }
    EXPECT_TRUE(reader.failed());
    EXPECT_LE(fed, hiredis_reader::most_octets + 4096);
    EXPECT_TRUE(is_refused("*100000\r\n")) << "more elements than 64 KiB can hold";
}

TEST(HiredisReader, the_limit_is_for_a_reply_and_not_for_a_connections_life) {
    hiredis_reader reader;
    for (int i = 0; i < 100; ++i) {
        reader.feed("$4000\r\n" + std::string(4000, 'x') + "\r\n");
        ASSERT_TRUE(reader.next()) << i;
    }
}

} // namespace
} // namespace distlock::detail
