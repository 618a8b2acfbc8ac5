// SPDX-License-Identifier: MIT
#include "benchmarks.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

namespace column = distlock::bench::column;

struct heading {
    std::string_view counter;
    std::string_view text;
    int decimals;
};

constexpr heading headings[] = {
    {column::per_second, "cycles/s", 0},
    {column::time_to_raw, "time/raw", 2},
    {column::same_thread, "same thread %", 1},
    {column::handoffs, "hand-offs/s", 0},
    {column::handoffs_to_backoff, "/backoff", 2},
    {column::handoff_p50, "p50 ms", 3},
    {column::handoff_p99, "p99 ms", 3},
    {column::longest_wait, "longest wait ms", 0},
    {column::commands, "commands", 2},
};

/// All benchmarks in one table at the end; on a terminal, a line meanwhile that tells which was the last.
class table : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const auto& run : runs) {
            if (::isatty(STDERR_FILENO) != 0) {
                std::fprintf(stderr, "\r\033[K%s", run.run_name.function_name.c_str());
            }
            rows_.push_back(row_of(run));
        }
    }

    void Finalize() override {
        if (::isatty(STDERR_FILENO) != 0) {
            std::fputs("\r\033[K", stderr);
        }
        if (rows_.empty()) {
            return;
        }
        std::vector<std::string> head{"benchmark"};
        for (const auto& each : headings) {
            head.emplace_back(each.text);
        }
        head.emplace_back("note");
        rows_.insert(rows_.begin(), head);
        std::vector<std::size_t> widths(head.size());
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                widths[i] = std::max(widths[i], row[i].size());
            }
        }
        for (const auto& row : rows_) {
            print(row, widths);
        }
        std::puts(
            "\ntime/raw: one cycle's time to that of SET NX PX and a compare-and-delete sent with hiredis alone, in "
            "the same run; less is better\n"
            "hand-offs: from one thread's unlock() to the next one's grant, while the last owner waits for "
            "another's turn; /backoff: to the default policy's rate in the same run; more is better\n"
            "commands: what the server is asked for one cycle (contended: for one hand-off)");
    }

private:
    using cells = std::vector<std::string>;

    static cells row_of(const Run& run) {
        cells made{run.run_name.function_name};
        for (const auto& each : headings) {
            const auto found = run.counters.find(std::string{each.counter});
            made.push_back(found == run.counters.end() ? "-" : number(found->second.value, each.decimals));
        }
        made.push_back(run.report_label);
        return made;
    }

    static std::string number(double value, int decimals) {
        char text[64];
        std::snprintf(text, sizeof text, "%.*f", decimals, value);
        return text;
    }

    static void print(const cells& row, const std::vector<std::size_t>& widths) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - row[i].size(), ' ');
            const bool is_text = i == 0 || i + 1 == row.size();
            line += (i > 0 ? "  " : "") + (is_text ? row[i] + gap : gap + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::puts(line.c_str());
    }

    std::vector<cells> rows_;
};

} // namespace

int main(int argc, char** argv) try {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    distlock::bench::register_uncontended();
    distlock::bench::register_contended();
    table out;
    benchmark::RunSpecifiedBenchmarks(&out);
    return 0;
} catch (const std::exception& trouble) {
    std::fprintf(stderr, "%s\n", trouble.what());
    return 1;
}
