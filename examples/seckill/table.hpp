// SPDX-License-Identifier: MIT
#pragma once

#include "options.hpp"
#include "sale.hpp"
#include "settings.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace seckill {

struct finished_sale {
    setting how;
    sale_result result;
};

/// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number);
/// With the unit that fits: 250 ms, 10 s.
std::string spoken(std::chrono::milliseconds time);

void print_tables(std::ostream& out, const std::vector<finished_sale>& sales, const options& chosen);

/// Says whether every sale proved itself, and which did not and why.
bool print_proof(std::ostream& out, const std::vector<finished_sale>& sales, const options& chosen);

} // namespace seckill
