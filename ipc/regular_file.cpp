// SPDX-License-Identifier: MIT
#include "ipc/regular_file.h"

#include <sys/stat.h>

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

} // namespace lockstep
