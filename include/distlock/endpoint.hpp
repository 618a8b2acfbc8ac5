// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/error.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distlock {

/// Where a server is and how to log in, whatever the transport.
struct endpoint {
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    /// A Unix socket's path; when it is not empty, host and port do not count.
    std::string path{};
    std::string user{};
    std::string password{};
    int database = 0;
    bool tls = false;

    /// For messages: host:port or unix:path, never credentials.
    std::string address() const {
        if (!path.empty()) {
            return "unix:" + path;
        }
        const bool v6 = host.find(':') != std::string::npos;
        return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
    }
};

namespace detail {

[[noreturn]] inline void refuse_url(const char* why) {
    // The URL itself may hold a password, so it is not shown.
    throw std::system_error{errc::invalid_argument, std::string{"connection URL: "} + why};
}

inline std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned code = 0;
        const auto* begin = text.data() + i + 1;
        const auto* end = text.data() + text.size();
        if (end - begin < 2 || std::from_chars(begin, begin + 2, code, 16).ptr != begin + 2) {
            refuse_url("a % is not followed by two hex digits");
        }
        out += static_cast<char>(code);
        i += 2;
    }
    return out;
}

template <class Number>
Number url_number(std::string_view text, Number most, const char* complaint) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) {
        refuse_url(complaint);
    }
    return value;
}

} // namespace detail

/// Reads `redis://[[user]:password@]host[:port][/db]`, `rediss://` (the same over TLS) and
/// `unix://[[user]:password@]/path[?db=n]`; user, password and path may be percent-encoded, an IPv6 host stands in
/// brackets. Throws errc::invalid_argument, without showing the URL, for anything else.
inline endpoint parse_url(std::string_view url) {
    using namespace std::string_view_literals;
    endpoint out;
    const auto colon = url.find("://");
    const auto scheme = url.substr(0, colon);
    const bool local = scheme == "unix"sv;
    out.tls = scheme == "rediss"sv;
    if (colon == url.npos || (!local && !out.tls && scheme != "redis"sv)) {
        detail::refuse_url("it does not begin with redis://, rediss:// or unix://");
    }
    auto rest = url.substr(colon + 3);

    std::string_view query;
    if (const auto mark = rest.find('?'); mark != rest.npos) {
        query = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
    }
    const auto slash = rest.find('/');
    const auto path = slash == rest.npos ? std::string_view{} : rest.substr(slash);
    auto authority = rest.substr(0, slash);

    if (const auto at = authority.rfind('@'); at != authority.npos) {
        const auto login = authority.substr(0, at);
        const auto split = login.find(':');
        if (split == login.npos) {
            detail::refuse_url("credentials are user:password or :password");
        }
        out.user = detail::percent_decoded(login.substr(0, split));
        out.password = detail::percent_decoded(login.substr(split + 1));
        authority.remove_prefix(at + 1);
    }

    constexpr auto bad_database = "the database is not a number from 0 to 65535";
    if (local) {
        if (!authority.empty() || path.size() < 2) {
            detail::refuse_url("unix:// is followed by an absolute path");
        }
        out.path = detail::percent_decoded(path);
    } else {
        if (const auto port = authority.rfind(':'); port != authority.npos && !authority.ends_with(']')) {
            out.port = detail::url_number<std::uint16_t>(authority.substr(port + 1), 65535,
                                                         "the port is not a number from 0 to 65535");
            authority = authority.substr(0, port);
        }
        if (authority.starts_with('[') && authority.ends_with(']')) {
            authority = authority.substr(1, authority.size() - 2);
        } else if (authority.find(':') != authority.npos) {
            detail::refuse_url("an IPv6 host stands in brackets");
        }
        if (authority.empty()) {
            detail::refuse_url("the host is missing");
        }
        out.host = detail::percent_decoded(authority);
        if (path.size() > 1) {
            out.database = detail::url_number(path.substr(1), 65535, bad_database);
        }
    }
    if (!query.empty()) {
        if (!query.starts_with("db=")) {
            detail::refuse_url("the only parameter known is db");
        }
        out.database = detail::url_number(query.substr(3), 65535, bad_database);
    }
    return out;
}

} // namespace distlock
