// bf16 on the host: the upper half of a float.
#pragma once

#include <cstdint>
#include <cstring>

// Rounds to the nearest, ties to even. For finite numbers.
inline std::uint16_t to_bf16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + ((bits >> 16) & 1);
    return static_cast<std::uint16_t>(bits >> 16);
}

inline double from_bf16(std::uint16_t half) {
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
