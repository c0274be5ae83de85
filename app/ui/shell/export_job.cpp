// SPDX-License-Identifier: MIT
#include "app/ui/shell/export_job.h"

#include <QEventLoop>
#include <QThread>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "export/export.h"
#include "export/staged_files.h"

namespace lockstep::ui {

/// The part that runs on the thread.
class ExportJob::Writer : public QObject {
public:
    explicit Writer(const ExportTarget &target)
        : m_target(target), m_staged(std::in_place, target.folder.toStdString()) {}

    [[nodiscard]] Result<void> begin() { return m_target.alone ? Result<void>() : m_staged->begin(); }
    [[nodiscard]] Result<void> write(const QString &file, const MakeBytes &make) {
        Result<QByteArray> bytes = make();
        if (!bytes)
            return fail(bytes.error());
        if (!m_target.alone)
            return m_staged->write(file.toStdString(), view(*bytes));
        m_alone = {m_target.folder + u'/' + file, std::move(*bytes)};
        return {};
    }
    [[nodiscard]] Result<QStringList> commit() {
        QStringList out;
        if (m_target.alone) {
            if (const auto done = core::writeExport(m_alone.first.toStdString(), view(m_alone.second)); !done)
                return fail(done.error());
            return QStringList{m_alone.first};
        }
        const auto files = m_staged->commit();
        if (!files)
            return fail(files.error());
        for (const std::string &file : *files)
            out.append(QString::fromStdString(file));
        return out;
    }
    void drop() { m_staged.reset(); }

private:
    [[nodiscard]] static std::string_view view(const QByteArray &bytes) {
        return {bytes.constData(), std::size_t(bytes.size())};
    }

    ExportTarget m_target;
    std::optional<core::StagedFiles> m_staged;
    std::pair<QString, QByteArray> m_alone; ///< path and bytes
};

ExportJob::ExportJob(std::vector<ExportStep> steps, ExportTarget target, QObject *parent)
    : QObject(parent), m_steps(std::move(steps)), m_target(std::move(target)), m_thread(new QThread(this)),
      m_writer(new Writer(m_target)) {
    m_turn.setSingleShot(true);
    connect(&m_turn, &QTimer::timeout, this, &ExportJob::next);
    m_thread->setObjectName(QStringLiteral("lockstep-export"));
    m_writer->moveToThread(m_thread);
    connect(m_thread, &QThread::finished, m_writer, &QObject::deleteLater);
}

ExportJob::~ExportJob() {
    if (!m_thread->isRunning()) {
        delete m_writer;
        return;
    }
    m_thread->quit();
    m_thread->wait();
}

/// Runs `work` on the thread, and the function that it returns on this one.
template <class Work> void ExportJob::ask(Work work) {
    QMetaObject::invokeMethod(
        m_writer,
        [this, writer = m_writer, work = std::move(work)] {
            QMetaObject::invokeMethod(this, work(*writer), Qt::QueuedConnection);
        },
        Qt::QueuedConnection);
}

void ExportJob::start() {
    m_thread->start(QThread::LowPriority);
    ask([this](Writer &writer) { return [this, done = writer.begin()] { written(done); }; });
}

void ExportJob::cancel() {
    m_cancelled = true; // reported when the current step is done
}

void ExportJob::next() {
    if (m_cancelled)
        return leave({});
    if (m_next == m_steps.size()) {
        ask([this](Writer &writer) {
            return [this, done = writer.commit()] {
                if (!done)
                    return leave(done.error());
                Q_EMIT progressed(int(m_steps.size()), int(m_steps.size()), {});
                Q_EMIT finished(*done);
            };
        });
        return;
    }
    ExportStep step = std::move(m_steps[m_next++]);
    if (step.more) {
        std::vector<ExportStep> more = step.more();
        m_steps.insert(m_steps.begin() + std::ptrdiff_t(m_next), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
        return m_turn.start(0);
    }
    const bool open = std::any_of(m_steps.begin() + std::ptrdiff_t(m_next), m_steps.end(),
                                  [](const ExportStep &later) { return bool(later.more); });
    Q_EMIT progressed(open ? 0 : int(m_next) - 1, open ? 0 : int(m_steps.size()), step.file);
    MakeBytes make = step.take();
    if (!make)
        return m_turn.start(0);
    ask([this, file = step.file, make = std::move(make)](Writer &writer) {
        return [this, done = writer.write(file, make)] { written(done); };
    });
}

void ExportJob::written(const Result<void> &done) {
    if (!done)
        return leave(done.error());
    m_turn.start(0); // a queued call would run before waiting key events
}

/// Removes the written files, then reports it.
void ExportJob::leave(const std::optional<Error> &error) {
    ask([this, error](Writer &writer) {
        writer.drop();
        return [this, error] { error ? Q_EMIT failed(*error) : Q_EMIT cancelled(); };
    });
}

Result<QStringList> waitFor(ExportJob &job) {
    QEventLoop loop;
    Result<QStringList> out = fail(Error::failed("the export was cancelled"));
    QObject::connect(&job, &ExportJob::finished, &loop, [&](const QStringList &files) {
        out = files;
        loop.quit();
    });
    QObject::connect(&job, &ExportJob::failed, &loop, [&](const Error &error) {
        out = fail(error);
        loop.quit();
    });
    QObject::connect(&job, &ExportJob::cancelled, &loop, &QEventLoop::quit);
    job.start();
    loop.exec();
    return out;
}

} // namespace lockstep::ui

#include "moc_export_job.cpp"
