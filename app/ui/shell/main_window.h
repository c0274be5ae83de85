// SPDX-License-Identifier: MIT
#pragma once
#include <QMainWindow>

#include <vector>

#include "app/ui/shell/page.h"
#include "ipc/run_config.h"

class QStackedWidget;

namespace lockstep::ui {
class ChartSource;
class ConsoleDrawer;
class ConnectBanner;
class DesktopNotifier;
class EarlierBanner;
class ExportBanner;
class ExportMenu;
class LabPage;
class LivePage;
class NodesPage;
class PlanPage;
class Rail;
class RunsPage;
class StatusStrip;
class Theme;
class VerdictPage;
class Workspace;

/// The window: rail, strip, pages, console drawer. Owns no data.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent = nullptr);

    void showPage(Page page);
    [[nodiscard]] Page page() const;
    [[nodiscard]] PlanPage *planPage() const { return m_plan; }
    [[nodiscard]] LivePage *livePage() const { return m_live; }
    [[nodiscard]] VerdictPage *verdictPage() const { return m_verdict; }
    [[nodiscard]] RunsPage *runsPage() const { return m_runs; }
    [[nodiscard]] NodesPage *nodesPage() const { return m_nodes; }
    [[nodiscard]] LabPage *labPage() const { return m_lab; }
    [[nodiscard]] StatusStrip *strip() const { return m_strip; }
    [[nodiscard]] ConsoleDrawer *drawer() const { return m_drawer; }
    [[nodiscard]] Rail *rail() const { return m_rail; }
    [[nodiscard]] ExportMenu *exportMenu() const { return m_export; }
    [[nodiscard]] ExportBanner *exportBanner() const { return m_exporting; }
    [[nodiscard]] std::vector<ChartSource *> charts() const;

    /// Keeps size, place, colours, drawer and how the pages are arranged over sessions, in `file`.
    void restore(const QString &file);

protected:
    void closeEvent(QCloseEvent *event) override;
    bool event(QEvent *event) override; ///< a chart's menu asks for an export

private:
    void connectPages();
    void openAndShow(const QString &id, bool alone);
    void showConsole(const QString &runId); ///< its last lines
    void studyScript();                     ///< one of the person's own, on Plan
    void showShortcuts();
    void resetLayout();
    void showPalette(); ///< every command, by a few letters of it

    Theme &m_theme;
    Workspace &m_workspace;
    Rail *m_rail;
    StatusStrip *m_strip;
    ConnectBanner *m_connect;
    EarlierBanner *m_banner;
    ExportBanner *m_exporting;
    QStackedWidget *m_pages;
    ConsoleDrawer *m_drawer;
    DesktopNotifier *m_notifier;
    PlanPage *m_plan;
    LivePage *m_live;
    VerdictPage *m_verdict;
    RunsPage *m_runs;
    NodesPage *m_nodes;
    LabPage *m_lab;
    ExportMenu *m_export;
    QString m_settings;
    bool m_startPressed = false;
};

} // namespace lockstep::ui
