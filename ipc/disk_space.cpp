// SPDX-License-Identifier: MIT
#include "ipc/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace lockstep {

namespace {
constexpr double gibibyte = 1024.0 * 1024 * 1024;
constexpr double lowShare = 0.05, lowBytes = 10 * gibibyte;
} // namespace

std::optional<DiskSpace> diskSpace(const std::string &path) {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0 || info.f_blocks == 0)
        return std::nullopt;
    const auto blockBytes = static_cast<double>(info.f_frsize);
    return DiskSpace{static_cast<double>(info.f_bavail) * blockBytes, static_cast<double>(info.f_blocks) * blockBytes};
}

bool nearlyFull(const DiskSpace &disk) {
    return disk.freeBytes < std::min(lowBytes, lowShare * disk.totalBytes);
}

double reservedBytes(const DiskSpace &disk) {
    return std::min(gibibyte, lowShare * disk.totalBytes);
}

bool SpareRoom::take(std::size_t bytes) {
    constexpr double mostAtOnce = 16.0 * 1024 * 1024;
    const auto wanted = static_cast<double>(bytes);
    if (m_left < wanted) {
        const auto disk = diskSpace(m_path); // where it doesn't say, writing shows what there is
        m_left = std::max(wanted, disk ? std::min(mostAtOnce, reservedBytes(*disk)) : mostAtOnce);
        if (disk && disk->freeBytes - m_left < reservedBytes(*disk)) {
            m_left = 0;
            return false;
        }
    }
    m_left -= wanted;
    return true;
}

} // namespace lockstep
