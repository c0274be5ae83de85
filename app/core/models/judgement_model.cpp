#include "models/judgement_model.h"

#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {

JudgementModel::JudgementModel(QObject *parent) : QAbstractListModel(parent) {}

std::vector<JudgementModel::Row> JudgementModel::rowsOf(const Judgement &judgement) {
    std::vector<Row> rows;
    for (const PairJudgement &pair : judgement.pairs)
        for (const FairnessFinding &finding : pair.fairness) {
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
