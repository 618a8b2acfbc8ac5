// SPDX-License-Identifier: MIT
#include "support/resp.hpp"

#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace distlock::test::resp {
namespace {

constexpr std::string_view crlf = "\r\n";

std::optional<std::string_view> line_at(std::string_view input, std::size_t at) {
    const auto end = input.find(crlf, at);
    return end == std::string_view::npos ? std::nullopt : std::optional{input.substr(at, end - at)};
}

std::int64_t number(std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        throw std::runtime_error{"not a RESP length: " + std::string{digits}};
    }
    return value;
}

} // namespace

std::optional<command> read_command(std::string_view input) {
    const auto head = line_at(input, 0);
    if (!head) {
        return std::nullopt;
    }
    auto at = head->size() + crlf.size();
    if (!head->starts_with('*')) {
        return command{{std::string{*head}}, at};
    }
    command out;
    for (auto left = number(head->substr(1)); left > 0; --left) {
        const auto size_line = line_at(input, at);
        if (!size_line) {
            return std::nullopt;
        }
        if (!size_line->starts_with('$')) {
            throw std::runtime_error{"not an argument of a RESP command: " + std::string{*size_line}};
        }
        const auto size = static_cast<std::size_t>(number(size_line->substr(1)));
        at += size_line->size() + crlf.size();
        if (input.size() < at + size + crlf.size()) {
            return std::nullopt;
        }
        out.words.emplace_back(input.substr(at, size));
        at += size + crlf.size();
    }
    out.length = at;
    return out;
}

std::optional<std::size_t> reply_length(std::string_view input) {
    const auto head = line_at(input, 0);
    if (!head) {
        return std::nullopt;
    }
    auto at = head->size() + crlf.size();
    const char type = head->empty() ? '\0' : head->front();
    if (type == '$') {
        if (const auto size = number(head->substr(1)); size >= 0) {
            at += static_cast<std::size_t>(size) + crlf.size();
        }
        return at <= input.size() ? std::optional{at} : std::nullopt;
    }
    if (type == '*') {
        for (auto left = number(head->substr(1)); left > 0; --left) {
            const auto element = reply_length(input.substr(at));
            if (!element) {
                return std::nullopt;
            }
            at += *element;
        }
    }
    return at;
}

std::string encode(const argv& words) {
    auto out = '*' + std::to_string(words.size()) + "\r\n";
    for (const auto& each : words) {
        out += encode(reply::string(each));
    }
    return out;
}

std::string encode(const reply& value) {
    switch (value.type()) {
    case reply::kind::nil:
        return "$-1\r\n";
    case reply::kind::status:
        return '+' + value.text() + "\r\n";
    case reply::kind::error:
        return '-' + value.text() + "\r\n";
    case reply::kind::integer:
        return ':' + std::to_string(value.as_integer()) + "\r\n";
    case reply::kind::string:
        return '$' + std::to_string(value.text().size()) + "\r\n" + value.text() + "\r\n";
    case reply::kind::array:
        break;
    }
    auto out = '*' + std::to_string(value.elements().size()) + "\r\n";
    for (const auto& each : value.elements()) {
        out += encode(each);
    }
    return out;
}

} // namespace distlock::test::resp
