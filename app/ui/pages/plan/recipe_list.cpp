// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/recipe_list.h"

#include <QFileInfo>
#include <QSignalBlocker>

#include <algorithm>

#include "app/ui/pages/plan/plan_rows.h"
#include "app/ui/theme/theme.h"
#include "experiment/recipe_shelf.h"

namespace lockstep::ui {
namespace {
const QString freeName = QStringLiteral("free");
}

RecipeList::RecipeList(const Theme &theme, QWidget *parent) : QListWidget(parent) {
    setItemDelegate(new RecipeDelegate(theme, this));
    setFrameShape(QFrame::NoFrame);
    setMouseTracking(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setResizeMode(QListView::Adjust);
    setWordWrap(true);
    setAccessibleName(tr("Recipes"));
    setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(this, &QListWidget::currentRowChanged, this, [this](int row) {
        if (row >= 0)
            emitChosen(row);
    });
}

void RecipeList::load() {
    {
        const QSignalBlocker quiet(this);
        for (const std::string &name : core::builtInRecipes())
            addOnShelf(name);
        for (const std::string &name : core::savedRecipes())
            addOnShelf(name);
        add(PlanDraft::freeChoice(), freeName);
    }
    if (!choose(QStringLiteral("lenet-dp-vs-ddp")))
        setCurrentRow(0);
}

void RecipeList::addOnShelf(const std::string &name) {
    const auto recipe = core::loadRecipe(name);
    if (!recipe)
        return; // lockstepctl run NAME reports a damaged one
    addRow(*recipe, QString::fromStdString(name));
    m_drafts.emplace_back();
}

void RecipeList::add(PlanDraft draft, const QString &name) {
    addRow(draft.recipe(), name);
    m_drafts.emplace_back(std::move(draft));
}

void RecipeList::addRow(const core::Recipe &recipe, const QString &name) {
    auto *row = new QListWidgetItem(QString::fromStdString(recipe.title), this);
    row->setData(RecipeDelegate::NameRole, name);
    row->setToolTip(QString::fromStdString(recipe.summary) + QLatin1Char('\n') +
                    QString::fromStdString(recipe.question));
}

void RecipeList::emitChosen(int row) {
    if (const std::optional<PlanDraft> &draft = m_drafts[std::size_t(row)]) {
        Q_EMIT draftChosen(*draft);
        return;
    }
    const QString name = item(row)->data(RecipeDelegate::NameRole).toString();
    if (auto recipe = core::loadRecipe(name.toStdString()))
        Q_EMIT draftChosen(PlanDraft(std::move(*recipe)));
    else
        Q_EMIT unreadable(name, QString::fromStdString(core::joinErrors(recipe.error())));
}

QString RecipeList::currentName() const {
    return currentItem() ? currentItem()->data(RecipeDelegate::NameRole).toString() : QString();
}

void RecipeList::addAndChoose(PlanDraft draft, const QString &name) {
    {
        const QSignalBlocker quiet(this);
        add(std::move(draft), name);
    }
    setCurrentRow(count() - 1);
    scrollToItem(currentItem());
}

bool RecipeList::choose(const QString &name) {
    for (int row = 0; row < count(); ++row)
        if (item(row)->data(RecipeDelegate::NameRole) == name) {
            setCurrentRow(row);
            return true;
        }
    return false;
}

bool RecipeList::isSaved() const {
    const std::vector<std::string> saved = core::savedRecipes();
    return currentItem() &&
           std::find(saved.begin(), saved.end(),
                     currentItem()->data(RecipeDelegate::NameRole).toString().toStdString()) != saved.end();
}

Result<void> RecipeList::save(const core::Recipe &recipe, const QString &title, bool replace) {
    const Result<std::string> name = core::saveRecipe(recipe, title.toStdString(), replace);
    if (!name)
        return fail(name.error());
    auto saved = core::loadRecipe(*name);
    if (!saved)
        return fail(saved.error().front());
    for (int row = count() - 1; row >= 0; --row)
        if (item(row)->data(RecipeDelegate::NameRole).toString().toStdString() == *name)
            dropRow(row);
    addAndChoose(PlanDraft(std::move(*saved)), QString::fromStdString(*name));
    return {};
}

tl::expected<void, std::vector<Error>> RecipeList::openFile(const QString &path) {
    auto recipe = core::loadRecipe(path.toStdString());
    if (!recipe)
        return tl::unexpected(std::move(recipe.error()));
    addAndChoose(PlanDraft(std::move(*recipe)), QFileInfo(path).fileName());
    return {};
}

void RecipeList::dropRow(int row) {
    const QSignalBlocker quiet(this);
    delete takeItem(row);
    m_drafts.erase(m_drafts.begin() + row);
}

Result<void> RecipeList::remove() {
    if (!currentItem())
        return {};
    const int row = currentRow();
    if (const Result<void> removed =
            core::removeSavedRecipe(currentItem()->data(RecipeDelegate::NameRole).toString().toStdString());
        !removed)
        return removed;
    dropRow(row);
    if (currentRow() >= 0)
        emitChosen(currentRow());
    return {};
}

void RecipeList::forget(const QString &name) {
    const bool chosen = currentName() == name;
    for (int row = count() - 1; row >= 0; --row)
        if (!m_drafts[std::size_t(row)] && item(row)->data(RecipeDelegate::NameRole) == name)
            dropRow(row);
    if (chosen && currentRow() >= 0)
        emitChosen(currentRow());
}

} // namespace lockstep::ui

#include "moc_recipe_list.cpp"
