// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>

#include "app/ui/widgets/card.h"
#include "models/cell_table_model.h"
#include "nodes/doctor.h"

class QLabel;
class QTableView;

namespace lockstep::ui {
class FindingList;
class Theme;

/// Runs the doctor in the background. Shows its findings and the measured links.
class DoctorCard : public Card {
    Q_OBJECT
public:
    explicit DoctorCard(const Theme &theme, QWidget *parent = nullptr);
    /// Examines every node and the links between them. While it does so: stops.
    void examine(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers);
    [[nodiscard]] bool examining() const { return m_job != nullptr; }
    [[nodiscard]] bool stopping() const { return m_job && m_cancelled; }
    /// What it measured last.
    [[nodiscard]] const std::optional<core::DoctorSnapshot> &snapshot() const { return m_snapshot; }
    void forgetSnapshot() { m_snapshot.reset(); } ///< a node of it is gone
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    void changed(); ///< examining(), stopping()
    void examined(const lockstep::core::DoctorSnapshot &snapshot);
    void finished(); ///< also after it was stopped

private:
    void over(const core::DoctorSnapshot &snapshot, const std::vector<core::Finding> &findings);

    std::unique_ptr<core::DoctorJob> m_job;
    std::optional<core::DoctorSnapshot> m_snapshot;
    bool m_cancelled = false;
    QLabel *m_text;
    FindingList *m_findings;
    QTableView *m_links;
    core::CellTableModel m_linkModel;
};

} // namespace lockstep::ui
