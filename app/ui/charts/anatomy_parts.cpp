// SPDX-License-Identifier: MIT
#include "app/ui/charts/anatomy_parts.h"

#include <QObject>

#include <algorithm>

#include "app/ui/charts/phase_style.h"

namespace lockstep::ui {
namespace {

void addWait(QList<AnatomyPart> &parts, double startS, double seconds) {
    if (seconds <= 0)
        return;
    if (!parts.isEmpty() && parts.last().phase.isEmpty())
        parts.last().seconds = startS + seconds - parts.last().startS;
    else
        parts.append({startS, seconds, {}, false});
}

} // namespace

QString AnatomyPart::name() const {
    return phase.isEmpty() ? QObject::tr("waits") : phaseName(phase) + (atMost ? QStringLiteral(" ?") : QString());
}

std::optional<double> ownTime(const core::DpDevice &device, const core::DpStage &stage) {
    const auto found = stage.everyDevice ? device.ownS.find(stage.phase) : device.ownS.end();
    return found == device.ownS.end() ? std::nullopt : std::optional(found->second);
}

QList<AnatomyPart> partsOf(const AnatomyRun &run, std::size_t device) {
    QList<AnatomyPart> parts;
    double startS = 0;
    for (const core::DpStage &stage : run.anatomy.stages) {
        const bool waits = stage.phase == "wait" || (device > 0 && !stage.everyDevice);
        const std::optional<double> own = ownTime(run.anatomy.devices[device], stage);
        const double workS = waits ? 0 : std::clamp(own.value_or(stage.seconds), 0.0, stage.seconds);
        if (workS > 0)
            parts.append({startS, workS, QString::fromStdString(stage.phase), stage.everyDevice && device > 0 && !own});
        addWait(parts, startS + workS, stage.seconds - workS);
        startS += stage.seconds;
    }
    return parts;
}

} // namespace lockstep::ui
