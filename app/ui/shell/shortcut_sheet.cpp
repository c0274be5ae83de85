// SPDX-License-Identifier: MIT
#include "app/ui/shell/shortcut_sheet.h"

#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

#include "app/ui/shell/page.h"
#include "app/ui/shell/window_commands.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"

namespace lockstep::ui {
namespace {

constexpr int columns = 3, titleWidth = 30 * grid;

QString pageTitle(Page page) {
    return QCoreApplication::translate("MainWindow", pageTable[std::size_t(page)].title);
}

} // namespace

/// What stands under one head: "Everywhere", "Pages", or a page's name.
struct ShortcutSheet::Section {
    QString title;
    std::vector<std::pair<QString, QString>> rows; ///< keys, what
    [[nodiscard]] int height() const { return int(rows.size()) + 2; }
    void add(const QKeySequence &keys, const QString &what) {
        rows.emplace_back(keys.toString(QKeySequence::NativeText), what);
    }
};

ShortcutSheet::ShortcutSheet(QWidget *window) : QDialog(window) {
    setWindowTitle(tr("Shortcuts"));
    QVBoxLayout *outer = frameDialog(this, 2 * grid);
    outer->addWidget(makeLabel(tr("Shortcuts"), "title", this));
    const std::vector<Section> all = sectionsOf(window);
    int rows = 0;
    for (const Section &section : all)
        rows += section.height();
    auto *side = new QHBoxLayout;
    side->setSpacing(4 * grid);
    outer->addLayout(side);
    QVBoxLayout *column = nullptr;
    int filled = 0, made = 0;
    for (const Section &section : all) {
        // The next column begins where most of a section would stand below the even height.
        if (!column || (made < columns && filled + section.height() / 2 > rows / columns)) {
            column = new QVBoxLayout;
            column->setSpacing(grid / 2);
            side->addLayout(column);
            column->addStretch(1);
            filled = 0;
            ++made;
        }
        column->insertWidget(column->count() - 1, makeLabel(section.title, "cardTitle", this));
        column->insertLayout(column->count() - 1, gridOf(section));
        filled += section.height();
    }
}

std::vector<ShortcutSheet::Section> ShortcutSheet::sectionsOf(QWidget *window) const {
    Section everywhere{tr("Everywhere"), {}}, pages{tr("Go to a page"), {}};
    std::array<Section, pageTable.size()> own;
    for (std::size_t i = 0; i < own.size(); ++i)
        own[i].title = pageTitle(Page(i));
    for (const WindowCommand &command : windowCommands(window))
        if (command.keys.count() == 1) // the verdict's advice has chords, as many as there are runs to suggest
            (command.goesToPage ? pages
             : command.page < 0 ? everywhere
                                : own[std::size_t(command.page)])
                .add(command.keys, command.title);
    everywhere.add(QKeySequence(Qt::CTRL | Qt::Key_K), tr("All commands"));
    everywhere.add(QKeySequence(QKeySequence::HelpContents), tr("Shortcuts"));
    own[std::size_t(Page::Runs)].add(QKeySequence(QKeySequence::Find), tr("Filter the runs"));
    auto &verdict = own[std::size_t(Page::Verdict)].rows;
    verdict.emplace_back(tr("Ctrl+Y, A…"), tr("Run a missing control"));
    verdict.emplace_back(tr("Ctrl+I, A…"), tr("Try a tip"));
    verdict.emplace_back(tr("Ctrl+G, A…"), tr("Run a control of the waterfall"));
    std::vector<Section> out = {std::move(everywhere), std::move(pages)};
    for (Section &section : own)
        if (!section.rows.empty())
            out.push_back(std::move(section));
    for (Section &section : out) // pages are in the rail's order, whatever their names
        std::ranges::stable_sort(section.rows, [&](const auto &a, const auto &b) {
            return &section == &out[1] ? a.first < b.first : a.second.localeAwareCompare(b.second) < 0;
        });
    return out;
}

QLayout *ShortcutSheet::gridOf(const Section &section) {
    auto *lines = new QGridLayout;
    lines->setHorizontalSpacing(2 * grid);
    lines->setVerticalSpacing(2);
    lines->setContentsMargins(0, 0, 0, grid);
    lines->setColumnStretch(1, 1);
    lines->setColumnMinimumWidth(0, 15 * grid);
    for (std::size_t row = 0; row < section.rows.size(); ++row) {
        const auto &[keys, what] = section.rows[row];
        QLabel *left = makeLabel(keys, "secondary", this);
        left->setFont(Theme::mono(Type::Small));
        QLabel *right = makeLabel({}, "small", this);
        right->setText(right->fontMetrics().elidedText(what, Qt::ElideRight, titleWidth));
        if (right->text() != what)
            right->setToolTip(what);
        // Lines of some monospaced fonts are a third higher than the text's, and the sheet must fit 800 pixels.
        left->setFixedHeight(right->sizeHint().height());
        lines->addWidget(left, int(row), 0);
        lines->addWidget(right, int(row), 1);
    }
    return lines;
}

} // namespace lockstep::ui

#include "moc_shortcut_sheet.cpp"
