// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::trainer {

/// The normalised value of each of the 256 pixel values: (u8/255 - mean)/std, with every operation rounded in T as torch's
/// tensor operations round it, so that the table gives the same bits as computing.
template <class T> std::array<T, 256> pixelTable(double mean, double std) {
    std::array<T, 256> table;
    for (int value = 0; value < 256; ++value)
        table[static_cast<std::size_t>(value)] =
            (static_cast<T>(value) / T{255} - static_cast<T>(mean)) / static_cast<T>(std);
    return table;
}

} // namespace lockstep::trainer
