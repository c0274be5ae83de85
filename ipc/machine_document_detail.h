// SPDX-License-Identifier: MIT
#pragma once
// Inside ipc only: a machine's record as JSON, in config.json and in what a joining node says.
#include "ipc/documents.h"
#include "ipc/run_folder.h"

namespace lockstep::documents {

[[nodiscard]] Json fromMachine(const MachineRecord &machine);
[[nodiscard]] Result<MachineRecord> toMachine(const Json &json, const std::string &what);

} // namespace lockstep::documents
