// SPDX-License-Identifier: MIT
#pragma once
// For libraries that stand before the C library by LD_PRELOAD.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <string>

namespace lockstep::preloaded {

/// The function of that name which this library stands before.
template <class Function> Function *next(const char *name) {
    return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

/// Whether open() has a third argument. O_TMPFILE has the bit of O_DIRECTORY too.
inline bool takesMode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/// Where an open file or folder lies, AT_FDCWD for the current one; empty: unknown. Leaves errno as it was.
inline std::string pathOf(int fd) {
    char link[64], path[PATH_MAX];
    std::snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    const int kept = errno;
    const ssize_t size = ::readlink(link, path, sizeof path);
    errno = kept;
    return {path, size < 0 ? 0 : std::size_t(size)};
}

} // namespace lockstep::preloaded
