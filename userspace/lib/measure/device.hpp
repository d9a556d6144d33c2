// SPDX-License-Identifier: GPL-2.0-or-later
// The file or block device that a job runs on, opened so that it can do no harm.
#pragma once

#include <cstdint>
#include <string>

#include "measure/file.hpp"
#include "measure/job.hpp"

namespace tally {

class Device {
public:
    // Checks the job against the device. A job that writes needs a disk of ours or job.force, and
    // a block device that nobody holds: it stays claimed until the Device goes. Throws UsageError
    // (span), PermissionError, std::system_error.
    explicit Device(const Job &job);

    bool block() const noexcept { return block_; }
    std::uint64_t offset() const noexcept { return offset_; } // bytes
    std::uint64_t size() const noexcept { return size_; }     // of the span, whole blocks
    int get() const noexcept { return file_.get(); }

    // Another open file on the same device, with O_DIRECT.
    File open_direct() const;

private:
    std::string path_;
    bool write_, block_ = false;
    File file_;
    std::uint64_t offset_ = 0, size_ = 0;
};

class PermissionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Is it one of our disks, or a partition of one?
bool is_ours(std::uint32_t major, std::uint32_t minor);

} // namespace tally
