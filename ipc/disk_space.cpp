// SPDX-License-Identifier: MIT
#include "ipc/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace lockstep {

std::optional<DiskSpace> diskSpace(const std::string &path) {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0 || info.f_blocks == 0)
        return std::nullopt;
    const auto blockBytes = static_cast<double>(info.f_frsize);
    return DiskSpace{static_cast<double>(info.f_bavail) * blockBytes, static_cast<double>(info.f_blocks) * blockBytes};
}

double reservedBytes(const DiskSpace &disk) {
    return std::min(1024.0 * 1024 * 1024, lowDiskShare * disk.totalBytes);
}

} // namespace lockstep
