// SPDX-License-Identifier: GPL-2.0-or-later
// stdout is data, stderr is messages, and how it all ended is the exit status.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "measure/experiment.hpp"
#include "measure/json.hpp"
#include "options.hpp"

namespace tally::bench {

enum ExitStatus {
    exit_ok = 0,
    exit_failed = 1,
    exit_usage = 2,
    exit_missing = 3,
    exit_not_permitted = 4,
    exit_regression = 5,
    exit_skipped = 77,
    exit_signal = 128,
};

int exit_status(const std::exception &error);
int exit_status(int signal); // exit_ok for 0

// Throws std::system_error when the document could not be written: before hours of measuring.
void require_writable(const JsonOption &where);
// The table, the document, or both. Throws std::system_error when they cannot be written.
void print(const std::string &text);
void print(const JsonOption &where, const std::string &text, const Json &document);

// A message on stderr, kept for the document as well.
void warn(std::vector<std::string> &messages, const std::string &text);

// One line that is written over, on a terminal alone.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine() { clear(); }
    void operator()(const std::string &text);
    void clear();

private:
    bool terminal_;
    bool shown_ = false;
};

} // namespace tally::bench
