// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep {

/// This machine's name, as records and frames have it; "localhost" if the system does not say.
[[nodiscard]] std::string hostName();

} // namespace lockstep
