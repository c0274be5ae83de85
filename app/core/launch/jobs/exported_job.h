// SPDX-License-Identifier: MIT
#pragma once
// Exports a run for other launchers: text for torchrun and Kubernetes (for Slurm: queue/slurm/slurm_script.h). Pure
// functions; every value is quoted for its target language.
#include <string>

#include "launch/jobs/job_shape.h"
#include "launch/torchrun_options.h"
#include "nodes/torchrun_lines.h"

namespace lockstep::core {

/// Where a job runs: what a recipe does not contain.
struct JobPlace {
    int nodes = 1;
    std::string masterAddress; ///< torchrun: node 0's address; required for several nodes
    int masterPort = torchrunPort;
    std::string frames; ///< the ranks' LOCKSTEP_FRAMES: tcp://HOST:PORT or a folder; empty: unset
    // Kubernetes:
    std::string name;      ///< of the job; empty: derived from the run's
    std::string image;     ///< with lockstep-trainer and torchrun in PATH; required
    std::string nameSpace; ///< empty: the context's
    std::string claim;     ///< PersistentVolumeClaim mounted at `mount`; empty: none
    std::string mount = "/shared";
    std::string framesSecret; ///< Secret whose key "token" becomes LOCKSTEP_FRAMES_TOKEN; empty: none
};

/// A bash script with one torchrun line per node, each under a comment that names the node. Before the lines of several nodes
/// stands the command that they have in common, as an array: each node runs that definition and its own line.
/// A single-process method gives one plain line. BadArgument: more than mostJobBytes.
[[nodiscard]] Result<std::string> torchrunLines(const PlannedRun &run, const JobPlace &place);

/// A headless Service and an Indexed Job with one pod per node, as one YAML text. Each pod runs torchrun and reaches
/// node 0 by its pod's name.
[[nodiscard]] Result<std::string> kubernetesJob(const PlannedRun &run, const JobPlace &place);

/// The same as a PyTorchJob of Kubeflow's training operator (kubeflow.org/v1), which sets torchrun's ranks and counts.
[[nodiscard]] Result<std::string> pyTorchJob(const PlannedRun &run, const JobPlace &place);

/// One double-quoted YAML scalar, so that no text is read as a number, boolean, null or markup.
[[nodiscard]] std::string yamlText(std::string_view utf8);

} // namespace lockstep::core
