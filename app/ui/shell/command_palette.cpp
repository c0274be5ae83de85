// SPDX-License-Identifier: MIT
#include "app/ui/shell/command_palette.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QTimer>
#include <QVBoxLayout>

#include <utility>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/dialog_frame.h"

namespace lockstep::ui {
namespace {
constexpr int paletteWidth = 72 * grid, paletteRow = 36, rowsShown = 10;
}

void CommandFilter::setText(const QString &text) {
    m_text = text.trimmed();
    m_words = m_text.split(u' ', Qt::SkipEmptyParts);
    invalidate();
    sort(0);
}

bool CommandFilter::filterAcceptsRow(int row, const QModelIndex &parent) const {
    const QModelIndex index = sourceModel()->index(row, 0, parent);
    const QString all = index.data().toString() + u' ' + index.data(CommandDelegate::HintRole).toString();
    return std::all_of(m_words.begin(), m_words.end(),
                       [&](const QString &word) { return all.contains(word, Qt::CaseInsensitive); });
}

/// 0: the title begins so; 1: a word of it does; 2: it is somewhere.
int CommandFilter::rank(const QString &title) const {
    if (title.startsWith(m_text, Qt::CaseInsensitive))
        return 0;
    return title.contains(u' ' + m_text, Qt::CaseInsensitive) ? 1 : 2;
}

bool CommandFilter::lessThan(const QModelIndex &left, const QModelIndex &right) const {
    const int a = rank(left.data().toString()), b = rank(right.data().toString());
    return a != b ? a < b : left.row() < right.row();
}

void CommandDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const Palette &p = m_theme.palette();
    const bool enabled = index.flags() & Qt::ItemIsEnabled;
    const QColor muted = mutedInRow(p, option.state & QStyle::State_Selected);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & QStyle::State_Selected) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(p.selection);
        painter->drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), 6, 6);
    }
    const QRect row = option.rect.adjusted(grid, 0, -grid, 0);
    painter->setFont(Theme::mono(Type::Small));
    const QString keys = index.data(KeysRole).toString();
    const int keysWidth = keys.isEmpty() ? 0 : QFontMetrics(painter->font()).horizontalAdvance(keys) + 2 * grid;
    painter->setPen(muted);
    painter->drawText(row, Qt::AlignVCenter | Qt::AlignRight, keys);
    painter->setFont(Theme::font(Type::Body));
    painter->setPen(enabled ? p.text : muted);
    const QRect left = row.adjusted(0, 0, -keysWidth, 0);
    painter->drawText(left, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(painter->font()).elidedText(index.data().toString(), Qt::ElideRight, left.width()));
    painter->restore();
}

QSize CommandDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const {
    return {paletteWidth / 2, paletteRow};
}

CommandPalette::CommandPalette(const Theme &theme, std::vector<WindowCommand> commands, QWidget *window)
    : QDialog(window), m_commands(std::move(commands)) {
    setWindowTitle(tr("Commands"));
    setFixedWidth(paletteWidth);
    setWindowFlag(Qt::FramelessWindowHint);
    QVBoxLayout *layout = frameDialog(this, 2 * grid);
    m_field = new QLineEdit(this);
    m_field->setPlaceholderText(tr("What do you want to do?"));
    m_field->setAccessibleName(tr("Command"));
    m_field->installEventFilter(this);
    layout->addWidget(m_field);
    for (std::size_t i = 0; i < m_commands.size(); ++i) {
        const WindowCommand &command = m_commands[i];
        auto *item = new QStandardItem(command.title);
        item->setData(command.keys.toString(QKeySequence::NativeText), CommandDelegate::KeysRole);
        item->setData(command.hint, CommandDelegate::HintRole);
        item->setData(int(i), CommandDelegate::IndexRole);
        item->setToolTip(command.hint);
        item->setEditable(false);
        item->setEnabled(command.enabled);
        m_model.appendRow(item);
    }
    m_filter.setSourceModel(&m_model);
    m_list = new QListView(this);
    m_list->setModel(&m_filter);
    m_list->setItemDelegate(new CommandDelegate(theme, m_list));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setFixedHeight(rowsShown * paletteRow);
    m_list->setUniformItemSizes(true);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setAccessibleName(tr("Commands"));
    connect(m_list, &QListView::clicked, this, &CommandPalette::run);
    layout->addWidget(m_list);
    m_none = makeLabel(tr("No command matches."), "muted", this);
    m_none->hide();
    layout->addWidget(m_none);
    connect(m_field, &QLineEdit::textChanged, this, [this](const QString &text) {
        m_filter.setText(text);
        m_list->setCurrentIndex(m_filter.index(0, 0));
        m_none->setVisible(m_filter.rowCount() == 0);
    });
    connect(m_field, &QLineEdit::returnPressed, this, &CommandPalette::run);
    m_field->setFocus();
    m_filter.setText({});
    m_list->setCurrentIndex(m_filter.index(0, 0));
}

/// The field handles the keys, except those that move the selection: they go to the list.
bool CommandPalette::eventFilter(QObject *watched, QEvent *event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent *>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? rowsShown
                         : key == Qt::Key_PageUp   ? -rowsShown
                                                   : 0;
        if (step != 0 && m_filter.rowCount() > 0) {
            const int row = std::clamp(m_list->currentIndex().row() + step, 0, m_filter.rowCount() - 1);
            m_list->setCurrentIndex(m_filter.index(row, 0));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void CommandPalette::run() {
    const QModelIndex index = m_list->currentIndex();
    if (!index.isValid() || !(index.flags() & Qt::ItemIsEnabled))
        return;
    const std::function<void()> act = m_commands[std::size_t(index.data(CommandDelegate::IndexRole).toInt())].run;
    accept(); // first, so that the command acts on the window without the palette
    QTimer::singleShot(0, parentWidget(), act);
}

} // namespace lockstep::ui

#include "moc_command_palette.cpp"
