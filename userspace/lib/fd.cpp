// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/fd.hpp"

#include "blktally/error.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace tally {

Fd Fd::open(const std::string& path, int flags, unsigned mode) {
    int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0)
        throw errno_error(errno, path);
    return Fd(fd);
}

Fd::~Fd() {
    if (fd_ >= 0)
        ::close(fd_);
}

} // namespace tally
