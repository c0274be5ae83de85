#include "models/judgement_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {

JudgementModel::JudgementModel(QObject *parent) : QAbstractListModel(parent) {}

std::vector<JudgementModel::Row> JudgementModel::rowsOf(const Judgement &judgement) {
    std::vector<Row> rows;
    for (const FairnessWeight weight : {FairnessWeight::Decisive, FairnessWeight::Notable, FairnessWeight::Minor})
        for (const PairJudgement &pair : judgement.pairs)
            for (const FairnessFinding &finding : pair.fairness) {
                if (finding.weight != weight)
                    continue;
                Row row{Kind::Finding,
                        QStringLiteral("%1 against %2").arg(qs(pair.run), qs(pair.reference)),
                        qs(std::string(toString(finding.weight))),
                        qs(finding.sentence),
                        {}};
                if (finding.control)
                    row.suggestions = {*finding.control};
                rows.push_back(std::move(row));
            }
    for (const Bottleneck &bottleneck : judgement.bottlenecks)
        rows.push_back({Kind::Bottleneck, qs(bottleneck.run), qs(std::string(toString(bottleneck.bound))),
                        qs(bottleneck.evidence), bottleneck.tips});
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
    const auto explains = [](const PairJudgement &pair) {
        const bool apart = pair.training && (pair.training->isDifferent() || !pair.training->hasInterval());
        if (!apart || !pair.attribution || pair.training->factor == 1)
            return false;
        const double change = pair.attribution->trainingChangeS();
        return std::ranges::any_of(pair.attribution->bars, [change](const AttributionBar &bar) {
            return bar.cause != Cause::StartUp && bar.seconds * change > 0;
        });
    };
    std::optional<std::size_t> fastest, slowest, any;
    const std::vector<PairJudgement> &pairs = m_judgement.pairs;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].attribution && !any)
            any = i;
        if (!explains(pairs[i]))
            continue;
        const double factor = pairs[i].training->factor;
        if (factor > 1 && (!fastest || factor > pairs[*fastest].training->factor))
            fastest = i;
        if (factor < 1 && (!slowest || factor < pairs[*slowest].training->factor))
            slowest = i;
    }
    return fastest ? fastest : slowest ? slowest : any;
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
        return row.about;
    default:
        return {};
    }
}

} // namespace lockstep::core
