// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.hpp"

#include <cerrno>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "blktally/error.hpp"
#include "blktally/fd.hpp"
#include "blktally/number.hpp"

namespace tally::torture {

int read_file(const std::string& path, std::string& text) {
    char part[8192];
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    text.clear();
    ssize_t got;
    while ((got = read(fd, part, sizeof(part))) > 0)
        text.append(part, static_cast<std::size_t>(got));
    const int error = got < 0 ? errno : 0;
    close(fd);
    return error;
}

std::string read_file(const std::string& path) {
    std::string text;
    if (const int error = read_file(path, text); error != 0)
        throw errno_error(error, path);
    return text;
}

void write_file(const std::string& path, const std::string& text) {
    const Fd fd = Fd::open(path, O_WRONLY);
    if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw errno_error(errno, path);
}

std::vector<std::uint64_t> numbers(const std::string& text) {
    std::istringstream words(text);
    std::vector<std::uint64_t> all;
    try {
        for (std::string word; words >> word;)
            all.push_back(parse_number(word));
    } catch (const std::exception& error) {
        throw Error(EINVAL, "\"" + text + "\": " + error.what());
    }
    return all;
}

} // namespace tally::torture
