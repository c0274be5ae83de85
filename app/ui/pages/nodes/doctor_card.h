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

/// Has the doctor look at nodes, beside the window, and shows what it found and what it measured between them.
class DoctorCard : public Card {
    Q_OBJECT
public:
    explicit DoctorCard(const Theme &theme, QWidget *parent = nullptr);
    /// Looks at every node and the ways between them. While it does so: stops.
    void examine(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers);
    [[nodiscard]] bool looking() const { return m_job != nullptr; }
    [[nodiscard]] bool stopping() const { return m_job && m_cancelled; }
    /// What it measured last.
    [[nodiscard]] const std::optional<core::DoctorLook> &look() const { return m_look; }
    void forgetLook() { m_look.reset(); } ///< a node of it is gone
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    void changed(); ///< looking(), stopping()
    void examined(const lockstep::core::DoctorLook &look);
    void finished(); ///< also after it was stopped

private:
    void over(const core::DoctorLook &look, const std::vector<core::Finding> &findings);

    std::unique_ptr<core::DoctorJob> m_job;
    std::optional<core::DoctorLook> m_look;
    bool m_cancelled = false;
    QLabel *m_text;
    FindingList *m_findings;
    QTableView *m_links;
    core::CellTableModel m_linkModel;
};

} // namespace lockstep::ui
