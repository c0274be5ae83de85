// SPDX-License-Identifier: MIT
#pragma once
// torchvision's RandomAffine(degrees=15, translate=(0.1, 0.1), scale=(0.9, 1.1)), nearest, fill 0, on tensors.
//
// The distribution is torchvision's (angle, whole-pixel shifts by round-half-even, scale); the stream is ours: each
// image's four numbers are a pure function of (seed, epoch, sample index), so workers, ranks and the kind of loader
// change no pixel. The geometry repeats torchvision's fp32 arithmetic (inverse matrix in double,
// affine grid and grid_sample in float, align_corners=False) operation by operation.
#include <array>
#include <cstdint>

#include "ipc/models.h"

namespace lockstep::trainer {

/// The side of the images; ipc/run_config_check.cpp refuses others. A constant, so that the compiler can unroll the loops over pixels.
inline constexpr int imageSide = affineSamples.sizes[1], imagePixels = affineSamples.count();
static_assert(imagePixels == imageSide * imageSide, "one channel, as wide as high");

struct AffineDraw {
    float degrees = 0;          ///< -15..15
    int shiftX = 0, shiftY = 0; ///< pixels, -3..3
    float scale = 1;            ///< 0.9..1.1
};

[[nodiscard]] AffineDraw drawAffine(std::uint64_t seed, std::int64_t epoch, std::int64_t sample);

/// torchvision's inverse matrix: a pixel of the result, counted from the centre, to one of the source; row by row.
using AffineMatrix = std::array<float, 6>;
[[nodiscard]] AffineMatrix affineMatrix(const AffineDraw &draw);

/// What a result's column and its row add to the source's x and y ([0] and [1]), and the shift, in affine_grid's units: -1 to 1 over
/// the image. A coordinate is float(column + row) + shift. That rounds like affine_grid's GEMM, which fuses the row's product (exact
/// in double) with the sum.
struct AffineTerms {
    std::array<std::array<double, imageSide>, 2> columns, rows;
    std::array<float, 2> shift;
};
[[nodiscard]] AffineTerms affineTerms(const AffineDraw &draw);

/// For each pixel of the result the pixel of the source that it shows, or -1 for the fill.
using AffineSources = std::array<std::int16_t, imagePixels>;
void affineSources(const AffineDraw &draw, AffineSources &sources);

} // namespace lockstep::trainer
