// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::core {

/// Writes the whole file, or leaves the one before as it was. Permissions by the person's umask. Returns why it can't be
/// written; empty: it is.
[[nodiscard]] std::string writeWhole(const std::string &path, std::string_view bytes);

} // namespace lockstep::core
