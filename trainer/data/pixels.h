#pragma once
#include <array>
#include <cstdint>

#include <torch/types.h>

namespace lockstep::trainer {

inline constexpr int imageSide = 28, imagePixels = imageSide * imageSide;

/// What each of the 256 pixel values becomes: (u8/255 - mean)/std, every operation rounded in T as torch's own
/// tensor operations round it, so that looking up and computing give the same bits.
template <class T> std::array<T, 256> pixelTable(double mean, double std) {
    std::array<T, 256> table;
    for (int value = 0; value < 256; ++value)
        table[static_cast<std::size_t>(value)] =
            (static_cast<T>(value) / T{255} - static_cast<T>(mean)) / static_cast<T>(std);
    return table;
}

} // namespace lockstep::trainer
