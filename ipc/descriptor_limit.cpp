// SPDX-License-Identifier: MIT
#include "ipc/descriptor_limit.h"

#include <algorithm>

#include <sys/resource.h>

namespace lockstep {

void raiseDescriptorLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 65536));
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace lockstep
