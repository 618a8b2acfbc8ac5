// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distlock {

/// One answer of the server: a small owning value. Made by transports (and by tests) through the named
/// constructors below; short texts such as "OK" and integers allocate nothing.
///
/// RESP2 has just these six kinds (https://redis.io/docs/latest/develop/reference/protocol-spec/).
class reply {
public:
    enum class kind : std::uint8_t { nil, status, string, integer, array, error };

    /// A nil reply.
    reply() noexcept = default;

    static reply nil() noexcept { return {}; }
    static reply status(std::string text) { return {kind::status, std::move(text)}; }
    static reply string(std::string octets) { return {kind::string, std::move(octets)}; }
    /// The server's error text, code first ("NOSCRIPT No matching script...").
    static reply error(std::string text) { return {kind::error, std::move(text)}; }

    static reply integer(std::int64_t value) {
        reply made;
        made.kind_ = kind::integer;
        made.integer_ = value;
        return made;
    }

    static reply array(std::vector<reply> elements) {
        reply made;
        made.kind_ = kind::array;
        made.elements_ = std::move(elements);
        return made;
    }

    kind type() const noexcept { return kind_; }
    bool is_nil() const noexcept { return kind_ == kind::nil; }
    bool is_error() const noexcept { return kind_ == kind::error; }
    bool is_integer() const noexcept { return kind_ == kind::integer; }
    bool is_string() const noexcept { return kind_ == kind::string; }
    bool is_array() const noexcept { return kind_ == kind::array; }
    /// True for exactly the status reply `text`.
    bool is_status(std::string_view text) const noexcept { return kind_ == kind::status && text_ == text; }
    /// True for exactly the integer reply `value`.
    bool is_integer(std::int64_t value) const noexcept { return is_integer() && integer_ == value; }

    /// The octets of a status, string or error reply, else empty.
    const std::string& text() const& noexcept { return text_; }
    std::string text() && noexcept { return std::move(text_); }
    /// The value of an integer reply, else 0.
    std::int64_t as_integer() const noexcept { return integer_; }
    /// The elements of an array reply, else empty.
    const std::vector<reply>& elements() const& noexcept { return elements_; }
    std::vector<reply> elements() && noexcept { return std::move(elements_); }

    friend bool operator==(const reply& left, const reply& right) noexcept {
        return left.kind_ == right.kind_ && left.integer_ == right.integer_ && left.text_ == right.text_ &&
               left.elements_ == right.elements_;
    }

private:
    reply(kind type, std::string text) noexcept
        : kind_{type}
        , text_{std::move(text)} {}

    kind kind_ = kind::nil;
    std::int64_t integer_ = 0;
    std::string text_;
    std::vector<reply> elements_;
};

} // namespace distlock
