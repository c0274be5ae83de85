// SPDX-License-Identifier: MIT
#include "trainer/data/affine.h"

#include <cmath>
#include <numbers>

namespace lockstep::trainer {
namespace {

/// splitmix64's finaliser (Steele, Lea, Flood 2014): every input bit changes every output bit.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// Like torch's float uniform_: 24 random bits scaled to [low, high).
float uniform(std::uint64_t bits, float low, float high) {
    return static_cast<float>(bits >> 40) * 0x1p-24F * (high - low) + low;
}

/// grid_sample's nearest pixel of a normalised coordinate: round half to even, without a call to libm.
int nearestPixel(float coordinate) {
    constexpr float half = imageSide / 2.0F;
    constexpr float roundEven = 0x1.8p23F; // adding it leaves no bits for a fraction
    const float pixel = (coordinate + 1.0F) * half - 0.5F;
    return static_cast<int>(pixel + roundEven - roundEven);
}

} // namespace

AffineDraw drawAffine(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
    const auto key = mix(mix(mix(seed) ^ static_cast<std::uint64_t>(epoch)) ^ static_cast<std::uint64_t>(sample));
    constexpr float shift = 0.1F * imageSide;
    AffineDraw draw;
    draw.degrees = uniform(mix(key ^ 1), -15, 15);
    draw.shiftX = static_cast<int>(std::nearbyint(uniform(mix(key ^ 2), -shift, shift)));
    draw.shiftY = static_cast<int>(std::nearbyint(uniform(mix(key ^ 3), -shift, shift)));
    draw.scale = uniform(mix(key ^ 4), 0.9F, 1.1F);
    return draw;
}

// torchvision's _get_inverse_affine_matrix without shear and about the centre: result pixel → source pixel.
AffineMatrix affineMatrix(const AffineDraw &draw) {
    const double rotation = static_cast<double>(draw.degrees) * std::numbers::pi / 180;
    const double scale = draw.scale, tx = draw.shiftX, ty = draw.shiftY;
    const double a = std::cos(rotation), b = -std::sin(rotation), c = std::sin(rotation), d = std::cos(rotation);
    const std::array<double, 4> m{d / scale, -b / scale, -c / scale, a / scale};
    const double x = m[0] * -tx + m[1] * -ty, y = m[2] * -tx + m[3] * -ty;
    return {static_cast<float>(m[0]), static_cast<float>(m[1]), static_cast<float>(x),
            static_cast<float>(m[2]), static_cast<float>(m[3]), static_cast<float>(y)};
}

AffineTerms affineTerms(const AffineDraw &draw) {
    constexpr float half = imageSide / 2.0F, first = 0.5F - half;
    auto m = affineMatrix(draw);
    for (auto &value : m)
        value /= half; // affine_grid's coordinates run from -1 to 1
    AffineTerms terms;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        for (std::size_t i = 0; i < imageSide; ++i) {
            const float place = first + static_cast<float>(i);
            terms.columns[axis][i] = static_cast<double>(place * m[3 * axis]);
            terms.rows[axis][i] = static_cast<double>(place) * static_cast<double>(m[3 * axis + 1]);
        }
        terms.shift[axis] = m[3 * axis + 2];
    }
    return terms;
}

void affineSources(const AffineDraw &draw, AffineSources &sources) {
    const AffineTerms terms = affineTerms(draw);
    const auto &[xOfColumn, yOfColumn] = terms.columns;
    const auto &[xOfRow, yOfRow] = terms.rows;
    const auto &[shiftX, shiftY] = terms.shift;
    auto *out = sources.data();
    for (std::size_t row = 0; row < imageSide; ++row)
        for (std::size_t column = 0; column < imageSide; ++column) {
            const int sx = nearestPixel(static_cast<float>(xOfColumn[column] + xOfRow[row]) + shiftX);
            const int sy = nearestPixel(static_cast<float>(yOfColumn[column] + yOfRow[row]) + shiftY);
            const bool inside = sx >= 0 && sx < imageSide && sy >= 0 && sy < imageSide;
            *out++ = static_cast<std::int16_t>(inside ? sy * imageSide + sx : -1);
        }
}

} // namespace lockstep::trainer
