// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/file.hpp"

#include <cerrno>
#include <cstdlib>
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

namespace {

namespace fs = std::filesystem;

void write_all(int fd, const fs::path &path, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throw std::system_error(errno, std::generic_category(), path.string());
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

// A file beside the one to be replaced, that was not there before; gone again unless it was moved.
class Beside {
public:
    explicit Beside(const fs::path &path) : name_(path.string() + ".XXXXXX") {
        fd_ = mkostemp(name_.data(), O_CLOEXEC);
        if (fd_ < 0)
            throw std::system_error(errno, std::generic_category(), path.string());
    }
    ~Beside() {
        close(fd_);
        if (!moved_)
            unlink(name_.c_str());
    }
    Beside(const Beside &) = delete;
    Beside &operator=(const Beside &) = delete;

    void write(std::string_view text) const { write_all(fd_, name_, text); }
    void become(const fs::path &path) {
        const mode_t mask = umask(0);
        umask(mask);
        if (fchmod(fd_, 0666 & ~mask) != 0)
            throw std::system_error(errno, std::generic_category(), name_);
        fs::rename(name_, path);
        moved_ = true;
    }

private:
    std::string name_;
    int fd_;
    bool moved_ = false;
};

// A pipe or /dev/null cannot be replaced, only written to.
bool replaceable(const fs::path &path) {
    std::error_code ignored;
    const auto status = fs::status(path, ignored);
    return !fs::exists(status) || fs::is_regular_file(status);
}

// What a link leads to is replaced, not the link.
fs::path behind_links(const fs::path &path) { return fs::weakly_canonical(fs::absolute(path)); }

} // namespace

void write_text(const fs::path &path, std::string_view text) {
    const File file = File::open(path, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(file.get(), path, text);
}

void require_replaceable(const fs::path &path) {
    if (replaceable(path))
        Beside(behind_links(path));
    else if (fs::is_directory(path) || access(path.c_str(), W_OK) != 0)
        // Not opened: the reader of a pipe would see it closed again.
        throw std::system_error(
            fs::is_directory(path) ? EISDIR : errno, std::generic_category(), path.string());
}

void replace_text(const fs::path &path, std::string_view text) {
    if (!replaceable(path))
        return write_text(path, text);
    const fs::path real = behind_links(path);
    Beside fresh(real);
    fresh.write(text);
    fresh.become(real);
}

} // namespace tally
