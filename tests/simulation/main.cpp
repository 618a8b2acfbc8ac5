// SPDX-License-Identifier: MIT
#include "parameters.hpp"
#include "run.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

/// The library in virtual time: many seeds at once, or one again with its trace.
namespace {

using namespace distlock::simulation;

struct totals {
    std::uint64_t runs = 0, grants = 0, events = 0;
    std::int64_t simulated_ns = 0;
    std::map<std::uint64_t, std::string> violations; // by seed: the first is the same however many threads
};

totals run_many(const workload& what, std::uint64_t first, std::uint64_t runs, unsigned threads,
                const std::set<std::string, std::less<>>& without, std::uint64_t most_violations) {
    totals all;
    std::mutex mutex;
    std::atomic<std::uint64_t> next{first};
    const auto work = [&] {
        for (std::uint64_t seed = next++; seed < first + runs; seed = next++) {
            const auto one = what.run(parameters{seed, without}, false);
            const std::lock_guard guard{mutex};
            ++all.runs;
            all.grants += one.grants;
            all.events += one.events;
            all.simulated_ns += one.simulated_ns;
            if (one.violation) {
                all.violations.emplace(seed, *one.violation);
                if (all.violations.size() >= most_violations) {
                    next = first + runs;
                }
            }
        }
    };
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < threads; ++i) {
        workers.emplace_back(work);
    }
    workers.clear();
    return all;
}

/// Fault by fault, switches off what the violation does not need.
std::set<std::string, std::less<>> cut_down(const workload& what, std::uint64_t seed,
                                            std::set<std::string, std::less<>> without) {
    for (const auto name : fault_names) {
        auto fewer = without;
        if (fewer.emplace(name).second && what.run(parameters{seed, fewer}, false).violation) {
            without = std::move(fewer);
        }
    }
    return without;
}

int replay(const workload& what, std::uint64_t seed, const std::set<std::string, std::less<>>& without) {
    const auto one = what.run(parameters{seed, without}, true);
    std::printf("%s\n", one.violation ? one.violation->c_str() : "no violation");
    return one.violation ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Runs the locks in virtual time against a simulated Redis, under faults, and checks what they promise"};
    std::uint64_t runs = 2000;
    std::uint64_t first = 1;
    std::uint64_t seed = 0;
    std::uint64_t most = 1;
    unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    std::string chosen = "all";
    std::set<std::string, std::less<>> without;
    app.add_option("--runs", runs, "how many seeds to run of each workload")->capture_default_str();
    app.add_option("--first", first, "the first seed")->capture_default_str();
    auto* const one_seed = app.add_option("--seed", seed, "run this seed alone, and print its trace");
    app.add_option("--most-violations", most, "stop after so many")->capture_default_str();
    app.add_option("--threads", threads, "how many seeds to run at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 256));
    std::set<std::string> names{"all"};
    for (const auto& each : workloads()) {
        names.emplace(each.name);
    }
    app.add_option("--workload", chosen, "which lock")->capture_default_str()->check(CLI::IsMember(names));
    std::vector<std::string> allowed;
    app.add_option("--faults", allowed,
                   "only these kinds of faults: loss cut delay pause kill crash wipe failover step "
                   "drift flush evict refuse, or none (default: all)")
        ->delimiter(',');
    CLI11_PARSE(app, argc, argv);

    if (!allowed.empty()) {
        without.insert(std::begin(fault_names), std::end(fault_names));
        for (const auto& name : allowed) {
            if (name != "none" && without.erase(name) == 0) {
                std::fprintf(stderr, "--faults: there is no fault called %s\n", name.c_str());
                return 2;
            }
        }
    }

    int code = 0;
    for (const auto& what : workloads()) {
        if (chosen == "all" ? what.is_wrong : chosen != what.name) {
            continue;
        }
        if (*one_seed) {
            code |= replay(what, seed, without);
            continue;
        }
        const auto begun = std::chrono::steady_clock::now();
        const auto all = run_many(what, first, runs, threads, without, most);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        std::printf(
            "%.*s: %llu seeds, %.1f simulated hours, %llu grants, %llu events, %zu violations; %.1f s, %.0f seeds/s\n",
            static_cast<int>(what.name.size()), what.name.data(), static_cast<unsigned long long>(all.runs),
            static_cast<double>(all.simulated_ns) / 3.6e12, static_cast<unsigned long long>(all.grants),
            static_cast<unsigned long long>(all.events), all.violations.size(), took.count(),
            static_cast<double>(all.runs) / took.count());
        for (const auto& [bad, why] : all.violations) {
            code = 1;
            std::printf("%s\n  again, with its trace: --workload %.*s --seed %llu --faults ", why.c_str(),
                        static_cast<int>(what.name.size()), what.name.data(), static_cast<unsigned long long>(bad));
            const auto needless = cut_down(what, bad, without);
            std::string needed;
            for (const auto name : fault_names) {
                if (!needless.contains(name)) {
                    needed.append(needed.empty() ? "" : ",").append(name);
                }
            }
            std::printf("%s\n", needed.empty() ? "none" : needed.c_str());
        }
    }
    return code;
}
