// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::core {

/// UTF-8 with a space in place of each character that XML 1.0 doesn't allow, however it is escaped: most control characters, U+FFFE
/// and U+FFFF. A reader refuses a whole document for one of them.
[[nodiscard]] std::string allowedInXml(std::string_view text);

} // namespace lockstep::core
