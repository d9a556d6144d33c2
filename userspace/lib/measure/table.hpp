// SPDX-License-Identifier: GPL-2.0-or-later
// Columns of text for people: the first to the left, the others to the right unless said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally {

class Table {
public:
    explicit Table(std::vector<std::string> head);
    void left(std::size_t column) { left_.at(column) = true; }
    void add(std::vector<std::string> row);
    std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<bool> left_;
};

// "-" for what is not a number.
std::string fixed(double value, int digits);
std::string percent(double fraction, int digits = 1);

} // namespace tally
