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

/// Test accuracy by run, with published figures. Those of another data set are shown only on request; then the axis
/// names the data sets.
class AccuracyCard : public Card {
    Q_OBJECT
public:
    explicit AccuracyCard(const Theme &theme, QWidget *parent = nullptr);
    /// `open`: the id of the table's experiment; the request holds until another one is opened. `complete`: all runs are over.
    void show(const core::ResultTable &table, const QString &open, bool complete);
    void fitHeight();
    [[nodiscard]] BarChart *chart() const { return m_chart; }
    [[nodiscard]] QCheckBox *publishedBox() const { return m_published; }

Q_SIGNALS:
    void asked(); ///< published figures were requested, or no longer: show the card again

private:
    BarChart *m_chart;
    QCheckBox *m_published;
    QString m_open;
    std::optional<bool> m_wanted; ///< by the person
};

} // namespace lockstep::ui
