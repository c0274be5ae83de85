// SPDX-License-Identifier: MIT
#include "ipc/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lockstep {

Result<Fd> openRegular(const std::string &path, int flags) {
    Fd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600)); // a pipe is not waited for
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        return fail(Error::system("can't open " + path, errno));
    if (!S_ISREG(status.st_mode))
        return fail(Error::failed(path + " is not a regular file", "move it away"));
    return fd;
}

off_t nextData(int fd, off_t from) {
    struct stat status {}; // asked first: what is appended meanwhile must not be skipped
    if (::fstat(fd, &status) != 0)
        return from;
    const off_t data = ::lseek(fd, from, SEEK_DATA);
    if (data >= 0)
        return data;
    const off_t end = errno == ENXIO ? std::max(from, status.st_size) : from;
    return ::lseek(fd, end, SEEK_SET);
}

} // namespace lockstep
