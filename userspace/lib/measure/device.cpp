// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/device.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace tally {
namespace {

struct stat stat_of(const std::string &path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0)
        throw std::system_error(errno, std::generic_category(), path);
    return status;
}

std::uint64_t bytes_of(int fd, const struct stat &status, const std::string &path) {
    if (!S_ISBLK(status.st_mode))
        return static_cast<std::uint64_t>(status.st_size);
    std::uint64_t bytes = 0;
    if (ioctl(fd, BLKGETSIZE64, &bytes) != 0)
        throw std::system_error(errno, std::generic_category(), path + ": BLKGETSIZE64");
    return bytes;
}

File open_claimed(const std::string &path, bool write, bool block) {
    try {
        return File::open(path, write ? O_RDWR | (block ? O_EXCL : 0) : O_RDONLY);
    } catch (const std::system_error &error) {
        if (error.code() == std::errc::device_or_resource_busy)
            throw PermissionError(path + ": mounted or held by somebody; it is not written to");
        throw;
    }
}

} // namespace

bool is_ours(std::uint32_t major, std::uint32_t minor) {
    const std::filesystem::path node = fmt::format("/sys/dev/block/{}:{}", major, minor);
    std::error_code ignored;
    if (std::filesystem::is_directory(node / "tally", ignored))
        return true;
    return std::filesystem::exists(node / "partition", ignored) &&
           std::filesystem::is_directory(node / "../tally", ignored);
}

Device::Device(const Job &job) : path_(job.device), write_(job.write), offset_(job.offset) {
    const struct stat status = stat_of(path_);
    block_ = S_ISBLK(status.st_mode);
    if (!block_ && !S_ISREG(status.st_mode))
        throw UsageError(path_ + ": neither a block device nor a regular file");
    if (job.write && !job.force &&
        !(block_ && is_ours(major(status.st_rdev), minor(status.st_rdev))))
        throw PermissionError(path_ +
                              ": not a disk of ours; --force-device writes to it all the same");
    file_ = open_claimed(path_, job.write, block_);

    const std::uint64_t end = bytes_of(file_.get(), status, path_);
    if (offset_ >= end || job.size > end - offset_)
        throw UsageError(fmt::format(
            "{}: offset {} and size {} go beyond its end, {}", path_, offset_, job.size, end));
    size_ = job.size != 0 ? job.size : end - offset_;
    size_ -= size_ % job.block_bytes;
    if (size_ == 0)
        throw UsageError(fmt::format(
            "{}: no room for one block of {} from offset {}", path_, job.block_bytes, offset_));
    int logical = 0;
    if (block_ && ioctl(file_.get(), BLKSSZGET, &logical) == 0 && logical > 0 &&
        (job.block_bytes % static_cast<unsigned>(logical) != 0 ||
         offset_ % static_cast<unsigned>(logical) != 0))
        throw UsageError(fmt::format("{}: block size {} and offset {} must be multiples of {}",
                                     path_,
                                     job.block_bytes,
                                     offset_,
                                     logical));
}

File Device::open_direct() const {
    try {
        return File::open(path_, O_DIRECT | (write_ ? O_RDWR : O_RDONLY));
    } catch (const std::system_error &error) {
        if (error.code() == std::errc::invalid_argument)
            throw std::system_error(error.code(), path_ + ": its file system has no direct I/O");
        throw;
    }
}

} // namespace tally
