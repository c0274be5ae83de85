// SPDX-License-Identifier: MIT
#include "trainer/models/pool_kernels.h"

#include <type_traits>

namespace lockstep::trainer {

namespace {

/// Whether the processor supports what pool_kernels_avx2.cpp is compiled for.
bool hasAvx2() {
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("avx2");
    return has;
#else
    return false;
#endif
}

} // namespace

// Comparisons are written so that NaN wins, as it does in torch's relu and max_pool2d.
template <class T>
void reluMaxPool2Forward(const T *__restrict in, T *__restrict out, std::uint8_t *__restrict pick,
                         std::int64_t rowPairs, std::int64_t width) {
    if constexpr (std::is_same_v<T, float>)
        if (hasAvx2())
            return reluMaxPool2ForwardAvx2(in, out, pick, rowPairs, width);
    const auto half = width / 2;
    for (std::int64_t row = 0; row < rowPairs; ++row, in += 2 * width, out += half, pick += half) {
        const T *upper = in, *lower = in + width;
        for (std::int64_t i = 0; i < half; ++i) {
            T most = upper[2 * i];
            std::uint8_t winner = 0;
            const auto challenge = [&](T value, std::uint8_t number) {
                const bool wins = !(value <= most);
                most = wins ? value : most;
                winner = wins ? number : winner;
            };
            challenge(upper[2 * i + 1], 1);
            challenge(lower[2 * i], 2);
            challenge(lower[2 * i + 1], 3);
            const bool positive = !(most <= T{0});
            out[i] = positive ? most : T{0};
            pick[i] = positive ? winner : std::uint8_t{4};
        }
    }
}

template <class T>
void reluMaxPool2Backward(const T *__restrict outGradient, const std::uint8_t *__restrict pick,
                          T *__restrict inGradient, std::int64_t rowPairs, std::int64_t width) {
    if constexpr (std::is_same_v<T, float>)
        if (hasAvx2())
            return reluMaxPool2BackwardAvx2(outGradient, pick, inGradient, rowPairs, width);
    const auto half = width / 2;
    for (std::int64_t row = 0; row < rowPairs; ++row, inGradient += 2 * width, outGradient += half, pick += half) {
        T *upper = inGradient, *lower = inGradient + width;
        for (std::int64_t i = 0; i < half; ++i) {
            const T gradient = outGradient[i];
            const auto winner = pick[i];
            upper[2 * i] = winner == 0 ? gradient : T{0};
            upper[2 * i + 1] = winner == 1 ? gradient : T{0};
            lower[2 * i] = winner == 2 ? gradient : T{0};
            lower[2 * i + 1] = winner == 3 ? gradient : T{0};
        }
    }
}

template void reluMaxPool2Forward(const float *, float *, std::uint8_t *, std::int64_t, std::int64_t);
template void reluMaxPool2Forward(const double *, double *, std::uint8_t *, std::int64_t, std::int64_t);
template void reluMaxPool2Backward(const float *, const std::uint8_t *, float *, std::int64_t, std::int64_t);
template void reluMaxPool2Backward(const double *, const std::uint8_t *, double *, std::int64_t, std::int64_t);

} // namespace lockstep::trainer
