// SPDX-License-Identifier: MIT
#include "app/ui/shell/queue_panel.h"

#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QPainter>
#include <QPushButton>
#include <QScreen>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

#include "app/ui/shell/queue_control.h"
#include "app/ui/shell/strip_state.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/name_lines.h"
#include "experiment/width_goal.h"
#include "models/roles.h"
#include "queue/experiment_follower.h"

namespace lockstep::ui {
namespace {

constexpr int panelWidth = 56 * grid, queueRow = 5 * grid, mostRows = 12;
using Request = core::QueueRequest::Kind;

} // namespace

void QueueRowDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const Palette &p = m_theme.palette();
    const QString state = index.data(core::StateRole).toString(), reason = index.data(core::ReasonRole).toString();
    const bool waits = state == QLatin1String("queued"), runs = state == QLatin1String("running");
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(option.state & QStyle::State_Selected ? p.selection : p.raised);
        painter->drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), 6, 6);
    }
    const QRect row = option.rect.adjusted(grid, 0, -grid, 0);
    painter->fillRect(QRectF(row.left(), row.top() + 8, 3, row.height() - 16),
                      methodColor(index.data(core::MethodRole).toString()));
    const bool failed = state == QLatin1String("failed");
    const QString word = reason.isEmpty() || waits  ? state
                         : reason.startsWith(state) ? reason
                                                    : state + QStringLiteral(" · ") + reason;
    painter->setFont(Theme::font(Type::Body, runs ? QFont::DemiBold : QFont::Normal));
    painter->setPen(waits || runs ? p.text : p.textSecondary);
    const QString name = index.data().toString();
    const int nameWidth =
        nameRoom(row.width() - 12 - 3 * grid, roomOf(name, painter->font()), roomOf(word, Theme::font(Type::Small)));
    painter->drawText(QRect(row.left() + 12, row.top(), nameWidth + 1, row.height()), Qt::AlignVCenter | Qt::AlignLeft,
                      elidedName(name, QFontMetricsF(painter->font()), nameWidth + 1));
    const QRect rest(row.left() + 12 + nameWidth + 2 * grid, row.top(), row.width() - 12 - nameWidth - 2 * grid,
                     row.height());
    painter->setFont(Theme::font(Type::Small));
    const QString shown = QFontMetrics(painter->font()).elidedText(word, Qt::ElideRight, rest.width() - grid);
    const QRectF badge(rest.right() - QFontMetrics(painter->font()).horizontalAdvance(shown) - grid, rest.top() + 9,
                       QFontMetrics(painter->font()).horizontalAdvance(shown) + 2 * grid, rest.height() - 18);
    if (failed) {
        painter->setPen(QPen(p.wrong, 1));
        painter->setBrush(p.wrongSoft);
        painter->drawRoundedRect(badge, 6, 6);
    }
    painter->setPen(failed ? p.wrong : runs ? p.good : mutedInRow(p, option.state & QStyle::State_Selected));
    painter->drawText(rest, Qt::AlignVCenter | Qt::AlignRight, shown);
    painter->restore();
}

int QueueRowDelegate::roomOf(const QString &text, const QFont &font) {
    return int(std::ceil(QFontMetricsF(font).horizontalAdvance(text))) + 2;
}

int QueueRowDelegate::nameRoom(int all, int name, int words) {
    return std::min(name, std::max(all / 2, all - words));
}

QSize QueueRowDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const {
    return {panelWidth - 4 * grid, queueRow};
}

QueuePanel::QueuePanel(const Theme &theme, StripState &state, QueueControl &control, QWidget *parent)
    : QFrame(parent, Qt::Popup), m_theme(theme), m_state(state), m_control(control) {
    setObjectName(QStringLiteral("card"));
    setFixedWidth(panelWidth);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    layout->setSpacing(grid);
    m_title = new ElidedLabel("cardTitle", panelWidth - 4 * grid, this);
    layout->addWidget(m_title);
    m_note = makeLabel({}, "secondary", this);
    m_note->setWordWrap(true);
    layout->addWidget(m_note);
    m_list = new QListView(this);
    m_list->setModel(&m_state.queue());
    m_list->setItemDelegate(new QueueRowDelegate(m_theme, m_list));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setMouseTracking(true);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setAccessibleName(tr("Queue"));
    layout->addWidget(m_list);
    auto *buttons = new QHBoxLayout;
    buttons->setSpacing(grid);
    layout->addLayout(buttons);
    m_up = addButton(tr("Up"), QKeySequence(Qt::ALT | Qt::Key_Up), tr("Moves it up in the queue (Alt+Up)"),
                     &QueuePanel::moveUp);
    m_down = addButton(tr("Down"), QKeySequence(Qt::ALT | Qt::Key_Down), tr("Moves it down in the queue (Alt+Down)"),
                       &QueuePanel::moveDown);
    m_skip = addButton(tr("Skip"), QKeySequence(Qt::Key_Delete),
                       tr("Skips a waiting run; stops the current one and starts the next (Del)"), &QueuePanel::skip);
    m_retry = addButton(tr("Run again"), QKeySequence(Qt::Key_R),
                        tr("Queues a finished run again; the earlier run stays on Runs (R)"), &QueuePanel::retry);
    m_console = addButton(tr("Console"), QKeySequence(Qt::Key_C), tr("Last console lines of this run (C)"),
                          &QueuePanel::showConsole);
    for (QPushButton *button : {m_up, m_down, m_skip, m_retry, m_console})
        buttons->addWidget(button);
    buttons->addStretch(1);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, &QueuePanel::refresh);
    const auto refreshShown = [this] {
        if (isVisible()) // many times a second while a run goes on; popUp() refreshes before it shows
            refresh();
    };
    connect(&m_state, &StripState::changed, this, refreshShown);
    connect(&m_control.underWay(), &RequestsUnderWay::changed, this, refreshShown);
    connect(&m_state.queue(), &QAbstractItemModel::modelReset, this, [this] {
        for (int i = 0; i < m_state.queue().rowCount(); ++i)
            if (m_state.queue().entryAt(i) == m_follow)
                m_list->setCurrentIndex(m_state.queue().index(i));
        refresh();
    });
    refresh();
}

QPushButton *QueuePanel::addButton(const QString &words, const QKeySequence &keys, const QString &tip,
                                   void (QueuePanel::*act)()) {
    auto *button = new QPushButton(words, this);
    button->setShortcut(keys);
    button->setToolTip(tip);
    button->setAccessibleName(tr("Queue: %1").arg(words.toLower()));
    connect(button, &QPushButton::clicked, this, act);
    return button;
}

QString QueuePanel::noteText() const {
    return m_note->text();
}

int QueuePanel::row() const {
    const int row = m_list->currentIndex().row();
    return row < m_state.queue().rowCount() ? row : -1;
}

void QueuePanel::popUp(const QPoint &corner) {
    const int rows = std::clamp(m_state.queue().rowCount(), 1, mostRows);
    m_list->setFixedHeight(rows * queueRow);
    refresh();
    adjustSize();
    move(corner - QPoint(width(), 0));
    if (row() < 0) // before the list shows and gets the focus, with which it would choose its first row
        m_list->setCurrentIndex(m_state.queue().index(rowToStartAt()));
    show();
    m_list->setFocus();
}

/// The run that runs, else the next one, else the first.
int QueuePanel::rowToStartAt() const {
    const core::ExperimentModel &queue = m_state.queue();
    int next = 0;
    for (int row = queue.rowCount() - 1; row >= 0; --row) {
        const QString state = queue.index(row).data(core::StateRole).toString();
        if (state == QLatin1String("running") || state == QLatin1String("launching"))
            return row;
        if (queue.placeAt(row) == 0)
            next = row;
    }
    return next;
}

void QueuePanel::refresh() {
    const auto strip = m_state.now();
    const QString heldBy = m_state.heldBy();
    m_title->setText(strip.title.isEmpty() ? tr("Queue") : strip.title);
    m_note->setText(!heldBy.isEmpty()           ? tr("Read-only: %1 controls this queue.").arg(heldBy)
                    : !strip.pausedBy.isEmpty() ? tr("Paused by %1.").arg(strip.pausedBy)
                    : strip.orphaned            ? tr("The process that ran it has ended: resume the queue to continue.")
                                                : QString());
    if (!strip.queueHost.isEmpty()) {
        const QString lives = strip.unknownWhy.isEmpty()
                                  ? tr("Runs on %1: this machine may disconnect.").arg(strip.queueHost)
                                  : tr("Runs on %1. As last seen: %2.").arg(strip.queueHost, strip.unknownWhy);
        m_note->setText(m_note->text().isEmpty() ? lives : lives + u' ' + m_note->text());
    }
    const bool asking = m_control.asking(Deed::Stop) || m_control.asking(Deed::ChangeQueue);
    const core::ExperimentFollower *follower = m_state.queue().follower();
    if (follower && follower->experiment().until) {
        const QString reached = QString::fromStdString(core::progressText(*follower->experiment().until, {}));
        m_note->setText(m_note->text().isEmpty() ? reached : reached + u' ' + m_note->text());
    }
    if (asking)
        m_note->setText(m_control.underWay().sentence());
    m_note->setVisible(!m_note->text().isEmpty());
    const int at = row();
    const QString state = at < 0 ? QString() : m_state.queue().index(at).data(core::StateRole).toString();
    const int place = at < 0 ? -1 : m_state.queue().placeAt(at);
    const bool may = heldBy.isEmpty() && strip.unknownWhy.isEmpty() && !asking;
    m_console->setEnabled(at >= 0 && !m_state.queue().index(at).data(core::RunIdRole).toString().isEmpty());
    m_up->setEnabled(may && place > 0);
    m_down->setEnabled(may && place >= 0 && at + 1 < m_state.queue().rowCount());
    m_skip->setEnabled(may && (place >= 0 || state == QLatin1String("running") || state == QLatin1String("launching")));
    m_retry->setEnabled(may && (state == QLatin1String("done") || state == QLatin1String("failed") ||
                                state == QLatin1String("stopped") || (state == QLatin1String("not run") && place < 0)));
}

void QueuePanel::showConsole() {
    const QString run = m_list->currentIndex().data(core::RunIdRole).toString();
    hide();
    Q_EMIT consoleWanted(run);
}

void QueuePanel::moveBy(int places) {
    if (row() < 0)
        return;
    core::QueueRequest request;
    request.kind = Request::Move;
    request.entry = m_follow = m_state.queue().entryAt(row());
    request.to = m_state.queue().placeAt(row()) + places;
    m_control.ask(request);
}

void QueuePanel::skip() {
    if (row() < 0)
        return;
    core::QueueRequest request;
    request.kind = Request::Skip;
    request.entry = m_follow = m_state.queue().entryAt(row());
    m_control.ask(request);
}

void QueuePanel::retry() {
    if (row() < 0)
        return;
    core::QueueRequest request;
    request.kind = Request::Retry;
    request.entry = m_follow = m_state.queue().entryAt(row());
    m_control.ask(request);
}

} // namespace lockstep::ui

#include "moc_queue_panel.cpp"
