// SPDX-License-Identifier: MIT
#include "ipc/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ipc/write_place.h"

namespace lockstep {

namespace {

constexpr int notWaiting = O_CLOEXEC | O_NONBLOCK; // a pipe is not waited for

Result<Fd> regular(Fd fd, const std::string &path) {
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        return fail(Error::system("can't open " + path, errno));
    if (!S_ISREG(status.st_mode))
        return fail(Error::failed(path + " is not a regular file", "move it away"));
    return fd;
}

} // namespace

Result<Fd> openRegular(const std::string &path) {
    return regular(Fd(::open(path.c_str(), O_RDONLY | notWaiting)), path);
}

Result<Fd> openToWrite(const std::string &path, int flags) {
    const Result<WritePlace> place = writePlace(path);
    if (!place)
        return fail(place.error());
    const int all = flags | O_CREAT | O_NOFOLLOW | notWaiting;
    return regular(Fd(::openat(place->folder.get(), place->name.c_str(), all, 0600)), path);
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
