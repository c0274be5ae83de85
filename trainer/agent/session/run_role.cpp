// SPDX-License-Identifier: MIT
#include "trainer/agent/session/run_role.h"

#include "trainer/agent/session/first_node.h"
#include "trainer/agent/session/further_node.h"
#include "trainer/agent/session/single_node.h"

namespace lockstep::agent {

std::unique_ptr<RunRole> makeRole(LocalRun &local, RunRole::Hooks hooks) {
    const NodesPlan &nodes = local.plan().nodes;
    if (nodes.count <= 1)
        return std::make_unique<SingleNode>(local, std::move(hooks));
    if (nodes.node == 0)
        return std::make_unique<FirstNode>(local, std::move(hooks));
    return std::make_unique<FurtherNode>(local, std::move(hooks));
}

} // namespace lockstep::agent
