// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace lockstep {

/// "61,706"
[[nodiscard]] std::string thousands(std::int64_t number);

} // namespace lockstep
