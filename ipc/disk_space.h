// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace lockstep {

/// Of the file system that holds a path.
struct DiskSpace {
    double freeBytes = 0, totalBytes = 0; ///< free: for programs without special rights
    [[nodiscard]] double freeShare() const { return freeBytes / totalBytes; }
};
/// Absent where the path isn't there, or its file system doesn't say.
[[nodiscard]] std::optional<DiskSpace> diskSpace(const std::string &path);

inline constexpr double lowDiskShare = 0.05; ///< a disk with less of it free is nearly full
/// What is kept free for others by what can be left out: 1 GiB, or lowDiskShare of a small disk.
[[nodiscard]] double reservedBytes(const DiskSpace &disk);

} // namespace lockstep
