// SPDX-License-Identifier: MIT
// pool_kernels for float, eight blocks at a time: a plane's rows are short and the portable loop strides by two, so
// compilers leave it scalar, where it took a quarter of LeNet's step. Compiled with -mavx2, so nothing else belongs here.
#include "trainer/models/pool_kernels.h"

#if defined(__AVX2__)
#include <cstring>
#include <immintrin.h>

namespace lockstep::trainer {

namespace {

/// The first `count` of eight lanes.
__m256i lanes(std::int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

struct Pairs {
    __m256 even, odd;
};

/// Sixteen neighbours, the first `2 * count` of them, as eight even and eight odd ones; 0 beyond.
Pairs loadPairs(const float *from, __m256i first, __m256i second) {
    const __m256 a = _mm256_maskload_ps(from, first), b = _mm256_maskload_ps(from + 8, second);
    const auto inOrder = [](__m256 mixed) {
        return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
    };
    return {inOrder(_mm256_shuffle_ps(a, b, 0x88)), inOrder(_mm256_shuffle_ps(a, b, 0xDD))};
}

void storePairs(float *to, __m256 even, __m256 odd, __m256i first, __m256i second) {
    const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    _mm256_maskstore_ps(to, first, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_maskstore_ps(to + 8, second, _mm256_permute2f128_ps(low, high, 0x31));
}

} // namespace

void reluMaxPool2ForwardAvx2(const float *in, float *out, std::uint8_t *pick, std::int64_t rowPairs,
                             std::int64_t width) {
    const auto half = width / 2;
    const __m256 zero = _mm256_setzero_ps();
    const __m256i lowBytes = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, //
                                              0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    for (std::int64_t row = 0; row < rowPairs; ++row, in += 2 * width, out += half, pick += half) {
        for (std::int64_t i = 0; i < half; i += 8) {
            const auto count = half - i < 8 ? half - i : 8;
            const __m256i first = lanes(2 * count), second = lanes(2 * count - 8), whole = lanes(count);
            const Pairs upper = loadPairs(in + 2 * i, first, second),
                        lower = loadPairs(in + width + 2 * i, first, second);
            __m256 most = upper.even, winner = zero; // numbers as bits of a float lane
            const auto challenge = [&](__m256 value, int number) {
                const __m256 wins = _mm256_cmp_ps(value, most, _CMP_NLE_UQ);
                most = _mm256_blendv_ps(most, value, wins);
                winner = _mm256_blendv_ps(winner, _mm256_castsi256_ps(_mm256_set1_epi32(number)), wins);
            };
            challenge(upper.odd, 1);
            challenge(lower.even, 2);
            challenge(lower.odd, 3);
            const __m256 positive = _mm256_cmp_ps(most, zero, _CMP_NLE_UQ);
            winner = _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_set1_epi32(4)), winner, positive);
            _mm256_maskstore_ps(out + i, whole, _mm256_and_ps(most, positive));
            const __m256i bytes = _mm256_shuffle_epi8(_mm256_castps_si256(winner), lowBytes);
            const std::uint32_t parts[2] = {static_cast<std::uint32_t>(_mm256_extract_epi32(bytes, 0)),
                                            static_cast<std::uint32_t>(_mm256_extract_epi32(bytes, 4))};
            std::memcpy(pick + i, parts, static_cast<std::size_t>(count));
        }
    }
}

void reluMaxPool2BackwardAvx2(const float *outGradient, const std::uint8_t *pick, float *inGradient,
                              std::int64_t rowPairs, std::int64_t width) {
    const auto half = width / 2;
    for (std::int64_t row = 0; row < rowPairs; ++row, inGradient += 2 * width, outGradient += half, pick += half) {
        for (std::int64_t i = 0; i < half; i += 8) {
            const auto count = half - i < 8 ? half - i : 8;
            const __m256i first = lanes(2 * count), second = lanes(2 * count - 8);
            const __m256 gradient = _mm256_maskload_ps(outGradient + i, lanes(count));
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, pick + i, static_cast<std::size_t>(count));
            const __m256i winner = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
            const auto of = [&](int number) {
                return _mm256_and_ps(gradient,
                                     _mm256_castsi256_ps(_mm256_cmpeq_epi32(winner, _mm256_set1_epi32(number))));
            };
            storePairs(inGradient + 2 * i, of(0), of(1), first, second);
            storePairs(inGradient + width + 2 * i, of(2), of(3), first, second);
        }
    }
}

} // namespace lockstep::trainer

#else

namespace lockstep::trainer {

// Another processor: never called.
void reluMaxPool2ForwardAvx2(const float *, float *, std::uint8_t *, std::int64_t, std::int64_t) {}
void reluMaxPool2BackwardAvx2(const float *, const std::uint8_t *, float *, std::int64_t, std::int64_t) {}

} // namespace lockstep::trainer
#endif
