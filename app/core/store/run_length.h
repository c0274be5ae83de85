// SPDX-License-Identifier: MIT
#pragma once
#include <climits>
#include <cstdint>
#include <map>
#include <optional>

#include "ipc/frames.h"

namespace lockstep::core {

/// How long a run and each of its epochs will be, as far as its ranks have reported. Steps are the run's (step_numbers.h).
class RunLength {
public:
    /// What a rank of that node says of the run's length. Of several nodes the first one that says anything of it is believed. A script's
    /// own total of steps outweighs what follows from the lengths of epochs.
    void take(const StateFrame &body, int node = 0);
    /// A window of steps, before placeOf() is asked for it.
    void take(const StepsFrame &body);
    /// Of which curves the windows of an epoch stand at places by another length or first step than it turned out to have.
    struct Misplaced {
        bool ofRank = false, ofAll = false; ///< of the rank that has done the epoch; of all ranks together
    };
    /// A rank has done an epoch. What it answers is to be placed anew now: it says so once for each length and first step.
    [[nodiscard]] Misplaced take(int rank, const EpochFrame &body);
    /// Ranks that were restarted make this epoch and all later ones again.
    void forget(int from);

    [[nodiscard]] std::optional<int> epochs() const { return m_epochs; }
    [[nodiscard]] std::optional<std::int64_t> steps() const;
    /// The run has ended in the middle of this epoch, which its windows are to show. True: they are to be placed anew.
    [[nodiscard]] bool endAmid(int epoch);
    /// The last step of that epoch's windows; -1: none has come.
    [[nodiscard]] std::int64_t lastStepOf(int epoch) const;
    /// The last known step of the epochs before this one; -1: none.
    [[nodiscard]] std::int64_t lastStepBefore(int epoch) const;
    /// Epochs done after a step of `epoch`: a fraction where the length of an epoch is known, else `epoch` itself.
    [[nodiscard]] double epochsAt(std::int64_t step, int epoch) const;
    /// The same for a window of the curves; take(EpochFrame) compares.
    [[nodiscard]] double placeOf(std::int64_t step, int epoch);

private:
    struct Measure {
        std::int64_t length = 0, first = 0; ///< steps
        bool operator==(const Measure &) const = default;
    };
    struct Epoch {
        std::optional<std::int64_t> announced, own; ///< its length in steps: as said when it began; as it turned out
        std::optional<std::int64_t> planned;        ///< its length in steps if the run ended in its middle
        std::int64_t first = -1, last = -1;         ///< steps of its windows; -1: none yet
        std::optional<std::int64_t> placedBy;       ///< the length that its windows were placed by
        bool misplaced = false;                     ///< some were placed by none, or by another than `own`
        std::optional<Measure> allAnew;             ///< by which those of all ranks were placed anew
        std::map<int, Measure> anew;                ///< the same of each rank
    };
    static void startAnew(Epoch &epoch);
    void take(const About &about);
    Epoch *at(int epoch);
    [[nodiscard]] std::optional<std::int64_t> lengthOf(const Epoch &epoch) const;

    int m_node = INT_MAX; ///< whose ranks have said how long the run is
    std::optional<int> m_epochs;
    std::optional<std::int64_t> m_steps;  ///< as reported
    std::optional<std::int64_t> m_each;   ///< the length of every epoch, where the ranks know it to be the same
    std::optional<std::int64_t> m_newest; ///< the newest known length of an epoch
    std::map<int, Epoch> m_reported;      ///< by number, at most mostEpochs
};

} // namespace lockstep::core
