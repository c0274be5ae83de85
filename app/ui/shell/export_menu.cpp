// SPDX-License-Identifier: MIT
#include "app/ui/shell/export_menu.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>

#include "app/ui/shell/export_job.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/widgets/clipboard_table.h"
#include "export/export.h"
#include "export/report.h"
#include "export/tensorboard_writer.h"
#include "models/cells.h"

namespace lockstep::ui {

ExportMenu::ExportMenu(Theme &theme, Workspace &workspace, ChartList charts, Drawing drawing, QWidget *parent)
    : QMenu(parent), m_theme(theme), m_workspace(workspace), m_charts(std::move(charts)),
      m_drawing(std::move(drawing)) {
    m_writing.append(addAction(tr("Everything into a folder…"), this, &ExportMenu::chooseFolder));
    addSeparator();
    const auto add = [this](const QString &suffix, const QString &kind) {
        m_writing.append(
            addAction(kind + QStringLiteral("…"), this, [this, suffix, kind] { saveByDialog(suffix, kind); }));
    };
    for (const core::ExportFormatSpec &spec : core::resultFormats())
        add(core::qs(spec.suffix), core::qs(spec.title));
    add(QStringLiteral("pdf"), tr("Page (PDF)"));
    addSeparator();
    addAction(tr("Copy the table"), this, &ExportMenu::copyTable);
    addSeparator();
    m_eventFiles = addAction(tr("TensorBoard event files…"));
    m_eventFiles->setCheckable(true);
    m_eventFiles->setToolTip(tr("Written while the runs continue; read them with tensorboard --logdir"));
    connect(m_eventFiles, &QAction::triggered, this, &ExportMenu::toggleEventFiles);
    setToolTipsVisible(true);
    connect(&m_workspace.runs(), &core::RunSet::reset, this, &ExportMenu::followOpenRuns);
    connect(&m_followNext, &QTimer::timeout, this, &ExportMenu::followNext);
}

ExportMenu::~ExportMenu() {
    writeEventFiles({});
}

ExportSource ExportMenu::source() const {
    return {m_workspace, m_charts, &m_theme, m_drawing()};
}

void ExportMenu::chooseFolder() {
    if (const QString folder = QFileDialog::getExistingDirectory(parentWidget(), tr("Export into a folder"));
        !folder.isEmpty())
        saveAll(folder);
}

void ExportMenu::saveAll(const QString &folder) {
    begin(folderJob(source(), folder));
}

void ExportMenu::save(const QString &path) {
    begin(resultsJob(source(), path));
}

void ExportMenu::saveChart(ChartSource &chart, const QSize &size, const QString &path) {
    begin(chartJob(chart, size, path));
}

void ExportMenu::begin(Result<std::unique_ptr<ExportJob>> job) {
    if (!job)
        return Q_EMIT failed(QString::fromStdString(job.error().message()));
    if (m_job)
        return Q_EMIT failed(tr("An export is under way: cancel it, or wait for its end"));
    m_job = std::move(*job);
    for (QAction *action : m_writing)
        action->setEnabled(false);
    const auto over = [this] {
        m_job.release()->deleteLater();
        for (QAction *action : m_writing)
            action->setEnabled(true);
    };
    connect(m_job.get(), &ExportJob::finished, this, over);
    connect(m_job.get(), &ExportJob::failed, this, over);
    connect(m_job.get(), &ExportJob::cancelled, this, over);
    Q_EMIT began(m_job.get());
    m_job->start();
}

void ExportMenu::saveByDialog(const QString &suffix, const QString &kind) {
    QString path = QFileDialog::getSaveFileName(parentWidget(), kind, QStringLiteral("results.") + suffix,
                                                QStringLiteral("%1 (*.%2)").arg(kind, suffix));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().toLower() != suffix)
        path += QLatin1Char('.') + suffix;
    save(path);
}

void ExportMenu::copyTable() {
    QGuiApplication::clipboard()->setMimeData(
        mimeOf(core::textTable(m_workspace.results().table(), core::TextColumns::All)));
}

void ExportMenu::toggleEventFiles(bool on) {
    writeEventFiles(on ? QFileDialog::getExistingDirectory(parentWidget(), tr("Event files into a folder"))
                       : QString());
}

void ExportMenu::writeEventFiles(const QString &folder) {
    if (m_feed)
        m_feed->finish();
    m_feed.reset();
    if (!folder.isEmpty()) {
        if (const auto writable = core::checkWritableFolder(folder.toStdString()); !writable) {
            Q_EMIT failed(QString::fromStdString(writable.error().message()));
        } else {
            m_feed = std::make_unique<core::TensorBoardFeed>(folder.toStdString());
            connect(m_feed.get(), &core::TensorBoardFeed::failed, this,
                    [this](const Error &error) { Q_EMIT failed(QString::fromStdString(error.message())); });
            followOpenRuns();
        }
    }
    m_eventFiles->setChecked(m_feed != nullptr);
    m_eventFiles->setText(m_feed ? tr("TensorBoard event files into %1").arg(QFileInfo(folder).fileName())
                                 : tr("TensorBoard event files…"));
}

void ExportMenu::followOpenRuns() {
    m_toFollow.clear();
    if (!m_feed)
        return;
    for (core::RunStore *store : m_workspace.runs().stores())
        m_toFollow.append(store);
    m_followNext.start(0);
}

void ExportMenu::followNext() {
    if (!m_feed || m_toFollow.isEmpty())
        return m_followNext.stop();
    if (core::RunStore *store = m_toFollow.takeFirst())
        m_feed->follow(store);
}

} // namespace lockstep::ui

#include "moc_export_menu.cpp"
