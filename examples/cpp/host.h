// Host code that all programs use: arguments, files, matrices.
#pragma once

#include "driver.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// By default, sizes that are not multiples of the tile.
struct Size {
    std::uint32_t m = 203, n = 91, k = 139;
};

// A size on the command line, 1 to 65536.
inline std::uint32_t parse_size(const char *text) {
    char *end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > 65536) {
        throw CannotRun(std::string("expected a size of 1 to 65536, found `") + text + "`");
    }
    return static_cast<std::uint32_t>(value);
}

inline std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) {
        throw CannotRun("cannot read " + path);
    }
    return text;
}

// Reproducible elements of type `T`.
template <class T>
std::vector<typename T::Storage> random_elements(std::size_t count, std::uint32_t seed) {
    std::vector<typename T::Storage> elements(count);
    std::uint32_t state = seed;
    for (auto &element : elements) {
        state = state * 1664525 + 1013904223; // Numerical Recipes, "Quick and Dirty Generators"
        element = T::from(state);
    }
    return elements;
}
