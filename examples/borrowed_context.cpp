// SPDX-License-Identifier: MIT
//
// A program that has a redisContext already locks over it, and goes on using it for its own commands.
// Usage: borrowed_context [socket path]; without it the server at 127.0.0.1:6379.
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include <hiredis/hiredis.h>

#include <iostream>
#include <memory>
#include <mutex>

namespace {

struct freed {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(void* answer) const { freeReplyObject(answer); }
};

/// One command of the program's own; its integer reply.
long long integer(redisContext& context, const char* command) {
    const std::unique_ptr<redisReply, freed> answer{static_cast<redisReply*>(redisCommand(&context, command))};
    return answer && answer->type == REDIS_REPLY_INTEGER ? answer->integer : -1;
}

} // namespace

int main(int argc, char** argv) try {
    const std::unique_ptr<redisContext, freed> context{argc > 1 ? redisConnectUnix(argv[1])
                                                                : redisConnect("127.0.0.1", 6379)};
    if (!context || context->err != 0) {
        std::cerr << "no connection: " << (context ? context->errstr : "out of memory") << '\n';
        return 1;
    }
    distlock::hiredis_ref borrowed{context.get()}; // closes nothing at its end
    distlock::redis_lock lock{borrowed, "orders:42"};

    {
        const std::lock_guard guard{lock};
        std::cout << "locked; keys there: " << integer(*context, "EXISTS orders:42") << '\n';
    }
    std::cout << "unlocked; keys there: " << integer(*context, "EXISTS orders:42") << '\n';
} catch (const std::exception& trouble) {
    std::cerr << trouble.what() << '\n';
    return 1;
}
