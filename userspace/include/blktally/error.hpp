// SPDX-License-Identifier: GPL-2.0-or-later
// What every tool of ours makes of a failure: one sentence and an exit status.
#pragma once

#include <string>
#include <system_error>

namespace tally {

// An errno with a sentence of our own; what() is that sentence and nothing behind it.
class Error : public std::system_error {
public:
    Error(int error, std::string message);
    const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

// An Error that ends in what the errno means: "PATH: No such file or directory".
Error errno_error(int error, const std::string& what);

// That a module of ours is not there, and what to do about it.
std::string not_loaded(const std::string& module);

enum Exit : int {
    exit_ok = 0,
    exit_failed = 1,
    exit_usage = 2,
    exit_missing = 3, // a device or a module is not there
    exit_denied = 4,
};

int exit_status(const std::error_code& code) noexcept;

} // namespace tally
