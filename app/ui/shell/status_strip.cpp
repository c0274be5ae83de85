// SPDX-License-Identifier: MIT
#include "app/ui/shell/status_strip.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QResizeEvent>
#include <QToolButton>

#include "app/ui/shell/queue_panel.h"
#include "app/ui/shell/stop_question.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/name_lines.h"
#include "app/ui/widgets/plain_hints.h"
#include "app/ui/widgets/progress_bar.h"

namespace lockstep::ui {
namespace {

constexpr int leastTitle = 12 * grid, leastStripName = 20 * grid, leastState = 8 * grid; ///< px

/// How much of its details a strip has room for.
enum class StripRoom { Little, Some, All };

StripRoom stripRoom(int width) {
    constexpr int some = 150 * grid, all = 175 * grid;
    return width < some ? StripRoom::Little : width < all ? StripRoom::Some : StripRoom::All;
}

} // namespace

StatusStrip::StatusStrip(Theme &theme, Workspace &workspace, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_status(workspace.strip()), m_control(workspace.control()),
      m_starter(workspace.starter()) {
    setObjectName(QStringLiteral("strip"));
    setFixedHeight(6 * grid);
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(5 * grid, 0, 2 * grid, 0);
    layout->setSpacing(2 * grid);
    m_title = new ElidedLabel("cardTitle", leastTitle, this);
    m_run = makeLabel({}, "secondary", this);
    m_name = new ElidedLabel("cardTitle", leastStripName, this, ElidedLabel::Of::Name);
    m_epoch = makeLabel({}, "secondary", this);
    m_bar = new ProgressBar(theme, this);
    m_percent = makeLabel({}, "secondary", this);
    m_percent->setFont(Theme::figures(Type::Body));
    m_left = makeLabel({}, "secondary", this);
    m_left->setFont(Theme::figures(Type::Body));
    m_state = new ElidedLabel("secondary", leastState, this);
    m_message = makeLabel({}, "wrong", this);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->setWordWrap(true); // two lines fit
    m_message->hide();
    m_dismiss = new QToolButton(this);
    m_dismiss->setAutoRaise(true);
    m_dismiss->setToolTip(tr("Dismiss this message"));
    m_dismiss->setAccessibleName(tr("Dismiss the message"));
    m_dismiss->hide();
    connect(m_dismiss, &QToolButton::clicked, this, [this] { showMessage({}); });
    for (QLabel *label : std::initializer_list<QLabel *>{m_title, m_run, m_name, m_epoch})
        layout->addWidget(label);
    layout->addWidget(m_bar);
    for (QLabel *label : std::initializer_list<QLabel *>{m_percent, m_left, m_state})
        layout->addWidget(label);
    layout->addWidget(m_message, 1);
    layout->addWidget(m_dismiss);
    m_failed = new QPushButton(this);
    m_failed->setObjectName(QStringLiteral("badge"));
    m_failed->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_K));
    m_failed->setToolTip(tr("Last console lines of the run that failed (Ctrl+Shift+K)"));
    m_failed->setProperty("verb", tr("Console of the run that failed"));
    connect(m_failed, &QPushButton::clicked, this, [this] {
        for (const core::ExperimentModel::Failure &failure : m_status.failures())
            if (!failure.run.isEmpty())
                return Q_EMIT consoleWanted(failure.run);
    });
    layout->addWidget(m_failed);
    layout->addStretch(); // takes what the message leaves
    buildButtons(layout);
    m_panel = new QueuePanel(m_theme, m_status, m_control, this);
    connect(m_panel, &QueuePanel::consoleWanted, this, &StatusStrip::consoleWanted);
    connect(&m_status, &StripState::changed, this, &StatusStrip::refresh);
    connect(&m_control.underWay(), &RequestsUnderWay::changed, this, [this] {
        if (!m_control.underWay().sentence().isEmpty())
            showMessage({}); // of an earlier try
        refresh();
    });
    connect(&m_starter, &ExperimentStarter::changed, this, [this] {
        if (m_starter.starting())
            showMessage({});
        refresh();
    });
    connect(&m_theme, &Theme::changed, this, &StatusStrip::refresh);
    refresh();
}

void StatusStrip::buildButtons(QHBoxLayout *layout) {
    const auto add = [&](const QString &words, const QKeySequence &keys, const QString &tip) {
        auto *button = new QPushButton(words, this);
        button->setShortcut(keys);
        button->setToolTip(tip);
        layout->addWidget(button);
        return button;
    };
    m_takeOver = add(tr("Take over"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), {});
    connect(m_takeOver, &QPushButton::clicked, &m_control, &QueueControl::takeOver);
    m_resumeQueue = add(tr("Resume the queue"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_U),
                        tr("Continues with the queued runs: the process that ran the queue has ended (Ctrl+Shift+U)"));
    connect(m_resumeQueue, &QPushButton::clicked, &m_control, &QueueControl::resumeQueue);
    m_queue = add(tr("Queue"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Q),
                  tr("Running, waiting and finished runs: move, skip, run again (Ctrl+Shift+Q)"));
    m_queue->setProperty("verb", tr("Open the queue"));
    connect(m_queue, &QPushButton::clicked, this, &StatusStrip::showQueue);
    m_pause = add(tr("Pause"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), {});
    connect(m_pause, &QPushButton::clicked, this, &StatusStrip::togglePause);
    m_bringBack = add({}, QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_B),
                      tr("Queues the runs again that were dropped before they began (Ctrl+Shift+B)"));
    connect(m_bringBack, &QPushButton::clicked, &m_control, &QueueControl::bringBack);
    m_stop = add(tr("Stop"), QKeySequence(Qt::CTRL | Qt::Key_Period), {});
    m_stop->setObjectName(QStringLiteral("danger"));
    connect(m_stop, &QPushButton::clicked, this, [this] { stopOrAsk(this, m_status, m_control); });
    m_watch = new QAction(tr("Watch the running experiment"), this);
    m_watch->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W));
    m_watch->setToolTip(tr("Opens the experiment that runs now (Ctrl+Shift+W)"));
    addAction(m_watch);
    connect(m_watch, &QAction::triggered, this, &StatusStrip::showRunning);
    constexpr int steps = 20;
    m_trace = new QAction(tr("Trace the next %1 steps").arg(steps), this);
    m_trace->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_R));
    m_trace->setToolTip(tr("Writes a trace for Perfetto into the run's folder (Ctrl+Shift+R)"));
    addAction(m_trace);
    connect(m_trace, &QAction::triggered, &m_control, [this] { m_control.trace(steps); });
    m_stacks = new QAction(tr("Ask every rank where it is"), this);
    m_stacks->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_H));
    m_stacks->setToolTip(
        tr("The ranks write where they are into the console: a script its Python stacks, lockstep-trainer its step "
           "and phase (Ctrl+Shift+H)"));
    addAction(m_stacks);
    connect(m_stacks, &QAction::triggered, &m_control, &QueueControl::askForStacks);
}

void StatusStrip::showQueue() {
    m_panel->popUp(mapToGlobal(QPoint(m_queue->geometry().right(), height())));
}

void StatusStrip::togglePause() {
    core::QueueRequest request;
    request.kind =
        m_status.now().pausedBy.isEmpty() ? core::QueueRequest::Kind::Pause : core::QueueRequest::Kind::Resume;
    m_control.ask(request);
}

void StatusStrip::showMessage(const QString &sentence) {
    QString line = sentence;
    line.replace(QLatin1Char('\n'), QStringLiteral(" · "));
    m_message->setText(line);
    m_message->setToolTip(plainHint(sentence));
    m_message->setVisible(!sentence.isEmpty());
    m_dismiss->setVisible(!sentence.isEmpty());
    refresh();
}

void StatusStrip::refresh() {
    const auto strip = m_status.now();
    const bool any = !strip.title.isEmpty();
    const QString method = m_status.method();
    const auto set = [](QLabel *label, const QString &text) {
        label->setText(text);
        label->setVisible(!text.isEmpty());
    };
    if (m_starter.starting()) {
        set(m_title, tr("Starting…"));
    } else {
        set(m_title, any ? strip.title : tr("Nothing is running"));
    }
    const bool running = strip.active && !m_starter.starting();
    const QString happening = m_control.underWay().sentence();
    const bool details = running && happening.isEmpty() && m_message->isHidden();
    const QString elsewhere = m_status.runningElsewhere(), heldBy = m_status.heldBy();
    const StripRoom room = stripRoom(width());
    const bool all = room == StripRoom::All, lab = m_status.showsLab();
    showFailures();
    const bool crowded = !all && (!elsewhere.isEmpty() || !m_failed->isHidden());
    set(m_run, details && !crowded ? strip.run : QString());
    set(m_name, details && strip.name != strip.title ? strip.name : QString());
    const bool epochFits = !crowded || (elsewhere.isEmpty() && room == StripRoom::Some);
    set(m_epoch, details && epochFits ? strip.epoch : QString());
    m_bar->setVisible(running);
    m_bar->setFixedWidth((all ? 16 : 8) * grid);
    m_bar->setFraction(strip.fraction, method.isEmpty() ? m_theme.palette().textMuted : methodColor(method));
    set(m_percent, running && strip.fraction && (all || lab)  ? QStringLiteral("%1 %").arg(int(*strip.fraction * 100))
                   : running && !strip.noRecentData.isEmpty() ? QStringLiteral("-")
                                                              : QString());
    m_percent->setToolTip(plainHint(strip.noRecentData));
    set(m_left, details && (all || elsewhere.isEmpty()) ? strip.left : QString());
    const bool paused = !strip.pausedBy.isEmpty();
    const QString lost = m_status.lostNodes(), watch = tr("press to watch it");
    set(m_state, !m_message->isHidden()                     ? QString()
                 : !happening.isEmpty()                     ? happening
                 : !strip.noRecentData.isEmpty() && running ? strip.noRecentData
                 : !lost.isEmpty() && running               ? lost
                 : !heldBy.isEmpty() && strip.active        ? tr("read-only: %1 controls it").arg(heldBy)
                 : paused && !running                       ? strip.state
                 : paused && any && strip.active            ? tr("pauses after this run")
                 : !any                                     ? tr("choose what to run on Plan")
                 : !elsewhere.isEmpty()                     ? watch
                 : strip.epoch.isEmpty() || !running        ? strip.state
                                                            : QString());
    m_state->setLeastWidth(m_state->text() == watch ? QWIDGETSIZE_MAX : leastState);
    const QString link = m_status.linkSentence();
    setToolTip(plainHint(link));
    m_watch->setEnabled(!elsewhere.isEmpty());
    m_stop->setVisible(strip.active);
    setWords(m_stop, lab                           ? tr("Stop the lab")
                     : elsewhere.isEmpty() || !all ? tr("Stop") // its hint says what
                                                   : tr("Stop the running experiment"));
    m_stop->setToolTip(plainHint(stopTip(strip)));
    const int dropped = strip.active ? 0 : m_status.droppedRuns();
    m_bringBack->setVisible(dropped > 0 && heldBy.isEmpty() && !m_starter.starting());
    m_bringBack->setEnabled(!m_control.asking(Deed::ChangeQueue));
    setWords(m_bringBack, dropped == 1 ? tr("Bring back 1 run") : tr("Bring back %1 runs").arg(dropped));
    const bool stopping = m_control.asking(Deed::Stop);
    m_trace->setEnabled(running && !lab && !m_control.asking(Deed::Trace));
    m_stacks->setEnabled(running && !lab && !m_control.asking(Deed::Stacks));
    m_stop->setEnabled((heldBy.isEmpty() || lab) && !stopping);
    m_pause->setVisible(strip.active && !lab && m_status.queue().rowCount() > 1);
    m_pause->setEnabled(heldBy.isEmpty() && !stopping && !m_control.asking(Deed::ChangeQueue));
    setWords(m_pause, paused ? tr("Resume") : tr("Pause"));
    m_pause->setToolTip(paused ? plainHint(tr("Paused by %1: start the next run (Ctrl+Shift+P)").arg(strip.pausedBy))
                               : tr("The current run continues, and no further one starts (Ctrl+Shift+P)"));
    m_queue->setVisible(m_status.queue().rowCount() > 1);
    m_takeOver->setVisible(!heldBy.isEmpty()); // one that is over may be added to
    m_takeOver->setEnabled(!m_control.asking(Deed::TakeOver));
    m_takeOver->setToolTip(plainHint(
        tr("%1 controls this queue. Take it over, and that window becomes read-only (Ctrl+Shift+O)").arg(heldBy)));
    m_resumeQueue->setVisible(strip.orphaned && !m_starter.starting() && heldBy.isEmpty());
    const Palette &p = m_theme.palette();
    if (!m_message->isHidden())
        m_dismiss->setIcon(m_theme.icon(QStringLiteral("close"), p.textSecondary));
    m_dot = strip.orphaned                                    ? p.wrong
            : strip.active                                    ? p.good
            : strip.state.startsWith(QLatin1String("failed")) ? p.wrong
                                                              : p.textMuted;
    setCursor(elsewhere.isEmpty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
    update();
}

void StatusStrip::showFailures() {
    const auto failures = m_status.showsLab() ? std::vector<core::ExperimentModel::Failure>() : m_status.failures();
    m_failed->setVisible(!failures.empty());
    if (failures.empty())
        return;
    QStringList sentences;
    for (const core::ExperimentModel::Failure &failure : failures)
        sentences.append(failure.sentence);
    const int mostName = (stripRoom(width()) == StripRoom::Little ? 14 : 20) * grid;
    const QString name = elidedName(failures.front().name, QFontMetricsF(m_failed->fontMetrics()), mostName);
    setWords(m_failed, failures.size() == 1 ? tr("%1 failed").arg(name) : tr("%1 runs failed").arg(failures.size()));
    m_failed->setToolTip(
        plainHint(sentences.join(u'\n') + u'\n' + tr("Press for its last console lines (Ctrl+Shift+K)")));
    m_failed->setAccessibleDescription(sentences.join(u' '));
}

QString StatusStrip::stopTip(const core::ExperimentModel::Strip &strip) const {
    if (m_status.showsLab())
        return tr("Stops the lab; nothing of it is kept (Ctrl+.)");
    const int waiting = m_status.queuedRuns();
    const QString what =
        strip.run.isEmpty() ? strip.title : QStringLiteral("%1 (%2, %3)").arg(strip.name, strip.run, strip.title);
    const QString drops = waiting == 0   ? QString()
                          : waiting == 1 ? tr("; asks before it drops the queued run")
                                         : tr("; asks before it drops the %1 queued runs").arg(waiting);
    return tr("Stops %1 after the same step on all ranks%2 (Ctrl+.)").arg(what, drops);
}

void StatusStrip::resizeEvent(QResizeEvent *event) {
    QFrame::resizeEvent(event);
    if (stripRoom(event->size().width()) != stripRoom(event->oldSize().width()))
        refresh();
}

void StatusStrip::paintEvent(QPaintEvent *event) {
    QFrame::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_dot);
    painter.drawEllipse(QPointF(2.75 * grid, height() / 2.0), 5, 5);
}

void StatusStrip::mousePressEvent(QMouseEvent *event) {
    if (event->button() == Qt::LeftButton && !m_status.runningElsewhere().isEmpty())
        Q_EMIT showRunning();
    QFrame::mousePressEvent(event);
}

} // namespace lockstep::ui

#include "moc_status_strip.cpp"
