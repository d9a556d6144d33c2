// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tally {
namespace {

// Code points, which is what a terminal shows of the few non-ASCII letters we use.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    }));
}

} // namespace

Table::Table(std::vector<std::string> head) : left_(head.size(), false) {
    left_.at(0) = true;
    rows_.push_back(std::move(head));
}

void Table::add(std::vector<std::string> row) {
    row.resize(left_.size());
    rows_.push_back(std::move(row));
}

std::string Table::text() const {
    std::vector<std::size_t> widths(left_.size(), 0);
    for (const auto &row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i]));
    std::string text;
    for (const auto &row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string space(widths[i] - width(row[i]), ' ');
            line += (i == 0 ? "" : "  ") + (left_[i] ? row[i] + space : space + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string fixed(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string percent(double fraction, int digits) {
    return std::isfinite(fraction) ? fmt::format("{:.{}f} %", fraction * 100.0, digits) : "-";
}

} // namespace tally
