// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_findings.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/verdict_lines.h"

namespace lockstep::ui {
namespace {

QString words(const char *text) {
    return QCoreApplication::translate("VerdictFindings", text);
}

QString undecidedOf(const core::PairJudgement &pair) {
    return QString::fromStdString(core::undecidedText(*pair.training, pair.reference));
}

} // namespace

QString fastestFinding(const core::Judgement &judgement) {
    const core::PairJudgement *fastest = nullptr;
    for (const core::PairJudgement &pair : judgement.pairs)
        if (pair.training && (!fastest || pair.training->factor > fastest->training->factor))
            fastest = &pair;
    if (!fastest)
        return {};
    if (fastest->training->factor <= 1)
        return words("No run is faster than %1").arg(QString::fromStdString(judgement.reference));
    const QString text = words("%1 is the fastest: %2")
                             .arg(QString::fromStdString(core::atStart(fastest->run)),
                                  QString::fromStdString(core::timesText(fastest->training->factor)));
    const QString undecided = undecidedOf(*fastest);
    return undecided.isEmpty() ? text : text + QStringLiteral("; ") + undecided;
}

QString causeFinding(const core::PairJudgement &pair) {
    if (!pair.training || !pair.attribution)
        return {};
    const QString name = QString::fromStdString(core::atStart(pair.run));
    if (const QString undecided = undecidedOf(pair); !undecided.isEmpty())
        return name + QStringLiteral(": ") + undecided;
    const double factor = pair.training->factor;
    const QString clause = QString::fromStdString(core::causeClause(*pair.attribution));
    const QString text = (factor >= 1 ? words("%1 is %2 as fast") : words("%1 takes %2 as long"))
                             .arg(name, QString::fromStdString(core::timesText(factor >= 1 ? factor : 1 / factor)));
    return clause.isEmpty() ? text : text + QStringLiteral("; ") + clause;
}

QString fairnessFinding(const core::Judgement &judgement) {
    std::map<core::FairnessWeight, std::set<std::string>> kinds;
    for (const core::PairJudgement &pair : judgement.pairs)
        for (const core::FairnessFinding &finding : pair.fairness)
            kinds[finding.weight].insert(finding.key);
    QStringList counts;
    for (const core::FairnessWeight weight :
         {core::FairnessWeight::Decisive, core::FairnessWeight::Notable, core::FairnessWeight::Minor})
        if (const std::size_t count = kinds[weight].size(); count > 0)
            counts.append(words("%1 %2").arg(count).arg(QString::fromUtf8(core::toString(weight).data())));
    if (counts.isEmpty())
        return {};
    return words("Differences that were not meant: %1").arg(counts.join(QStringLiteral(", ")));
}

QString boundsFinding(const core::Judgement &judgement) {
    std::vector<std::pair<core::Bound, QStringList>> byBound;
    for (const core::Bottleneck &bottleneck : judgement.bottlenecks) {
        auto found = std::ranges::find(byBound, bottleneck.bound, &std::pair<core::Bound, QStringList>::first);
        if (found == byBound.end())
            found = byBound.insert(byBound.end(), {bottleneck.bound, {}});
        found->second.append(QString::fromStdString(bottleneck.run));
    }
    constexpr qsizetype mostNamed = 3;
    QStringList out;
    for (const auto &[bound, runs] : byBound) {
        QString names = runs.mid(0, mostNamed).join(QStringLiteral(", "));
        if (runs.size() > mostNamed)
            names = words("%1 and %2 more").arg(names).arg(runs.size() - mostNamed);
        out.append(QString::fromStdString(core::atStart(std::string(core::toString(bound)))) + QStringLiteral(": ") +
                   names);
    }
    return out.join(QStringLiteral(". "));
}

} // namespace lockstep::ui
