// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// Options of `lockstep-trainer lab`. Does not use torch.
struct LabOptions {
    RunConfig config;                     ///< device, cores, threads, backend, interface, scheduling, where ranks meet
    std::vector<std::int64_t> sizes;      ///< bytes, ascending
    std::vector<std::int64_t> heldOut;    ///< bytes; measured, but kept out of every fit
    std::vector<std::string> collectives; ///< by name, in the order they are measured
    /// How often everything is measured, over all sizes in turn; up to twice as often while medians are uncertain.
    int sweeps = 11;
    double blockS = 0.010; ///< target duration of one block of repetitions, seconds
    /// Longest duration of one operation, in seconds. Larger sizes are skipped, and a row says so. 0: no limit.
    double mostS = 0;
    double limitS = 0;     ///< no sweep begins after so many seconds, once three were made; 0: no limit
    bool progress = false; ///< progress lines even if rows go to stdout
    std::string out = "-"; ///< where rank 0 writes rows, one JSON object per line; "-": stdout
    std::string text;      ///< text of --help: print it and exit with 0; empty: run
};

/// Ends the name of an operation as it occurs in training: after some milliseconds of work, which leave the caches cold and
/// other threads asleep. Waiting for a slower rank is not included: the time of the rank that arrived last counts.
inline constexpr std::string_view afterWork = "_after_work";

/// All names that --collectives accepts, in the order of measuring.
[[nodiscard]] const std::vector<std::string> &collectiveNames();

/// Reads the arguments after `lab`. Returns all mistakes at once.
[[nodiscard]] tl::expected<LabOptions, std::vector<Error>> readLabOptions(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
