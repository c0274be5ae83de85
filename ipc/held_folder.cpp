// SPDX-License-Identifier: MIT
#include "ipc/held_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace lockstep {

HeldFolder::HeldFolder(std::string path)
    : m_path(std::move(path)), m_fd(::open(m_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

bool HeldFolder::gone() const {
    if (!m_fd.valid())
        return true;
    struct stat held {
    }, named{};
    if (::fstat(m_fd.get(), &held) != 0)
        return errno == ESTALE; // removed on a network file server
    if (::stat(m_path.c_str(), &named) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ESTALE;
    return held.st_dev != named.st_dev || held.st_ino != named.st_ino;
}

} // namespace lockstep
