// SPDX-License-Identifier: MIT
#include "store/run_outcome.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ranges>

#include "base/format.h"
#include "ipc/alerts.h"
#include "ipc/class_limit.h"
#include "ipc/placement.h"
#include "ipc/printable.h"
#include "ipc/scalars.h"
#include "ipc/sound_values.h"
#include "ipc/thousands.h"
#include "store/run_failure.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

/// `whole`: its log lacks nothing, so that its last evaluation is the run's.
void takeSummary(const Summary &summary, bool whole, RunOutcome &out) {
    if (!out.totalTrainingTimeS) // else the sum of what the ranks reported by epoch
        out.totalTrainingTimeS = trainingTimeIn(summary);
    if (summary.totalTrainingTimeS && !out.totalTrainingTimeS)
        out.warnings.push_back("its summary's training time is not the sum of its epochs: how long it trained is "
                               "unknown");
    if (!(whole && out.testAccuracy) && summary.testAccuracy && isShare(*summary.testAccuracy)) {
        if (out.testAccuracy != summary.testAccuracy)
            out.accuracyEpoch.reset();
        out.testAccuracy = summary.testAccuracy;
    }
    if (out.perClassAccuracy.empty() && std::ranges::all_of(summary.perClassAccuracy, [](double share) {
            return isShare(share) || std::isnan(share); // NaN: no sample of that class
        }))
        out.perClassAccuracy = summary.perClassAccuracy;
    if (summary.classNames.size() == out.perClassAccuracy.size())
        for (const std::string &name : summary.classNames)
            out.classNames.push_back(cutText(name, longestClassName));
    // After a checkpoint they are of the epochs before it, too; where no epoch was made, of those alone.
    const bool madeSome = summary.epochs.empty() || out.firstEpoch <= summary.epochs.back().epoch;
    if (!summary.phasesS.empty() && ((out.firstEpoch == 1 && !out.amidEpoch) || (out.phasesS.empty() && madeSome)) &&
        std::ranges::all_of(summary.phasesS, [](const auto &phase) { return isDuration(phase.second); }))
        out.phasesS = summary.phasesS;
    out.oversubscribed = summary.oversubscribed;
    for (const auto &[name, value] : summary.metrics)
        if (out.metrics.size() < maxScalars && isFiniteValue(value) && isScalarName(name))
            out.metrics.try_emplace(name, value); // else computed from the log's frames
    if (!summary.backend.empty())
        out.backend = summary.backend;
    for (const EpochSummary &epoch : summary.epochs)
        if (epoch.epoch < out.firstEpoch)
            out.earlierS += epoch.durationS;
    out.summedEpochs = summary.epochs;
    out.summedSteps = summary.steps;
}

/// Whether a done run's result leaves open how long its log was, which no agent does of lockstep-trainer: its end may be lost.
bool countsNoLines(const RunStore &store) {
    const auto &result = store.result();
    return result && result->state == RunState::Done && result->logLines == 0 && result->nodeLogLines.empty() &&
           store.record() && !isScript(*store.record());
}

/// Whether the log here lacks lines that its agent wrote, or may.
bool lacksLines(const RunStore &store) {
    const LogHealth &log = store.log();
    return !log.gaps.empty() || log.damagedLines > 0 || !log.leftOut.empty() || countsNoLines(store);
}

/// Whether a frame is missing that may have ended an epoch.
bool lacksFrames(const RunStore &store) {
    return lacksLines(store) || store.messages().alertsOf(malformedFrame) > 0 ||
           store.messages().alertsOf(framesLost) > 0;
}

std::optional<int> plannedEpochs(const RunStore &store) {
    const auto &record = store.record();
    if (const auto length = store.length().epochs())
        return length;
    return record && record->config && record->claims.knows("epochs") ? std::optional(record->config->epochs)
                                                                      : std::nullopt;
}

std::ptrdiff_t completeEpochsOf(const RunStore &store) {
    return std::ranges::count_if(store.epochs().merged(), &MergedEpoch::complete);
}

/// With a frame missing, the reported epochs are complete only if there are as many as planned.
bool lacksEpochs(const RunStore &store) {
    const auto planned = plannedEpochs(store);
    return lacksFrames(store) && (!planned || completeEpochsOf(store) < *planned);
}

bool isReported(const MergedEpoch &epoch) {
    return epoch.ranksReported > 0;
}

/// Whether the log here lacks lines, and with them whole epochs, of a run that is over: those that its summary has from the
/// first logged one on; without a summary, those that were planned or are logged in part.
bool isCut(const RunStore &store) {
    const auto &result = store.result();
    if (!result || !lacksLines(store))
        return false;
    const std::vector<MergedEpoch> &epochs = store.epochs().merged();
    const auto first = std::ranges::find_if(epochs, isReported);
    const auto complete = completeEpochsOf(store);
    if (result->summary && !result->summary->epochs.empty()) {
        const int from = first == epochs.end() ? 1 : first->epoch;
        return complete < std::ranges::count_if(
                              result->summary->epochs, [&](const EpochSummary &epoch) { return epoch.epoch >= from; });
    }
    const auto logged = std::max<std::ptrdiff_t>(epochs.end() - first, 1);
    return result->state == RunState::Done && complete < plannedEpochs(store).value_or(int(logged));
}

/// The last epoch of a run that made none of them: its log is whole, and no rank reports a step. 0: it made some.
int lastEarlierEpoch(const RunStore &store) {
    const auto &result = store.result();
    const auto trained = [](const auto &rank) { return rank.second.lastStep.has_value(); };
    if (!result || !result->summary || result->summary->epochs.empty() || store.log().frames == 0 ||
        lacksFrames(store) || std::ranges::any_of(store.ranks().all(), trained) ||
        std::ranges::any_of(store.epochs().merged(), isReported))
        return 0;
    return result->summary->epochs.back().epoch;
}

/// Whether it is known to begin with epoch 1; a script may go on from a checkpoint, whatever its options say.
bool beginsAnew(const RunStore &store) {
    const auto &record = store.record();
    return record && record->config && !isScript(*record) && !record->config->resume;
}

/// With a frame missing, an epoch has begun here as soon as there is a step of it: only its report may be lost.
int firstLoggedEpoch(const RunStore &store) {
    const std::vector<MergedEpoch> &epochs = store.epochs().merged();
    const bool lacks = lacksFrames(store);
    const auto first = std::ranges::find_if(
        epochs, [&](const MergedEpoch &epoch) { return isReported(epoch) || (lacks && epoch.hasSteps); });
    return first == epochs.end() || (lacks && beginsAnew(store)) ? 1 : first->epoch;
}

std::string divergenceOf(const RunStore &store) {
    if (const auto found = store.losses().divergence()) {
        const std::string value = valueInWords(found->loss), step = stepInWords(found->firstStep, found->lastStep);
        return found->recovered ? "loss was " + value + " at " + step + " and is finite again"
                                : "loss is " + value + " since " + step;
    }
    for (const MergedEpoch &epoch : store.epochs().merged())
        if (epoch.lostLoss)
            return "loss is " + valueInWords(*epoch.lostLoss) + " in epoch " + std::to_string(epoch.epoch);
    return {};
}

std::optional<double> lossInSummary(const Summary &summary) {
    const std::optional<double> loss = summary.epochs.empty() ? std::nullopt : summary.epochs.back().loss;
    return loss && isFiniteValue(*loss) ? loss : std::nullopt;
}

bool isOver(const RunOutcome &run) {
    return run.agentDied || (run.state && isFinal(*run.state));
}

/// Of the last epoch that any rank has reported, never of an earlier one; unknown after a divergence, and where not every rank has
/// reported that epoch, unless its summary has it. While the run goes on, of the last whole epoch.
std::optional<double> finalLossOf(const RunStore &store, const RunOutcome &out) {
    std::optional<double> loss;
    const auto &result = store.result();
    for (const MergedEpoch &epoch : out.epochs)
        if (epoch.complete) {
            if (epoch.loss || epoch.lostLoss)
                loss = epoch.loss;
        } else if (isReported(epoch) && isOver(out)) {
            const bool summed = result && result->summary && !result->summary->epochs.empty() &&
                                result->summary->epochs.back().epoch == epoch.epoch;
            loss = summed ? lossInSummary(*result->summary) : std::nullopt;
        }
    return loss;
}

void takeEpochs(const RunStore &store, RunOutcome &out) {
    const bool whole = !out.epochs.empty() && !lacksEpochs(store) && !store.epochs().repeated() &&
                       std::ranges::all_of(out.epochs, &MergedEpoch::complete);
    out.finalLoss = finalLossOf(store, out);
    for (const MergedEpoch &epoch : out.epochs)
        if (epoch.eval) {
            out.testAccuracy = epoch.eval->accuracy;
            out.perClassAccuracy = epoch.eval->perClassAccuracy;
            out.accuracyEpoch = epoch.epoch;
        }
    const auto isLater = [&](const MergedEpoch &epoch) { return isReported(epoch) && epoch.epoch > out.accuracyEpoch; };
    // While it goes on, the last test may be still to come.
    if (!isOver(out) || std::ranges::none_of(out.epochs, isLater))
        out.accuracyEpoch.reset();
    if (isOver(out) && endInPart(out.epochs))
        out.epochs.back().part = true;
    if (whole && out.state == RunState::Done) // a part of a run has no total
        out.totalTrainingTimeS = store.epochs().trainingS();
}

/// `why` once, though the run's agent may have said so, too.
void withoutTrainingTime(const std::string &why, RunOutcome &out) {
    out.totalTrainingTimeS.reset();
    if (std::ranges::find(out.warnings, why) == out.warnings.end())
        out.warnings.push_back(why);
}

/// Neither its times, its epochs nor what they led to are the run's.
void takePart(int node, RunOutcome &out) {
    withoutTrainingTime("this is node " + std::to_string(node) +
                            "'s part of a run over nodes: the whole run is in its folder on the first node",
                        out);
    for (auto figure : {&RunOutcome::runTimeS, &RunOutcome::launchS, &RunOutcome::finalLoss, &RunOutcome::testAccuracy})
        (out.*figure).reset();
    out.accuracyEpoch.reset();
    out.perClassAccuracy.clear();
    out.classNames.clear();
    out.epochs.clear();
    out.summedEpochs.clear();
    out.steps.reset();
    out.summedSteps = 0;
    out.metrics.clear();
}

/// Of the ranks that train.
std::map<int, PhaseSeconds> rankPhases(const RunStore &store) {
    std::map<int, PhaseSeconds> out;
    const auto serves = [config = store.record() ? store.record()->config : std::nullopt](int rank) {
        return config && onlyServes(*config, rank, deviceCount(*config));
    };
    for (const auto &[rank, info] : store.ranks().all())
        if (const PhaseTimes phases = store.phases().of(rank); !phases.empty() && !serves(rank))
            out.emplace(rank, secondsOf(phases));
    return out;
}

/// What the log says of the whole run. What it says of a part is no figure of the run: its summary may have that.
void takeLog(const RunStore &store, bool cut, RunOutcome &out) {
    const auto &result = store.result();
    if (!cut) {
        takeEpochs(store, out);
        out.rankPhasesS = rankPhases(store);
        if (const auto slowest = slowestRank(out))
            out.phasesS = out.rankPhasesS.at(*slowest);
    } else if (result->summary && !result->summary->epochs.empty()) {
        out.finalLoss = lossInSummary(*result->summary);
    }
}

/// "its log has 1 of 3 epochs of rank 1", of a run that is done; empty: it has as many of each rank that reported anything.
std::string unevenRanksInWords(const RunStore &store) {
    const auto epochs = std::ranges::count_if(store.epochs().merged(), isReported);
    if (epochs == completeEpochsOf(store))
        return {};
    std::map<int, std::ptrdiff_t> logged;
    for (const auto &[rank, info] : store.ranks().all())
        logged[rank] = 0;
    for (const MergedEpoch &epoch : store.epochs().merged())
        for (const auto &[rank, seconds] : epoch.rankDurationS)
            ++logged[rank];
    std::erase_if(logged, [&](const auto &rank) { return rank.second >= epochs; });
    if (logged.empty())
        return {};
    const auto fewest = std::ranges::min_element(logged, {}, [](const auto &rank) { return rank.second; });
    const std::string some = std::to_string(fewest->second) + " of " + std::to_string(epochs) +
                             (epochs == 1 ? " epoch" : " epochs") + " of rank " + std::to_string(fewest->first);
    return logged.size() == 1
               ? "its log has " + some
               : "its log has not every epoch of " + std::to_string(logged.size()) + " ranks: fewest, " + some;
}

/// What of its log does not count, a sentence each.
void addLosses(const RunStore &store, bool cut, RunOutcome &out) {
    for (const auto &[node, why] : store.log().leftOut)
        out.warnings.push_back(why);
    if (const auto epoch = store.epochs().ofUnlikeLosses(); epoch && store.record() && !isScript(*store.record()))
        out.warnings.push_back("its ranks report different losses of epoch " + std::to_string(*epoch) +
                               ", which is one for all of them: that of the first node's lowest rank counts");
    if (const std::uint64_t alone = store.log().madeAgainAlone; alone > 0)
        out.warnings.push_back(std::to_string(alone) +
                               (alone == 1 ? " report of steps or of an epoch is" : " reports of steps or epochs are") +
                               " left out: ranks of a further node made steps again before node 0 said that all were "
                               "started again, as it may seem where a clock was set during the run");
    if (!cut && out.state == RunState::Done)
        if (const std::string uneven = unevenRanksInWords(store); !uneven.empty())
            out.warnings.push_back(uneven);
    if (!cut && out.firstEpoch > 1 && lacksFrames(store))
        out.warnings.push_back("its log lacks frames: whether it made epochs before epoch " +
                               std::to_string(out.firstEpoch) + ", the first one in it, is unknown");
    if (!cut)
        return;
    const std::uint64_t lost = store.log().gaps.frames();
    out.warnings.push_back("its log lacks " + (lost > 0 ? std::to_string(lost) + " " : std::string()) +
                           (lost == 1 ? "frame" : "frames") + ": its loss, accuracy and phases are " +
                           (store.result()->summary ? "those of its summary" : "unknown"));
}

std::optional<double> launchTime(const RunStore &store, std::int64_t startWallUs) {
    for (const StateChange &change : store.messages().stateChanges())
        if (change.rank && change.state == RunState::Training && startWallUs > 0 && change.wallUs >= startWallUs)
            return double(change.wallUs - startWallUs) * 1e-6;
    return std::nullopt;
}

/// What others have written stands in lines and tables of ours: each value takes one line.
void putOnOneLine(RunOutcome &out) {
    const auto flatten = [](auto &...texts) { ((texts = onOneLine(texts)), ...); };
    flatten(out.recipe, out.reason, out.divergence, out.backend, out.conditions.lockstepVersion, out.conditions.program,
            out.conditions.scheduling, out.conditions.stageLayers);
    for (auto *texts : {&out.deviceNames, &out.warnings})
        for (std::string &text : *texts)
            flatten(text);
    for (auto &[key, value] : out.about)
        flatten(value);
    for (MachineRecord &machine : out.conditions.machines) {
        flatten(machine.host, machine.os, machine.kernel, machine.cpuModel, machine.allowedCores, machine.gpuDriver,
                machine.torchVersion, machine.agentVersion);
        for (DeviceRecord &device : machine.devices)
            flatten(device.device, device.kind, device.name, device.cores, device.uuid);
    }
}

/// Those of its record, then those that only its ranks name; each on one line. False: there are more than are kept.
bool takeHosts(const RunStore &store, RunHosts &out) {
    if (const auto &record = store.record())
        for (const MachineRecord &machine : record->machines)
            if (!out.add(onOneLine(machine.host)))
                return false;
    return std::ranges::all_of(store.ranks().all(), [&](const auto &rank) {
        return rank.second.host.empty() || out.addNew(onOneLine(rank.second.host));
    });
}

/// The script among a command's words, else its program, without folders; empty: a script that was started elsewhere.
std::string programOf(const RunRecord &record) {
    if (!isScript(record))
        return "lockstep-trainer";
    if (record.command.empty())
        return {};
    const auto script = std::find_if(record.command.begin(), record.command.end(),
                                     [](const std::string &word) { return word.ends_with(".py"); });
    const std::string &word = script == record.command.end() ? record.command.front() : *script;
    return word.substr(word.rfind('/') + 1);
}

RunConditions conditionsOf(const RunStore &store) {
    RunConditions out;
    out.files = store.identity().files();
    if (const auto &record = store.record()) {
        out.machines = QList<MachineRecord>(record->machines.begin(), record->machines.end());
        out.lockstepVersion = record->lockstepVersion;
        out.freeCores = record->freeCores;
        out.inTurns = record->inTurns;
        out.program = programOf(*record);
    }
    for (const auto &[rank, info] : store.ranks().all()) {
        if (!info.scheduling.empty())
            out.scheduling = out.scheduling.empty() || out.scheduling == info.scheduling ? info.scheduling : "mixed";
        if (!out.threads)
            out.threads = info.threads;
    }
    if (const auto &result = store.result()) {
        out.watching = result->watching;
        out.surroundings = result->surroundings;
        out.energy = result->energy;
        if (result->summary)
            out.stageLayers = result->summary->stageLayers;
    }
    return out;
}

} // namespace

std::string editedBetween(const FileDigests &a, const FileDigests &b) {
    for (const auto &[file, digest] : a)
        if (const auto other = b.find(file); other != b.end() && other->second != digest)
            return file;
    return {};
}

RunOutcome outcomeOf(const RunStore &store) {
    RunOutcome out;
    const RunLifecycle &life = store.lifecycle();
    out.run = store.runId().toStdString();
    out.begin = store.identity().begin();
    if (const auto &record = store.record()) {
        out.hasRecord = true;
        out.name = record->name;
        out.experiment = record->experiment;
        out.recipe = record->recipe;
        out.repeat = record->repeat;
        out.config = workOf(*record);
        out.processes = record->processes;
        out.deviceNames = record->deviceNames;
        out.startWallUs = record->startWallUs;
        out.launchS = launchTime(store, out.startWallUs);
        out.script = isScript(*record);
        out.claims = record->claims;
        out.recorded = record->files;
        out.folder = scriptFolder(*record);
        if (out.script)
            out.command = QList<std::string>(record->command.begin(), record->command.end());
        out.nodes = std::max<int>(1, int(record->machines.size()));
        if (out.config) {
            out.oversubscribed = out.config->oversubscribe;
            out.backend = isDistributed(out.config->method) && out.claims.knows("backend") ? out.config->backend : "";
        }
    }
    out.about = store.identity().about();
    out.state = life.state();
    out.agentDied = life.agentDied();
    out.unknown = life.unknown();
    out.restarts = int(store.messages().alertsOf(ranksRestarted));
    out.reason = endReason(store);
    const auto names = [](const auto &rank) { return !rank.second.backend.empty() && rank.second.backend != "none"; };
    if (const auto lowest = std::ranges::find_if(store.ranks().all(), names); lowest != store.ranks().all().end())
        out.backend = lowest->second.backend;
    const bool allHosts = takeHosts(store, out.hosts);
    out.nodes = std::max<int>(out.nodes, int(out.hosts.list().size()));
    out.epochs = store.epochs().merged();
    for (MergedEpoch &epoch : out.epochs)
        epoch.metrics = store.metrics().ofEpoch(epoch.epoch);
    out.metrics = store.metrics().ofRun();
    out.buckets = store.buckets();
    if (const auto steps = store.ranks().doneSteps(); steps && *steps > 0)
        out.steps = steps;
    const int earlier = lastEarlierEpoch(store);
    const bool cut = isCut(store);
    out.lacksLines = lacksLines(store);
    out.firstEpoch = earlier > 0 ? earlier + 1 : firstLoggedEpoch(store);
    if (std::size_t(out.firstEpoch) <= out.epochs.size())
        out.earlierS = out.epochs[std::size_t(out.firstEpoch) - 1].beforeS;
    out.amidEpoch = out.earlierS > 0;
    takeLog(store, cut, out);
    out.divergence = divergenceOf(store);
    out.conditions = conditionsOf(store);
    if (const auto &result = life.result()) {
        out.warnings = result->warnings;
        if (isTimeOfWork(result->runTimeS))
            out.runTimeS = result->runTimeS;
        out.spansFrames = isSpanOfFrames(*result);
        if (result->summary)
            takeSummary(*result->summary, !lacksFrames(store), out);
    }
    const auto isEarlier = [&](const EpochSummary &epoch) { return epoch.epoch < out.firstEpoch; };
    if (out.firstEpoch > 1 && std::ranges::none_of(out.summedEpochs, isEarlier))
        out.earlierS = 0; // what the epochs before took is unknown
    if (!allHosts)
        out.warnings.push_back("its record and its ranks name more than " + thousands(mostNodes) +
                               " machines: the others are not listed");
    addLosses(store, cut, out);
    if (out.launchS && !canBeTrainingTime(*out.launchS, out.runTimeS)) { // the clock was set meanwhile
        out.warnings.push_back("a rank began to train " + seconds(*out.launchS).toStdString() +
                               " after its launch by the clock, but the run lasted " +
                               seconds(*out.runTimeS).toStdString() +
                               " from launch to exit: how long it took to start is unknown");
        out.launchS.reset();
    }
    if (earlier > 0)
        withoutTrainingTime("no epoch was made here: the checkpoint that it went on from has them all", out);
    if (const auto &repeated = store.epochs().repeated())
        withoutTrainingTime(repeatedEpochInWords(repeated->rank, repeated->epoch), out);
    if (const auto here = trainedHereS(out); here && !canBeTrainingTime(*here, out.runTimeS)) {
        withoutTrainingTime("its ranks say that they trained for " + seconds(*here).toStdString() +
                                ", but the run lasted " + seconds(*out.runTimeS).toStdString() +
                                " from launch to exit: how long it trained is unknown",
                            out);
    }
    if (const auto node = store.record() ? soleFurtherNode(*store.record()) : std::nullopt)
        takePart(*node, out);
    if (auto mean = meanOfStages(out)) // results of earlier versions hold one stage's
        out.phasesS = std::move(*mean);
    putOnOneLine(out);
    return out;
}

std::optional<double> trainedHereS(const RunOutcome &run) {
    return run.totalTrainingTimeS ? std::optional(*run.totalTrainingTimeS - run.earlierS) : std::nullopt;
}

std::optional<int> slowestRank(const RunOutcome &run) {
    std::optional<int> slowest;
    double most = -1;
    for (const auto &[rank, phases] : run.rankPhasesS)
        if (const double sum = additiveSum(phases); sum > most) {
            most = sum;
            slowest = rank;
        }
    return slowest;
}

std::optional<PhaseSeconds> meanOfStages(const RunOutcome &run) {
    if (!run.config || !specOf(run.config->method).splitsModel || int(run.rankPhasesS.size()) != run.processes)
        return std::nullopt;
    std::vector<PhaseSeconds> stages;
    for (const auto &[rank, phases] : run.rankPhasesS)
        stages.push_back(phases);
    return meanPhases(stages);
}

} // namespace lockstep::core
