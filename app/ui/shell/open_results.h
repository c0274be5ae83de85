// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QTimer>

#include "models/judgement_model.h"
#include "models/result_model.h"
#include "models/target_model.h"

namespace lockstep::ui {
class FollowedWork;

/// Results of the open runs, as models; recomputed shortly after one of them changed.
class OpenResults : public QObject {
    Q_OBJECT
public:
    explicit OpenResults(FollowedWork &work, QObject *parent = nullptr);

    [[nodiscard]] const core::ResultTable &table() const { return m_rows.table(); }
    [[nodiscard]] core::ResultModel &rows() { return m_rows; } ///< of table()
    [[nodiscard]] core::JudgementModel &judgement() { return m_judgement; }
    [[nodiscard]] core::TargetModel &targets() { return m_targets; }
    [[nodiscard]] core::ClassAccuracyModel &classes() { return m_classes; }
    [[nodiscard]] bool upToDate() const { return !m_recompute.isActive(); }

Q_SIGNALS:
    void changed();

private:
    void recompute();
    void outdate();

    FollowedWork &m_work;
    core::ResultModel m_rows;
    core::ClassAccuracyModel m_classes;
    core::JudgementModel m_judgement;
    core::TargetModel m_targets;
    QTimer m_recompute{this};
};

} // namespace lockstep::ui
