// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <vector>

#include "nodes/finding.h"

class QVBoxLayout;

namespace lockstep::ui {

/// The doctor's findings, one per row: severity, place, problem, and the fix as text that can be copied.
class FindingList : public QWidget {
    Q_OBJECT
public:
    enum class Width { Wide, Narrow }; ///< Narrow: severity and place above the problem
    explicit FindingList(QWidget *parent = nullptr, Width width = Width::Wide);
    void setFindings(const std::vector<core::Finding> &findings);
    [[nodiscard]] int count() const { return m_count; }

private:
    QWidget *makeRow(const core::Finding &finding);
    QVBoxLayout *m_layout;
    Width m_width;
    int m_count = 0;
};

} // namespace lockstep::ui
