// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// Options of `lockstep-trainer lab`. No torch here.
struct LabOptions {
    RunConfig config;                     ///< device, cores, threads, backend, interface, scheduling, where ranks meet
    std::vector<std::int64_t> sizes;      ///< bytes, ascending
    std::vector<std::int64_t> heldOut;    ///< bytes: measured too, but kept out of every fit
    std::vector<std::string> collectives; ///< by name, in the order they are measured
    int sweeps =
        11; ///< times everything is measured, over all sizes in turn; up to twice as many while medians are uncertain
    double blockS = 0.010; ///< seconds that one block of repetitions should take
    /// Seconds that one operation may take: larger sizes are left out, and a row says so. 0: all are measured.
    double mostS = 0;
    double limitS = 0;     ///< seconds after which no further sweep begins, once three are made; 0: no limit
    bool progress = false; ///< progress lines even if rows go to stdout
    std::string out = "-"; ///< rank 0 writes rows there, a JSON object a line
    std::string text;      ///< --help: print it and end with 0
};

/// All-reduce as it occurs in training: after some milliseconds of work, which leave the caches cold and the other threads asleep.
/// The wait for the slower rank is not part of it: the time of the rank that came last counts.
inline constexpr const char *allReduceAfterWork = "all_reduce_after_work";

/// All names that --collectives takes, in the order in which they are measured.
[[nodiscard]] const std::vector<std::string> &collectiveNames();

/// Reads the arguments after `lab`. Reports all mistakes at once.
[[nodiscard]] tl::expected<LabOptions, std::vector<Error>> readLabOptions(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
