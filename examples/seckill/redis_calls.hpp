// SPDX-License-Identifier: MIT
#pragma once

#include <distlock/clock.hpp>
#include <distlock/hiredis.hpp>
#include <distlock/reply.hpp>

#include <chrono>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

/// The program's own commands: those of the sale, not of the lock.
namespace seckill {

inline distlock::lease_clock::time_point soon() { return distlock::lease_clock::now() + std::chrono::seconds{10}; }

inline distlock::reply checked(distlock::reply answer, const std::error_code& ec,
                               const distlock::hiredis_connection& redis) {
    if (ec) {
        throw std::runtime_error{std::string{redis.address()} + ": " + std::string{redis.last_error()}};
    }
    if (answer.is_error()) {
        throw std::runtime_error{std::string{redis.address()} + ": " + answer.text()};
    }
    return answer;
}

using words = std::initializer_list<std::string_view>;

/// One command and its reply.
inline distlock::reply ask(distlock::hiredis_connection& redis, words argv) {
    std::error_code ec;
    return checked(redis.execute({argv.begin(), argv.size()}, soon(), ec), ec, redis);
}

/// Two commands in one round trip; the reply to the second.
struct both {
    distlock::reply first;
    distlock::reply second;
};
inline both ask(distlock::hiredis_connection& redis, words first, words second) {
    std::error_code ec;
    const auto send = [&](words argv) {
        redis.send({argv.begin(), argv.size()}, soon(), ec);
        checked({}, ec, redis);
    };
    const auto receive = [&] { return checked(redis.receive(soon(), ec), ec, redis); };
    send(first);
    send(second);
    auto one = receive();
    return {std::move(one), receive()};
}

/// INFO's value of `field` in `section`, up to the end of the line; empty where there is none.
inline std::string info(distlock::hiredis_connection& redis, std::string_view section, std::string_view field) {
    const auto text = '\n' + ask(redis, {"INFO", section}).text();
    const auto at = text.find('\n' + std::string{field} + ':');
    if (at == text.npos) {
        return {};
    }
    const auto begin = at + field.size() + 2;
    return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

} // namespace seckill
