// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"

namespace lockstep::cli {

/// All of stdin, which may hold as much as a document (largestDocument).
[[nodiscard]] Result<std::string> standardInput();

} // namespace lockstep::cli
