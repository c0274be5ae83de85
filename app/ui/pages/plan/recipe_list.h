// SPDX-License-Identifier: MIT
#pragma once
#include <QListWidget>

#include <vector>

#include "app/ui/pages/plan/plan_draft.h"

class QAction;

namespace lockstep::ui {
class Theme;

/// The recipes to choose from: built-in ones, those saved, copies, and the free choice. Knows the draft of each row.
class RecipeList : public QListWidget {
    Q_OBJECT
public:
    explicit RecipeList(const Theme &theme, QWidget *parent = nullptr);
    void load();
    /// By name; "free" is the free choice. False when there is none of that name.
    bool choose(const QString &name);
    /// Adds a row and chooses it.
    void addAndChoose(PlanDraft draft, const QString &name);
    /// The original draft of the chosen row, without the person's later changes.
    [[nodiscard]] const PlanDraft *current() const;
    /// The chosen row's; empty before one is.
    [[nodiscard]] QString currentName() const;
    /// Saves under a title and chooses it; a name that is taken is refused unless `replace`.
    [[nodiscard]] Result<void> save(const core::Recipe &recipe, const QString &title, bool replace);
    /// Opens a file as a row of its own, not saved yet; or returns every mistake in it.
    [[nodiscard]] tl::expected<void, std::vector<Error>> openFile(const QString &path);
    /// Whether the chosen one is saved and may be removed.
    [[nodiscard]] bool isSaved() const;
    [[nodiscard]] Result<void> remove();

Q_SIGNALS:
    void draftChosen(const lockstep::ui::PlanDraft &draft);

private:
    void add(PlanDraft draft, const QString &name);
    void dropRow(int row);
    std::vector<PlanDraft> m_drafts; ///< one a row
};

} // namespace lockstep::ui
