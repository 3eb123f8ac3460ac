// The element types of the exported products: their storage, their values and random elements. `wgmma` adds `products` products of
// factors of a type at a time, aligned to the largest and truncated to `fraction` bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

struct F32 {
    using Storage = std::uint32_t;
    static constexpr Storage unwritten = 0x7fffffff;
    static double value(Storage bits) {
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    // The relative error of rounding a sum to this type.
    static constexpr double rounding = 0;
};

// The upper half of a float.
struct Bf16 {
    using Storage = std::uint16_t;
    static constexpr Storage unwritten = 0x7fff;
    static double value(Storage bits) { return F32::value(std::uint32_t{bits} << 16); }
    // -1 to 1, rounded to the nearest, ties to even. `random` has 32 random bits.
    static Storage from(std::uint32_t random) {
        const float number = static_cast<float>(random >> 8) / static_cast<float>(1 << 23) - 1.0f;
        std::uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        bits += 0x7fff + ((bits >> 16) & 1);
        return static_cast<Storage>(bits >> 16);
    }
    static constexpr int products = 16, fraction = 24;
    static constexpr double rounding = 1.0 / (1 << 8);
};

// Four exponent bits with a bias of 7, three mantissa bits.
struct E4m3 {
    using Storage = std::uint8_t;
    static double value(Storage bits) {
        const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
        const double magnitude =
            exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
        return bits & 0x80 ? -magnitude : magnitude;
    }
    // Any sign, exponents of less than 8: magnitudes of less than 2.
    static Storage from(std::uint32_t random) {
        return static_cast<Storage>((random >> 24 & 0x80) | (random >> 20 & 0x3f));
    }
    static constexpr int products = 32, fraction = 13;
};

struct I8 {
    using Storage = std::int8_t;
    static double value(Storage element) { return element; }
    static Storage from(std::uint32_t random) { return static_cast<Storage>(random >> 24); }
};

struct I32 {
    using Storage = std::int32_t;
    static constexpr Storage unwritten = INT32_MIN;
    static double value(Storage element) { return element; }
    static constexpr double rounding = 0;
};

// f32 of which tensor cores read the upper 19 bits.
struct Tf32 {
    using Storage = std::uint32_t;
    static double value(Storage bits) { return F32::value(bits); }
    static Storage from(std::uint32_t random) {
        return static_cast<Storage>(Bf16::from(random)) << 16 | (random & 7) << 13;
    }
    static constexpr int products = 8, fraction = 24;
};
