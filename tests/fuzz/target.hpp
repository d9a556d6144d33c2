// SPDX-License-Identifier: GPL-2.0-or-later
// What the fuzz targets share. An input fails when a promise is broken, when a sanitizer says so,
// or when an exception gets out: none is caught here but the one that the reader's header names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

// tests/fuzz/run prints this line as the reason.
[[noreturn]] inline void broken(const std::string& promise) {
    std::fprintf(stderr, "fuzz: %s\n", promise.c_str());
    std::abort();
}

inline void require(bool holds, const char* promise) {
    if (!holds)
        broken(promise);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// A text in a heap block of exactly its length: AddressSanitizer sees a read beyond either end.
class Exact {
public:
    explicit Exact(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
        if (size_ != 0)
            std::memcpy(bytes_.get(), text.data(), size_);
    }
    const char* data() const { return bytes_.get(); }
    std::size_t size() const { return size_; }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

} // namespace fuzz
