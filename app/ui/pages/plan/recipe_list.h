// SPDX-License-Identifier: MIT
#pragma once
#include <QListWidget>

#include <optional>
#include <string>
#include <vector>

#include "app/ui/pages/plan/plan_draft.h"

class QAction;

namespace lockstep::ui {
class Theme;

/// The recipes to choose from: built-in ones, those saved, copies, and the free choice. Of a row whose recipe is on the shelf
/// only title, summary and question are kept: the recipe is read when it is chosen, since a small file may name many nodes in each run.
class RecipeList : public QListWidget {
    Q_OBJECT
public:
    explicit RecipeList(const Theme &theme, QWidget *parent = nullptr);
    void load();
    /// By name; "free" is the free choice. False when there is none of that name.
    bool choose(const QString &name);
    /// Adds a row and chooses it.
    void addAndChoose(PlanDraft draft, const QString &name);
    /// The chosen row's; empty before one is.
    [[nodiscard]] QString currentName() const;
    /// Saves under a title and chooses it; a name that is taken is refused unless `replace`.
    [[nodiscard]] Result<void> save(const core::Recipe &recipe, const QString &title, bool replace);
    /// Opens a file as a row of its own, not saved yet; or returns every mistake in it.
    [[nodiscard]] tl::expected<void, std::vector<Error>> openFile(const QString &path);
    /// Whether the chosen one is saved and may be removed.
    [[nodiscard]] bool isSaved() const;
    [[nodiscard]] Result<void> remove();
    /// Takes a row that can't be read off the list and leaves its file alone.
    void forget(const QString &name);

Q_SIGNALS:
    void draftChosen(const lockstep::ui::PlanDraft &draft);
    /// Instead, where the chosen recipe's file is gone or damaged. `mistakes`: a line each.
    void unreadable(const QString &name, const QString &mistakes);

private:
    void addRow(const core::Recipe &recipe, const QString &name);
    void addOnShelf(const std::string &name);
    void add(PlanDraft draft, const QString &name);
    void dropRow(int row);
    void emitChosen(int row);
    /// One a row, without a person's later changes; absent: on the shelf.
    std::vector<std::optional<PlanDraft>> m_drafts;
};

} // namespace lockstep::ui
