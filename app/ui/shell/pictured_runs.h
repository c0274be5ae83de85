// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QTimer>

#include <memory>
#include <vector>

#include "follow/run_follower.h"
#include "models/run_choice_model.h"
#include "models/run_set.h"
#include "store/status_reader.h"

namespace lockstep::ui {

/// The runs that charts show: the open ones, in their order, then pinned runs of other experiments, which this class
/// reads and follows itself.
class PicturedRuns : public QObject {
    Q_OBJECT
public:
    explicit PicturedRuns(core::RunSet &open, QObject *parent = nullptr);
    ~PicturedRuns() override;

    [[nodiscard]] core::RunSet &runs() { return m_runs; }
    /// Shown or hidden, pinned or not.
    [[nodiscard]] core::RunChoiceModel &choice() { return m_choice; }
    /// Whether it is shown only because it is pinned.
    [[nodiscard]] bool isForeign(const core::RunStore *store) const;

private:
    struct Foreign {
        std::unique_ptr<core::RunStore> store;
        std::unique_ptr<core::RunFollower> follower;
    };
    void arrange();
    void followPinned();
    [[nodiscard]] bool isOpen(const QString &runId) const;

    core::RunSet &m_open;
    std::shared_ptr<core::StatusReader> m_statuses = std::make_shared<core::StatusReader>(); ///< of m_foreign
    std::vector<Foreign> m_foreign;
    core::RunSet m_runs{this};
    core::RunChoiceModel m_choice{&m_runs};
    QTimer m_later; ///< what is open changes in several steps; pins are checked after the last
};

} // namespace lockstep::ui
