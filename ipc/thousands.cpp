// SPDX-License-Identifier: MIT
#include "ipc/thousands.h"

namespace lockstep {

std::string thousands(std::int64_t number) {
    std::string digits = std::to_string(number), out;
    for (std::size_t i = 0; i < digits.size(); ++i)
        out += (i > 0 && (digits.size() - i) % 3 == 0 ? "," : "") + std::string(1, digits[i]);
    return out;
}

} // namespace lockstep
