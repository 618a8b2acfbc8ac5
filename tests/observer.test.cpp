// SPDX-License-Identifier: MIT
#include "distlock/observer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <type_traits>

namespace distlock {
namespace {

static_assert(std::has_virtual_destructor_v<observer>);
static_assert(!std::is_copy_constructible_v<observer>, "locks hold its address");

TEST(Observer, hears_everything_and_needs_to_override_nothing) {
    observer deaf;
    deaf.acquired("k", std::chrono::seconds{1}, 1);
    deaf.contended("k", std::chrono::seconds{1}, 1);
    deaf.renewed("k", std::chrono::seconds{1});
    deaf.lost("k", loss_reason::taken);
    deaf.released("k", release_outcome::released, std::chrono::seconds{1});
}

} // namespace
} // namespace distlock
