// SPDX-License-Identifier: MIT
#include "app/ui/shell/main_window.h"

#include <QCheckBox>
#include <QCloseEvent>
#include <QDateTime>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <limits>
#include <utility>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/pages/lab/lab_page.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/nodes/nodes_page.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/command_palette.h"
#include "app/ui/shell/connect_banner.h"
#include "app/ui/shell/console_drawer.h"
#include "app/ui/shell/desktop_notifier.h"
#include "app/ui/shell/earlier_banner.h"
#include "app/ui/shell/export_banner.h"
#include "app/ui/shell/export_job.h"
#include "app/ui/shell/export_menu.h"
#include "app/ui/shell/rail.h"
#include "app/ui/shell/shortcut_sheet.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/focus_ring.h"
#include "app/ui/widgets/plain_hints.h"
#include "app/ui/widgets/wheel_guard.h"

namespace lockstep::ui {
namespace {
constexpr std::size_t newestInPalette = 20;
}

MainWindow::MainWindow(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent)
    : QMainWindow(parent), m_theme(theme), m_workspace(workspace), m_rail(new Rail(theme, this)),
      m_strip(new StatusStrip(theme, workspace, this)), m_pages(new QStackedWidget(this)),
      m_drawer(new ConsoleDrawer(theme, workspace, this)), m_notifier(new DesktopNotifier(workspace.runs(), this)) {
    new WheelGuard(this);
    new FocusRing(theme, this);
    new PlainHints(this);
    setWindowTitle(QStringLiteral("Lockstep"));
    setWindowIcon(QIcon(QStringLiteral(":/icons/lockstep.svg")));
    setMinimumSize(1024, 640);
    resize(1280, 800);
    m_plan = new PlanPage(theme, workspace, std::move(facts), m_pages);
    m_live = new LivePage(theme, workspace, m_pages);
    m_verdict = new VerdictPage(theme, workspace, m_pages);
    m_runs = new RunsPage(theme, workspace.history(), workspace.runHistory(), m_pages);
    m_nodes = new NodesPage(theme, m_pages);
    m_lab = new LabPage(theme, m_pages);
    for (const PageSpec &spec : pageTable)
        m_rail->addPage(tr(spec.title), QString::fromLatin1(spec.name), tr(spec.about));
    for (QWidget *page : std::initializer_list<QWidget *>{m_plan, m_live, m_verdict, m_runs, m_nodes, m_lab})
        m_pages->addWidget(page);

    auto *centre = new QWidget(this);
    auto *rows = new QVBoxLayout(centre);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_strip);
    auto *middle = new QHBoxLayout;
    middle->setSpacing(0);
    middle->addWidget(m_rail);
    m_banner = new EarlierBanner(workspace, m_strip->watchAction(), centre);
    auto *shown = new QVBoxLayout;
    shown->setSpacing(0);
    shown->addWidget(m_banner);
    m_connect = new ConnectBanner(workspace, centre);
    shown->addWidget(m_connect);
    m_exporting = new ExportBanner(theme, centre);
    shown->addWidget(m_exporting);
    shown->addWidget(m_pages, 1);
    middle->addLayout(shown, 1);
    rows->addLayout(middle, 1);
    rows->addWidget(m_drawer);
    setCentralWidget(centre);
    connectPages();
    showPage(Page::Plan);
}

void MainWindow::studyScript() {
    showPage(Page::Plan);
    m_plan->studyScript();
}

void MainWindow::connectPages() {
    connect(m_rail, &Rail::chosen, this, [this](int page) { showPage(Page(page)); });
    connect(m_live, &LivePage::planWanted, this, [this] { showPage(Page::Plan); });
    connect(m_live, &LivePage::scriptWanted, this, &MainWindow::studyScript);
    connect(m_verdict, &VerdictPage::scriptWanted, this, &MainWindow::studyScript);
    connect(m_live, &LivePage::verdictWanted, this, [this] { showPage(Page::Verdict); });
    connect(m_verdict, &VerdictPage::planWanted, this, [this] { showPage(Page::Plan); });
    connect(m_verdict, &VerdictPage::consoleWanted, this, &MainWindow::showConsole);
    connect(m_strip, &StatusStrip::consoleWanted, this, [this](const QString &runId) {
        if (const QString id = m_workspace.strip().runningElsewhere(); !id.isEmpty()) {
            openAndShow(id, false);
            connect( // its lines are read by then
                &m_workspace, &Workspace::resultsChanged, this, [this, runId] { showConsole(runId); },
                Qt::SingleShotConnection);
        }
        showConsole(runId);
    });
    connect(m_runs, &RunsPage::planWanted, this, [this] { showPage(Page::Plan); });
    connect(m_plan, &PlanPage::startRequested, this, [this](const core::StartRequest &request) {
        m_startPressed = true;
        m_workspace.starter().start(request);
    });
    connect(m_plan, &PlanPage::nodesWanted, this, [this] { showPage(Page::Nodes); });
    connect(m_connect, &ConnectBanner::failed, m_strip, &StatusStrip::showMessage);
    connect(m_plan, &PlanPage::failed, m_strip, &StatusStrip::showMessage);
    connect(m_runs, &RunsPage::duplicateWanted, this, [this](const RunRecord &record, const QString &name) {
        m_plan->fillIn(record, name);
        showPage(Page::Plan);
    });
    connect(m_runs, &RunsPage::experimentWanted, this, [this](const QString &id) { openAndShow(id, false); });
    connect(m_runs, &RunsPage::runWanted, this, [this](const QString &id) { openAndShow(id, true); });
    connect(m_nodes, &NodesPage::failed, m_strip, &StatusStrip::showMessage);
    connect(m_lab, &LabPage::nodesWanted, this, [this] { showPage(Page::Nodes); });
    connect(m_lab, &LabPage::failed, m_strip, &StatusStrip::showMessage);
    connect(m_strip, &StatusStrip::showRunning, this, [this] {
        if (m_workspace.attachToRunning())
            showPage(Page::Live);
    });
    m_export = new ExportMenu(
        m_theme, m_workspace, [this] { return charts(); }, [this] { return m_live->drawing(); }, this);
    m_verdict->exportButton()->setMenu(m_export);
    connect(m_export, &ExportMenu::failed, m_strip, &StatusStrip::showMessage);
    connect(m_export, &ExportMenu::began, m_exporting, &ExportBanner::follow);
    connect(m_live, &LivePage::timeChosen, this, [this](const QString &runId, qint64 wallUs, bool insist) {
        if (insist) // for a marked event: show its lines
            m_drawer->setUnfolded(true);
        if (m_drawer->isUnfolded())
            m_drawer->showTime(runId, wallUs);
    });
    connect(m_drawer, &ConsoleDrawer::timeChosen, m_live, &LivePage::showTime);
    connect(m_drawer->notifyBox(), &QCheckBox::toggled, m_notifier, &DesktopNotifier::setEnabled);
    connect(m_notifier, &DesktopNotifier::chosen, this, [this](const QString &runId) {
        setWindowState(windowState() & ~Qt::WindowMinimized);
        show();
        raise();
        activateWindow();
        m_drawer->showAlertsOf(runId);
    });
    // Switches to Live once there is something to follow; meanwhile the Start button shows that it starts.
    connect(&m_workspace, &Workspace::opened, this, [this] {
        if (std::exchange(m_startPressed, false))
            showPage(Page::Live);
    });
    connect(&m_workspace, &Workspace::failed, m_strip, &StatusStrip::showMessage);
    connect(&m_workspace.starter(), &ExperimentStarter::failed, this, [this](const QString &sentence) {
        const bool planned = std::exchange(m_startPressed, false);
        if (planned)
            m_plan->setStartError(sentence);
        if (!planned || page() != Page::Plan) // where nobody would see it
            m_strip->showMessage(sentence);
    });
    auto *sheet = new QShortcut(QKeySequence::HelpContents, this);
    connect(sheet, &QShortcut::activated, this, &MainWindow::showShortcuts);
    auto *palette = new QShortcut(QKeySequence(Qt::CTRL | Qt::Key_K), this);
    connect(palette, &QShortcut::activated, this, &MainWindow::showPalette);
    auto *quit = new QShortcut(QKeySequence::Quit, this);
    connect(quit, &QShortcut::activated, this, &QWidget::close);
}

void MainWindow::showPage(Page page) {
    m_rail->setCurrent(int(page));
    m_pages->setCurrentIndex(int(page));
    m_banner->setPageShowsOpen(page == Page::Live || page == Page::Verdict);
    if (page == Page::Plan)
        m_plan->startButton()->setFocus();
    else if (page == Page::Runs)
        m_runs->table()->setFocus();
    else
        m_pages->currentWidget()->setFocus();
}

Page MainWindow::page() const {
    return Page(m_pages->currentIndex());
}

std::vector<ChartSource *> MainWindow::charts() const {
    std::vector<ChartSource *> out = m_live->charts();
    for (ChartSource *chart : m_verdict->charts())
        out.push_back(chart);
    for (ChartSource *chart : m_nodes->charts())
        out.push_back(chart);
    for (ChartSource *chart : m_lab->charts())
        out.push_back(chart);
    return out;
}

void MainWindow::openAndShow(const QString &id, bool alone) {
    const Result<void> opened = alone ? m_workspace.openRun(id) : m_workspace.open(id);
    if (!opened) {
        m_strip->showMessage(QString::fromStdString(opened.error().message()));
        return;
    }
    const core::Experiment *experiment = m_workspace.experiment();
    showPage(experiment && experiment->over() ? Page::Verdict : Page::Live);
}

void MainWindow::showConsole(const QString &runId) {
    m_drawer->setUnfolded(true);
    m_drawer->showTime(runId, std::numeric_limits<qint64>::max());
}

/// What has a button, and what has none: recipes to choose, experiments to open.
void MainWindow::showPalette() {
    std::vector<WindowCommand> commands = windowCommands(this);
    commands.push_back({tr("Shortcuts"), QKeySequence(QKeySequence::HelpContents), tr("All keyboard shortcuts"),
                        [this] { showShortcuts(); }});
    commands.push_back({tr("Reset layout"), {}, tr("Restores the default splitters, charts, axes and columns"), [this] {
                            resetLayout();
                        }});
    for (const std::string &name : core::builtInRecipes()) {
        const QString recipe = QString::fromStdString(name);
        commands.push_back({tr("Plan recipe %1").arg(recipe), {}, tr("Opens it on Plan"), [this, recipe] {
                                m_plan->choose(recipe);
                                showPage(Page::Plan);
                            }});
    }
    const auto experiments = core::listExperiments();
    core::ExperimentReader reader;
    for (std::size_t i = 0; i < std::min(experiments.size(), newestInPalette); ++i)
        if (const auto experiment = reader.read(experiments[i])) {
            const QString id = QString::fromStdString(experiment->id);
            const QDateTime when = QDateTime::fromMSecsSinceEpoch(experiment->createdWallUs / 1000);
            commands.push_back(
                {tr("Open %1, %2")
                     .arg(QString::fromStdString(experiment->title), QLocale().toString(when, QLocale::ShortFormat)),
                 {},
                 id,
                 [this, id] { openAndShow(id, false); }});
        }
    auto *palette = new CommandPalette(m_theme, std::move(commands), this);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    palette->open();
}

void MainWindow::resetLayout() {
    m_live->resetLayout();
    m_runs->resetLayout();
    m_drawer->setUnfolded(false);
}

void MainWindow::showShortcuts() {
    auto *sheet = new ShortcutSheet(this);
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    sheet->open();
}

void MainWindow::restore(const QString &file) {
    m_settings = file;
    const QSettings settings(file, QSettings::IniFormat);
    m_theme.setMode(ThemeMode(std::clamp(settings.value(QStringLiteral("theme"), 0).toInt(), 0, 2)));
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    m_drawer->setUnfolded(settings.value(QStringLiteral("drawer"), false).toBool());
    m_runs->keepIn(file);
    m_drawer->notifyBox()->setChecked(settings.value(QStringLiteral("notify"), true).toBool());
    m_live->restoreLayout(settings);
}

bool MainWindow::event(QEvent *event) {
    if (event->type() != ChartExportEvent::kind())
        return QMainWindow::event(event);
    const auto *wanted = static_cast<ChartExportEvent *>(event);
    m_export->saveChart(wanted->chart, wanted->size, wanted->path);
    event->accept();
    return true;
}

void MainWindow::closeEvent(QCloseEvent *event) {
    if (!m_settings.isEmpty()) {
        QSettings settings(m_settings, QSettings::IniFormat);
        settings.setValue(QStringLiteral("theme"), int(m_theme.mode()));
        settings.setValue(QStringLiteral("geometry"), saveGeometry());
        settings.setValue(QStringLiteral("drawer"), m_drawer->isUnfolded());
        settings.setValue(QStringLiteral("notify"), m_drawer->notifyBox()->isChecked());
        m_live->saveLayout(settings);
        m_runs->keep();
    }
    QMainWindow::closeEvent(event);
}

} // namespace lockstep::ui

#include "moc_main_window.cpp"
