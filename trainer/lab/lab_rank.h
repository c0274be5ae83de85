// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "ipc/error.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/engine/rank_placement.h"
#include "trainer/lab/lab_options.h"

namespace lockstep::trainer {

/// Measures as one rank of several: every operation at every size, after its result was verified. Sweeps go over all sizes in
/// turn, so that a drift of the machine affects all sizes alike. A block of repetitions starts behind a barrier and is timed in up to 12
/// parts, each by its slowest rank; a sweep's figure is their median, a row's the median of its sweeps. Rank 0 writes the rows.
/// Throws what c10d throws.
///
/// Rows, a JSON object a line:
///   {"type":"lab","backend","device","ranks","sweeps","scheduling","threads","cores":[…]}                first
///   {"type":"progress","done","of","what"}                                          to stdout, if rows go to a file
///   {"type":"row","collective","ranks","bytes","held_out","sweeps","repeats","median_s","mean_s","min_s","p90_s","cpu_s",
///    "algbw_bytes_s","busbw_bytes_s"}                                               over all parts, but median_s, after the last
///   {"type":"left_out","collective","ranks","from_bytes","estimate_s"}              this size and those above it (--most-s)
/// cpu_s: processor time of one operation on the rank that uses most, median of the sweeps.
///   {"type":"not_offered","collective","reason"}
[[nodiscard]] Result<void> runLabRank(const LabOptions &options, const RankEnvironment &env,
                                      const Placement &placement);

/// The work of a rank that does not train, once its flags are read and it is pinned to its device.
using LabWork = std::function<Result<void>(const LabOptions &, const RankEnvironment &, const Placement &)>;
[[nodiscard]] int labRankMain(const std::vector<std::string> &arguments, const LabWork &work);

/// `lockstep-trainer lab …`: reads the arguments after "lab", connects to the other ranks, pins itself as a training rank does and
/// measures. Returns the exit code.
[[nodiscard]] int labMain(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
