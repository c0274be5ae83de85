// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/frames.h"
#include "ipc/straggler_detector.h"

namespace lockstep::agent {

/// Names the rank of a script with DDP that makes the others wait, while it runs. Our own trainer's ranks find it out by themselves,
/// and are not judged here. Of all nodes, at agent 0 or a listener.
///
/// What the detector takes for a step is what all ranks have reported since the last one: the mean of some 100 ms of steps, or one longer
/// step. Ranks whose `exposed` is unknown, on GPUs, are not judged: there backward holds the waiting, too.
class SlowRankWatch {
public:
    void take(int rank, const Frame &frame);
    void startOver() { *this = SlowRankWatch(); } ///< all ranks were started again

    /// What was found since the last call: one alert each time that a rank begins to be slow, a line for the log when it keeps up again.
    [[nodiscard]] std::vector<FrameBody> takeFound() { return std::exchange(m_found, {}); }

private:
    struct Rank {
        std::string host;
        bool summed = false;    ///< it has reported sums of gradients
        std::int64_t steps = 0; ///< since the last judgement, as are their seconds
        double readyS = 0;
        std::array<double, ownPhases.size()> phasesS{};
    };
    void takeState(int number, const StateFrame &state);
    void takeSteps(Rank &rank, const StepsFrame &steps);
    void judge(std::int64_t step);

    std::map<int, Rank> m_ranks; ///< those of DDP in a script
    std::optional<StragglerDetector> m_detector;
    std::vector<FrameBody> m_found;
};

} // namespace lockstep::agent
