// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::detail {

/// The seq of a sealed line (no newline); absent if the line is damaged.
[[nodiscard]] std::optional<std::uint64_t> sealedSeq(std::string_view line);

} // namespace lockstep::detail
