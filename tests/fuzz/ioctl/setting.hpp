// SPDX-License-Identifier: GPL-2.0-or-later
// The machine: what is made ready before, and put back after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blktally/fd.hpp"
#include "model.hpp"

namespace fuzz {

// A file of one line, with another content for as long as this lives.
class Override {
public:
    Override(const char* path, const std::string& text);
    Override(const Override&) = delete;
    Override& operator=(const Override&) = delete;
    ~Override();

private:
    const char* path_;
    std::string before_;
};

// A block device that is not ours: a loop device on memory, if there are such.
class Foreign {
public:
    Foreign();
    Foreign(const Foreign&) = delete;
    Foreign& operator=(const Foreign&) = delete;
    ~Foreign();
    const std::optional<Disk>& disk() const { return disk_; }

private:
    tally::Fd memory_, loop_;
    std::optional<Disk> disk_;
};

// The calling thread without CAP_SYS_ADMIN for as long as this lives.
class Unprivileged {
public:
    explicit Unprivileged(bool really);
    Unprivileged(const Unprivileged&) = delete;
    Unprivileged& operator=(const Unprivileged&) = delete;
    ~Unprivileged();

private:
    bool really_;
};

// The reference count of a module; -1 if it is not loaded.
int references(const std::string& module);

std::string read_line(const std::string& path);
int write_file(const std::string& path, const std::string& text); // errno, or 0

} // namespace fuzz
