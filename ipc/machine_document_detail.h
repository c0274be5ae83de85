// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. The record of a machine as JSON, for config.json and for a node's join message.
#include "ipc/documents.h"
#include "ipc/run_folder.h"

namespace lockstep::documents {

[[nodiscard]] Json fromMachine(const MachineRecord &machine);
[[nodiscard]] Result<MachineRecord> toMachine(const Json &json, const std::string &what);

} // namespace lockstep::documents
