// SPDX-License-Identifier: MIT
#include <distlock/hiredis.hpp>
#include <distlock/redis_lock.hpp>

#include <iostream>
#include <mutex>

int main(int argc, char** argv) try {
    distlock::hiredis_connection redis{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};
    distlock::redis_lock lock{redis, "orders:42", {.ttl = std::chrono::seconds{30}}};

    const std::lock_guard guard{lock}; // waits; given back at the end of the scope, or by Redis after 30 s
    std::cout << "order 42 is ours\n";
} catch (const std::exception& trouble) { // what() names the lock, the server and the reason
    std::cerr << trouble.what() << '\n';
    return 1;
}
