// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/unix_socket.h"

namespace lockstep {

/// A folder that its owner keeps open while working in it. If the folder is removed or moved away, the owner notices,
/// and creates nothing in its place. Not thread safe.
class HeldFolder {
public:
    HeldFolder() = default;
    explicit HeldFolder(std::string path); ///< a folder that does not exist counts as gone
    [[nodiscard]] const std::string &path() const { return m_path; }
    /// Whether the path no longer leads to the open folder. A disk that does not answer does not count as gone.
    [[nodiscard]] bool gone() const;

private:
    std::string m_path;
    Fd m_fd;
};

} // namespace lockstep
