// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "ipc/error.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/engine/rank_placement.h"
#include "trainer/lab/lab_options.h"

namespace lockstep::trainer {

/// Measures as one rank of several: every operation at every size, after its result was verified. Each sweep covers all
/// sizes, so that a drift of the machine affects all sizes alike. A block of repetitions starts after a barrier and is
/// timed in up to 12 parts, each by its slowest rank. A sweep's figure is the median of its parts, a row's figure the
/// median of its sweeps. Rank 0 writes the rows. Throws what c10d throws.
///
/// Rows are JSON objects, one per line:
///   {"type":"lab","backend","device","ranks","sweeps","scheduling","threads","cores":[…]}                first
///   {"type":"progress","done","of","what"}                                          to stdout, if rows go to a file
///   {"type":"row","collective","ranks","bytes","held_out","sweeps","repeats","median_s","mean_s","min_s","p90_s","cpu_s",
///    "algbw_bytes_s","busbw_bytes_s"}                  after the last sweep; all but median_s are over all parts
///   {"type":"left_out","collective","ranks","from_bytes","estimate_s"}      this and larger sizes skipped (--most-s)
///   {"type":"not_offered","collective","reason"}
/// cpu_s: CPU seconds of one operation on the rank that uses most, median of the sweeps.
[[nodiscard]] Result<void> runLabRank(const LabOptions &options, const RankEnvironment &env,
                                      const Placement &placement);

/// What a rank that does not train does once its options are read and it is pinned to its device.
using LabWork = std::function<Result<void>(const LabOptions &, const RankEnvironment &, const Placement &)>;
[[nodiscard]] int labRankMain(const std::vector<std::string> &arguments, const LabWork &work);

/// `lockstep-trainer lab …`: reads the arguments after "lab", connects to the other ranks, pins itself as a training
/// rank does, and measures. Returns the exit code.
[[nodiscard]] int labMain(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
