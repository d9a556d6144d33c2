// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/number.hpp"

#include "blktally/device.hpp"
#include "catch.hpp"

#include <stdexcept>
#include <string>

using namespace tally;

TEST_CASE("numbers") {
    CHECK(parse_number("0") == 0);
    CHECK(parse_number("007") == 7);
    CHECK(parse_number("18446744073709551615") == UINT64_MAX);
    CHECK(parse_number("10", 10) == 10);
    for (auto text : {"", "x", "1x", "-1", "+1", "18446744073709551616", " 1", "1 ", "0x1", "1K"})
        CHECK_THROWS_AS(parse_number(text), std::invalid_argument);
    CHECK_THROWS_WITH(parse_number("11", 10), "\"11\" is more than 10");
    CHECK_THROWS_WITH(parse_number("18446744073709551616", 10),
                      "\"18446744073709551616\" is more than 10");
}

TEST_CASE("sizes") {
    CHECK(parse_size("512") == 512);
    CHECK(parse_size("1k") == 1024);
    CHECK(parse_size("4K") == 4096);
    CHECK(parse_size("3m") == 3ULL << 20);
    CHECK(parse_size("2G") == 2ULL << 30);
    CHECK(parse_size("1T") == 1ULL << 40);
    CHECK(parse_size("16777215T") == 16777215ULL << 40);
    CHECK_THROWS_WITH(parse_size("16777216T"), "\"16777216T\" is more than 18446744073709551615");
    CHECK_THROWS_WITH(parse_size("18446744073709551616K", 4096),
                      "\"18446744073709551616K\" is more than 4096");
    for (auto text : {"",
                      "K",
                      "x",
                      "1x",
                      "1KB",
                      "1KK",
                      "1 K",
                      "-1",
                      "-1K",
                      "+1",
                      " 1",
                      "1.5G",
                      "1P",
                      "1+",
                      "1\v",
                      "18446744073709551616"})
        CHECK_THROWS_AS(parse_size(text), std::invalid_argument);
}

TEST_CASE("device numbers") {
    CHECK(parse_device_number("8:16") == DeviceNumber{8, 16});
    CHECK_FALSE(parse_device_number("8"));
    CHECK_FALSE(parse_device_number("8:16x"));
    CHECK_FALSE(parse_device_number("5000:0"));
    CHECK(to_string(DeviceNumber{252, 3}) == "252:3");
}
