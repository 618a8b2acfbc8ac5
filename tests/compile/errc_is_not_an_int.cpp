// SPDX-License-Identifier: MIT
#include <distlock/error.hpp>

#ifdef REJECT
distlock::errc reason = 1;
#else
distlock::errc reason = distlock::errc::unreachable;
#endif
