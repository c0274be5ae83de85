// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "app/ui/widgets/card.h"

class QCheckBox;

namespace lockstep::core {
struct ResultTable;
}

namespace lockstep::ui {
class BarChart;
class Theme;

/// Test accuracy by run. Published figures stand beside them; those of another data set only when asked for, and then the axis
/// says of which.
class AccuracyCard : public Card {
    Q_OBJECT
public:
    explicit AccuracyCard(const Theme &theme, QWidget *parent = nullptr);
    /// `open`: what the table is of; what was asked for holds until another is opened.
    void show(const core::ResultTable &table, const QString &open);
    void fitHeight();
    [[nodiscard]] BarChart *chart() const { return m_chart; }
    [[nodiscard]] QCheckBox *publishedBox() const { return m_published; }

Q_SIGNALS:
    void asked(); ///< for published figures, or no longer: the card wants to be shown again

private:
    BarChart *m_chart;
    QCheckBox *m_published;
    QString m_open;
    std::optional<bool> m_wanted; ///< by the person
};

} // namespace lockstep::ui
