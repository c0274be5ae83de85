// SPDX-License-Identifier: MIT
#include "store/run_progress.h"

#include <algorithm>

#include "store/run_store.h"

namespace lockstep::core {

Progress progressOf(const RunStore &run) {
    Progress progress;
    progress.totalSteps = run.length().steps();
    progress.epochs = run.length().epochs();
    if (!progress.epochs && run.record() && run.record()->config && run.record()->claims.knows("epochs"))
        progress.epochs = run.record()->config->epochs;
    progress.doneSteps = run.ranks().doneSteps();
    const std::vector<MergedEpoch> &epochs = run.epochs().merged();
    if (!epochs.empty())
        progress.epoch = int(epochs.size());
    if (run.state() == RunState::Done) {
        progress.fraction = 1.0;
        progress.leftS = 0.0;
        return progress;
    }
    if (!progress.totalSteps || *progress.totalSteps <= 0 || !progress.doneSteps)
        return progress;
    progress.fraction = std::clamp(double(*progress.doneSteps) / double(*progress.totalSteps), 0.0, 1.0);
    const std::optional<double> perStep = run.phases().secondsPerStep();
    if (!perStep || run.over())
        return progress;
    double evals = 0;
    int evalCount = 0, evaluated = 0; // the last epoch that was; those before a checkpoint were elsewhere
    for (const MergedEpoch &epoch : epochs)
        if (epoch.eval && epoch.eval->durationS) {
            evals += *epoch.eval->durationS;
            ++evalCount;
            evaluated = epoch.epoch;
        }
    const double evalS = evalCount > 0 ? evals / evalCount : 0;
    progress.leftS = double(*progress.totalSteps - *progress.doneSteps) * *perStep +
                     evalS * std::max(0, progress.epochs.value_or(0) - evaluated);
    return progress;
}

QString epochText(const Progress &progress) {
    if (!progress.epoch)
        return {};
    return progress.epochs ? QStringLiteral("%1/%2").arg(*progress.epoch).arg(*progress.epochs)
                           : QString::number(*progress.epoch);
}

QString activityOf(const RunStore &run, const Progress &progress) {
    const bool begun = progress.doneSteps || progress.epoch;
    if (run.state() == RunState::Training && !begun && !run.over() && !run.lifecycle().unknown())
        return QStringLiteral("running, no step yet");
    return run.lifecycle().sentence();
}

} // namespace lockstep::core
