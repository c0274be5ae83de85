// SPDX-License-Identifier: MIT
#include "app/ui/shell/export_menu.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMessageBox>
#include <QMimeData>

#include "app/ui/shell/exporter.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/clipboard_table.h"
#include "export/export.h"
#include "export/report.h"
#include "export/tensorboard_writer.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

/// The window's colours come back as they were.
class LightColours {
public:
    explicit LightColours(Theme &theme) : m_theme(theme), m_before(theme.mode()) { theme.setMode(ThemeMode::Light); }
    ~LightColours() { m_theme.setMode(m_before); }
    LightColours(const LightColours &) = delete;
    LightColours &operator=(const LightColours &) = delete;

private:
    Theme &m_theme;
    ThemeMode m_before;
};

} // namespace

ExportMenu::ExportMenu(Theme &theme, Workspace &workspace, std::function<std::vector<ChartSource *>()> charts,
                       QWidget *parent)
    : QMenu(parent), m_theme(theme), m_workspace(workspace), m_charts(std::move(charts)) {
    addAction(tr("Everything into a folder…"), this, &ExportMenu::exportIntoFolder);
    addSeparator();
    const auto add = [this](const QString &suffix, const QString &kind) {
        addAction(kind + QStringLiteral("…"), this, [this, suffix, kind] { saveByDialog(suffix, kind); });
    };
    for (const core::ExportFormatSpec &spec : core::resultFormats())
        add(core::qs(spec.suffix), core::qs(spec.title));
    add(QStringLiteral("pdf"), tr("Page (PDF)"));
    addSeparator();
    addAction(tr("Copy the table"), this, &ExportMenu::copyTable);
    addSeparator();
    m_eventFiles = addAction(tr("TensorBoard event files…"));
    m_eventFiles->setCheckable(true);
    m_eventFiles->setToolTip(tr("Written into a folder while the runs continue; read them with tensorboard --logdir"));
    connect(m_eventFiles, &QAction::triggered, this, &ExportMenu::toggleEventFiles);
    setToolTipsVisible(true);
    connect(&m_workspace.runs(), &core::RunSet::reset, this, &ExportMenu::followOpenRuns);
}

ExportMenu::~ExportMenu() {
    writeEventFiles({});
}

void ExportMenu::exportIntoFolder() {
    const QString folder = QFileDialog::getExistingDirectory(parentWidget(), tr("Export into a folder"));
    if (folder.isEmpty())
        return;
    const auto written = [&] {
        const LightColours light(m_theme);
        return exportAll(m_workspace, m_charts(), folder);
    }();
    if (!written)
        QMessageBox::warning(parentWidget(), tr("Export"), QString::fromStdString(written.error().message()));
    else
        QMessageBox::information(parentWidget(), tr("Export"),
                                 tr("%1 files written into %2").arg(written->size()).arg(folder));
}

Result<void> ExportMenu::save(const QString &path) {
    const LightColours light(m_theme);
    return saveResults(m_workspace, m_charts(), path);
}

void ExportMenu::saveByDialog(const QString &suffix, const QString &kind) {
    QString path = QFileDialog::getSaveFileName(parentWidget(), kind, QStringLiteral("results.") + suffix,
                                                QStringLiteral("%1 (*.%2)").arg(kind, suffix));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().toLower() != suffix)
        path += QLatin1Char('.') + suffix;
    if (const auto saved = save(path); !saved)
        QMessageBox::warning(parentWidget(), kind, QString::fromStdString(saved.error().message()));
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
    if (!m_feed)
        return;
    for (core::RunStore *store : m_workspace.runs().stores())
        m_feed->follow(store);
}

} // namespace lockstep::ui
