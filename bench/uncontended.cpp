// SPDX-License-Identifier: MIT
//
// What the library costs beside the round trips: its cycle against the same two commands sent by hand with hiredis. Both
// alternate in one process, in short rounds, so that a busy machine disturbs both alike; the figures are medians of the
// rounds.
#include "benchmarks.hpp"

#include "support/redis_server.hpp"

#include "distlock/hiredis.hpp"
#include "distlock/redis_lock.hpp"

#include <benchmark/benchmark.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace distlock::bench {
namespace {

constexpr int rounds = 1001;
constexpr int cycles = 20;

using seconds = std::chrono::duration<double>;

/// The pair that everybody writes by hand.
class raw_pair {
public:
    explicit raw_pair(redisContext* connected)
        : context_{connected, &redisFree} {
        if (!context_ || context_->err != 0) {
            throw std::runtime_error{"the server cannot be reached"};
        }
        const auto loaded = call({"SCRIPT", "LOAD", script});
        if (loaded->type != REDIS_REPLY_STRING) {
            throw std::runtime_error{"the script cannot be loaded"};
        }
        sha1_.assign(loaded->str, static_cast<std::size_t>(loaded->len));
    }

    void cycle() {
        const auto granted = call({"SET", key, token, "NX", "PX", "30000"});
        const auto released = call({"EVALSHA", sha1_, "1", key, token});
        if (granted->type != REDIS_REPLY_STATUS || released->type != REDIS_REPLY_INTEGER || released->integer != 1) {
            throw std::runtime_error{"a raw cycle has failed"};
        }
    }

private:
    static constexpr std::string_view key = "bench:raw";
    static constexpr std::string_view token = "0123456789abcdef0123456789abcdef";
    static constexpr std::string_view script =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

    struct free_reply {
        void operator()(redisReply* answer) const noexcept { freeReplyObject(answer); }
    };

    template <std::size_t Count>
    std::unique_ptr<redisReply, free_reply> call(const std::string_view (&argv)[Count]) {
        std::array<const char*, Count> words;
        std::array<std::size_t, Count> lengths;
        for (std::size_t i = 0; i < Count; ++i) {
            words[i] = argv[i].data();
            lengths[i] = argv[i].size();
        }
        std::unique_ptr<redisReply, free_reply> answer{static_cast<redisReply*>(
            redisCommandArgv(context_.get(), static_cast<int>(Count), words.data(), lengths.data()))};
        if (!answer) {
            throw std::runtime_error{context_->errstr};
        }
        return answer;
    }

    std::unique_ptr<redisContext, decltype(&redisFree)> context_;
    std::string sha1_;
};

enum class way : std::uint8_t { unix_socket, tcp };
enum class ending : std::uint8_t { release, unlock };

template <class Cycle>
double seconds_per_cycle(Cycle&& cycle) {
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < cycles; ++i) {
        cycle();
    }
    return seconds{std::chrono::steady_clock::now() - begun}.count() / cycles;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void uncontended(benchmark::State& state, way how, ending end, double target) {
    const test::redis_server server;
    auto admin = server.connect_admin();
    hiredis_connection redis{how == way::tcp ? server.url_tcp() : server.url_unix()};
    redis_lock lock{redis, "bench:own"};
    raw_pair raw{how == way::tcp ? redisConnect("127.0.0.1", server.port())
                                 : redisConnectUnix(server.socket_path().c_str())};

    const auto raw_cycle = [&] { raw.cycle(); };
    const auto own_cycle = [&] {
        lock.lock();
        if (end == ending::unlock) {
            lock.unlock();
        } else if (lock.release() != release_outcome::released) {
            throw std::runtime_error{"a cycle has failed"};
        }
    };
    seconds_per_cycle(raw_cycle); // the first cycles connect, load the script and find out about native forms
    seconds_per_cycle(own_cycle);
    lock.last_release();
    admin.reset_calls();

    std::vector<double> raws;
    std::vector<double> owns;
    std::vector<double> ratios;
    for ([[maybe_unused]] auto _ : state) {
        const bool raw_first = owns.size() % 2 == 0;
        if (raw_first) {
            raws.push_back(seconds_per_cycle(raw_cycle));
        }
        owns.push_back(seconds_per_cycle(own_cycle));
        lock.last_release(); // the last answer, not yet read after unlock(), is nobody else's burden
        if (!raw_first) {
            raws.push_back(seconds_per_cycle(raw_cycle));
        }
        ratios.push_back(owns.back() / raws.back());
        state.SetIterationTime(owns.back());
    }

    // Both kinds of cycle took part: what the raw ones sent is known.
    const auto calls = admin.calls();
    const auto count = [&](const char* command) {
        const auto found = calls.find(command);
        return found == calls.end() ? 0.0 : static_cast<double>(found->second);
    };
    const auto all = count("set") + count("eval") + count("evalsha") + count("delex") + count("delifeq");
    const auto ran = static_cast<double>(owns.size()) * cycles;
    const auto ratio = median(ratios);
    state.counters[column::per_second] = 1 / median(owns);
    state.counters[column::time_to_raw] = ratio;
    state.counters[column::commands] = all / ran - 2;
    char note[96];
    std::snprintf(note, sizeof note, "%.1f us, raw %.1f us; to reach: %.2f, %s", median(owns) * 1e6, median(raws) * 1e6,
                  target, ratio <= target ? "reached" : "missed");
    state.SetLabel(note);
}

} // namespace

void register_uncontended() {
    const auto add = [](const char* name, way how, ending end, double target) {
        benchmark::RegisterBenchmark(name, uncontended, how, end, target)->Iterations(rounds)->UseManualTime();
    };
    add("lock+release, Unix socket", way::unix_socket, ending::release, 1.05);
    add("lock+unlock, Unix socket", way::unix_socket, ending::unlock, 0.70);
    add("lock+release, TCP", way::tcp, ending::release, 1.05);
    add("lock+unlock, TCP", way::tcp, ending::unlock, 0.90);
}

} // namespace distlock::bench
