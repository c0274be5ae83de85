// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ipc/run_folder.h"
#include "trainer/agent/log/frame_gate.h"
#include "trainer/agent/log/reported_summary.h"
#include "trainer/agent/log/run_journal.h"

namespace lockstep::agent {

/// What becomes of a rank's lines: good frames go into the journal, epochs with their devices' use; bad lines go into
/// quarantine (console/rank-R.bad, at most 1 MiB) with an alert now and then; what is lost is said once. A script's rank
/// whose loss is no number is said once, too: our trainer says so itself.
class FrameIntake {
public:
    struct Handlers {
        /// Use of every device in that time, sampled up to now.
        std::function<std::vector<DeviceEpochUse>(std::int64_t fromNs, std::int64_t toNs)> deviceUse;
        std::function<void(int rank, std::string_view text)> onTrainerLog; ///< for the rank's console file
        std::function<void()> onAllTraining; ///< once: every rank has made its first steps
        bool scripted = false;               ///< the ranks are somebody's script
        std::function<void(int rank, const StateFrame &state)> onState = {}; ///< a rank's, once it is in the log
    };
    FrameIntake(const Clock &clock, RunJournal &journal, const RunFolder &folder, std::set<int> ranks,
                Handlers handlers);

    void takeLine(int rank, std::string_view line) { m_gate.take(rank, line); }
    void onRankCut(int rank, const Error &why);
    void startOver();         ///< the ranks were started again
    void startOver(int rank); ///< this one alone was
    [[nodiscard]] std::uint64_t nextRseq(int rank) const { return m_gate.next(rank); }

    [[nodiscard]] std::uint64_t malformedLines() const { return m_malformed; }
    [[nodiscard]] const ReportedSummary &reported() const { return m_reported; }

private:
    void takeFrame(int rank, std::string_view line, const Frame &frame);
    void takeEpoch(std::string_view line, const EpochFrame &epoch, std::int64_t sentNs);
    void takeMalformed(int rank, std::string_view line, const Error &why);
    void quarantine(int rank, std::string_view line);
    void noteTraining(int rank);
    void checkLoss(int rank, const StepsFrame &steps);
    void alert(int rank, std::string kind, std::string message, std::optional<std::int64_t> step = {});

    struct Quarantine {
        std::uint64_t bytes = 0, lines = 0, alertedLines = 0;
        std::int64_t lastAlertNs = 0;
    };

    const Clock &m_clock;
    RunJournal &m_journal;
    const RunFolder &m_folder;
    std::set<int> m_ranks, m_training, m_gapAlerted, m_lossAlerted;
    Handlers m_handlers;
    FrameGate m_gate;
    ReportedSummary m_reported;
    std::map<int, Quarantine> m_quarantine;
    std::uint64_t m_malformed = 0;
    bool m_allTraining = false;
};

} // namespace lockstep::agent
