// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_page.h"

#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/lab/lab_first.h"
#include "app/ui/pages/lab/lab_forecast.h"
#include "app/ui/pages/lab/lab_head.h"
#include "app/ui/pages/lab/lab_places.h"
#include "app/ui/pages/lab/lab_results.h"
#include "app/ui/pages/lab/lab_runner.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/scrolled_body.h"

namespace lockstep::ui {
namespace {

/// "hostA, hostB"
QString hostsOf(const std::vector<NodePlace> &nodes) {
    QStringList hosts;
    for (const NodePlace &node : nodes)
        hosts << QString::fromStdString(titleOf(node));
    return hosts.join(QStringLiteral(", "));
}

} // namespace

LabPage::LabPage(Theme &theme, QWidget *parent) : QWidget(parent), m_runner(new LabRunner(this)) {
    setObjectName(QStringLiteral("page"));
    build(theme);
    connectParts(theme);
    refresh();
    m_runner->poll();
}

void LabPage::build(Theme &theme) {
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
    page.layout->addWidget(m_first = new LabFirst(theme, page.body), 1);
    m_body = new QWidget(page.body);
    auto *rows = new QVBoxLayout(m_body);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(2 * grid);
    rows->addWidget(m_head = new LabHead(theme, m_body));
    rows->addWidget(m_results = new LabResults(theme, m_body), 1);
    page.layout->addWidget(m_body, 1);
}

void LabPage::connectParts(Theme &theme) {
    connect(m_places, &LabPlaces::chosen, this, [this] {
        refresh();
        m_runner->poll();
    });
    connect(m_places, &LabPlaces::allowed, this, &LabPage::start);
    connect(m_places, &LabPlaces::nodesWanted, this, &LabPage::nodesWanted);
    connect(m_places, &LabPlaces::failed, this, &LabPage::failed);
    connect(m_first, &EmptyState::clicked, this, [this] {
        if (m_places->noNode())
            Q_EMIT nodesWanted();
        else
            measure(true);
    });
    connect(m_head->measureButton(), &QPushButton::clicked, this, [this] { measure(m_head->quick()); });
    connect(m_head, &LabHead::ranksChosen, this, &LabPage::showLab);
    for (QPushButton *stop : {m_head->stopButton(), m_first->stopButton()}) { // of which one shows at a time
        stop->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_X));
        stop->setToolTip(tr("Stops the lab; earlier measurements are kept (Ctrl+Shift+X)"));
        connect(stop, &QPushButton::clicked, m_runner, &LabRunner::stop);
    }
    connect(m_runner, &LabRunner::changed, this, &LabPage::showProgress);
    connect(m_runner, &LabRunner::ended, this, &LabPage::refresh);
    connect(m_runner, &LabRunner::failed, this, &LabPage::failed);
    connect(forecast(), &LabForecast::failed, this, &LabPage::failed);
    connect(&theme, &Theme::changed, this, &LabPage::showLab);
}

QPushButton *LabPage::forecastButton() const {
    return forecast()->button();
}

EmptyState *LabPage::emptyState() const {
    return m_first;
}

LineChart *LabPage::times() const {
    return m_results->times();
}

LineChart *LabPage::bandwidths() const {
    return m_results->bandwidths();
}

QTableView *LabPage::fits() const {
    return m_results->fits();
}

QTableView *LabPage::ring() const {
    return m_results->ring();
}

QTableView *LabPage::forecasts() const {
    return forecast()->table();
}

LabForecast *LabPage::forecast() const {
    return m_results->forecast();
}

QString LabPage::progressText() const {
    return isEmpty() ? m_first->progressText() : m_head->progressText();
}

std::vector<ChartSource *> LabPage::charts() const {
    if (isEmpty())
        return {};
    return {times(), bandwidths()};
}

void LabPage::measure(bool quick) {
    m_quickly = quick;
    if (m_places->mayMeasure())
        return start();
    m_runner->poll(); // the doctor examines first
}

void LabPage::start() {
    core::LabRequest request;
    request.quick = m_quickly;
    request.nodes = m_places->places();
    request.device = m_places->device();
    m_runner->start(request);
}

void LabPage::showProgress() {
    const auto &running = m_runner->running();
    const QString words = running ? runningWords(*running) : m_runner->busy() ? tr("starts") : QString();
    const auto fraction = running ? std::optional(running->fraction) : std::nullopt;
    m_head->showProgress(words, m_runner->busy(), fraction);
    m_first->showProgress(words, m_runner->busy(), fraction);
    restyle();
}

/// Updates the offers of the empty page and the buttons to the choice.
void LabPage::restyle() {
    const QString go = m_places->asking()   ? tr("Asking the doctor…")
                       : m_places->warned() ? tr("Measure anyway")
                                            : QString();
    m_first->offer(*m_places, go, m_runner->busy());
    m_head->offer(go.isEmpty() ? tr("Measure again") : go, m_places->whyNot().isEmpty() && !m_places->asking());
}

/// "42 %  2 ranks: our ring"; with the place if another one is shown.
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
    const auto lab = m_places->overNodes() && places.empty() ? std::nullopt : core::newestLabOf(places);
    m_measured = lab.has_value();
    m_first->setVisible(!m_measured);
    m_body->setVisible(m_measured);
    restyle();
    if (!lab)
        return;
    m_head->show(*lab);
    m_results->setLab(*lab);
    showLab();
    forecast()->show(places);
}

void LabPage::showLab() {
    if (m_measured)
        m_results->show(m_head->ranks());
}

void LabPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    if (m_measured)
        forecast()->show(m_places->places()); // runs may have finished since
    m_runner->setShown(true);
}

void LabPage::hideEvent(QHideEvent *event) {
    QWidget::hideEvent(event);
    m_runner->setShown(false);
}

} // namespace lockstep::ui

#include "moc_lab_page.cpp"
