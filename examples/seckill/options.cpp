// SPDX-License-Identifier: MIT
#include "options.hpp"

#include "settings.hpp"

#include <CLI/CLI.hpp>
#include <distlock/hiredis.hpp>

#include <charconv>
#include <iostream>
#include <map>
#include <string_view>
#include <system_error>

namespace seckill {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr const char* description =
    R"(A flash sale on Redis: many buyers at once, one stock, guarded by one distlock::redis_lock.
The same sale is held under several ways of waiting for the lock (retry policies), and a table compares
them. Each buyer is a thread with a connection and a lock handle of its own.)";

std::string footer() {
    std::string text = "Settings:\n";
    for (const auto& each : all_settings()) {
        text += "  " + each.label() + '\n';
    }
    return text + R"(
Durations have a unit: 500ms, 10s, 2min.
Exit status: 0 nothing was oversold and no two buyers were ever inside; 1 that failed, or the sale
could not be held; 2 a bad flag; 130 and the like after Ctrl-C and other signals.)";
}

std::string complaint_about_url(const std::string& url) {
    try {
        const distlock::hiredis_connection unused{url}; // connects at its first command, so not here
        return {};
    } catch (const std::exception& refusal) {
        return refusal.what();
    }
}

/// Makes milliseconds of a duration with a unit, or says what is wrong with it.
std::string read_duration(std::string& text, milliseconds longest) {
    const std::map<std::string_view, std::int64_t> units{{"ms", 1}, {"s", 1000}, {"min", 60'000}};
    const auto* end = text.data() + text.size();
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const auto unit = units.find({rest, static_cast<std::size_t>(end - rest)});
    if (error != std::errc{} || unit == units.end() || number < 1 || number > longest.count() / unit->second) {
        return '\'' + text + "' is no duration from 1ms to " + std::to_string(longest / 1min) +
               "min, such as 500ms, 10s or 2min";
    }
    text = std::to_string(number * unit->second);
    return {};
}

void add_duration(CLI::App& app, const std::string& flag, milliseconds::rep& target, milliseconds longest,
                  const std::string& help) {
    const auto reading = [longest](std::string& text) { return read_duration(text, longest); };
    app.add_option(flag, target, help)->transform(CLI::Validator{reading, ""})->type_name("DURATION");
}

void add_number(CLI::App& app, const std::string& flag, std::uint64_t& target, std::uint64_t least, std::uint64_t most,
                const std::string& help) {
    app.add_option(flag, target, help)->check(CLI::Range(least, most).description(""))->type_name("N");
}

} // namespace

command_line parse(int argc, char** argv) {
    options chosen;
    auto deadline = chosen.deadline.count();
    auto ttl = chosen.ttl.count();
    CLI::App app{description, "seckill"};
    app.footer(footer());
    add_number(app, "--buyers", chosen.buyers, 1, 10'000, "Buyers at once, each a thread and a connection (1000)");
    add_number(app, "--requests", chosen.requests, 1, 10'000'000, "Requests of all buyers together (2000)");
    add_number(app, "--stock", chosen.stock, 0, 1'000'000'000, "Items; a request that gets the lock buys one (1500)");
    add_duration(app, "--deadline", deadline, 1h, "How long a request waits for the lock (10s)");
    add_duration(app, "--ttl", ttl, 24h, "The lease of the lock (30s)");
    app.add_option("--setting", chosen.settings, "Only these settings, for example --setting 3 6")
        ->check(CLI::Range(std::size_t{1}, all_settings().size()).description(""))
        ->type_name("N");
    app.add_option("--url", chosen.url,
                   "A server of yours: redis://user:password@host:port/db\nor unix:///path?db=n; else a private "
                   "redis-server\nis started and stopped at the end")
        ->check(CLI::Validator{[](std::string& url) { return complaint_about_url(url); }, ""})
        ->type_name("URL");
    app.add_flag("--no-lock", chosen.no_lock, "Sell without the lock, to see what goes wrong");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return {std::nullopt, app.exit(help)};
    } catch (const CLI::ParseError& bad) {
        std::cerr << "seckill: " << bad.what() << "\nRun with --help for more information.\n";
        return {std::nullopt, 2};
    }
    chosen.deadline = milliseconds{deadline};
    chosen.ttl = milliseconds{ttl};
    return {std::move(chosen), 0};
}

} // namespace seckill
