// SPDX-License-Identifier: MIT
#pragma once
#include <QMenu>

#include <functional>
#include <memory>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {
class TensorBoardFeed;
}

namespace lockstep::ui {
class ChartSource;
class Theme;
class Workspace;

/// What the Export button opens: everything into a folder, the results as one file, the table to the clipboard, event files
/// for TensorBoard that go on while the runs do.
class ExportMenu : public QMenu {
    Q_OBJECT
public:
    /// `charts` draws what is pending and names every chart of the window.
    ExportMenu(Theme &theme, Workspace &workspace, std::function<std::vector<ChartSource *>()> charts, QWidget *parent);
    ~ExportMenu() override;

    /// Writes the results, a page in light colours whatever the window's are: it is read on paper and by others.
    [[nodiscard]] Result<void> save(const QString &path);
    void copyTable();
    /// Event files of all runs that are open, from their first frame on; an empty folder ends it.
    void writeEventFiles(const QString &folder);
    [[nodiscard]] bool writesEventFiles() const { return m_feed != nullptr; }

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void exportIntoFolder();
    void saveByDialog(const QString &suffix, const QString &kind);
    void toggleEventFiles(bool on);
    void followOpenRuns();

    Theme &m_theme;
    Workspace &m_workspace;
    std::function<std::vector<ChartSource *>()> m_charts;
    std::unique_ptr<core::TensorBoardFeed> m_feed;
    QAction *m_eventFiles;
};

} // namespace lockstep::ui
