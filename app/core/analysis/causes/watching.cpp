// SPDX-License-Identifier: MIT
#include "analysis/causes/watching.h"

#include <QStringList>

#include "base/format.h"
#include "ipc/printable.h"

namespace lockstep::core {
namespace {

/// What the viewers' time can have cost the training. With every core taken by ranks, each second that viewers run is a
/// second that some rank does not; ranks wait for each other, so it may delay all of them, but by no more than that (caches
/// and the kernel's choice of moment aside, which is why it says "about").
QString costText(double share, std::optional<int> freeCores, bool over) {
    const QString is = over ? QStringLiteral("was") : QStringLiteral("is");
    if (!freeCores)
        return QStringLiteral("whether a core %1 free of ranks is unknown").arg(is);
    if (*freeCores == 1)
        return QStringLiteral("1 core %1 free of ranks for that").arg(is);
    if (*freeCores > 1)
        return QStringLiteral("%1 cores %2 free of ranks for that")
            .arg(*freeCores)
            .arg(over ? QStringLiteral("were") : QStringLiteral("are"));
    return QStringLiteral("no core %1 free of ranks, so training %1 slower by at most about %2 meanwhile (inferred)")
        .arg(is, percent(share, 1));
}

} // namespace

QString watchingText(const Watching &watching, std::optional<int> freeCores, double runTimeS) {
    const bool several = watching.nodes > 1;
    QStringList parts;
    if (const auto share = viewersShare(watching))
        parts << QStringLiteral("viewers took %1 for %2 of the run's %3, %4")
                     .arg(coresText(*share), seconds(watching.watchedS), seconds(runTimeS),
                          costText(*share, freeCores, true));
    else
        parts << (several ? QStringLiteral("nobody watched there") : QStringLiteral("nobody watched on its machine"));
    if (watching.agentCpuS && runTimeS > 0)
        parts << QStringLiteral("the agent took %1").arg(coresText(*watching.agentCpuS / runTimeS));
    if (watching.queueCpuS && runTimeS > 0)
        parts << QStringLiteral("the queue's process %1").arg(coresText(*watching.queueCpuS / runTimeS));
    if (watching.ranksWaitedS)
        parts << QStringLiteral("the ranks' threads%1 waited %2 for a core, for whatever ran there")
                     .arg(several ? QStringLiteral(" on all %1 nodes").arg(watching.nodes) : QString(),
                          seconds(watching.ranksWaitedS));
    return (several ? QStringLiteral("on the run's first node: ") : QString()) + parts.join(QStringLiteral("; "));
}

namespace {

/// Whose figures the words after it are; empty: those of the only node.
QString loadedNodeText(const Surroundings &around) {
    const int all = around.nodes + around.nodesUnknown;
    if (all < 2)
        return {};
    const QString node = QString::fromStdString(onOneLine(around.loadedNode));
    if (around.nodes == 1)
        return QStringLiteral("on %1, the only one of %2 nodes that reported it: ").arg(node).arg(all);
    const QString unknown =
        around.nodesUnknown > 0 ? QStringLiteral(" that reported it, of %1 in all").arg(all) : QString();
    return QStringLiteral("on %1, the most loaded of %2 nodes%3: ").arg(node).arg(around.nodes).arg(unknown);
}

/// What was held down: the run's machine, or one of its nodes.
QString heldText(const Surroundings &around) {
    return around.heldNode.empty() ? QStringLiteral("it") : QString::fromStdString(onOneLine(around.heldNode));
}

} // namespace

QString surroundingsText(const Surroundings &around) {
    QStringList parts;
    if (!(around.measuredS > 0))
        return {};
    if (around.otherCpuS)
        parts << QStringLiteral("other programs took %1").arg(coresText(*around.otherCpuS / around.measuredS));
    if (around.stolenS && *around.stolenS > 0)
        parts << QStringLiteral("the hypervisor gave %1 to others").arg(coresText(*around.stolenS / around.measuredS));
    QStringList reasons;
    for (const std::string &reason : around.throttle)
        reasons << QString::fromStdString(reason);
    if (around.throttledS && *around.throttledS > 0)
        parts << QStringLiteral("clocks or quota held %1 down for %2 of the time (%3)")
                     .arg(heldText(around), percent(*around.throttledS / around.measuredS, 1),
                          reasons.join(QStringLiteral(", ")));
    else if (!reasons.isEmpty())
        parts << (around.nodes > 1 ? QStringLiteral("a node was held down: ") : QStringLiteral("it was held down: ")) +
                     reasons.join(QStringLiteral(", "));
    return parts.isEmpty() ? QString() : loadedNodeText(around) + parts.join(QStringLiteral("; "));
}

QString watchingNowText(std::optional<double> share, std::optional<int> freeCores) {
    if (!share)
        return {};
    return QStringLiteral("Watching takes %1; %2").arg(coresText(*share), costText(*share, freeCores, false));
}

} // namespace lockstep::core
