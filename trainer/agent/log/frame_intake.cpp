// SPDX-License-Identifier: MIT
#include "trainer/agent/log/frame_intake.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ipc/sound_values.h"
#include "trainer/agent/net/version.h"

namespace lockstep::agent {

namespace {
constexpr std::uint64_t quarantineLimit = 1 << 20, quarantineOfAllLimit = 64 * quarantineLimit; ///< bytes
constexpr std::int64_t alertEveryNs = 10'000'000'000;

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}
} // namespace

FrameIntake::FrameIntake(const Clock &clock, RunJournal &journal, const RunFolder &folder, std::set<int> ranks,
                         Handlers handlers)
    : m_clock(clock), m_journal(journal), m_folder(folder), m_ranks(std::move(ranks)), m_handlers(std::move(handlers)),
      m_gate({[this](int rank, std::string_view line, const Frame &frame) { takeAsSent(rank, line, frame); },
              [this](int rank, std::string_view line, const Error &why) { takeMalformed(rank, line, why); },
              [this](int rank, std::uint64_t expected, std::uint64_t got) {
                  m_reported.missFrame();
                  if (m_gapAlerted.insert(rank).second)
                      alert(rank, framesLost,
                            "rank " + std::to_string(rank) + " lost " + std::to_string(got - expected) +
                                " frames on the way, rseq " + std::to_string(expected) + " to " +
                                std::to_string(got - 1));
              }}) {}

std::string startedAgainInWords(int rank) {
    return "another process is rank " + std::to_string(rank) + " now: this rank, or all of them, were started again";
}

void FrameIntake::startOver(const std::optional<EpochNumbers::Made> &agreed) {
    m_gate.startOver();
    m_numbers.startOver(agreed);
    m_reported.startOver();
    m_training.clear();
    m_lossAlerted.clear();
    m_metricAlerted.clear();
    m_allTraining = false;
}

bool FrameIntake::startOver(int rank) {
    m_gate.startOver(rank);
    m_lossAlerted.erase(rank);
    std::erase_if(m_metricAlerted, [rank](const auto &alerted) { return alerted.first == rank; });
    return m_numbers.startOver(rank);
}

void FrameIntake::takeAsSent(int rank, std::string_view line, const Frame &frame) {
    const EpochNumbers::Made before = m_numbers.before(rank, frame);
    if (before.epochs == 0)
        return takeFrame(rank, line, frame);
    m_reported.countOn(before.epochs);
    const Frame ofRun = countedOn(frame, before);
    const std::string encoded = encode(ofRun);
    if (encoded.size() + roomForSeal > maxFrameBytes)
        return takeMalformed(rank, line, Error::failed("a frame is too long with the numbers of its run"));
    takeFrame(rank, encoded, ofRun);
}

void FrameIntake::takeFrame(int rank, std::string_view line, const Frame &frame) {
    m_reported.take(rank, frame);
    if (m_handlers.onFrame)
        m_handlers.onFrame(rank, frame);
    if (const auto *epoch = std::get_if<EpochFrame>(&frame.body)) {
        takeEpoch(line, *epoch, frame.monoNs);
        return m_journal.requestSync();
    }
    m_journal.appendLine(line);
    if (const auto *text = std::get_if<LogFrame>(&frame.body)) {
        m_handlers.onTrainerLog(rank, text->level + ": " + text->message);
    } else if (const auto *state = std::get_if<StateFrame>(&frame.body)) {
        if (state->state == RunState::Training)
            noteTraining(rank);
        checkVersion(rank, *state);
        if (m_handlers.onState)
            m_handlers.onState(rank, *state);
        m_journal.requestSync();
    } else if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
        noteTraining(rank);
        checkLoss(rank, *steps);
        checkMetrics(rank, *steps);
    } else if (const auto *alerted = std::get_if<AlertFrame>(&frame.body)) {
        if (alerted->kind == nonFiniteLoss.row().kind)
            m_lossAlerted.insert(rank); // it knows the tensor, too
        m_journal.requestSync();
    }
}

void FrameIntake::takeEpoch(std::string_view line, const EpochFrame &epoch, std::int64_t sentNs) {
    if (m_gate.has("devices"))
        return m_journal.appendLine(line); // the rank itself measured its devices, or says that it has none
    const std::int64_t end =
        epoch.durationS > 0 ? epoch.startMonoNs + static_cast<std::int64_t>(epoch.durationS * 1e9) : sentNs;
    const std::string devices = devicesJson(m_handlers.deviceUse(epoch.startMonoNs, std::min(end, m_clock.monoNs())));
    if (line.size() + devices.size() + roomForSeal > maxFrameBytes)
        return m_journal.appendLine(line);
    m_journal.appendLine(withMember(line, "devices", devices));
}

void FrameIntake::takeMalformed(int rank, std::string_view line, const Error &why) {
    ++m_malformed;
    m_reported.missFrame();
    const bool kept = quarantine(rank, line);
    Quarantine &bad = m_quarantine[rank];
    ++bad.lines;
    const std::int64_t now = m_clock.monoNs();
    if (bad.lastAlertNs != 0 && now - bad.lastAlertNs < alertEveryNs)
        return;
    const std::uint64_t fresh = bad.lines - bad.alertedLines;
    bad.alertedLines = bad.lines;
    bad.lastAlertNs = now;
    alert(rank, malformedFrame,
          "rank " + std::to_string(rank) + " sent " +
              (fresh == 1 ? "a malformed frame" : std::to_string(fresh) + " malformed frames") + " (" + why.message() +
              (kept ? "), kept in console/rank-" + std::to_string(rank) + ".bad"
                    : "), not kept: there are " + mebibytes(quarantineLimit) + " of such lines of this rank, or " +
                          mebibytes(quarantineOfAllLimit) + " of all ranks"));
}

/// False: such files are full.
bool FrameIntake::quarantine(int rank, std::string_view line) {
    Quarantine &bad = m_quarantine[rank];
    const std::uint64_t bytes = line.size() + 1;
    if (bad.bytes + bytes > quarantineLimit || m_quarantinedBytes + bytes > quarantineOfAllLimit)
        return false;
    bad.bytes += bytes;
    m_quarantinedBytes += bytes;
    if (!bad.file) {
        std::string path = m_folder.console(rank);
        path.replace(path.rfind('.'), std::string::npos, ".bad");
        bad.file = m_journal.disk().openText(std::move(path), false);
    }
    m_journal.disk().write(bad.file, std::string(line) + "\n");
    return true;
}

void FrameIntake::onRankCut(int rank, const Error &why) {
    ++m_malformed;
    alert(rank, "rank_cut", "the connection of rank " + std::to_string(rank) + " was closed: " + why.message());
}

void FrameIntake::noteTraining(int rank) {
    if (m_allTraining)
        return;
    m_training.insert(rank);
    if (m_training != m_ranks)
        return;
    m_allTraining = true;
    m_handlers.onAllTraining();
}

void FrameIntake::checkVersion(int rank, const StateFrame &state) {
    constexpr std::size_t longest = 40;
    if (state.version.empty() || state.version == agentVersion() || std::exchange(m_versionAlerted, true))
        return;
    alert(rank, "version_differs",
          "rank " + std::to_string(rank) + " reports with version " + state.version.substr(0, longest) +
              " of Lockstep, its agent has " + agentVersion());
}

void FrameIntake::checkLoss(int rank, const StepsFrame &steps) {
    if (!m_handlers.scripted || !steps.loss || m_lossAlerted.contains(rank))
        return;
    const std::optional<double> bad = notFiniteIn(*steps.loss);
    if (!bad)
        return;
    m_lossAlerted.insert(rank);
    // A window of steps has a mean loss only: which of its steps was not finite is unknown.
    alert(rank, nonFiniteLoss,
          "the loss of rank " + std::to_string(rank) + " is " + valueInWords(*bad) + " since " +
              stepInWords(steps.firstStep, steps.lastStep),
          steps.firstStep == steps.lastStep ? std::optional(steps.firstStep) : std::nullopt);
}

void FrameIntake::checkMetrics(int rank, const StepsFrame &steps) {
    if (!m_handlers.scripted)
        return;
    for (const auto &[name, window] : steps.scalars) {
        if (isFiniteValue(window.mean()) || m_metricAlerted.size() >= maxScalars ||
            !m_metricAlerted.emplace(rank, name).second)
            continue;
        alert(rank, "non_finite_metric",
              "the metric " + name + " of rank " + std::to_string(rank) + " is " + valueInWords(window.mean()) +
                  " since " + stepInWords(steps.firstStep, steps.lastStep) + "; such values are left out");
    }
}

void FrameIntake::alert(int rank, AlertName name, std::string message, std::optional<std::int64_t> step) {
    m_journal.append(makeAlert(name, std::move(message), step), rank);
    m_journal.requestSync();
}

} // namespace lockstep::agent
