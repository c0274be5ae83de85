#pragma once
#include <vector>

#include "job_commands.h"
#include "launch/experiment.h"
#include "launch/slurm/slurm_script.h"

namespace lockstep::cli {

/// A recipe expanded for the machines of a job, an experiment as it was, or one run as an experiment of its own; not on
/// disk. Every mistake at once.
[[nodiscard]] tl::expected<core::Experiment, std::vector<Error>> jobExperiment(const JobRunsOptions &options);

/// Its runs that can run, each once.
[[nodiscard]] tl::expected<std::vector<core::PlannedRun>, std::vector<Error>> jobRuns(const JobRunsOptions &options);

[[nodiscard]] core::SlurmPlace slurmPlaceOf(const SlurmOptions &options, int nodes);

} // namespace lockstep::cli
