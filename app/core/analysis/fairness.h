#pragma once
// Whether two cells differ in what was meant only.
#include <optional>
#include <string>
#include <vector>

#include "analysis/cell.h"

namespace lockstep::core {

/// How much a difference can bend the comparison.
enum class FairnessWeight {
    Minor,   ///< hardly moves a time: a seed, a few percent of other load
    Notable, ///< can move it by more than the repeats spread
    Decisive ///< another work or other means: the speed-up does not say what it seems to
};
[[nodiscard]] std::string_view toString(FairnessWeight weight); ///< minor, notable, decisive

/// One difference that was not meant.
struct FairnessFinding {
    std::string key; ///< workers, batch_size, seed, samples, threads, scheduling, throttling, load, watching, accuracy…
    std::string label;     ///< "Loading workers"
    std::string reference; ///< the reference's value as people read it
    std::string run;       ///< the run's
    FairnessWeight weight = FairnessWeight::Minor;
    std::string sentence;                ///< what it means for this comparison
    std::optional<SuggestedRun> control; ///< the missing run that would settle it
    bool operator==(const FairnessFinding &) const = default;
};

/// Heaviest first; empty: fair as far as is known. `varies`: keys that differ on purpose, besides method and devices.
[[nodiscard]] std::vector<FairnessFinding> fairnessOf(const Cell &reference, const Cell &run,
                                                      const std::vector<std::string> &varies,
                                                      const std::vector<Cell> &others);

} // namespace lockstep::core
