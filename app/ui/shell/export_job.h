// SPDX-License-Identifier: MIT
#pragma once
#include <QByteArray>
#include <QObject>
#include <QStringList>
#include <QTimer>

#include <functional>
#include <optional>
#include <vector>

#include "ipc/error.h"

class QThread;

namespace lockstep::ui {

/// Makes a file's bytes, on the export's thread: it must not use anything of the GUI thread.
using MakeBytes = std::function<Result<QByteArray>()>;

/// One step of an export; short enough that key presses may wait for it.
struct ExportStep {
    QString file; ///< "loss.png"; empty: it prepares files that come later
    /// On the GUI thread: draws, or copies what changes. Without MakeBytes there is no file.
    std::function<MakeBytes()> take;
    /// Instead of take(): the steps that stand in this one's place, of what earlier ones have found out.
    std::function<std::vector<ExportStep>()> more = {};
};

/// Where the files go.
struct ExportTarget {
    QString folder;     ///< made when missing
    bool alone = false; ///< one file only, whose folder is there
};

/// One export. It runs step by step on the GUI thread; files are made and written on a thread of its own
/// ("lockstep-export"). They appear together at the end; after a cancel or an error none is left. Ends with one of
/// finished, failed and cancelled; the destructor waits for the current file.
class ExportJob : public QObject {
    Q_OBJECT
public:
    ExportJob(std::vector<ExportStep> steps, ExportTarget target, QObject *parent = nullptr);
    ~ExportJob() override;

    void start();
    void cancel();
    [[nodiscard]] const ExportTarget &target() const { return m_target; }

Q_SIGNALS:
    /// Before each step; 0 of 0 while it is not known how many there will be.
    void progressed(int done, int all, const QString &file);
    void finished(const QStringList &files);
    void failed(const lockstep::Error &error);
    void cancelled();

private:
    class Writer;
    void next();
    void written(const Result<void> &done);
    template <class Work> void ask(Work work);
    void leave(const std::optional<Error> &error);

    std::vector<ExportStep> m_steps;
    ExportTarget m_target;
    std::size_t m_next = 0;
    bool m_cancelled = false;
    QTimer m_turn; ///< the next step, after what waits in the event loop
    QThread *m_thread;
    Writer *m_writer; ///< lives on m_thread
};

/// For a caller without a window: runs the job's event loop until it has ended.
[[nodiscard]] Result<QStringList> waitFor(ExportJob &job);

} // namespace lockstep::ui
