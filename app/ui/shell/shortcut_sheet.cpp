// SPDX-License-Identifier: MIT
#include "app/ui/shell/shortcut_sheet.h"

#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <numeric>

#include "app/ui/shell/page.h"
#include "app/ui/shell/window_commands.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"

namespace lockstep::ui {
namespace {

constexpr int titleWidth = 30 * grid;
constexpr int besideScreen = 18 * grid; ///< what the title, the margins and the desktop's panels take of its height

QString pageTitle(Page page) {
    return QCoreApplication::translate("MainWindow", pageTable[std::size_t(page)].title);
}

/// Where the second and the third column begin, so that the highest of the three is as low as it can be.
std::pair<std::size_t, std::size_t> columnStarts(const std::vector<int> &heights) {
    const auto height = [&](std::size_t from, std::size_t to) {
        return std::accumulate(heights.begin() + std::ptrdiff_t(from), heights.begin() + std::ptrdiff_t(to), 0);
    };
    std::pair<std::size_t, std::size_t> best{heights.size(), heights.size()};
    int lowest = height(0, heights.size());
    for (std::size_t second = 0; second < heights.size(); ++second)
        for (std::size_t third = second; third < heights.size(); ++third) {
            const int highest = std::max({height(0, second), height(second, third), height(third, heights.size())});
            if (highest < lowest) {
                lowest = highest;
                best = {second, third};
            }
        }
    return best;
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
    auto *area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto *sheet = new QWidget(area);
    sheet->setObjectName(QStringLiteral("scrolled"));
    fill(*sheet, sectionsOf(window));
    area->setWidget(sheet);
    outer->addWidget(area, 1);
    for (QWidget *label : sheet->findChildren<QWidget *>())
        label->ensurePolished(); // their fonts are the style sheet's
    sheet->layout()->invalidate();
    const QSize wanted = sheet->sizeHint();
    area->setMinimumWidth(wanted.width() + area->verticalScrollBar()->sizeHint().width());
    const int room = window->screen()->availableSize().height() - besideScreen;
    area->setMinimumHeight(std::min(wanted.height(), room));
    if (wanted.height() <= room)
        area->setFocusPolicy(Qt::NoFocus); // there is nothing to scroll
}

void ShortcutSheet::fill(QWidget &sheet, const std::vector<Section> &sections) {
    std::vector<int> heights;
    for (const Section &section : sections)
        heights.push_back(section.height());
    const auto [second, third] = columnStarts(heights);
    auto *side = new QHBoxLayout(&sheet);
    side->setContentsMargins(0, 0, 0, 0);
    side->setSpacing(4 * grid);
    QVBoxLayout *column = nullptr;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        if (!column || i == second || i == third) {
            column = new QVBoxLayout;
            column->setSpacing(grid / 2);
            side->addLayout(column);
            column->addStretch(1);
        }
        column->insertWidget(column->count() - 1, makeLabel(sections[i].title, "cardTitle", &sheet));
        column->insertLayout(column->count() - 1, gridOf(sections[i], sheet));
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
    verdict.emplace_back(tr("Ctrl+Y, A…"), tr("Run what a finding suggests"));
    verdict.emplace_back(tr("Ctrl+I, A…"), tr("Try a tip"));
    verdict.emplace_back(tr("Ctrl+G, A…"), tr("Run a missing control"));
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

QLayout *ShortcutSheet::gridOf(const Section &section, QWidget &sheet) {
    auto *lines = new QGridLayout;
    lines->setHorizontalSpacing(2 * grid);
    lines->setVerticalSpacing(2);
    lines->setContentsMargins(0, 0, 0, grid);
    lines->setColumnStretch(1, 1);
    lines->setColumnMinimumWidth(0, 15 * grid);
    for (std::size_t row = 0; row < section.rows.size(); ++row) {
        const auto &[keys, what] = section.rows[row];
        QLabel *left = makeLabel(keys, "secondary", &sheet);
        left->setFont(Theme::mono(Type::Small));
        QLabel *right = makeLabel({}, "small", &sheet);
        right->setText(right->fontMetrics().elidedText(what, Qt::ElideRight, titleWidth));
        if (right->text() != what)
            right->setToolTip(what);
        // Lines of some monospaced fonts are a third higher than the text's.
        left->setFixedHeight(right->sizeHint().height());
        lines->addWidget(left, int(row), 0);
        lines->addWidget(right, int(row), 1);
    }
    return lines;
}

} // namespace lockstep::ui

#include "moc_shortcut_sheet.cpp"
