// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep {

/// The first lines of what `python -c` is asked. Python puts '' before everything else in the path, so without them any import, even one
/// of the standard library, would run a file of that name in the current folder. Has no single quotes.
inline const std::string pythonGuard = "import sys\nsys.path = [p for p in sys.path if p]\n";

} // namespace lockstep
