// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_server.hpp"

#include <distlock/connection.hpp>
#include <distlock/hiredis.hpp>
#include <distlock/lock_options.hpp>
#include <distlock/redis_lock.hpp>
#include <distlock/reply.hpp>

#include <hiredis/hiredis.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// Who takes part in the contract: a lock and a transport, each named by a small type. A `subject` is one of
/// each.
namespace distlock::contract {

/// A hiredis_connection over TCP.
struct over_tcp {
    static constexpr std::string_view name = "OverTcp";
    hiredis_connection connection;
    explicit over_tcp(const test::redis_server& server)
        : connection{server.url_tcp()} {}
};

/// A hiredis_connection over a Unix socket.
struct over_unix {
    static constexpr std::string_view name = "OverUnix";
    hiredis_connection connection;
    explicit over_unix(const test::redis_server& server)
        : connection{server.url_unix()} {}
};

/// A redisContext of the program's own.
struct over_context {
    static constexpr std::string_view name = "OverContext";
    std::unique_ptr<redisContext, decltype(&redisFree)> context;
    hiredis_ref connection;
    explicit over_context(const test::redis_server& server)
        : context{redisConnectUnix(server.socket_path().c_str()), &redisFree}
        , connection{context.get()} {}
};

/// A user's transport that knows nothing but the one operation of the concept.
struct over_the_bare_concept {
    static constexpr std::string_view name = "OverTheBareConcept";
    class bare {
    public:
        explicit bare(const std::string& url)
            : inner_{url} {}
        reply execute(std::span<const std::string_view> argv, lease_clock::time_point deadline, std::error_code& ec) {
            return inner_.execute(argv, deadline, ec);
        }

    private:
        hiredis_connection inner_;
    };
    static_assert(distlock::connection<bare> && !pipelined_connection<bare>);

    bare connection;
    explicit over_the_bare_concept(const test::redis_server& server)
        : connection{server.url_unix()} {}
};

/// How to make a redis_lock over any connection.
struct the_redis_lock {
    static constexpr std::string_view name = "RedisLock";
    template <class Conn>
    static auto make(Conn& conn, std::string key, lock_options options) {
        return redis_lock<Conn>{conn, std::move(key), std::move(options)};
    }
};

/// One owner: a connection of its own, and a lock over it.
template <class Lock, class Transport>
class owner {
    Transport transport_;

public:
    using lock_type = decltype(Lock::make(std::declval<Transport&>().connection, std::string{}, lock_options{}));

    owner(const test::redis_server& server, std::string key, lock_options options = {})
        : transport_{server}
        , lock{Lock::make(transport_.connection, std::move(key), std::move(options))} {}

    auto& connection() noexcept { return transport_.connection; }

    lock_type lock;
};

template <class Lock, class Transport>
struct subject {
    using owner = contract::owner<Lock, Transport>;
    static std::string name() { return std::string{Lock::name} + std::string{Transport::name}; }
};

struct names {
    template <class Subject>
    static std::string GetName(int) {
        return Subject::name();
    }
};

} // namespace distlock::contract
