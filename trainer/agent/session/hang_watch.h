// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::agent {

/// Finds ranks that wait in a collective for others that do not come, from the ranks' own heartbeats (RankPosition). Of all
/// nodes, at agent 0 or a listener. A rank that evaluates, writes a checkpoint or starts may take its time, and so may one that ends
/// steps at its own pace, as slow ones of ps-async do; one that reports nothing may not. What a script does between its phases may be
/// either: without a limit of its own, such a rank is given five minutes, and one that still goes from phase to phase is not waited for in
/// vain.
class HangWatch {
public:
    enum class Ranks {
        Trainer,
        Scripts
    }; ///< lockstep-trainer enters each collective by itself; of a script the whole backward may count as one

    /// `after`: how long they must have waited; 0: five median steps, at least 10 s, or five minutes while no step is known.
    HangWatch(std::chrono::duration<double> after, Ranks ranks) : m_afterS(after.count()), m_kind(ranks) {}
    void set(std::chrono::duration<double> after, Ranks ranks) { m_afterS = after.count(), m_kind = ranks; }

    void take(int rank, const Frame &frame, std::int64_t nowNs);
    void startOver() {
        *this = HangWatch(std::chrono::duration<double>(m_afterS), m_kind);
    } ///< all ranks were started again
    /// This rank's process is a new one; what ranks reported that were started again before it still counts.
    void startOver(int rank) { m_ranks.erase(rank); }

    /// Once for each hang ("hang"), and once when its ranks go on ("hang_over"). The run has `rankCount` ranks. `processOf` says what is odd about a rank's
    /// process, as the end of a sentence; empty: nothing, or it is on another node.
    [[nodiscard]] std::optional<AlertFrame> check(std::int64_t nowNs, int rankCount,
                                                  const std::function<std::string(int rank)> &processOf);

private:
    struct Rank {
        std::int64_t heardNs = 0, stepsMonoNs = 0;
        std::int64_t steppedNs = 0;           ///< when its last window of steps, or its state, arrived
        std::deque<double> stepS;             ///< its newest windows' mean steps
        std::optional<std::int64_t> lastStep; ///< of its last window of steps
        RunState state = RunState::Init;
        std::optional<RankPosition> at; ///< of its last frame, if that was a heartbeat
        bool hasSent = false;           ///< its last frame was no heartbeat
    };
    [[nodiscard]] double limitS() const;
    [[nodiscard]] bool isSilent(const Rank &rank, std::int64_t nowNs) const;
    [[nodiscard]] bool mayBeBusy(const Rank &rank, bool came, double waitedS, double limitS, std::int64_t nowNs) const;
    [[nodiscard]] bool mayAllCompute(double waitedS) const;
    [[nodiscard]] bool goesOn(const Rank &rank, std::int64_t nowNs) const;
    [[nodiscard]] std::optional<double> waitS(const Rank &rank, std::int64_t nowNs) const;
    [[nodiscard]] std::string waits(const std::vector<int> &ranks, std::int64_t collective, double seconds) const;
    [[nodiscard]] std::string absent(int number, std::int64_t nowNs, const std::string &process) const;
    [[nodiscard]] std::optional<AlertFrame> over();

    double m_afterS;
    Ranks m_kind;
    std::map<int, Rank> m_ranks;
    std::deque<double> m_stepS;         ///< the same of all ranks
    std::optional<std::int64_t> m_hang; ///< the collective that was reported
};

/// "its process is stopped" and the like, by the state in /proc; empty: nothing is odd.
[[nodiscard]] std::string oddStateOf(int pid);

} // namespace lockstep::agent
