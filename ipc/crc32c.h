// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4; "123456789" gives 0xE3069283). `seed` continues an earlier result.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

/// Eight lower-case hex digits, as in the `crc` key of a log line.
[[nodiscard]] std::string crcText(std::uint32_t crc);

} // namespace lockstep
