// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>

#include "app/ui/pages/plan/plan_draft.h"
#include "app/ui/pages/plan/script_dialog.h"
#include "app/ui/widgets/card.h"

class QAction;
class QLabel;
class QPushButton;
class QToolButton;

namespace lockstep::ui {
class RecipeList;
class Theme;

/// The recipes and their actions: read about one, open, save, duplicate, share, remove.
class RecipesCard : public Card {
    Q_OBJECT
public:
    /// `draft`: the chosen recipe with the person's changes, which is saved, duplicated and shared.
    RecipesCard(Theme &theme, const PlanDraft &draft, const MachineFacts &facts, QWidget *parent = nullptr);
    [[nodiscard]] RecipeList *list() const { return m_list; }
    void refresh(); ///< what the chosen recipe is, and what can be done with it
    /// Asks for a script of the person's own, which becomes a recipe and is chosen.
    void studyScript();

private:
    QToolButton *addButton(const QString &name, const QKeySequence &keys, const QString &tip,
                           void (RecipesCard::*act)());
    QAction *addListAction(const QString &name, void (RecipesCard::*act)());
    void open();
    void save();
    void duplicate();
    void share();
    void removeChosen();
    void showAbout();
    void restyle();

    Theme &m_theme;
    const PlanDraft &m_draft;
    RecipeList *m_list;
    QLabel *m_summary, *m_published; ///< of the chosen recipe
    const MachineFacts &m_facts;
    ScriptEntries m_lastScript; ///< of the last study, to be changed
    QPushButton *m_script;
    QToolButton *m_about, *m_open, *m_save;
    QAction *m_remove;
};

} // namespace lockstep::ui
