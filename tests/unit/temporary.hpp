// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

// A directory that goes away with what is in it.
class Temporary {
public:
    Temporary() {
        std::string pattern = std::filesystem::temp_directory_path() / "blktally-XXXXXX";
        path_ = mkdtemp(pattern.data());
    }
    ~Temporary() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};
