// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ipc/run_folder.h"
#include "trainer/agent/log/epoch_numbers.h"
#include "trainer/agent/log/frame_gate.h"
#include "trainer/agent/log/reported_summary.h"
#include "trainer/agent/log/run_journal.h"

namespace lockstep::agent {

/// Of ranks that the run's own command, or somebody else, has started again: the first that shows it.
[[nodiscard]] std::string startedAgainInWords(int rank);

/// Handles the lines of ranks. Good frames go into the journal; epochs get the use of their devices, and what ranks that
/// were started again count anew gets its numbers in the run (epoch_numbers.h). Malformed lines go into quarantine
/// (console/rank-R.bad, at most 1 MiB, and 64 MiB of all ranks), with an alert now and then. Lost frames raise one alert per rank. So does a loss
/// or a metric that is not finite, for scripts only: lockstep-trainer raises that alert itself.
class FrameIntake {
public:
    struct Handlers {
        /// Use of every device between two times, sampled until now.
        std::function<std::vector<DeviceEpochUse>(std::int64_t fromNs, std::int64_t toNs)> deviceUse;
        std::function<void(int rank, std::string_view text)> onTrainerLog; ///< for the rank's console file
        std::function<void()> onAllTraining; ///< once: every rank has made its first steps
        bool scripted = false;               ///< the ranks run a user's script
        std::function<void(int rank, const StateFrame &state)> onState = {}; ///< after a rank's state frame was logged
        std::function<void(int rank, const Frame &frame)> onFrame = {};      ///< each one, before it is logged
    };
    FrameIntake(const Clock &clock, RunJournal &journal, const RunFolder &folder, std::set<int> ranks,
                Handlers handlers);

    void takeLine(int rank, std::string_view line) { m_gate.take(rank, line); }
    void onRankCut(int rank, const Error &why);
    /// All ranks were restarted. `agreed`: what those of all nodes had made; absent: those here are all.
    void startOver(const std::optional<EpochNumbers::Made> &agreed);
    [[nodiscard]] EpochNumbers::Made made() const { return m_numbers.made(); } ///< by all ranks here
    /// Another process takes this rank's place. Returns whether it is the first to show that all are started again.
    [[nodiscard]] bool startOver(int rank);
    void addRank(int rank) { m_ranks.insert(rank); }
    void setScripted(bool scripted) { m_handlers.scripted = scripted; } ///< where it becomes known later
    [[nodiscard]] std::uint64_t nextRseq(int rank) const { return m_gate.next(rank); }

    [[nodiscard]] std::uint64_t malformedLines() const { return m_malformed; }
    [[nodiscard]] const ReportedSummary &reported() const { return m_reported; }

private:
    void takeAsSent(int rank, std::string_view line, const Frame &frame);
    void takeFrame(int rank, std::string_view line, const Frame &frame);
    void takeEpoch(std::string_view line, const EpochFrame &epoch, std::int64_t sentNs);
    void takeMalformed(int rank, std::string_view line, const Error &why);
    bool quarantine(int rank, std::string_view line);
    void noteTraining(int rank);
    void checkVersion(int rank, const StateFrame &state);
    void checkLoss(int rank, const StepsFrame &steps);
    void checkMetrics(int rank, const StepsFrame &steps);
    void alert(int rank, AlertName name, std::string message, std::optional<std::int64_t> step = {});

    struct Quarantine {
        std::uint64_t bytes = 0, lines = 0, alertedLines = 0;
        std::int64_t lastAlertNs = 0;
        std::shared_ptr<LogDisk::Text> file; ///< once a line was put aside
    };

    const Clock &m_clock;
    RunJournal &m_journal;
    const RunFolder &m_folder;
    std::set<int> m_ranks, m_training, m_gapAlerted, m_lossAlerted;
    std::set<std::pair<int, std::string>> m_metricAlerted; ///< rank, name
    Handlers m_handlers;
    FrameGate m_gate;
    EpochNumbers m_numbers;
    ReportedSummary m_reported;
    std::map<int, Quarantine> m_quarantine;
    std::uint64_t m_malformed = 0;
    std::uint64_t m_quarantinedBytes = 0; ///< of all ranks
    bool m_allTraining = false, m_versionAlerted = false;
};

} // namespace lockstep::agent
