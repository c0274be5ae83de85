// SPDX-License-Identifier: MIT
#include "trainer/agent/net/version.h"

namespace lockstep::agent {

const char *agentVersion() {
    return LOCKSTEP_VERSION;
}

} // namespace lockstep::agent
