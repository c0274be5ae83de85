// SPDX-License-Identifier: MIT
// What a person does with recipes on Plan: open, save, duplicate, share, remove.
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMessageBox>

#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/recipe_reader_dialog.h"
#include "experiment/recipe_shelf.h"

namespace lockstep::ui {
namespace {

const QString recipeFiles = QStringLiteral("Recipes (*.json)");

void tell(QWidget *page, const QString &title, const Result<void> &done) {
    if (!done)
        QMessageBox::warning(page, title, QString::fromStdString(done.error().message()));
}

} // namespace

void PlanPage::openRecipe() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a recipe's file"), {}, recipeFiles);
    if (!path.isEmpty())
        tell(this, tr("Open a recipe's file"), m_recipes->openFile(path));
}

void PlanPage::saveRecipe() {
    const QString head = tr("Save as a recipe");
    bool wanted = false;
    const QString title =
        QInputDialog::getText(this, head, tr("Title"), QLineEdit::Normal,
                              tr("My %1").arg(QString::fromStdString(m_draft.recipe().title)), &wanted)
            .trimmed();
    if (!wanted || title.isEmpty())
        return;
    const core::Recipe recipe = m_draft.effective();
    Result<void> saved = m_recipes->save(recipe, title, false);
    const bool taken =
        !saved &&
        QFileInfo::exists(QString::fromStdString(core::savedRecipePath(core::recipeNameFrom(title.toStdString()))));
    if (taken &&
        QMessageBox::question(this, head, tr("\"%1\" is saved already. Replace it?").arg(title)) == QMessageBox::Yes)
        saved = m_recipes->save(recipe, title, true);
    else if (taken)
        return;
    tell(this, head, saved);
}

void PlanPage::duplicateRecipe() {
    core::Recipe copy = m_draft.effective();
    copy.title = "Copy of " + copy.title;
    m_recipes->addAndChoose(PlanDraft(std::move(copy)), QStringLiteral("copy"));
}

void PlanPage::shareRecipe() {
    const core::Recipe recipe = m_draft.effective();
    const QString suggested = QString::fromStdString(core::recipeNameFrom(recipe.title)) + QStringLiteral(".json");
    const QString path = QFileDialog::getSaveFileName(this, tr("Share as a file"), suggested, recipeFiles);
    if (!path.isEmpty())
        tell(this, tr("Share as a file"), core::shareRecipe(recipe, path.toStdString()));
}

void PlanPage::removeRecipe() {
    const QString title = QString::fromStdString(m_draft.recipe().title);
    if (QMessageBox::question(this, tr("Remove"), tr("Remove the saved recipe \"%1\"?").arg(title)) == QMessageBox::Yes)
        tell(this, tr("Remove"), m_recipes->remove());
}

void PlanPage::tellAboutRecipe() {
    auto *dialog = new RecipeReaderDialog(m_theme, m_recipes->currentName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show(); // beside the page: a person reads and sets up at once
}

} // namespace lockstep::ui
