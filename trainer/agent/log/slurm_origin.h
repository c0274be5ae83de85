// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// In a Slurm job: writes origin.json into the run's own folder, which other machines see too. A viewer there then
/// reaches this agent by srun --overlap, and knows by "restarts" how often the job was requeued before. Outside Slurm it does nothing.
void writeSlurmOrigin(const RunFolder &folder);

} // namespace lockstep::agent
