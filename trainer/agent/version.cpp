#include "trainer/agent/version.h"

namespace lockstep::agent {

const char *agentVersion() {
    return LOCKSTEP_VERSION;
}

} // namespace lockstep::agent
