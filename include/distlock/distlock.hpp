// SPDX-License-Identifier: MIT
#pragma once

/// Everything but the transports: include distlock/hiredis.hpp, or your own connection, beside it.

#include "distlock/inspect.hpp"
#include "distlock/redis_lock.hpp"
