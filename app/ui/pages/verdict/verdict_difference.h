// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"
#include "models/judgement_model.h"

class QComboBox;
class QLabel;

namespace lockstep::ui {
class Theme;
class VerdictControls;
class Waterfall;

/// Where the difference between the reference and a run comes from, and the controls that would show more. Of the chosen
/// run, else of the one that the sentence explains.
class VerdictDifference : public Card {
    Q_OBJECT
public:
    VerdictDifference(const Theme &theme, core::JudgementModel &judgement, QWidget *parent = nullptr);
    /// `open`: id of what is open; a choice holds for that.
    void show(const core::ResultTable &table, const QString &open);
    void fitHeight();
    [[nodiscard]] Waterfall *waterfall() const { return m_waterfall; }
    [[nodiscard]] QComboBox *pairBox() const { return m_pair; } ///< whose waterfall is drawn
    [[nodiscard]] VerdictControls *controls() const { return m_controls; }

private:
    void showPairs();
    void addPair(const QString &name, int pair);
    void showWaterfall();

    core::JudgementModel &m_judgement;
    QHash<QString, QColor> m_colors; ///< of each run
    QComboBox *m_pair;
    QString m_open, m_chosenPair, m_chosenOf; ///< whose waterfall the person wants to see, of that experiment
    Waterfall *m_waterfall;
    QLabel *m_factors;
    VerdictControls *m_controls;
};

} // namespace lockstep::ui
