// SPDX-License-Identifier: GPL-2.0-or-later
// Catch2 under either of its names: version 3 has catch_all.hpp, version 2 catch.hpp.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
