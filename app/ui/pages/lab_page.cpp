#include "app/ui/pages/lab_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <cmath>
#include <set>

#include "analysis/format.h"
#include "analysis/lab_report.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab_lines.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/progress_bar.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "launch/command_prefix.h"
#include "launch/lab_job.h"
#include "launch/recipe.h"
#include "models/lab_tables.h"

namespace lockstep::ui {
namespace {

constexpr int lookMs = 500;
constexpr int startLimit = 20; ///< looks until a lab that was asked for must have begun

QLabel *wrapped(const QString &text, const char *role, QWidget *parent) {
    auto *label = makeLabel(text, role, parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

} // namespace

LabPage::LabPage(Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme), m_stack(new QStackedWidget(this)) {
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    auto *first = new QWidget(this);
    auto *rows = new QVBoxLayout(first);
    m_empty =
        new EmptyState(theme, QStringLiteral("lab"), tr("Nothing measured yet"),
                       tr("How fast can ranks on this machine's devices talk to each other, and what would DDP or a "
                          "parameter server cost? The lab measures it: about half a minute, best while nothing "
                          "else runs."),
                       tr("Measure this machine"), first);
    connect(m_empty, &EmptyState::clicked, this, [this] { measure(true); });
    rows->addWidget(m_empty, 1);
    m_emptyBar = new ProgressBar(theme, first);
    m_emptyBar->setFixedWidth(40 * grid);
    m_emptyProgress = makeLabel({}, "secondary", first);
    m_emptyStop = new QPushButton(tr("Cancel"), first);
    rows->addWidget(m_emptyBar, 0, Qt::AlignHCenter);
    rows->addWidget(m_emptyProgress, 0, Qt::AlignHCenter);
    rows->addWidget(m_emptyStop, 0, Qt::AlignHCenter);
    rows->addSpacing(4 * grid);
    m_stack->addWidget(first);
    m_stack->addWidget(buildBody());
    for (QPushButton *stop : {m_stop, m_emptyStop}) { // of which one shows at a time
        stop->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_X));
        stop->setToolTip(tr("Stops the lab; measurements that are there stay as they are (Ctrl+Shift+X)"));
        connect(stop, &QPushButton::clicked, this, [this] {
            if (const auto asked = core::stopRunningLab(); !asked)
                Q_EMIT failed(QString::fromStdString(asked.error().message()));
        });
    }
    m_look.setInterval(lookMs);
    connect(&m_look, &QTimer::timeout, this, &LabPage::look);
    connect(&m_forecasting, &QProcess::finished, this, &LabPage::forecastOver);
    connect(&m_theme, &Theme::changed, this, &LabPage::showLab);
    refresh();
    look();
}

LabPage::~LabPage() {
    m_forecasting.disconnect(this);
    m_forecasting.terminate();
    m_forecasting.waitForFinished(500);
}

Card *LabPage::buildHead(QWidget *parent) {
    m_head = new Card(tr("Lab"), parent);
    m_quick = new QCheckBox(tr("Quick"), m_head);
    m_quick->setChecked(true);
    m_quick->setToolTip(tr("Five sweeps of short blocks instead of eleven"));
    m_ranks = new QComboBox(m_head);
    m_ranks->setAccessibleName(tr("Ranks shown"));
    m_measure = new QPushButton(tr("Measure again"), m_head);
    m_measure->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_M));
    m_measure->setToolTip(tr("Measures this machine's devices anew, in the background (Ctrl+M)"));
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

Card *LabPage::buildForecast(QWidget *parent) {
    auto *card = new Card(tr("Forecast"), parent);
    m_recipe = new QComboBox(card);
    m_recipe->setAccessibleName(tr("Recipe to forecast"));
    for (const std::string &name : core::builtInRecipes())
        m_recipe->addItem(QString::fromStdString(name));
    m_recipe->setCurrentText(QStringLiteral("lenet-dp-vs-ddp"));
    m_forecast = new QPushButton(tr("Forecast"), card);
    m_forecast->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M));
    m_forecast->setToolTip(
        tr("Trains single devices for some seconds and predicts DDP and server from the lab (Ctrl+Shift+M)"));
    card->addTool(m_recipe);
    card->addTool(m_forecast);
    m_forecastText = wrapped({}, "secondary", card);
    m_forecasts = makeTable(m_theme, card, 0);
    m_forecasts->setModel(&m_forecastModel);
    m_forecasts->setAccessibleName(tr("Forecast"));
    card->body()->addWidget(m_forecasts);
    card->body()->addWidget(m_forecastText);
    connect(m_forecast, &QPushButton::clicked, this, &LabPage::startForecast);
    return card;
}

QWidget *LabPage::buildBody() {
    const ScrolledBody page = makeScrolledBody(this);
    QWidget *body = page.body;
    QVBoxLayout *layout = page.layout;
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
    layout->addWidget(buildForecast(body));
    auto *fits = new Card(tr("Fit"), body);
    fits->setToolTip(
        tr("Time = α + β·size in each piece, pieces joined in log-log; errors are of sizes held out of it"));
    m_fits = makeTable(m_theme, fits);
    m_fits->setModel(&m_fitModel);
    m_fits->setAccessibleName(tr("Fit"));
    fits->body()->addWidget(m_fits);
    layout->addWidget(fits);
    layout->addStretch(1);
    return page.area;
}

bool LabPage::isEmpty() const {
    return m_stack->currentIndex() == 0;
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
    if (const auto started = core::startLabDetached(quick); !started) {
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
    const QString words =
        running
            ? QStringLiteral("%1 %  %2").arg(int(running->fraction * 100)).arg(QString::fromStdString(running->what))
        : m_asked ? tr("starts")
                  : QString();
    const bool busy = running || m_asked;
    for (ProgressBar *bar : {m_progress, m_emptyBar}) {
        bar->setVisible(busy);
        bar->setFraction(running ? std::optional(running->fraction) : std::nullopt, methodColor(QStringLiteral("ddp")));
    }
    for (QLabel *label : {m_progressText, m_emptyProgress}) {
        label->setText(words);
        label->setVisible(busy);
    }
    for (QPushButton *stop : {m_stop, m_emptyStop})
        stop->setVisible(running.has_value());
    m_measure->setVisible(!busy);
    m_quick->setVisible(!busy);
    m_empty->setEnabled(!busy);
    const bool ended = (m_wasRunning && !running) || (m_asked && looks > startLimit);
    m_wasRunning = running.has_value();
    if (ended) {
        const auto before = m_lab ? m_lab->id : std::string();
        m_asked = false;
        refresh();
        if ((m_lab ? m_lab->id : std::string()) == before)
            Q_EMIT failed(QString::fromStdString(core::labConsoleTail()));
        look();
        return;
    }
    if (busy || isVisible())
        m_look.start();
    else
        m_look.stop();
}

void LabPage::refresh() {
    m_lab = core::newestLabOf({});
    m_stack->setCurrentIndex(m_lab ? 1 : 0);
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
    showForecast();
}

int LabPage::chosenRanks() const {
    return std::max(2, m_ranks->currentData().toInt());
}

void LabPage::showLab() {
    if (!m_lab)
        return;
    const core::LabRecord &lab = *m_lab;
    m_head->setTitle(tr("Lab of %1").arg(QString::fromStdString(lab.host)));
    m_head->setNote(core::wallTime(lab.startWallUs));
    QStringList about = {tr("%1 on %2 devices, %3 each, %4 sweeps, scheduling %5, measured in %6")
                             .arg(QString::fromStdString(lab.backend), QString::fromStdString(lab.device))
                             .arg(lab.coresPerDevice == 1 ? tr("1 core") : tr("%1 cores").arg(lab.coresPerDevice))
                             .arg(lab.rows.empty() ? 0 : lab.rows.front().sweeps)
                             .arg(QString::fromStdString(lab.scheduling), core::timeLeft(lab.durationS))};
    if (lab.oversubscribed)
        about << tr("Ranks shared cores: these times tell nothing about ranks with cores of their own.");
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

void LabPage::showForecast() {
    m_shownForecast = core::newestForecast();
    m_forecasts->setVisible(m_shownForecast.has_value());
    if (!m_shownForecast) {
        m_forecastText->setText(
            tr("None yet. Choose a recipe: single devices train for some seconds, and what DDP and a server "
               "would take is predicted from that and the lab. When it has run, the forecast is graded "
               "here."));
        return;
    }
    const core::ForecastRecord &record = *m_shownForecast;
    m_forecastModel.setTable(core::forecastTable(record, core::outcomesOf(record)));
    QStringList words = {tr("%1, %2. One device alone: %3 a step. Gradient: %4 in %5 bucket(s).")
                             .arg(QString::fromStdString(record.title), core::wallTime(record.startWallUs),
                                  core::shortTime(record.forecast.oneDeviceStepS),
                                  core::bytes(record.forecast.gradientBytes))
                             .arg(record.forecast.bucketsBytes.size())};
    if (record.forecast.bestDdp)
        words << (*record.forecast.bestDdp == 1
                      ? tr("DDP would not pay here: one device is best.")
                      : tr("Best number of devices for DDP: %1.").arg(*record.forecast.bestDdp));
    if (core::hasUngradable(record))
        words
            << tr("Server: %1.").arg(QString::fromUtf8(core::noServerYet.data(), qsizetype(core::noServerYet.size())));
    for (const std::string &sentence : record.forecast.reservations)
        words << QString::fromStdString(sentence);
    m_forecastText->setText(words.join(u'\n'));
    fitHeights();
}

void LabPage::startForecast() {
    const auto ctl = core::findCtl();
    if (!ctl) {
        Q_EMIT failed(QString::fromStdString(ctl.error().message()));
        return;
    }
    if (m_forecasting.state() != QProcess::NotRunning)
        return;
    m_forecast->setEnabled(false);
    setWords(m_forecast, tr("Measuring…"));
    m_forecasting.setStandardInputFile(QProcess::nullDevice());
    m_forecasting.start(QString::fromStdString(*ctl), {QStringLiteral("forecast"), m_recipe->currentText()});
}

void LabPage::forecastOver() {
    m_forecast->setEnabled(true);
    setWords(m_forecast, tr("Forecast"));
    if (m_forecasting.exitStatus() != QProcess::NormalExit || m_forecasting.exitCode() != 0)
        Q_EMIT failed(QString::fromUtf8(m_forecasting.readAllStandardError()).trimmed().section(u'\n', -1));
    m_forecasting.readAllStandardOutput();
    showForecast();
}

void LabPage::fitHeights() {
    for (QTableView *table : {m_fits, m_ring, m_forecasts}) {
        fitColumns(table, 64, 320);
        fitHeight(table);
    }
}

void LabPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    if (m_lab)
        showForecast(); // runs may have come out since
    look();
}

void LabPage::hideEvent(QHideEvent *event) {
    QWidget::hideEvent(event);
    look();
}

} // namespace lockstep::ui
