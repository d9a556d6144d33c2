// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>

#include <getopt.h>

#include "blktally/number.hpp"

namespace tally::torture {
namespace {

constexpr const char* usage =
    "usage: tally-torture [--seed N] [--seconds N] [--no-hotplug] [--no-load]\n"
    "\n"
    "Everything that the modules can do at once, on RAM disks and mapped devices of its own, with\n"
    "I/O that is verified. For a virtual machine: it takes CPU 1 off line and on line.\n"
    "\n"
    "  --seed N      of all that is random (default: drawn; printed)\n"
    "  --seconds N   for how long (default: 60)\n"
    "  --no-hotplug  leave CPU 1 alone\n"
    "  --no-load     no runs of tally_gen\n"
    "\n"
    "exit status: 0 all is well; 1 a fault, or less was done than the least; 2 wrong usage\n";

enum Option : int { seed, seconds, no_hotplug, no_load, help };

constexpr option known[] = {
    {"seed", required_argument, nullptr, seed},
    {"seconds", required_argument, nullptr, seconds},
    {"no-hotplug", no_argument, nullptr, no_hotplug},
    {"no-load", no_argument, nullptr, no_load},
    {"help", no_argument, nullptr, help},
    {nullptr, 0, nullptr, 0},
};

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "tally-torture: %s\n%s", why.c_str(), usage);
    std::exit(2);
}

void take(Options& options, int which) {
    switch (which) {
    case seed:
        options.seed = parse_number(optarg);
        return;
    case seconds:
        options.seconds = static_cast<double>(parse_number(optarg, 1000000));
        if (options.seconds == 0)
            throw std::invalid_argument("--seconds 0: at least 1");
        return;
    case no_hotplug:
        options.hotplug = false;
        return;
    case no_load:
        options.load = false;
        return;
    case help:
        std::fputs(usage, stdout);
        std::exit(0);
    default:
        std::fputs(usage, stderr);
        std::exit(2);
    }
}

} // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    options.seed = std::random_device{}();
    try {
        for (int which; (which = getopt_long(argc, argv, "", known, nullptr)) != -1;)
            take(options, which);
    } catch (const std::exception& error) {
        refuse(error.what());
    }
    if (optind != argc)
        refuse(std::string(argv[optind]) + ": no arguments are taken");
    return options;
}

} // namespace tally::torture
