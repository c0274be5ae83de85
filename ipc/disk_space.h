// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace lockstep {

/// Of the file system that holds a path.
struct DiskSpace {
    double freeBytes = 0, totalBytes = 0; ///< free: for programs without special rights
};
/// Absent where the path isn't there, or its file system doesn't say.
[[nodiscard]] std::optional<DiskSpace> diskSpace(const std::string &path);

/// Less than 5 % is free, and less than 10 GiB: 5 % of a large disk are room for many checkpoints.
[[nodiscard]] bool nearlyFull(const DiskSpace &disk);
/// What is kept free for others by what can be left out: 1 GiB, or 5 % of a small disk.
[[nodiscard]] double reservedBytes(const DiskSpace &disk);

/// What may be written of that which can be left out, on the disk of one path. Not thread safe.
class SpareRoom {
public:
    explicit SpareRoom(std::string path) : m_path(std::move(path)) {}
    /// False if less than reservedBytes() would stay free. The disk is asked once for many bytes.
    [[nodiscard]] bool take(std::size_t bytes);
    [[nodiscard]] const std::string &path() const { return m_path; }

private:
    std::string m_path;
    double m_left = 0; ///< bytes that may be written before the disk is asked again
};

} // namespace lockstep
