// SPDX-License-Identifier: MIT
#include "ipc/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace lockstep {

void openMissingStandardStreams() {
    int fd = 0;
    do
        fd = ::open("/dev/null", O_RDWR); // the lowest number that is free
    while (fd >= STDIN_FILENO && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        ::close(fd);
}

} // namespace lockstep
