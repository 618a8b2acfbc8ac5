// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

/// Numbers as Redis 7.0 reads and writes them.
namespace distlock::simulation {

/// A decimal integer with no sign but '-', no leading zero, no space.
inline bool parse_integer(std::string_view text, std::int64_t& number) {
    const auto digits = text.starts_with('-') ? text.substr(1) : text;
    if (digits.empty() || (digits.front() == '0' && text.size() > 1)) {
        return false;
    }
    const auto end = text.data() + text.size();
    const auto [stop, ec] = std::from_chars(text.data(), end, number);
    return ec == std::errc{} && stop == end;
}

/// A float as a score or a time-out: what strtod takes, but no leading space and no NaN.
inline bool parse_double(std::string_view text, double& number) {
    const std::string copy{text};
    char* stop = nullptr;
    errno = 0;
    number = std::strtod(copy.c_str(), &stop);
    return !copy.empty() && std::isspace(static_cast<unsigned char>(copy.front())) == 0 &&
           stop == copy.c_str() + copy.size() && errno != ERANGE && !std::isnan(number);
}

/// A double in the 17 significant digits that Redis gives to scores and to numbers passed by scripts.
inline std::string double_text(double number) {
    char buffer[40];
    if (number == std::floor(number) && std::fabs(number) < 1e17 && !(number == 0 && std::signbit(number))) {
        const auto made = std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::int64_t>(number));
        return {buffer, made.ptr};
    }
    return {buffer, static_cast<std::size_t>(std::snprintf(buffer, sizeof buffer, "%.17g", number))};
}

/// True when `word` is `lower` in any case.
inline bool is_word(std::string_view word, std::string_view lower) {
    if (word.size() != lower.size()) {
        return false;
    }
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (std::tolower(static_cast<unsigned char>(word[i])) != lower[i]) {
            return false;
        }
    }
    return true;
}

} // namespace distlock::simulation
