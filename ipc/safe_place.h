// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace lockstep {

/// Whether what lies at `path` can be changed, or was put there, only by those who could change the programs in `folder` as well.
/// Below the folder where the two paths part, everything belongs to root, to this user or to the owner of one of the two folders,
/// and nothing is writable by all users, unless one of the two is. Whoever owns a link may choose where it leads. False if
/// there is nothing. Both paths absolute and without "..".
[[nodiscard]] bool isAsSafeAs(const std::filesystem::path &folder, const std::filesystem::path &path);

} // namespace lockstep
