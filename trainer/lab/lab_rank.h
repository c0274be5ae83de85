#pragma once
#include <functional>

#include "ipc/error.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/engine/placement.h"
#include "trainer/lab/lab_options.h"

namespace lockstep::trainer {

/// Measures as one rank of several: every operation at every size, its numbers verified first; sweeps go over all sizes in
/// turn, so that the machine's drift hits all alike. A block of repetitions starts behind a barrier and is timed in up to 12
/// parts, each by its slowest rank; a sweep's figure is their median, a row's the median of its sweeps. Rank 0 writes the rows.
/// Throws what c10d throws.
///
/// Rows, a JSON object a line:
///   {"type":"lab","backend","device","ranks","sweeps","scheduling","threads","cores":[…]}                first
///   {"type":"progress","done","of","what"}                                          to stdout, if rows go to a file
///   {"type":"row","collective","ranks","bytes","held_out","sweeps","repeats","median_s","mean_s","min_s","p90_s","cpu_s",
///    "algbw_bytes_s","busbw_bytes_s"}                                               over all parts, but median_s, after the last
///   {"type":"left_out","collective","ranks","from_bytes","estimate_s"}              this size and those above it (--most-s)
/// cpu_s: processor time that one operation takes of the rank that pays most, the median of the sweeps.
///   {"type":"not_offered","collective","reason"}
[[nodiscard]] Result<void> runLabRank(const LabOptions &options, const RankEnvironment &env,
                                      const Placement &placement);

/// What a rank does that trains nothing, once its flags are read and it is confined to its device.
using LabWork = std::function<Result<void>(const LabOptions &, const RankEnvironment &, const Placement &)>;
[[nodiscard]] int labRankMain(const std::vector<std::string> &arguments, const LabWork &work);

/// `lockstep-trainer lab …`: reads the words after "lab", finds the other ranks, confines itself as a training rank does and
/// measures. An exit code.
[[nodiscard]] int labMain(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
