// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "experiment/experiment.h"
#include "job_commands.h"
#include "queue/slurm/slurm_script.h"

namespace lockstep::cli {

/// A recipe expanded for a job's machines, an earlier experiment, or one run as an experiment; not on
/// disk. Reports every mistake at once.
[[nodiscard]] tl::expected<core::Experiment, std::vector<Error>> jobExperiment(const JobRunsOptions &options);

/// Its runnable runs, without repeats.
[[nodiscard]] tl::expected<std::vector<core::PlannedRun>, std::vector<Error>> jobRuns(const JobRunsOptions &options);

[[nodiscard]] core::SlurmPlace slurmPlaceOf(const SlurmOptions &options, int nodes);

} // namespace lockstep::cli
