// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/unix_socket.h"

namespace lockstep {

/// A folder that somebody works in for long, held open: removed or moved away under its owner, it is noticed, and nothing
/// is made anew in its place. Not thread safe.
class HeldFolder {
public:
    HeldFolder() = default;
    explicit HeldFolder(std::string path); ///< the folder must be there; otherwise it counts as gone
    [[nodiscard]] const std::string &path() const { return m_path; }
    /// Whether the path no longer leads to the folder held. A disk that does not answer is no proof of that.
    [[nodiscard]] bool gone() const;

private:
    std::string m_path;
    Fd m_fd;
};

} // namespace lockstep
