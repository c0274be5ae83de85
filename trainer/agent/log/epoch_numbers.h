// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "ipc/frames.h"

namespace lockstep::agent {

/// Numbers over the whole run the epochs and steps of ranks whose processes count them anew (StateFrame::countsAnew).
/// Whether such a script goes on from a checkpoint after a restart, or trains from the beginning, is unknown. So its
/// epochs are counted on after the last one that all ranks had completed, and none of those is overwritten. What was
/// reported of later ones is replaced.
class EpochNumbers {
public:
    struct Made {
        int epochs = 0;
        std::int64_t steps = 0; ///< in these epochs
    };
    /// By all ranks of the newest start, the least of them.
    [[nodiscard]] Made made() const;
    /// The agent starts all ranks again. `agreed`: the least that the ranks of all nodes had made.
    void startOver(const std::optional<Made> &agreed);
    /// Another process takes this rank's place. True: the ranks are started again, and this one is the first to show it.
    /// False: it belongs to a start that another rank has shown, or all ranks were done: a further training begins.
    [[nodiscard]] bool startOver(int rank);
    /// What was made before the start that this frame is of: 0 and 0 if the rank gives the run's numbers by itself.
    /// Give each frame of a rank, in order.
    Made before(int rank, const Frame &frame);

private:
    struct OfRank {
        OfRank(int startOfProcess, const Made &madeBefore)
            : start(startOfProcess), before(madeBefore), made(madeBefore), steps(madeBefore.steps) {}
        int start;            ///< the one that its process belongs to
        Made before, made;    ///< when that start began; up to the newest epoch that is complete
        std::int64_t steps;   ///< up to its newest window
        bool counted = false; ///< its process counts anew
        bool done = false;
    };
    [[nodiscard]] bool anyUnfinished() const; ///< of the newest start
    void begin(bool restarted);               ///< a new start
    OfRank &of(int rank, const Frame &frame);

    std::map<int, OfRank> m_ranks;
    Made m_before;                    ///< when the newest start began
    int m_start = 0, m_worldSize = 0; ///< of the newest start; 0: unknown
    bool m_shown = false;             ///< a rank with a new number has shown it, which startOver() has not returned yet
};

/// The frame with the run's numbers: each is raised by what was made before.
[[nodiscard]] Frame countedOn(Frame frame, const EpochNumbers::Made &before);

} // namespace lockstep::agent
