// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace distlock::simulation {

/// A stream of random decisions that is a function of a seed and of what it decides about: switching one kind
/// of fault off leaves the dice of the others as they were, so a failing run can be cut down kind by kind.
/// The generator is splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
class chance {
public:
    chance(std::uint64_t seed, std::string_view subject) noexcept
        : state_{seed} {
        for (const char c : subject) {
            state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        }
        state_ = bits();
    }

    std::uint64_t bits() noexcept {
        state_ += 0x9e3779b97f4a7c15;
        auto z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
        return z ^ (z >> 31U);
    }
    double unit() noexcept { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
    bool happens(double probability) noexcept { return probability > 0 && unit() < probability; }
    /// Uniform in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
        return high <= low ? low : low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
    }
    /// Log-uniform in [low, high]: every order of magnitude is as likely as the next.
    std::int64_t scale(std::int64_t low, std::int64_t high) noexcept {
        const double ratio = static_cast<double>(high) / static_cast<double>(low);
        return static_cast<std::int64_t>(static_cast<double>(low) * std::pow(ratio, unit()));
    }
    /// One of the values given.
    template <class T>
    T one_of(std::initializer_list<T> choices) noexcept {
        return choices.begin()[bits() % choices.size()];
    }

private:
    std::uint64_t state_;
};

} // namespace distlock::simulation
