// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace lockstep::trainer {

/// ReLU, then the largest of each 2x2 block, in one pass over contiguous planes of even height and width. `pick` says
/// which of the four won (0..3, the first among equals, as max_pool2d picks it), 4 where ReLU gave 0.
/// `rowPairs`: rows of the result over all planes. Compiled with -O3 and without torch.
template <class T>
void reluMaxPool2Forward(const T *in, T *out, std::uint8_t *pick, std::int64_t rowPairs, std::int64_t width);

/// Every element of `inGradient` is written: the gradient where it won, 0 elsewhere.
template <class T>
void reluMaxPool2Backward(const T *outGradient, const std::uint8_t *pick, T *inGradient, std::int64_t rowPairs,
                          std::int64_t width);

/// The same for a processor with AVX2; the two functions above call it if they can.
void reluMaxPool2ForwardAvx2(const float *in, float *out, std::uint8_t *pick, std::int64_t rowPairs,
                             std::int64_t width);
void reluMaxPool2BackwardAvx2(const float *outGradient, const std::uint8_t *pick, float *inGradient,
                              std::int64_t rowPairs, std::int64_t width);

} // namespace lockstep::trainer
