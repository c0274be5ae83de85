// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_findings.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/verdict_lines.h"
#include "base/format.h"
#include "ipc/run_title.h"

namespace lockstep::ui {
namespace {

QString words(const char *text) {
    return QCoreApplication::translate("VerdictFindings", text);
}

constexpr double leastSum = 0.0005; ///< of the longer run: less reads as 0

QString shortName(const std::string &name) {
    return QString::fromStdString(shortTitle(name));
}

/// Its line beside the reference; null: it has none.
const core::VerdictLine *ownLineOf(const core::Judgement &judgement, const std::string &run) {
    const auto found = std::ranges::find_if(
        judgement.lines, [&](const core::VerdictLine &line) { return line.run == run && !line.contrast; });
    return found == judgement.lines.end() ? nullptr : &*found;
}

} // namespace

QString fastestFinding(const core::Judgement &judgement, bool complete) {
    const core::PairJudgement *fastest = nullptr;
    for (const core::PairJudgement &pair : judgement.pairs) {
        if (pair.training && !pair.otherWork && (!fastest || pair.training->factor > fastest->training->factor))
            fastest = &pair;
    }
    if (!fastest)
        return {};
    const core::SpeedUp &most = *fastest->training;
    if (most.factor <= 1)
        return (most.hasInterval() && *most.high <= 1 + core::equalWithin ? words("No run here is faster than %1")
                : complete ? words("Undecided: no run here measured faster than %1")
                           : words("No run here is faster than %1 so far"))
            .arg(shortName(judgement.reference));
    const core::VerdictLine *line = ownLineOf(judgement, fastest->run);
    const bool open = !most.hasInterval() || (line && line->outcome == core::Outcome::CantTell);
    const QString text = (!open      ? words("Fastest training: %1, %2")
                          : complete ? words("Fastest measured, undecided: %1, %2")
                                     : words("Fastest training so far: %1, %2"))
                             .arg(shortName(fastest->run), QString::fromStdString(core::timesText(most.factor)));
    return most.isEqual() ? text + QStringLiteral(", ") + QString::fromStdString(core::equalWithinText()) : text;
}

QString causeFinding(const core::PairJudgement &pair) {
    if (!pair.attribution)
        return {};
    const core::Attribution &found = *pair.attribution;
    double saved = 0, added = 0;
    for (const core::AttributionBar &bar : found.bars)
        (bar.seconds < 0 ? saved : added) += std::fabs(bar.seconds);
    QStringList sums;
    for (const auto &[sum, text] : {std::pair(saved, words("%1 saved")), std::pair(added, words("%1 added"))})
        if (sum >= leastSum * found.longerS())
            sums.append(text.arg(core::secondsBeside(sum, found.longerS())));
    const bool chance = pair.wholeRun && pair.wholeRun->hasInterval() && !pair.wholeRun->isDifferent();
    const QString whole =
        pair.wholeRun ? words("Whole run %1: ").arg(QString::fromStdString(core::timesText(pair.wholeRun->factor)))
                      : QString();
    const QString out = whole + (sums.isEmpty() ? words("no difference") : sums.join(QStringLiteral(", ")));
    return chance ? out + words(", maybe chance") : out;
}

QString fairnessFinding(const core::Judgement &judgement) {
    struct Found {
        std::set<std::string> kinds, runs; // of the comparisons
        std::size_t rows = 0;
    };
    std::map<core::FairnessWeight, Found> found;
    for (const core::PairJudgement &pair : judgement.pairs)
        for (const core::FairnessFinding &finding : pair.fairness) {
            Found &here = found[finding.weight];
            here.kinds.insert(finding.key);
            here.runs.insert(pair.run);
            ++here.rows;
        }
    QStringList counts;
    for (const core::FairnessWeight weight :
         {core::FairnessWeight::Decisive, core::FairnessWeight::Notable, core::FairnessWeight::Minor})
        if (const Found &here = found[weight]; here.rows > 0) {
            const QString count =
                words("%1 %2").arg(here.kinds.size()).arg(QString::fromUtf8(core::toString(weight).data()));
            counts.append(here.rows == here.kinds.size()
                              ? count
                              : words("%1 in %2 comparisons").arg(count).arg(here.runs.size()));
        }
    if (counts.isEmpty())
        return {};
    return words("Unintended differences: %1").arg(counts.join(QStringLiteral(", ")));
}

QString boundsFinding(const core::Judgement &judgement) {
    std::vector<std::pair<core::Bound, QStringList>> byBound;
    for (const core::Bottleneck &bottleneck : judgement.bottlenecks) {
        auto found = std::ranges::find(byBound, bottleneck.bound, &std::pair<core::Bound, QStringList>::first);
        if (found == byBound.end())
            found = byBound.insert(byBound.end(), {bottleneck.bound, {}});
        found->second.append(shortName(bottleneck.run));
    }
    if (byBound.size() == 1 && judgement.bottlenecks.size() > 1)
        return words("All %1").arg(QString::fromUtf8(core::toString(byBound.front().first).data()));
    constexpr qsizetype mostNamed = 3;
    QStringList out;
    for (const auto &[bound, runs] : byBound) {
        QString names = runs.mid(0, mostNamed).join(QStringLiteral(", "));
        if (runs.size() > mostNamed)
            names = words("%1 and %2 more").arg(names, QString::number(runs.size() - mostNamed));
        out.append(QString::fromStdString(core::atStart(std::string(core::toString(bound)))) + QStringLiteral(": ") +
                   names);
    }
    return out.join(QStringLiteral(". "));
}

} // namespace lockstep::ui
