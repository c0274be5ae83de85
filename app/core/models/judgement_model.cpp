// SPDX-License-Identifier: MIT
#include "models/judgement_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/compare/verdict.h"
#include "ipc/run_title.h"
#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {

JudgementModel::JudgementModel(QObject *parent) : QAbstractListModel(parent) {}

std::vector<JudgementModel::Row> JudgementModel::rowsOf(const Judgement &judgement) {
    std::vector<Row> rows;
    for (const FairnessWeight weight : {FairnessWeight::Decisive, FairnessWeight::Notable, FairnessWeight::Minor}) {
        std::map<std::pair<std::string, std::string>, std::size_t> places; // by sentence and the control's name
        for (const PairJudgement &pair : judgement.pairs)
            for (const FairnessFinding &finding : pair.fairness) {
                if (finding.weight != weight)
                    continue;
                const QString run = qs(shortTitle(pair.run));
                std::vector<SuggestedRun> suggestions;
                if (finding.control)
                    suggestions.push_back(*finding.control);
                const auto [place, isNew] = places.try_emplace(
                    {finding.sentence, finding.control ? finding.control->name : std::string()}, rows.size());
                if (!isNew && rows[place->second].suggestions == suggestions) {
                    rows[place->second].about.append(run);
                    continue;
                }
                place->second = rows.size();
                rows.push_back({Kind::Finding,
                                {run},
                                qs(std::string(toString(finding.weight))),
                                qs(finding.sentence),
                                std::move(suggestions),
                                qs(std::string(meaningOf(finding.weight)))});
            }
    }
    for (const Bottleneck &bottleneck : judgement.bottlenecks)
        rows.push_back({Kind::Bottleneck,
                        {qs(shortTitle(bottleneck.run))},
                        qs(std::string(toString(bottleneck.bound))),
                        qs(bottleneck.evidence),
                        bottleneck.tips,
                        qs(std::string(meaningOf(bottleneck.bound)))});
    return rows;
}

void JudgementModel::setJudgement(Judgement judgement) {
    std::vector<Row> rows = rowsOf(judgement);
    m_judgement = std::move(judgement);
    if (rows == m_rows)
        return;
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

std::optional<std::size_t> JudgementModel::explainedPair() const {
    const std::vector<PairJudgement> &pairs = m_judgement.pairs;
    const ExplainedPairs explained = explainedPairs(pairs);
    if (const PairJudgement *pair = explained.gain ? explained.gain : explained.loss)
        return std::size_t(pair - pairs.data());
    const auto attributed =
        std::ranges::find_if(pairs, [](const PairJudgement &pair) { return pair.attribution.has_value(); });
    return attributed == pairs.end() ? std::nullopt : std::optional(std::size_t(attributed - pairs.begin()));
}

int JudgementModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant JudgementModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return row.sentence;
    case LevelRole:
        return row.level;
    case ValueRole:
        return row.about.join(QStringLiteral(", "));
    case Qt::ToolTipRole:
        return row.meaning;
    default:
        return {};
    }
}

} // namespace lockstep::core

#include "moc_judgement_model.cpp"
