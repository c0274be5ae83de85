// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/recipes_card.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/recipe_reader_dialog.h"
#include "app/ui/pages/plan/script_dialog.h"
#include "app/ui/theme/theme.h"
#include "experiment/recipe_shelf.h"

namespace lockstep::ui {
namespace {

const QString recipeFiles = QStringLiteral("Recipes (*.json)");

void warnIfFailed(QWidget *page, const QString &title, const Result<void> &done) {
    if (!done)
        QMessageBox::warning(page, title, QString::fromStdString(done.error().message()));
}

} // namespace

RecipesCard::RecipesCard(Theme &theme, const PlanDraft &draft, const MachineFacts &facts, QWidget *parent)
    : Card(tr("Recipes"), parent), m_theme(theme), m_draft(draft), m_list(new RecipeList(theme, this)), m_facts(facts) {
    setMinimumWidth(30 * grid);
    setMaximumWidth(52 * grid);
    body()->addWidget(m_list, 1);
    m_script = new QPushButton(tr("Your script…"), this);
    m_script->setAccessibleName(tr("Your script"));
    m_script->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_N));
    m_script->setToolTip(tr("Studies a training script of your own, unchanged (Ctrl+N)"));
    connect(m_script, &QPushButton::clicked, this, &RecipesCard::studyScript);
    body()->addWidget(m_script);
    body()->addWidget(makeLine(this));
    for (QLabel *label : {m_summary = makeLabel({}, "secondary", this), m_published = makeLabel({}, "muted", this)}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        body()->addWidget(label);
    }
    m_about = addButton(tr("About the recipe"), QKeySequence(Qt::SHIFT | Qt::Key_F1),
                        tr("What it shows, what was published, and results from elsewhere (Shift+F1)"),
                        &RecipesCard::showAbout);
    m_open = addButton(tr("Open a recipe file"), QKeySequence(QKeySequence::Open),
                       tr("Opens a recipe from a file (Ctrl+O)"), &RecipesCard::open);
    m_save = addButton(tr("Save as a recipe"), QKeySequence(QKeySequence::Save),
                       tr("Saves these settings as a recipe of your own (Ctrl+S)"), &RecipesCard::save);
    addListAction(tr("Duplicate"), &RecipesCard::duplicate);
    addListAction(tr("Export as a file…"), &RecipesCard::share);
    m_remove = addListAction(tr("Remove"), &RecipesCard::removeChosen);
    connect(&m_theme, &Theme::changed, this, &RecipesCard::restyle);
    const auto warn = [this](const QString &name, const QString &mistakes) {
        QMessageBox::warning(this, tr("Recipe %1").arg(name), mistakes);
        m_list->forget(name);
    };
    connect(m_list, &RecipeList::unreadable, this, warn, Qt::QueuedConnection); // the list is amid choosing
    restyle();
}

QToolButton *RecipesCard::addButton(const QString &name, const QKeySequence &keys, const QString &tip,
                                    void (RecipesCard::*act)()) {
    auto *button = new QToolButton(this);
    button->setAccessibleName(name);
    button->setShortcut(keys);
    button->setToolTip(tip);
    connect(button, &QToolButton::clicked, this, act);
    addTool(button);
    return button;
}

QAction *RecipesCard::addListAction(const QString &name, void (RecipesCard::*act)()) {
    auto *action = new QAction(name, m_list);
    connect(action, &QAction::triggered, this, act);
    m_list->addAction(action);
    return action;
}

void RecipesCard::refresh() {
    const core::Recipe &recipe = m_draft.recipe();
    m_summary->setText(QString::fromStdString(recipe.summary));
    m_summary->setVisible(!recipe.summary.empty());
    const QString published = publishedLine(recipe);
    m_published->setText(tr("Published, ") + published);
    m_published->setVisible(!published.isEmpty());
    m_remove->setEnabled(m_list->isSaved());
    m_about->setEnabled(RecipeReaderDialog::hasPage(m_list->currentName()));
}

void RecipesCard::studyScript() {
    auto *dialog = new ScriptDialog(m_facts, m_lastScript, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setModal(true);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        m_lastScript = dialog->entries();
        m_list->addAndChoose(PlanDraft(dialog->recipe()), QString::fromStdString(dialog->recipe().name));
    });
    dialog->show();
}

void RecipesCard::open() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a recipe file"), {}, recipeFiles);
    if (path.isEmpty())
        return;
    if (const auto opened = m_list->openFile(path); !opened)
        QMessageBox::warning(this, tr("Open a recipe file"),
                             QString::fromStdString(core::joinErrors(opened.error()))); // a line each
}

void RecipesCard::save() {
    const QString head = tr("Save as a recipe");
    bool wanted = false;
    const QString title =
        QInputDialog::getText(this, head, tr("Title"), QLineEdit::Normal,
                              tr("My %1").arg(QString::fromStdString(m_draft.recipe().title)), &wanted)
            .trimmed();
    if (!wanted || title.isEmpty())
        return;
    const core::Recipe recipe = m_draft.effective();
    Result<void> saved = m_list->save(recipe, title, false);
    const bool taken =
        !saved &&
        QFileInfo::exists(QString::fromStdString(core::savedRecipePath(core::recipeNameFrom(title.toStdString()))));
    if (taken &&
        QMessageBox::question(this, head, tr("\"%1\" already exists. Replace it?").arg(title)) == QMessageBox::Yes)
        saved = m_list->save(recipe, title, true);
    else if (taken)
        return;
    warnIfFailed(this, head, saved);
}

void RecipesCard::duplicate() {
    core::Recipe copy = m_draft.effective();
    copy.title = "Copy of " + copy.title;
    m_list->addAndChoose(PlanDraft(std::move(copy)), QStringLiteral("copy"));
}

void RecipesCard::share() {
    const core::Recipe recipe = m_draft.effective();
    const QString suggested = QString::fromStdString(core::recipeNameFrom(recipe.title)) + QStringLiteral(".json");
    const QString path = QFileDialog::getSaveFileName(this, tr("Export as a file"), suggested, recipeFiles);
    if (!path.isEmpty())
        warnIfFailed(this, tr("Export as a file"), core::shareRecipe(recipe, path.toStdString()));
}

void RecipesCard::removeChosen() {
    const QString title = QString::fromStdString(m_draft.recipe().title);
    if (QMessageBox::question(this, tr("Remove"), tr("Remove the saved recipe \"%1\"?").arg(title)) == QMessageBox::Yes)
        warnIfFailed(this, tr("Remove"), m_list->remove());
}

void RecipesCard::showAbout() {
    auto *dialog = new RecipeReaderDialog(m_theme, m_list->currentName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show(); // beside the page: a person reads and sets up at once
}

void RecipesCard::restyle() {
    const QColor ink = m_theme.palette().textSecondary;
    m_about->setIcon(m_theme.icon(QStringLiteral("info"), ink));
    m_script->setIcon(m_theme.icon(QStringLiteral("script"), ink));
    m_open->setIcon(m_theme.icon(QStringLiteral("open"), ink));
    m_save->setIcon(m_theme.icon(QStringLiteral("save"), ink));
}

} // namespace lockstep::ui

#include "moc_recipes_card.cpp"
