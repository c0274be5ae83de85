// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QMenu>
#include <QPointer>
#include <QTimer>

#include <functional>
#include <memory>
#include <vector>

#include "app/ui/shell/exporter.h"
#include "ipc/error.h"

namespace lockstep::core {
class RunStore;
class TensorBoardFeed;
} // namespace lockstep::core

namespace lockstep::ui {
class ExportJob;

/// What the Export button opens: everything into a folder, the results as one file, the table to the clipboard, event files
/// for TensorBoard that go on while the runs do.
class ExportMenu : public QMenu {
    Q_OBJECT
public:
    using Drawing = std::function<std::vector<std::function<void()>>()>;
    /// `charts` names every chart of the window, `drawing` what brings them up to date.
    ExportMenu(Theme &theme, Workspace &workspace, ChartList charts, Drawing drawing, QWidget *parent);
    ~ExportMenu() override;

    /// Each begins an export, `began` or `failed` follows. Charts are in light colours whatever the window's are: they are read
    /// on paper and by others.
    void saveAll(const QString &folder);
    void save(const QString &path); ///< the results
    void saveChart(ChartSource &chart, const QSize &size, const QString &path);
    void copyTable();
    /// Event files of all runs that are open, from their first frame on; an empty folder ends it.
    void writeEventFiles(const QString &folder);
    [[nodiscard]] bool writesEventFiles() const { return m_feed != nullptr; }

Q_SIGNALS:
    void began(lockstep::ui::ExportJob *job); ///< which says itself how it goes
    void failed(const QString &sentence);

private:
    [[nodiscard]] ExportSource source() const;
    void begin(Result<std::unique_ptr<ExportJob>> job);
    void chooseFolder();
    void saveByDialog(const QString &suffix, const QString &kind);
    void toggleEventFiles(bool on);
    void followOpenRuns();
    void followNext();

    Theme &m_theme;
    Workspace &m_workspace;
    ChartList m_charts;
    Drawing m_drawing;
    std::unique_ptr<core::TensorBoardFeed> m_feed;
    QList<QPointer<core::RunStore>> m_toFollow; ///< a run each turn of the event loop: all that it has seen is written
    QTimer m_followNext;
    std::unique_ptr<ExportJob> m_job; ///< under way
    QList<QAction *> m_writing;       ///< what can't be asked meanwhile
    QAction *m_eventFiles;
};

} // namespace lockstep::ui
