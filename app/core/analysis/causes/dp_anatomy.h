// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::core {
class RunStore;
struct ResultTable;

/// A stage of a data parallel step, in the order they happen.
struct DpStage {
    std::string phase;  ///< wire name
    double seconds = 0; ///< mean per step
    /// Every device works in it; `seconds` is the time until the slowest one was done.
    bool everyDevice = false;
    bool operator==(const DpStage &) const = default;
};

struct DpDevice {
    std::string device;                  ///< "cpu:0"
    std::optional<std::int64_t> samples; ///< of a batch
    std::optional<double> share;         ///< of a batch, 0..1
    /// Its own time in the stages where every device works, mean seconds per step; a stage that no frame reports is absent
    /// (a GPU's work ends later than the call that starts it).
    std::map<std::string, double, std::less<>> ownS;
    std::optional<double> utilization; ///< mean over the epochs, 0..1, as the agent sampled it
    bool operator==(const DpDevice &) const = default;
};

/// Where the time of a data parallel step goes, by device, as far as frames report it. Device 0 is the first: it holds the model.
struct DpAnatomy {
    std::vector<DpStage> stages;
    std::vector<DpDevice> devices;
    double stepS = 0;     ///< sum of the stages
    double parallelS = 0; ///< of the stages in which every device works: the others have nothing to do in the rest
    bool operator==(const DpAnatomy &) const = default;
};

/// Absent when the run is not data parallel, or none of its stages has come yet.
[[nodiscard]] std::optional<DpAnatomy> dpAnatomy(const RunStore &store);

/// Steps of DDP's ranks in the same form, by rank, each with its one device in each stage from first to last; "wait" is the part of the
/// exposed communication in which it waits for slower ranks. Without ranks that have reported no phases; empty when the run is not DDP.
[[nodiscard]] std::map<int, DpAnatomy> ddpAnatomies(const RunStore &store);

/// One set of rows of the picture that has DP beside DDP.
struct StepAnatomy {
    std::string name;   ///< of the table's row; empty for a further rank of the run before
    std::string method; ///< dp | ddp
    DpAnatomy anatomy;
    int repeat = 1, repeats = 1; ///< which of how many is drawn
};
/// Of each row of the table the median repeat (median_repeat.h), DP as a whole and DDP rank by rank. Empty without a
/// run of DP: a picture of what device 0 does alone needs one.
[[nodiscard]] std::vector<StepAnatomy> stepAnatomies(const ResultTable &table,
                                                     const std::vector<const RunStore *> &runs);

} // namespace lockstep::core
