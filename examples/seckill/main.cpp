// SPDX-License-Identifier: MIT
//
// A flash sale ("seckill"): how the ways of waiting for a lock compare when a thousand buyers want it at
// once.
#include "interrupts.hpp"
#include "options.hpp"
#include "private_server.hpp"
#include "redis_calls.hpp"
#include "sale.hpp"
#include "settings.hpp"
#include "table.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace seckill;

/// Descriptors for the buyers here and, as it inherits the limit, in the private server.
void allow_descriptors(std::uint64_t buyers) {
    const rlim_t needed = 2 * buyers + 128;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) {
        return;
    }
    limit.rlim_cur = needed;
    if (needed > limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        throw std::runtime_error{"so many buyers need " + std::to_string(needed) +
                                 " open files, more than `ulimit -Hn` allows: try fewer --buyers"};
    }
}

void print_head(const options& chosen, const std::string& url) {
    distlock::hiredis_connection redis{url};
    auto version = info(redis, "server", "valkey_version");
    const std::string kind = version.empty() ? "Redis " : "Valkey ";
    version = version.empty() ? info(redis, "server", "redis_version") : version;
    std::cout << "Flash sale: " << grouped(chosen.requests) << " requests by " << grouped(chosen.buyers)
              << " buyers at once, " << grouped(chosen.stock) << " items in stock, "
              << (chosen.no_lock ? "NO lock" : "one lock") << ".\n"
              << kind << version << " at "
              << (chosen.url.empty() ? "a private Unix socket" : std::string{redis.address()})
              << "; a request waits up to " << spoken(chosen.deadline) << ", the lease is " << spoken(chosen.ttl)
              << ".\n\n"
              << std::flush;
}

/// One line that is written over, where somebody looks.
class progress_line {
public:
    void show(const setting& how, const sale_progress& now, std::uint64_t requests) const {
        if (terminal_) {
            std::cerr << erase << how.label() << ": " << grouped(now.finished) << " of " << grouped(requests)
                      << " requests, " << grouped(now.finished - std::min(now.finished, now.granted)) << " failed, "
                      << std::chrono::duration_cast<std::chrono::seconds>(now.elapsed).count() << " s" << std::flush;
        }
    }
    void clear() const {
        if (terminal_) {
            std::cerr << erase << std::flush;
        }
    }

private:
    static constexpr auto erase = "\r\033[K";
    bool terminal_ = isatty(STDERR_FILENO) == 1;
};

std::vector<setting> chosen_settings(const options& chosen) {
    auto settings = all_settings();
    if (!chosen.settings.empty()) {
        std::erase_if(settings, [&](const setting& each) {
            return std::find(chosen.settings.begin(), chosen.settings.end(), each.number) == chosen.settings.end();
        });
    }
    return settings;
}

int run(const options& chosen, interrupts& signals) {
    allow_descriptors(chosen.buyers);
    std::optional<private_server> server;
    auto url = chosen.url;
    if (url.empty()) {
        url = server.emplace(chosen.buyers, signals).url();
    }
    std::vector<finished_sale> sales;
    const progress_line progress;
    if (signals.caught() == 0) {
        print_head(chosen, url);
    }
    for (const auto& how : chosen_settings(chosen)) {
        if (signals.caught() != 0) {
            break;
        }
        auto result = hold_sale(chosen, how, url, signals,
                                [&](const sale_progress& now) { progress.show(how, now, chosen.requests); });
        progress.clear();
        if (signals.caught() == 0) {
            sales.push_back({how, std::move(result)});
        }
    }
    bool proven = true;
    if (!sales.empty()) {
        print_tables(std::cout, sales, chosen);
        std::cout << '\n';
        proven = print_proof(std::cout, sales, chosen);
    }
    if (signals.caught() != 0) {
        std::cout << std::flush;
        std::cerr << "seckill: stopped by a signal\n";
        return 128 + signals.caught();
    }
    return proven ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    interrupts signals;
    const auto line = parse(argc, argv);
    if (!line.chosen) {
        return line.exit_code;
    }
    try {
        return run(*line.chosen, signals);
    } catch (const std::exception& why) {
        std::cerr << "seckill: " << why.what() << '\n';
        return 1;
    }
}
