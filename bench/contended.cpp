// SPDX-License-Identifier: MIT
//
// Threads that want one key, each with a connection and a handle of its own: what a retry policy makes of it. Every cell
// has two halves. In the first each thread asks again at once: cycles/s, and how often the last owner wins again. In the
// second the last owner waits until another one has had its turn: what a hand-off costs in time and in commands.
#include "benchmarks.hpp"

#include "support/redis_server.hpp"

#include "distlock/hiredis.hpp"
#include "distlock/redis_lock.hpp"
#include "distlock/retry.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace distlock::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto time_for_a_half = 700ms;
enum class habit : std::uint8_t { asks_again, takes_turns };

struct cell {
    int threads;
    std::chrono::milliseconds section;

    auto operator<=>(const cell&) const = default;
};

struct findings {
    std::vector<double> handoffs; // ms
    double longest_wait = 0;      // ms
    std::size_t cycles = 0;       // all, those too that were waited for when the time was over
    std::size_t in_time = 0;
    std::size_t by_same_thread = 0;
    bool two_inside = false;

    void add(const findings& other) {
        handoffs.insert(handoffs.end(), other.handoffs.begin(), other.handoffs.end());
        longest_wait = std::max(longest_wait, other.longest_wait);
        cycles += other.cycles;
        in_time += other.in_time;
        by_same_thread += other.by_same_thread;
        two_inside |= other.two_inside;
    }
};

/// What the holders tell each other. The lock guards it; atomic, because the compiler cannot know that.
struct blackboard {
    std::atomic<int> inside{0};
    std::atomic<int> last_owner{-1};
    std::atomic<clock::time_point> given_back{};
};

template <class Retry>
findings contend(const std::string& url, int me, cell where, habit habits, Retry retry, blackboard& board,
                 std::latch& ready, std::latch& start) {
    findings found;
    hiredis_connection redis{url, {.connect_timeout = 10s, .command_timeout = 10s}};
    {
        // Connects, and learns how this server spells compare-and-delete.
        redis_lock warm{redis, "bench:warm:" + std::to_string(me)};
        warm.lock();
        warm.release();
    }
    redis_lock lock{redis, "bench:contended", {.ttl = 60s}, retry};
    ready.count_down();
    start.wait();
    const auto end = clock::now() + time_for_a_half;
    for (bool over = false; !over;) {
        const auto asked = clock::now();
        lock.lock();
        const auto got = clock::now();
        over = got >= end;
        found.two_inside |= board.inside.fetch_add(1) != 0;
        found.longest_wait = std::max(found.longest_wait, milliseconds{got - asked}.count());
        ++found.cycles;
        found.in_time += over ? 0 : 1;
        if (const auto last = board.last_owner.exchange(me); last == me) {
            ++found.by_same_thread;
        } else if (last >= 0) {
            found.handoffs.push_back(milliseconds{got - board.given_back.load()}.count());
        }
        board.last_owner.notify_all();
        if (where.section > 0ms) {
            std::this_thread::sleep_for(where.section);
        }
        board.inside.fetch_sub(1);
        board.given_back = clock::now();
        lock.unlock();
        if (habits == habit::takes_turns && !over) { // never the last one: nobody leaves before the time is over
            board.last_owner.wait(me);
        }
    }
    return found;
}

double percentile(std::vector<double>& values, std::size_t percent) {
    if (values.empty()) {
        return 0;
    }
    const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// The rate of the default policy's hand-offs in each cell, to which the others compare.
std::map<cell, double>& rates_of_backoff() {
    static std::map<cell, double> rates;
    return rates;
}

template <class Retry>
findings run(const test::redis_server& server, cell where, habit habits, Retry retry) {
    std::latch ready{where.threads};
    std::latch start{1};
    blackboard board;
    std::vector<findings> each(static_cast<std::size_t>(where.threads));
    auto admin = server.connect_admin();
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < where.threads; ++i) {
            threads.emplace_back([&, i] {
                each[static_cast<std::size_t>(i)] =
                    contend(server.url_unix(), i, where, habits, retry, board, ready, start);
            });
        }
        ready.wait();
        admin.reset_calls();
        start.count_down();
    }
    findings all;
    for (const auto& one : each) {
        all.add(one);
    }
    if (all.two_inside) {
        throw std::logic_error{"two threads were inside at once"};
    }
    return all;
}

double lock_commands(test::admin& admin) {
    const auto calls = admin.calls();
    double sum = 0;
    for (const auto* name : {"set", "eval", "evalsha", "delex", "delifeq"}) {
        if (const auto of = calls.find(name); of != calls.end()) {
            sum += static_cast<double>(of->second);
        }
    }
    return sum;
}

template <class Retry>
void contended(benchmark::State& state, cell where, Retry retry, bool is_default) {
    const test::redis_server server;
    auto admin = server.connect_admin();
    findings again;
    findings turns;
    for ([[maybe_unused]] auto _ : state) {
        again = run(server, where, habit::asks_again, retry);
        turns = run(server, where, habit::takes_turns, retry);
        state.SetIterationTime(2 * std::chrono::duration<double>{time_for_a_half}.count());
    }
    const auto per_second = [](const findings& of) {
        return static_cast<double>(of.in_time) / std::chrono::duration<double>{time_for_a_half}.count();
    };
    if (is_default) {
        rates_of_backoff()[where] = per_second(turns);
    }
    state.counters[column::per_second] = per_second(again);
    state.counters[column::same_thread] =
        100 * static_cast<double>(again.by_same_thread) / static_cast<double>(again.cycles);
    state.counters[column::handoffs] = per_second(turns);
    if (const auto reference = rates_of_backoff().find(where); reference != rates_of_backoff().end()) {
        state.counters[column::handoffs_to_backoff] = per_second(turns) / reference->second;
    }
    state.counters[column::handoff_p50] = percentile(turns.handoffs, 50);
    state.counters[column::handoff_p99] = percentile(turns.handoffs, 99);
    state.counters[column::longest_wait] = std::max(again.longest_wait, turns.longest_wait);
    state.counters[column::commands] = lock_commands(admin) / static_cast<double>(turns.cycles);
}

} // namespace

void register_contended() {
    for (const int threads : {2, 8, 64}) {
        for (const auto section : {0ms, 1ms}) {
            const cell where{threads, section};
            const auto add = [&](std::string_view policy, auto retry, bool is_default = false) {
                const auto name = std::to_string(threads) + " threads, " + std::to_string(section.count()) +
                                  " ms inside: " + std::string{policy};
                benchmark::RegisterBenchmark(name.c_str(), contended<decltype(retry)>, where, retry, is_default)
                    ->Iterations(1)
                    ->UseManualTime();
            };
            add("backoff", retry::backoff{}, true);
            add("spin", retry::spin{});
            add("yield", retry::yield{});
            add("sleep 1 ms", retry::sleep{1ms});
            add("sleep 20 ms", retry::sleep{20ms});
            add("sleep 200 ms", retry::sleep{200ms});
            add("spin 600 ms, then yield", retry::switch_after{600ms, retry::spin{}, retry::yield{}});
            add("yield 600 ms, then sleep 200 ms", retry::switch_after{600ms, retry::yield{}, retry::sleep{200ms}});
        }
    }
}

} // namespace distlock::bench
