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

/// The menu of the Export button: everything into a folder, the results as one file, the table to the clipboard, event files
/// for TensorBoard that are written during the runs.
class ExportMenu : public QMenu {
    Q_OBJECT
public:
    using Drawing = std::function<std::vector<std::function<void()>>()>;
    /// `charts` names every chart of the window, `drawing` what brings them up to date.
    ExportMenu(Theme &theme, Workspace &workspace, ChartList charts, Drawing drawing, QWidget *parent);
    ~ExportMenu() override;

    /// Each begins an export, `began` or `failed` follows. Charts always have light colours, for paper and
    /// other readers.
    void saveAll(const QString &folder);
    void save(const QString &path); ///< the results
    void saveChart(ChartSource &chart, const QSize &size, const QString &path);
    void copyTable();
    /// Event files of all runs that are open, from their first frame on; an empty folder ends it.
    void writeEventFiles(const QString &folder);
    [[nodiscard]] bool writesEventFiles() const { return m_feed != nullptr; }

Q_SIGNALS:
    void began(lockstep::ui::ExportJob *job); ///< which reports its own progress
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
    QList<QPointer<core::RunStore>> m_toFollow; ///< one run per turn of the event loop, since its whole past is written
    QTimer m_followNext;
    std::unique_ptr<ExportJob> m_job; ///< under way
    QList<QAction *> m_writing;       ///< disabled meanwhile
    QAction *m_eventFiles;
};

} // namespace lockstep::ui
