// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/basic_lock.hpp"
#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/lock_options.hpp"
#include "distlock/protocol/exclusive.hpp"
#include "distlock/retry.hpp"

#include <string>
#include <utility>

namespace distlock {

/// An exclusive lock on one key of one Redis or Valkey master. One owner's handle: used by one thread at a time, as
/// std::unique_lock is; each thread has a connection and a handle of its own, and handles on one key exclude each
/// other, as well as every other client that takes the key with `SET key token NX PX ttl`.
///
/// | state           | lock()                   | unlock()        | extend()        | ttl passes           |
/// | --------------- | ------------------------ | --------------- | --------------- | -------------------- |
/// | free            | held by us               | nothing happens | false: not held | free                 |
/// | held by us      | fails at once: deadlock  | free            | held, ttl anew  | free; loss is told   |
/// | held by another | waits                    | nothing happens | false: not held | free                 |
///
/// Held means that owns_lock() is true: the lease was granted and its local deadline, counted from before the
/// command was sent, less 1 % + 2 ms, has not passed. Under the assumptions that README names, no two handles hold
/// one key at once, whatever is lost, delayed or repeated on the way, whoever pauses or dies. A lease cannot stop a
/// paused owner's late write. Waiting is not fair: whoever asks at the right moment gets it.
///
/// Usable with std::lock_guard, std::unique_lock, std::scoped_lock and std::lock. Retry decides the pauses between
/// attempts (retry.hpp), Clock is lease_clock or a simulation's.
template <connection Conn, retry_policy Retry = retry::backoff, clock_source Clock = lease_clock>
class redis_lock : public basic_lock<protocol::exclusive, Conn, Retry, Clock> {
public:
    /// A handle for `key` (1 to 4096 octets, any) over `conn`, which must outlive it. Takes no lock and does no
    /// I/O. Throws errc::invalid_argument for a bad key or option.
    redis_lock(Conn& conn, std::string key, lock_options options = {}, Retry retry = {})
        : basic_lock<protocol::exclusive, Conn, Retry, Clock>{conn, std::move(key), std::move(options),
                                                              std::move(retry)} {}
};

} // namespace distlock
