// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "app/ui/pages/plan/plan_draft.h"
#include "app/ui/widgets/card.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLayout;
class QPushButton;

namespace lockstep::ui {
class ConfigForm;
class DataNotice;
class ElidedLabel;
class PlanPlaces;
class Theme;

/// The settings of a plan: repeats, size, places, and every field of its runs. Writes them into the draft.
class SettingsCard : public Card {
    Q_OBJECT
public:
    SettingsCard(const Theme &theme, PlanDraft &draft, QWidget *parent = nullptr);
    /// Another recipe was chosen. Keeps the nodes, "Quick" and "Runs at once".
    void begin(PlanDraft draft);
    /// Shows the draft and marks its mistakes; returns those without a field.
    [[nodiscard]] std::vector<Error> show(const std::vector<Error> &mistakes);
    /// Checks whether the chosen data set is here; if not, offers to get it.
    [[nodiscard]] bool dataMissing();
    [[nodiscard]] ConfigForm *form() const { return m_form; }
    [[nodiscard]] DataNotice *dataNotice() const { return m_data; }
    [[nodiscard]] PlanPlaces *places() const { return m_places; }
    [[nodiscard]] QCheckBox *quickBox() const { return m_quick; }
    [[nodiscard]] QComboBox *sideBySideBox() const { return m_sideBySide; }

Q_SIGNALS:
    void edited(); ///< the draft, or news about its data and nodes

private:
    QWidget *buildOptions();
    QWidget *buildScrolled(QWidget *scrolled);
    void reset();

    PlanDraft &m_draft;
    QLabel *m_head;
    QWidget *m_quickRow;
    QCheckBox *m_quick;
    ElidedLabel *m_quickWords;
    QComboBox *m_repeats, *m_sideBySide;
    QPushButton *m_reset;
    DataNotice *m_data;
    PlanPlaces *m_places;
    ConfigForm *m_form;
};

} // namespace lockstep::ui
