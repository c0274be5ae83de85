// SPDX-License-Identifier: MIT
#include "ipc/host_name.h"

#include <unistd.h>

namespace lockstep {

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

} // namespace lockstep
