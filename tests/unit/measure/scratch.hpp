// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

// A file that is gone with its owner, in the build tree: /tmp may have no direct I/O.
class Scratch {
public:
    explicit Scratch(off_t bytes) {
        const int fd = mkstemp(path_.data());
        if (fd < 0 || ftruncate(fd, bytes) != 0)
            throw std::runtime_error("no scratch file");
        close(fd);
    }
    ~Scratch() { unlink(path_.c_str()); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    const std::string &path() const { return path_; }
    bool direct() const {
        const int fd = open(path_.c_str(), O_RDONLY | O_DIRECT);
        if (fd >= 0)
            close(fd);
        return fd >= 0;
    }

private:
    std::string path_ = "scratch-XXXXXX";
};
