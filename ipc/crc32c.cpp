// SPDX-License-Identifier: MIT
#include "ipc/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace lockstep {

namespace {

constexpr std::array<std::uint32_t, 256> makeTable() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1) ? (value >> 1) ^ 0x82F63B78u : value >> 1;
        table[i] = value;
    }
    return table;
}

std::uint32_t byTable(std::string_view bytes, std::uint32_t crc) {
    static constexpr auto table = makeTable();
    for (const char c : bytes)
        crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t byHardware(std::string_view bytes, std::uint32_t crc) {
    const char *at = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t wide = crc;
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = static_cast<std::uint32_t>(wide);
    for (; left > 0; ++at, --left)
        crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*at));
    return crc;
}
#endif

} // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
    const std::uint32_t crc = ~seed;
#if defined(__x86_64__)
    static const bool hardware = __builtin_cpu_supports("sse4.2");
    if (hardware)
        return ~byHardware(bytes, crc);
#endif
    return ~byTable(bytes, crc);
}

namespace detail {
/// Always by the table, so that a test can compare both ways.
std::uint32_t crc32cByTable(std::string_view bytes, std::uint32_t seed) {
    return ~byTable(bytes, ~seed);
}
} // namespace detail

std::string crcText(std::uint32_t crc) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(8, '0');
    for (int i = 7; i >= 0; --i, crc >>= 4)
        text[static_cast<std::size_t>(i)] = digits[crc & 0xF];
    return text;
}

} // namespace lockstep
