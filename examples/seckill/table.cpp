// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

namespace seckill {
namespace {

using std::chrono::milliseconds;
using row = std::vector<std::string>;

/// The first column to the left, the others to the right, a rule under the heads (the first `heads` rows).
void print_aligned(std::ostream& out, const std::vector<row>& rows, std::size_t heads) {
    std::vector<std::size_t> widths;
    for (const auto& each : rows) {
        widths.resize(std::max(widths.size(), each.size()));
        for (std::size_t i = 0; i < each.size(); ++i) {
            widths[i] = std::max(widths[i], each[i].size());
        }
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::size_t total = 0;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const auto gap = i == 0 ? 0 : 2;
            out << std::string(static_cast<std::size_t>(gap), ' ') << (i == 0 ? std::left : std::right)
                << std::setw(static_cast<int>(widths[i])) << rows[r][i];
            total += widths[i] + static_cast<std::size_t>(gap);
        }
        out << '\n';
        if (r + 1 == heads) {
            out << std::string(total, '-') << '\n';
        }
    }
}

std::string in_ms(sale_result::duration time) {
    return grouped(static_cast<std::uint64_t>(std::chrono::round<milliseconds>(time).count()));
}

std::string decimal(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    return text.str();
}

std::string mean(const std::vector<sale_result::duration>& times) {
    sale_result::duration sum{0};
    for (const auto each : times) {
        sum += each;
    }
    return times.empty() ? "-" : in_ms(sum / times.size());
}

/// The time that `percent` of all requests did not exceed (nearest rank).
std::string percentile(const std::vector<sale_result::duration>& sorted, std::size_t percent) {
    return sorted.empty() ? "-" : in_ms(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

std::string per_acquisition(const sale_result& result) {
    return result.granted == 0
               ? "-"
               : decimal(static_cast<double>(result.lock_commands) / static_cast<double>(result.granted));
}

std::string seconds(sale_result::duration time) { return decimal(std::chrono::duration<double>{time}.count()); }

} // namespace

std::string grouped(std::uint64_t number) {
    auto text = std::to_string(number);
    for (auto at = text.size(); at > 3; at -= 3) {
        text.insert(at - 3, 1, ',');
    }
    return text;
}

std::string spoken(milliseconds time) {
    const auto ms = static_cast<std::uint64_t>(time.count());
    return ms % 1000 == 0 ? grouped(ms / 1000) + " s" : grouped(ms) + " ms";
}

void print_tables(std::ostream& out, const std::vector<finished_sale>& sales, const options& chosen) {
    std::vector<row> summary{{"", "requests", "items", "items", "total", "mean", "longest", "commands per"},
                             {"how a buyer waits", "failed", "sold", "left", "s", "ms", "wait ms", "acquisition"}};
    row head{"requests done within ... ms"};
    constexpr std::array<std::size_t, 9> percents{50, 66, 75, 80, 90, 95, 98, 99, 100};
    for (const auto percent : percents) {
        head.push_back(std::to_string(percent) + " %");
    }
    std::vector<row> percentiles{head};
    for (const auto& [how, result] : sales) {
        summary.push_back({how.label(), grouped(result.failed()), grouped(result.sold), std::to_string(result.left),
                           seconds(result.total), mean(result.times), in_ms(result.longest_wait),
                           per_acquisition(result)});
        row times{how.label()};
        for (const auto percent : percents) {
            times.push_back(percentile(result.times, percent));
        }
        percentiles.push_back(std::move(times));
    }
    print_aligned(out, summary, 2);
    out << '\n';
    print_aligned(out, percentiles, 1);
    out << "\nfailed: no lock within " << spoken(chosen.deadline)
        << " (these requests count in all times but the longest wait, which is\n"
           "  that of the slowest buyer who got the lock)\n"
           "commands: what the lock sent, by INFO commandstats: SET, EVAL, EVALSHA, DELEX and DELIFEQ "
           "without the\n"
           "  sale's own SETs, failed requests' attempts included (a command that the server does not know is not "
           "counted)\n";
}

bool print_proof(std::ostream& out, const std::vector<finished_sale>& sales, const options& chosen) {
    bool all = true;
    for (const auto& [how, result] : sales) {
        if (!result.proven(chosen.stock)) {
            all = false;
            out << "NOT PROVEN under " << how.label() << ": sold " << grouped(result.sold) << " + left " << result.left
                << ", stock " << grouped(chosen.stock) << "; two buyers were inside " << grouped(result.overlaps)
                << " times; " << grouped(result.broken) << " requests broke off inside\n";
        }
        if (result.leases_lost > 0) {
            out << "Under " << how.label() << ' ' << grouped(result.leases_lost)
                << " leases were over before their buyers had finished: the ttl is too short\n";
        }
        if (!result.trouble.empty()) {
            out << "Trouble under " << how.label() << ": " << result.trouble << '\n';
        }
    }
    if (all && !sales.empty()) {
        out << "Proven for every sale above: sold + left = stock (" << grouped(chosen.stock)
            << "), and no two buyers were ever inside.\n";
    }
    return all;
}

} // namespace seckill
