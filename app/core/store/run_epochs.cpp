// SPDX-License-Identifier: MIT
#include "store/run_epochs.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostListed = 1'000'000; ///< devices and classes of all epochs together

std::size_t listedIn(const MergedEpoch &epoch) {
    return epoch.devices.size() + (epoch.eval ? epoch.eval->perClassAccuracy.size() : 0);
}

void dropLists(MergedEpoch &epoch) {
    epoch.devices = {};
    if (epoch.eval)
        epoch.eval->perClassAccuracy = {};
}

RankEpoch withoutLists(int rank, const EpochFrame &body, std::int64_t wallUs) {
    RankEpoch own{rank, body, wallUs};
    own.frame.devices = {};
    own.frame.replicas = {};
    own.frame.scalars = {};
    return own;
}

void mergeDevices(std::vector<DeviceUse> &into, const std::vector<DeviceUse> &more) {
    std::unordered_set<std::string_view> unknown;
    for (const DeviceUse &use : more)
        unknown.insert(use.device);
    for (const DeviceUse &use : into)
        unknown.erase(use.device);
    for (const DeviceUse &use : more)
        if (into.size() < mostRunDevices && unknown.erase(use.device) > 0)
            into.push_back(use);
}

Reporter reporterOf(int rank, const Frame &frame) {
    return {frame.node.value_or(0), rank};
}

/// The least reporter's loss stands for all, unless one is not finite: then training has diverged.
void takeLoss(MergedEpoch &epoch, std::optional<double> loss, const Reporter &from) {
    if (loss && !isFiniteValue(*loss))
        epoch.lostLoss = loss;
    if (epoch.lostLoss)
        epoch.loss.reset();
    else if (loss && (!epoch.lossFrom || from < *epoch.lossFrom)) {
        epoch.loss = loss;
        epoch.lossFrom = from;
    }
}

/// The mean over the ranks so far, which nothing weighs.
void takeOwnLoss(MergedEpoch &epoch, double loss) {
    epoch.meanLoss += (loss - epoch.meanLoss) / ++epoch.lossRanks;
    if (!epoch.lostLoss)
        epoch.loss = epoch.meanLoss;
}

bool areUnlike(std::optional<double> loss, std::optional<double> other) {
    constexpr double rounding = 1e-6;
    return loss && other && std::fabs(*loss - *other) > rounding * std::max(std::fabs(*loss), std::fabs(*other));
}

/// The least count of these epochs that have one; 0: none has.
template <class Epochs> std::int64_t leastOf(Epochs epochs, std::int64_t MergedEpoch::*count) {
    std::int64_t least = 0;
    for (const MergedEpoch &epoch : epochs)
        if (const std::int64_t own = epoch.*count; own > 0 && (least == 0 || own < least))
            least = own;
    return least;
}

/// For scripts that report no loss by epoch, or none on the first node that reports any.
void takeLossOfWindows(MergedEpoch &epoch) {
    if (!epoch.windowsFrom || (epoch.lossFrom && epoch.lossFrom->first <= epoch.windowsFrom->first))
        return;
    takeLoss(epoch, epoch.lossSum / epoch.lossSamples, *epoch.windowsFrom);
}

} // namespace

/// Its samples show it, where they are unknown its steps: those of whole epochs are less alike, as batches may be of random sizes.
bool endInPart(const std::vector<MergedEpoch> &epochs) {
    struct Reading {
        std::int64_t MergedEpoch::*count;
        double whole; ///< from this share of the least of the other epochs on
    };
    if (epochs.empty() || !epochs.back().complete)
        return false;
    const MergedEpoch &last = epochs.back();
    const auto earlier = [&](const MergedEpoch &epoch) { return epoch.complete && &epoch != &last; };
    for (const Reading &reading : {Reading{&MergedEpoch::samples, 0.995}, Reading{&MergedEpoch::steps, 0.95}}) {
        const std::int64_t own = last.*reading.count;
        const std::int64_t least = leastOf(epochs | std::views::filter(earlier), reading.count);
        if (own <= 0 || least <= 0)
            continue;
        return double(own) < reading.whole * double(least);
    }
    return false;
}

/// A frame may name any epoch. This limits how many epochs may be skipped, so that memory stays bounded.
bool RunEpochs::plausible(int epoch) const {
    constexpr int mostSkipped = 10'000;
    return epoch >= 1 && epoch - 1 - int(m_epochs.size()) <= mostSkipped - m_skipped;
}

MergedEpoch &RunEpochs::at(int epoch) {
    m_skipped += std::max(0, epoch - 1 - int(m_epochs.size()));
    while (int(m_epochs.size()) < epoch) {
        MergedEpoch next;
        next.epoch = int(m_epochs.size()) + 1;
        m_epochs.push_back(std::move(next));
    }
    return m_epochs[std::size_t(epoch - 1)];
}

const MergedEpoch *RunEpochs::find(int epoch) const {
    return epoch >= 1 && std::size_t(epoch) <= m_epochs.size() ? &m_epochs[std::size_t(epoch) - 1] : nullptr;
}

bool RunEpochs::counts(std::size_t place) const {
    const auto reports = m_reports.find(m_rankEpochs[place].frame.epoch);
    return reports != m_reports.end() && std::ranges::binary_search(reports->second, place); // they come in order
}

double RunEpochs::trainingS() const {
    double sum = 0;
    for (const MergedEpoch &epoch : m_epochs)
        sum += epoch.durationS;
    return sum;
}

/// All ranks are restarted together, so that the first one that shows it speaks for all.
std::vector<RankEpoch> RunEpochs::forget(int from) {
    m_startsOver = false;
    m_attempts.startOver();
    m_windows.clear();
    std::vector<RankEpoch> lost;
    for (auto reports = m_reports.lower_bound(from); reports != m_reports.end(); reports = m_reports.erase(reports)) {
        for (const std::size_t place : reports->second)
            lost.push_back(m_rankEpochs[place]);
        MergedEpoch again;
        again.epoch = reports->first;
        MergedEpoch &known = m_epochs[std::size_t(reports->first - 1)];
        m_listed -= listedIn(known);
        known = std::move(again);
    }
    while (int(m_epochs.size()) > from) { // none is left that any rank has reported
        m_listed -= listedIn(m_epochs.back());
        m_epochs.pop_back();
    }
    m_withoutLists = std::min(m_withoutLists, std::size_t(from - 1));
    if (m_repeated && m_repeated->epoch >= from)
        m_repeated.reset();
    if (m_ofUnlikeLosses >= from)
        m_ofUnlikeLosses.reset();
    return lost;
}

std::vector<RankEpoch> RunEpochs::madeAgain(int epoch) {
    return m_startsOver && plausible(epoch) ? forget(epoch) : std::vector<RankEpoch>();
}

std::vector<RankEpoch> RunEpochs::take(int rank, const StepsFrame &body) {
    std::vector<RankEpoch> lost;
    if (plausible(body.epoch)) {
        if (m_startsOver || m_attempts.makesAgain(rank, body))
            lost = forget(body.epoch);
        at(body.epoch).hasSteps = true;
    }
    WindowLosses &windows = m_windows[rank];
    if (windows.epoch != body.epoch)
        windows = {body.epoch};
    m_attempts.take(rank, body);
    if (body.loss) {
        windows.sum += body.loss->mean * double(body.samples);
        windows.samples += double(body.samples);
    }
    return lost;
}

void RunEpochs::countLists(MergedEpoch &epoch, std::size_t before) {
    if (epoch.epoch <= int(m_withoutLists))
        dropLists(epoch);
    m_listed += listedIn(epoch);
    m_listed -= before;
    for (; m_listed > mostListed; ++m_withoutLists) {
        MergedEpoch &oldest = m_epochs[m_withoutLists];
        m_listed -= listedIn(oldest);
        dropLists(oldest);
    }
}

void RunEpochs::running(int epoch, double seconds) {
    if (!m_epochs.empty() && epoch == int(m_epochs.size()))
        m_epochs.back().runningS = std::max(m_epochs.back().runningS, seconds);
}

bool RunEpochs::take(int rank, const Frame &frame, const EpochFrame &body, int ranks, bool script) {
    if (!plausible(body.epoch))
        return false;
    if (body.epoch <= int(m_epochs.size()) && m_epochs[std::size_t(body.epoch) - 1].rankDurationS.contains(rank)) {
        if (!m_repeated || body.epoch < m_repeated->epoch)
            m_repeated = Repeated{rank, body.epoch};
        return false;
    }
    m_reports[body.epoch].push_back(m_rankEpochs.size());
    m_rankEpochs.push_back(withoutLists(rank, body, frame.wallUs));
    MergedEpoch &epoch = at(body.epoch);
    WindowLosses &windows = m_windows[rank];
    const Reporter from = reporterOf(rank, frame);
    if (areUnlike(epoch.loss, body.loss))
        m_ofUnlikeLosses = body.epoch;
    takeLoss(epoch, body.loss, from);
    if (!body.loss && windows.samples > 0) {
        epoch.lossSum += windows.sum;
        epoch.lossSamples += windows.samples;
        epoch.windowsFrom = std::min(epoch.windowsFrom.value_or(from), from);
    }
    windows.sum = windows.samples = 0;
    epoch.durationS = std::max(epoch.durationS, body.durationS);
    epoch.samples += body.samples;
    epoch.steps = std::max(epoch.steps, body.steps);
    if (script && body.loss && epoch.samples == 0)
        takeOwnLoss(epoch, *body.loss);
    if (body.before) {
        epoch.beforeS = std::max(epoch.beforeS, body.before->durationS);
        epoch.samplesBefore += body.before->samples;
    }
    epoch.rankDurationS[rank] = body.durationS;
    epoch.endWallUs = std::max(epoch.endWallUs, frame.wallUs);
    if (body.readyBatches)
        epoch.readyBatches = std::min(epoch.readyBatches.value_or(*body.readyBatches), *body.readyBatches);
    epoch.ranksReported = int(epoch.rankDurationS.size());
    epoch.complete = epoch.ranksReported >= std::max(1, ranks);
    if (epoch.complete)
        takeLossOfWindows(epoch);
    const std::size_t listed = listedIn(epoch);
    mergeDevices(epoch.devices, body.devices);
    countLists(epoch, listed);
    return true;
}

void RunEpochs::dropEvalsAfter(int node) {
    for (MergedEpoch &epoch : m_epochs)
        if (epoch.evalFrom && epoch.evalFrom->first > node) {
            const std::size_t listed = listedIn(epoch);
            epoch.eval.reset();
            epoch.evalFrom.reset();
            countLists(epoch, listed);
        }
    dropHollowEpochs();
}

void RunEpochs::dropHollowEpochs() {
    const auto hollow = [](const MergedEpoch &epoch) {
        return epoch.ranksReported == 0 && !epoch.hasSteps && !epoch.eval;
    };
    while (!m_epochs.empty() && hollow(m_epochs.back())) {
        m_epochs.pop_back();
        m_skipped = std::max(0, m_skipped - 1);
    }
    m_withoutLists = std::min(m_withoutLists, m_epochs.size());
}

bool RunEpochs::take(const Frame &frame, const EvalFrame &body) {
    const Reporter from = reporterOf(frame.rank.value_or(0), frame);
    if (!plausible(body.epoch) || from.first > m_testingNode)
        return false;
    if (from.first < std::exchange(m_testingNode, from.first))
        dropEvalsAfter(from.first);
    MergedEpoch &epoch = at(body.epoch);
    if (epoch.evalFrom && *epoch.evalFrom < from)
        return false;
    const std::size_t listed = listedIn(epoch);
    epoch.eval = body;
    epoch.evalFrom = from;
    epoch.evalWallUs = frame.wallUs;
    countLists(epoch, listed);
    return true;
}

} // namespace lockstep::core
