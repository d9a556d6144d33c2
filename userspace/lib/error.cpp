// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/error.hpp"

#include <cerrno>
#include <cstring>

namespace tally {

Error::Error(int error, std::string message)
    : std::system_error(error, std::generic_category()), message_(std::move(message)) {}

Error errno_error(int error, const std::string& what) {
    return {error, what + ": " + std::generic_category().message(error)};
}

std::string not_loaded(const std::string& module) {
    return module + " is not loaded; try: modprobe -a tally_ram tally_map tally_gen";
}

int exit_status(const std::error_code& code) noexcept {
    switch (code.value()) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
    case ENOTTY: // the module that brings the command
        return exit_missing;
    case EPERM:
    case EACCES:
        return exit_denied;
    default:
        return exit_failed;
    }
}

} // namespace tally
