// SPDX-License-Identifier: MIT
#include "sale.hpp"

#include "redis_calls.hpp"

#include <distlock/redis_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace seckill {
namespace {

using clock = std::chrono::steady_clock;
using distlock::hiredis_connection;

/// What all buyers share.
struct shop {
    const options& chosen;
    const setting& how;
    const std::string& url;
    std::string lock_key;
    std::string stock_key;
    std::string inside_key;

    std::latch gate{1};
    std::atomic<bool> open = false;
    std::atomic<std::uint64_t> waiting = 0;
    std::atomic<std::uint64_t> gone = 0;
    std::atomic<std::uint64_t> next_request = 0;
    std::atomic<std::uint64_t> finished = 0;
    std::atomic<std::uint64_t> granted = 0;
    std::atomic<int> inside = 0;

    std::mutex mutex{}; // of what follows
    sale_result result{};
    clock::time_point end{};
};

/// One buyer: a thread, its connection, its handle, its own count.
class buyer {
public:
    buyer(shop& where, std::stop_token stop)
        : shop_{where}
        , stop_{std::move(stop)} // Under a thousand spinning buyers an answer may take seconds; that is no outage.
        , redis_{where.url, {.connect_timeout = std::chrono::seconds{10}, .command_timeout = std::chrono::seconds{10}}}
        , lock_{redis_, where.lock_key, {.ttl = where.chosen.ttl}, where.how.policy} {}

    void run() {
        try {
            ask(redis_, {"PING"}); // connected before the doors open
        } catch (const std::exception& why) {
            mine_.trouble = why.what();
            return;
        }
        ++shop_.waiting;
        shop_.gate.wait();
        while (shop_.open && !stop_.stop_requested() && shop_.next_request++ < shop_.chosen.requests) {
            request();
        }
    }

    void report() {
        const std::lock_guard guard{shop_.mutex};
        shop_.end = clock::now();
        auto& all = shop_.result;
        all.times.insert(all.times.end(), mine_.times.begin(), mine_.times.end());
        all.longest_wait = std::max(all.longest_wait, mine_.longest_wait);
        all.granted += mine_.granted;
        all.sold += mine_.sold;
        all.overlaps += mine_.overlaps;
        all.leases_lost += mine_.leases_lost;
        all.broken += mine_.broken;
        if (all.trouble.empty()) {
            all.trouble = mine_.trouble;
        }
    }

private:
    void request() {
        const auto begin = clock::now();
        std::error_code ec;
        const bool entered = shop_.chosen.no_lock || lock_.try_lock_for(shop_.chosen.deadline, stop_, ec);
        if (ec == distlock::errc::cancelled) {
            return;
        }
        if (entered) {
            mine_.longest_wait = std::max<sale_result::duration>(mine_.longest_wait, clock::now() - begin);
            ++mine_.granted;
            ++shop_.granted;
            buy();
            mine_.leases_lost += !shop_.chosen.no_lock && !lock_.owns_lock() ? 1U : 0U;
            lock_.unlock();
        } else if (ec && clock::now() - begin < shop_.chosen.deadline && mine_.trouble.empty()) {
            mine_.trouble = lock_.last_error() + ": " + ec.message();
        }
        mine_.times.push_back(clock::now() - begin);
        ++shop_.finished;
    }

    /// What the lock guards. Reading the stock and writing it back are two commands, so two buyers inside
    /// would sell one item twice. And each looks for the other: by a counter here, and one on the server,
    /// which also sees buyers of other processes.
    void buy() {
        bool alone = shop_.inside++ == 0;
        try {
            const auto [counted, stock] = ask(redis_, {"INCR", shop_.inside_key}, {"GET", shop_.stock_key});
            alone = alone && counted.is_integer(1);
            const auto left = std::stoll(stock.text());
            if (left > 0) {
                ask(redis_, {"SET", shop_.stock_key, std::to_string(left - 1)}, {"DECR", shop_.inside_key});
                ++mine_.sold;
            } else {
                ask(redis_, {"DECR", shop_.inside_key});
            }
        } catch (const std::exception& why) {
            ++mine_.broken;
            mine_.trouble = why.what();
        }
        --shop_.inside;
        mine_.overlaps += alone ? 0U : 1U;
    }

    shop& shop_;
    std::stop_token stop_;
    hiredis_connection redis_;
    distlock::redis_lock<hiredis_connection, any_policy> lock_;
    sale_result mine_;
};

/// Keys of this sale alone, whatever else is on the server. The tag keeps them in one slot.
std::string fresh_prefix() {
    std::uint64_t number = 0;
    distlock::lease_clock::random_octets(std::as_writable_bytes(std::span{&number, 1}));
    return "{seckill:" + std::to_string(number) + "}:";
}

/// What the lock may send: SET to acquire; EVAL, EVALSHA, DELEX or DELIFEQ to release, and EVAL or EVALSHA
/// to ask for the holder's remaining time. The sale's own SETs are among them.
std::uint64_t calls_so_far(hiredis_connection& redis) {
    std::uint64_t sum = 0;
    for (const auto* command : {"set", "eval", "evalsha", "delex", "delifeq"}) {
        const auto stats = info(redis, "commandstats", std::string{"cmdstat_"} + command); // calls=12,usec=…
        sum += stats.starts_with("calls=") ? std::strtoull(stats.c_str() + 6, nullptr, 10) : 0;
    }
    return sum;
}

/// The stock and the counter, on the server for as long as the sale lasts.
class stall {
public:
    stall(hiredis_connection& redis, const shop& where)
        : redis_{redis}
        , shop_{where} {
        ask(redis_, {"SET", shop_.stock_key, std::to_string(shop_.chosen.stock)});
    }
    ~stall() {
        try {
            ask(redis_, {"DEL", shop_.stock_key, shop_.inside_key});
        } catch (const std::exception&) { // the server is gone, or the user's to clean
        }
    }
    stall(const stall&) = delete;
    stall& operator=(const stall&) = delete;

    std::int64_t left() { return std::stoll(ask(redis_, {"GET", shop_.stock_key}).text()); }

private:
    hiredis_connection& redis_;
    const shop& shop_;
};

/// The buyers' threads; the end of this scope waits for them.
class crowd {
public:
    explicit crowd(shop& where)
        : shop_{where} {
        try {
            for (std::uint64_t n = 0; n < where.chosen.buyers; ++n) {
                threads_.emplace_back([&where](std::stop_token stop) {
                    buyer each{where, std::move(stop)};
                    each.run();
                    each.report();
                    ++where.gone;
                });
            }
        } catch (const std::system_error& why) {
            send_home();
            throw std::runtime_error{"no more threads than " + std::to_string(threads_.size()) + " can be had here (" +
                                     why.code().message() + "): try fewer --buyers"};
        }
    }
    ~crowd() { send_home(); }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    void let_in() {
        shop_.open = true;
        open_gate();
    }
    void send_home() {
        for (auto& each : threads_) {
            each.request_stop();
        }
        open_gate();
    }

private:
    void open_gate() {
        if (!std::exchange(gate_open_, true)) {
            shop_.gate.count_down();
        }
    }

    shop& shop_;
    bool gate_open_ = false;
    std::vector<std::jthread> threads_;
};

} // namespace

sale_result hold_sale(const options& chosen, const setting& how, const std::string& url, interrupts& signals,
                      const std::function<void(const sale_progress&)>& show) {
    using std::chrono::milliseconds;
    const auto prefix = fresh_prefix();
    shop here{chosen, how, url, prefix + "lock", prefix + "stock", prefix + "inside"};
    hiredis_connection redis{url};
    stall goods{redis, here};
    const auto calls_before = calls_so_far(redis);
    clock::time_point begin;
    {
        crowd buyers{here};
        while (here.waiting + here.gone < chosen.buyers && !signals.sleep_for(milliseconds{10})) {
        }
        begin = clock::now();
        if (here.gone == 0 && signals.caught() == 0) {
            buyers.let_in();
            while (here.gone < chosen.buyers && !signals.sleep_for(milliseconds{50})) {
                show({here.finished, here.granted, clock::now() - begin});
            }
        }
    }
    auto& result = here.result;
    if (!here.open && signals.caught() == 0) {
        throw std::runtime_error{"not every buyer could connect: " + result.trouble};
    }
    result.total = here.end - begin;
    std::sort(result.times.begin(), result.times.end());
    result.lock_commands = calls_so_far(redis) - calls_before - result.sold;
    result.left = goods.left();
    return std::move(result);
}

} // namespace seckill
