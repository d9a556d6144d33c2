// SPDX-License-Identifier: GPL-2.0-or-later
// A file descriptor with an owner, and small files read and written whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tally {

class File {
public:
    File() = default;
    explicit File(int fd) noexcept : fd_(fd) {}
    File(File &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    File &operator=(File &&other) noexcept { // what was ours is closed with `other`
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~File();

    // Throws std::system_error that names the path.
    static File open(const std::string &path, int flags);
    int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

// What a file says, without trailing white space; nothing when it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path &path);

void write_text(const std::filesystem::path &path, std::string_view text);
// Throws std::system_error when replace_text cannot work, without a trace in the file.
void require_replaceable(const std::filesystem::path &path);
// The old contents or the new, never half of them.
void replace_text(const std::filesystem::path &path, std::string_view text);

} // namespace tally
