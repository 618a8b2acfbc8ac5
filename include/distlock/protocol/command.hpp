// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/detail/sha1.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace distlock::protocol {

/// A Lua script: its text, and the SHA-1 under which EVALSHA knows it.
struct script {
    std::string_view text;
    std::array<char, 40> sha1;

    consteval explicit script(std::string_view lua)
        : text{lua}
        , sha1{detail::sha1_hex(lua)} {}
};

/// The words of one command, as views: whoever fills it keeps the octets alive until it is sent.
class command {
public:
    command() = default;
    command(const command&) = delete; // numbers are written into the object itself
    command& operator=(const command&) = delete;

    command& add(std::string_view word) noexcept {
        assert(count_ < words_.size());
        words_[count_++] = word;
        return *this;
    }

    command& add(std::int64_t number) noexcept {
        assert(numbers_ < digits_.size());
        auto& digits = digits_[numbers_++];
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }

    /// Starts an EVALSHA of `code` (which must outlive this) with its keys; arguments follow by add().
    command& call(const script& code, std::initializer_list<std::string_view> keys) noexcept {
        code_ = &code;
        add("EVALSHA").add({code.sha1.data(), code.sha1.size()}).add(static_cast<std::int64_t>(keys.size()));
        for (const auto key : keys) {
            add(key);
        }
        return *this;
    }

    bool is_script() const noexcept { return code_ != nullptr; }

    /// Turns the EVALSHA of call() into an EVAL with the whole text, which also makes the server remember it.
    void send_whole_text() noexcept {
        words_[0] = "EVAL";
        words_[1] = code_->text;
    }

    std::span<const std::string_view> argv() const noexcept { return std::span{words_}.first(count_); }

private:
    std::array<std::string_view, 12> words_;
    std::size_t count_ = 0;
    std::array<std::array<char, 20>, 3> digits_;
    std::size_t numbers_ = 0;
    const script* code_ = nullptr;
};

} // namespace distlock::protocol
