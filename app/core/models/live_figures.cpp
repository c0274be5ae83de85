// SPDX-License-Identifier: MIT
#include "models/live_figures.h"

#include <ranges>

#include "analysis/fairness/shared_load.h"
#include "base/format.h"
#include "ipc/median.h"
#include "ipc/phase_sums.h"
#include "ipc/printable.h"
#include "ipc/sound_values.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr double namedOthers = 0.1; ///< cores

std::vector<StepPhase> perStep(const PhaseTimes &phases, const std::vector<std::string_view> &names,
                               std::int64_t steps) {
    std::vector<StepPhase> out;
    for (const std::string_view name : names)
        if (const auto found = phases.find(name); found != phases.end() && steps > 0)
            out.push_back({std::string(name), found->second.sumS / double(steps)});
    return out;
}

} // namespace

std::vector<const MergedEpoch *> wholeEpochs(const RunStore &run) {
    std::vector<const MergedEpoch *> out;
    const std::vector<MergedEpoch> &epochs = run.epochs().merged();
    for (const MergedEpoch &epoch : completeEpochs(epochs))
        out.push_back(&epoch);
    if (run.over() && endInPart(epochs))
        out.pop_back();
    return out;
}

std::optional<double> lastEpochLoss(const RunStore &run) {
    for (const MergedEpoch &epoch : run.epochs().merged() | std::views::reverse)
        if (epoch.loss || epoch.lostLoss)
            return epoch.lostLoss ? epoch.lostLoss : epoch.loss;
    return std::nullopt;
}

QString lossAtEnd(const RunStore &run) {
    const std::optional<double> loss = run.over() ? lastEpochLoss(run) : std::nullopt;
    return loss && isFiniteValue(*loss) ? threeDigits(loss) : QString();
}

std::optional<double> medianEpochS(const RunStore &run) {
    std::vector<double> durations;
    for (const MergedEpoch *epoch : wholeEpochs(run))
        durations.push_back(epoch->durationS);
    return median(std::move(durations));
}

std::optional<double> othersCores(const RunStore &run) {
    const auto &result = run.result();
    return result && result->surroundings
               ? shareOfTime(result->surroundings->otherCpuS, result->surroundings->measuredS)
               : std::nullopt;
}

QString othersText(const RunStore &run) {
    const auto cores = othersCores(run);
    return cores && *cores >= namedOthers ? significant(*cores, 2) + QStringLiteral(" cores") : QString();
}

QString othersSentence(const RunStore &run) {
    const QString cores = othersText(run);
    if (cores.isEmpty())
        return {};
    const Surroundings &around = *run.result()->surroundings;
    QString out =
        QStringLiteral("Other programs took %1 of %2 while it ran")
            .arg(cores, around.loadedNode.empty() ? QStringLiteral("its machine")
                                                  : QStringLiteral("%1, its most loaded node,")
                                                        .arg(QString::fromStdString(onOneLine(around.loadedNode))));
    if (const auto free = around.freeCores || !run.record() ? around.freeCores : run.record()->freeCores)
        out += *free > 0 ? QStringLiteral("; %1 of its cores had no rank and may have had part of it").arg(*free)
               : around.loadedNode.empty()
                   ? QStringLiteral("; no core was free of ranks, so it is part of what these lanes show")
                   : QStringLiteral("; no core there was free of ranks, so it is part of what the lanes there show");
    return out;
}

std::vector<RankStep> rankSteps(const RunStore &run) {
    std::vector<RankStep> out;
    for (const auto &[rank, info] : run.ranks().all()) {
        const PhaseTimes phases = run.phases().of(rank);
        const std::int64_t steps = run.phases().steps(rank);
        out.push_back({rank, perStep(phases, additivePhases(), steps), perStep(phases, nestedPhases(), steps)});
    }
    return out;
}

} // namespace lockstep::core
