// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

namespace distlock {

/// What can go wrong, apart from a lock being busy (which is an answer, not an error).
///
/// The category maps the enumerators that have a counterpart in `std::errc` to it, so
/// `ec == std::errc::invalid_argument` works as well as `ec == distlock::errc::invalid_argument`.
enum class errc {
    /// No byte of the command was written: it was certainly NOT applied. The server is gone, or refuses
    /// connections, or did not accept one in time.
    unreachable = 1,
    /// Bytes were written and no answer came (time-out, reset, end of stream): the command MAY have been applied.
    /// Reported only after the attempt to take the command's effect back was not confirmed either, or was
    /// confirmed and the caller's time was over.
    unknown_outcome,
    /// The server answered with an error (NOAUTH, NOPERM, READONLY, OOM, ...; WRONGTYPE where the key is no lock at
    /// all), so the command was not applied. The message carries the server's own words.
    refused,
    /// The server's bytes are not RESP, exceed the limits, or are not an answer to the command that was sent.
    protocol,
    /// Bad input, refused before a byte was sent: an empty or oversized key, a ttl out of range, a duration that
    /// overflows, a negative pause, a malformed URL.
    invalid_argument,
    /// A `std::stop_token` ended the wait. Nothing is left on the server.
    cancelled,
    /// The grant arrived with nothing left of its lease (a ttl below the round trip and the drift allowance). It
    /// was given back.
    lease_too_short,
};

/// The category of `errc`; its name is "distlock".
inline const std::error_category& error_category() noexcept {
    class category final : public std::error_category {
    public:
        const char* name() const noexcept override { return "distlock"; }

        std::string message(int value) const override {
            switch (static_cast<errc>(value)) {
            case errc::unreachable:
                return "server unreachable, nothing was sent";
            case errc::unknown_outcome:
                return "no answer from the server, the outcome is unknown";
            case errc::refused:
                return "refused by the server";
            case errc::protocol:
                return "the server's answer makes no sense";
            case errc::invalid_argument:
                return "invalid argument";
            case errc::cancelled:
                return "cancelled";
            case errc::lease_too_short:
                return "the lease was over before its grant arrived";
            }
            return "unknown distlock error";
        }

        std::error_condition default_error_condition(int value) const noexcept override {
            switch (static_cast<errc>(value)) {
            case errc::unreachable:
                return std::errc::host_unreachable;
            case errc::unknown_outcome:
                return std::errc::timed_out;
            case errc::protocol:
                return std::errc::protocol_error;
            case errc::invalid_argument:
                return std::errc::invalid_argument;
            case errc::cancelled:
                return std::errc::operation_canceled;
            case errc::refused:
            case errc::lease_too_short:
                break;
            }
            return {value, *this};
        }
    };
    static const category instance;
    return instance;
}

inline std::error_code make_error_code(errc value) noexcept { return {static_cast<int>(value), error_category()}; }

} // namespace distlock

template <>
struct std::is_error_code_enum<distlock::errc> : std::true_type {};
