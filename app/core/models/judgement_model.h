// SPDX-License-Identifier: MIT
#pragma once
#include <QAbstractListModel>
#include <QStringList>

#include "analysis/compare/judgement.h"

namespace lockstep::core {

/// A verdict's advice: what is unfair (heaviest first, over all pairs; what is true of several runs is one row), then what bounds
/// each run. DisplayRole is the sentence, LevelRole the weight ("minor", "notable", "decisive") or the bound ("input-bound"),
/// ValueRole the runs ("DP (2), DDP (2)"), ToolTipRole what the weight or the bound means.
class JudgementModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum class Kind { Finding, Bottleneck };
    explicit JudgementModel(QObject *parent = nullptr);
    void setJudgement(Judgement judgement);
    [[nodiscard]] const Judgement &judgement() const { return m_judgement; }

    /// The pair whose causes the sentence gives first (verdict.h): the largest gain, else the largest loss; if it gives
    /// none, the first that was attributed. Absent: none was.
    [[nodiscard]] std::optional<std::size_t> explainedPair() const;

    [[nodiscard]] Kind kindOf(int row) const { return m_rows[std::size_t(row)].kind; }
    [[nodiscard]] const QStringList &runsOf(int row) const { return m_rows[std::size_t(row)].about; }
    /// Runs that a button of the row starts: the control of a finding, the tips of a bottleneck.
    [[nodiscard]] const std::vector<SuggestedRun> &suggestions(int row) const {
        return m_rows[std::size_t(row)].suggestions;
    }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;

private:
    struct Row {
        Kind kind = Kind::Finding;
        QStringList about; ///< runs
        QString level, sentence;
        std::vector<SuggestedRun> suggestions;
        QString meaning = {};
        bool operator==(const Row &) const = default;
    };
    [[nodiscard]] static std::vector<Row> rowsOf(const Judgement &judgement);
    Judgement m_judgement;
    std::vector<Row> m_rows;
};

} // namespace lockstep::core
