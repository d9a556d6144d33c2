// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <unistd.h>

#include "measure/device.hpp"
#include "measure/file.hpp"

namespace tally::bench {
namespace {

int status_of(const std::error_code &code) {
    if (code == std::errc::permission_denied || code == std::errc::operation_not_permitted)
        return exit_not_permitted;
    for (std::errc missing :
         {std::errc::no_such_file_or_directory,
          std::errc::no_such_device,
          std::errc::no_such_device_or_address,
          std::errc::inappropriate_io_control_operation}) // its module is missing
        if (code == missing)
            return exit_missing;
    return exit_failed;
}

} // namespace

int exit_status(const std::exception &error) {
    if (dynamic_cast<const UsageError *>(&error) != nullptr)
        return exit_usage;
    if (dynamic_cast<const PermissionError *>(&error) != nullptr)
        return exit_not_permitted;
    if (dynamic_cast<const Missing *>(&error) != nullptr)
        return exit_missing;
    if (const auto *system = dynamic_cast<const std::system_error *>(&error))
        return status_of(system->code());
    return exit_failed;
}

int exit_status(int signal) { return signal == 0 ? exit_ok : exit_signal + signal; }

void print(const std::string &text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "stdout");
}

void require_writable(const JsonOption &where) {
    if (where.to_file())
        require_replaceable(where.file);
}

void print(const JsonOption &where, const std::string &text, const Json &document) {
    if (where.to_file())
        replace_text(where.file, dump(document));
    print(where.to_stdout() ? dump(document) : text);
}

void warn(std::vector<std::string> &messages, const std::string &text) {
    std::fprintf(stderr, "tallybench: %s\n", text.c_str());
    messages.push_back(text);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressLine::operator()(const std::string &text) {
    if (!terminal_)
        return;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    shown_ = true;
}

void ProgressLine::clear() {
    if (shown_)
        std::fputs("\r\033[K", stderr);
    shown_ = false;
}

} // namespace tally::bench
