// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tally {

File::~File() {
    if (fd_ >= 0)
        close(fd_);
}

File File::open(const std::string &path, int flags) {
    int fd;
    do
        fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), path);
    return File(fd);
}

std::optional<std::string> read_text(const std::filesystem::path &path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        return std::nullopt;
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (stream.bad())
        return std::nullopt;
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

void write_text(const std::filesystem::path &path, std::string_view text) {
    const File file = File::open(path, O_WRONLY | O_CREAT | O_TRUNC);
    while (!text.empty()) {
        const ssize_t written = ::write(file.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throw std::system_error(errno, std::generic_category(), path.string());
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

namespace {

namespace fs = std::filesystem;

// A pipe or /dev/null cannot be replaced, only written to.
bool replaceable(const fs::path &path) {
    std::error_code ignored;
    const auto status = fs::status(path, ignored);
    return !fs::exists(status) || fs::is_regular_file(status);
}

fs::path new_text(const fs::path &path) { return path.string() + ".new"; }

} // namespace

void require_replaceable(const fs::path &path) {
    if (replaceable(path)) {
        write_text(new_text(path), "");
        fs::remove(new_text(path));
    } else if (fs::is_directory(path) || access(path.c_str(), W_OK) != 0) {
        // Not opened: the reader of a pipe would see it closed again.
        throw std::system_error(
            fs::is_directory(path) ? EISDIR : errno, std::generic_category(), path.string());
    }
}

void replace_text(const fs::path &path, std::string_view text) {
    if (!replaceable(path))
        return write_text(path, text);
    const fs::path temporary = new_text(path);
    write_text(temporary, text);
    fs::rename(temporary, path);
}

} // namespace tally
