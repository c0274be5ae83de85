// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <cmath>
#include <set>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab/lab_forecast.h"
#include "app/ui/pages/lab/lab_lines.h"
#include "app/ui/pages/lab/lab_places.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/progress_bar.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "base/format.h"
#include "lab/lab_job.h"
#include "lab/lab_report.h"
#include "models/lab_tables.h"

namespace lockstep::ui {
namespace {

constexpr int labLookMs = 500;
constexpr int startLimit = 20; ///< looks until a lab that was asked for must have begun

QLabel *wrapped(const QString &text, const char *role, QWidget *parent) {
    auto *label = makeLabel(text, role, parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

/// "hostA, hostB"
QString hostsOf(const std::vector<NodePlace> &nodes) {
    QStringList hosts;
    for (const NodePlace &node : nodes)
        hosts << QString::fromStdString(titleOf(node));
    return hosts.join(QStringLiteral(", "));
}

/// "hostA (bond0): cpu:0, cpu:1 and hostB (eno1): cpu:0"
QString devicesOf(const core::LabRecord &lab) {
    QStringList nodes;
    for (const NodePlace &node : lab.nodes) {
        const QString kind = QString::fromStdString(node.device.empty() ? lab.device : node.device);
        QStringList devices;
        for (const std::string &device : node.devices)
            devices << kind + u':' + QString::fromStdString(device);
        nodes << QString::fromStdString(titleOf(node)) +
                     (node.interface.empty() ? QString()
                                             : QStringLiteral(" (%1)").arg(QString::fromStdString(node.interface))) +
                     QStringLiteral(": ") + devices.join(QStringLiteral(", "));
    }
    return nodes.join(QObject::tr(" and "));
}

} // namespace

LabPage::LabPage(Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    const ScrolledBody page = makeScrolledBody(this);
    outer->addWidget(page.area);
    auto *where = new QFrame(page.body);
    where->setObjectName(QStringLiteral("card"));
    auto *inner = new QVBoxLayout(where);
    inner->setContentsMargins(2 * grid, grid + grid / 2, 2 * grid, grid + grid / 2);
    m_places = new LabPlaces(theme, where);
    inner->addWidget(m_places);
    page.layout->addWidget(where);
    page.layout->addWidget(m_first = buildFirst(page.body), 1);
    page.layout->addWidget(m_body = buildBody(page.body), 1);
    connect(m_places, &LabPlaces::chosen, this, [this] {
        refresh();
        look();
    });
    connect(m_places, &LabPlaces::allowed, this, &LabPage::start);
    connect(m_places, &LabPlaces::nodesWanted, this, &LabPage::nodesWanted);
    connect(m_places, &LabPlaces::failed, this, &LabPage::failed);
    for (QPushButton *stop : {m_stop, m_emptyStop}) { // of which one shows at a time
        stop->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_X));
        stop->setToolTip(tr("Stops the lab; measurements that are there stay as they are (Ctrl+Shift+X)"));
        connect(stop, &QPushButton::clicked, this, [this] {
            if (const auto asked = core::stopRunningLab(); !asked)
                Q_EMIT failed(QString::fromStdString(asked.error().message()));
        });
    }
    m_look.setInterval(labLookMs);
    connect(&m_look, &QTimer::timeout, this, &LabPage::look);
    connect(&m_theme, &Theme::changed, this, &LabPage::showLab);
    refresh();
    look();
}

QWidget *LabPage::buildFirst(QWidget *parent) {
    m_empty = new EmptyState(m_theme, QStringLiteral("lab"), {}, {}, {}, parent);
    connect(m_empty, &EmptyState::clicked, this, [this] {
        if (m_places->noNode())
            Q_EMIT nodesWanted();
        else
            measure(true);
    });
    m_emptyBar = new ProgressBar(m_theme, m_empty);
    m_emptyBar->setFixedWidth(40 * grid);
    m_emptyProgress = makeLabel({}, "secondary", m_empty);
    m_emptyStop = new QPushButton(tr("Cancel"), m_empty);
    for (QWidget *part : std::initializer_list<QWidget *>{m_emptyBar, m_emptyProgress, m_emptyStop})
        m_empty->addBelow(part);
    return m_empty;
}

Card *LabPage::buildHead(QWidget *parent) {
    m_head = new Card(tr("Lab"), parent);
    m_quick = new QCheckBox(tr("Quick"), m_head);
    m_quick->setChecked(true);
    m_quick->setToolTip(tr("Five sweeps of short blocks instead of eleven or more"));
    m_ranks = new QComboBox(m_head);
    m_ranks->setAccessibleName(tr("Ranks shown"));
    m_measure = new QPushButton(tr("Measure again"), m_head);
    m_measure->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_M));
    m_measure->setToolTip(tr("Measures these devices anew, in the background (Ctrl+M)"));
    m_stop = new QPushButton(tr("Cancel"), m_head);
    for (QWidget *tool : std::initializer_list<QWidget *>{m_ranks, m_quick, m_measure, m_stop})
        m_head->addTool(tool);
    m_about = wrapped({}, "secondary", m_head);
    m_progress = new ProgressBar(m_theme, m_head);
    m_progressText = makeLabel({}, "secondary", m_head);
    m_head->body()->addWidget(m_about);
    m_head->body()->addWidget(m_progress);
    m_head->body()->addWidget(m_progressText);
    connect(m_measure, &QPushButton::clicked, this, [this] { measure(m_quick->isChecked()); });
    connect(m_ranks, &QComboBox::activated, this, &LabPage::showLab);
    return m_head;
}

QWidget *LabPage::buildBody(QWidget *parent) {
    auto *body = new QWidget(parent);
    auto *layout = new QVBoxLayout(body);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2 * grid);
    layout->addWidget(buildHead(body));

    auto *charts = new QHBoxLayout;
    charts->setSpacing(2 * grid);
    const auto chart = [&](const QString &title, const QString &name, const QString &y, const QString &hint) {
        auto *card = new Card(title, body);
        card->setToolTip(hint);
        auto *picture = new LineChart(m_theme, name, card);
        picture->setXKind(XKind::Bytes);
        picture->setAxisTitles(tr("size of the message"), y);
        picture->setLogAxis(true);
        picture->setMinimumHeight(38 * grid);
        card->body()->addWidget(picture);
        charts->addWidget(card, 1);
        return picture;
    };
    m_times = chart(
        tr("Summing up: ring against server"), QStringLiteral("lab-times"), tr("time / ms"),
        tr("Dots: measured medians. Lines: predicted by the fit. Dotted: the published formulas, with the measured "
           "time of one message"));
    m_bandwidths = chart(tr("Bus bandwidth"), QStringLiteral("lab-bandwidth"), tr("busbw / GB/s"),
                         tr("What a link carried, as nccl-tests defines it: comparable over operations and ranks"));
    m_bandwidths->setLogAxis(false); // from 4 B on a log axis would be all slope
    m_bandwidths->setZeroBased(true);
    layout->addLayout(charts);

    auto *ring = new Card(tr("Ring against server"), body);
    m_formulas =
        wrapped(QString::fromStdString(core::ringFormulaText() + ".\n" + core::serverFormulaText()) +
                    tr(".\nFormulas are drawn with the measured time of one message between two ranks alone; two "
                       "ways at once, adding up and waking up come on top of them."),
                "secondary", ring);
    m_ring = makeTable(m_theme, ring);
    m_ring->setModel(&m_ringModel);
    m_ring->setAccessibleName(tr("Ring against server"));
    ring->body()->addWidget(m_formulas);
    ring->body()->addWidget(m_ring);
    layout->addWidget(ring);
    m_forecast = new LabForecast(m_theme, body);
    connect(m_forecast, &LabForecast::failed, this, &LabPage::failed);
    layout->addWidget(m_forecast);
    auto *fits = new Card(tr("Fit"), body);
    fits->setToolTip(
        tr("Time = α + β·size in each piece, pieces joined in log-log; errors are of sizes held out of it"));
    m_fits = makeTable(m_theme, fits);
    m_fits->setModel(&m_fitModel);
    m_fits->setAccessibleName(tr("Fit"));
    fits->body()->addWidget(m_fits);
    layout->addWidget(fits);
    layout->addStretch(1);
    return body;
}

QPushButton *LabPage::forecastButton() const {
    return m_forecast->button();
}

QTableView *LabPage::forecasts() const {
    return m_forecast->table();
}

bool LabPage::isEmpty() const {
    return !m_lab;
}

QString LabPage::progressText() const {
    return isEmpty() ? m_emptyProgress->text() : m_progressText->text();
}

std::vector<ChartSource *> LabPage::charts() const {
    if (isEmpty())
        return {};
    return {m_times, m_bandwidths};
}

void LabPage::measure(bool quick) {
    m_quickly = quick;
    if (m_places->mayMeasure())
        return start();
    look(); // the doctor looks first
}

void LabPage::start() {
    core::LabRequest request;
    request.quick = m_quickly;
    request.nodes = m_places->places();
    request.device = m_places->device();
    if (const auto started = core::startLabDetached(request); !started) {
        Q_EMIT failed(QString::fromStdString(started.error().message()));
        return;
    }
    m_asked = true;
    m_look.setProperty("looks", 0);
    look();
}

/// What runs, and when it has ended what came of it.
void LabPage::look() {
    const auto running = core::runningLab();
    if (running)
        m_asked = false;
    const int looks = m_look.property("looks").toInt() + 1;
    m_look.setProperty("looks", looks);
    const QString words = running ? runningWords(*running) : m_asked ? tr("starts") : QString();
    const bool busy = running || m_asked;
    for (ProgressBar *bar : {m_progress, m_emptyBar}) {
        bar->setVisible(busy);
        bar->setFraction(running ? std::optional(running->fraction) : std::nullopt, methodColor(Method::Ddp));
    }
    for (QLabel *label : {m_progressText, m_emptyProgress}) {
        label->setText(words);
        label->setVisible(busy);
    }
    for (QPushButton *stop : {m_stop, m_emptyStop})
        stop->setVisible(running.has_value());
    m_measure->setVisible(!busy);
    m_quick->setVisible(!busy);
    m_busy = busy;
    restyle();
    const bool ended = (m_wasRunning && !running) || (m_asked && looks > startLimit);
    m_wasRunning = running.has_value();
    if (ended) {
        const std::string before = m_newest;
        m_asked = false;
        refresh();
        if (m_newest == before)
            Q_EMIT failed(QString::fromStdString(core::labConsoleTail()));
        look();
        return;
    }
    if (busy || isVisible())
        m_look.start();
    else
        m_look.stop();
}

/// What the empty page and the buttons offer, by what is chosen.
void LabPage::restyle() {
    const QString why = m_places->whyNot();
    const QString go = m_places->asking()   ? tr("Asking the doctor…")
                       : m_places->warned() ? tr("Measure anyway")
                                            : QString();
    const bool noNode = m_places->noNode();
    if (noNode)
        m_empty->setWords(
            tr("No node yet"),
            tr("Add a machine by the name under which ssh knows it; its devices then stand here to choose "
               "from, and the lab measures how fast ranks on them talk to each other."),
            tr("Add nodes"));
    else if (!why.isEmpty())
        m_empty->setWords(tr("Which devices?"), why, tr("Measure these nodes"));
    else if (m_places->overNodes())
        m_empty->setWords(tr("Nothing measured between these devices yet"),
                          tr("How fast can ranks on them talk to each other over the network, and what would DDP "
                             "or a parameter server cost there? The lab measures it: up to a minute for each "
                             "number of ranks, best while nothing else runs there."),
                          go.isEmpty() ? tr("Measure these nodes") : go);
    else
        m_empty->setWords(tr("Nothing measured yet"),
                          tr("How fast can ranks on this machine's devices talk to each other, and what would DDP or a "
                             "parameter server cost? The lab measures it: one to two minutes, more where times "
                             "scatter, best while nothing "
                             "else runs."),
                          tr("Measure this machine"));
    setWords(m_measure, go.isEmpty() ? tr("Measure again") : go);
    m_measure->setEnabled(why.isEmpty() && !m_places->asking());
    m_empty->button()->setEnabled(!m_busy && (noNode || m_measure->isEnabled()));
}

/// "42 %  2 ranks: our ring", and where, when that is not what is shown.
QString LabPage::runningWords(const core::LabProgress &running) const {
    QString words =
        QStringLiteral("%1 %  %2").arg(int(running.fraction * 100)).arg(QString::fromStdString(running.what));
    if (placesOf(running.nodes) != placesOf(m_places->places()))
        words += QStringLiteral(", ") +
                 (running.nodes.empty() ? tr("on this machine") : tr("over %1").arg(hostsOf(running.nodes)));
    return words;
}

void LabPage::refresh() {
    const std::vector<NodePlace> places = m_places->places();
    const auto labs = core::listLabs();
    m_newest = labs.empty() ? std::string() : labs.front();
    m_lab = m_places->overNodes() && places.empty() ? std::nullopt : core::newestLabOf(places);
    m_first->setVisible(!m_lab);
    m_body->setVisible(m_lab.has_value());
    restyle();
    if (!m_lab)
        return;
    m_model = core::fitLab(*m_lab);
    std::set<int> ranks;
    for (const core::LabRow &row : m_lab->rows)
        ranks.insert(row.ranks);
    m_ranks->clear();
    for (const int n : ranks)
        m_ranks->addItem(tr("%1 ranks").arg(n), n);
    m_ranks->setVisible(ranks.size() > 1);
    showLab();
    m_forecast->show(places);
}

int LabPage::chosenRanks() const {
    return std::max(2, m_ranks->currentData().toInt());
}

void LabPage::showLab() {
    if (!m_lab)
        return;
    const core::LabRecord &lab = *m_lab;
    m_head->setTitle(lab.nodes.empty()       ? tr("Lab of %1").arg(QString::fromStdString(lab.host))
                     : lab.nodes.size() == 1 ? tr("Lab of %1").arg(QString::fromStdString(titleOf(lab.nodes[0])))
                                             : tr("Lab over %1 nodes").arg(lab.nodes.size()));
    m_head->setNote(core::wallTime(lab.startWallUs));
    QStringList about = {tr("%1 on %2 devices, %3 each, %4, scheduling %5, measured in %6")
                             .arg(QString::fromStdString(lab.backend), QString::fromStdString(lab.device))
                             .arg(lab.coresPerDevice == 1 ? tr("1 core") : tr("%1 cores").arg(lab.coresPerDevice))
                             .arg(QString::fromStdString(core::sweepsText(lab)), QString::fromStdString(lab.scheduling),
                                  core::timeLeft(lab.durationS))};
    if (!lab.nodes.empty())
        about << tr("Measured between %1").arg(devicesOf(lab));
    for (const std::string &sentence : core::labReservations(lab))
        about << QString::fromStdString(sentence);
    for (const std::string &sentence : lab.leftOut)
        about << tr("Left out: %1").arg(QString::fromStdString(sentence));
    for (const auto *sentences : {&lab.notRun, &lab.notOffered})
        for (const std::string &sentence : *sentences)
            about << tr("Not measured: %1").arg(QString::fromStdString(sentence));
    m_about->setText(about.join(u'\n'));
    m_times->setLines(sumLines(lab, m_model, chosenRanks(), m_theme.palette()));
    m_bandwidths->setLines(bandwidthLines(lab, chosenRanks()));
    m_fitModel.setTable(core::fitTable(lab, m_model));
    m_ringModel.setTable(core::ringTable(lab, m_model, chosenRanks()));
    fitHeights();
}

void LabPage::fitHeights() {
    for (QTableView *table : {m_fits, m_ring}) {
        fitColumns(table, 64, 320);
        fitHeight(table);
    }
}

void LabPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    if (m_lab)
        m_forecast->show(m_places->places()); // runs may have come out since
    look();
}

void LabPage::hideEvent(QHideEvent *event) {
    QWidget::hideEvent(event);
    look();
}

} // namespace lockstep::ui
