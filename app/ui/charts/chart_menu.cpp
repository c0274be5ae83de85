// SPDX-License-Identifier: MIT
#include "app/ui/charts/chart_menu.h"

#include <QAction>
#include <QClipboard>
#include <QCoreApplication>
#include <QFileDialog>
#include <QGuiApplication>
#include <QImage>
#include <QMessageBox>
#include <QMimeData>
#include <QWidget>

#include "app/ui/charts/chart_access.h"
#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/widgets/clipboard_table.h"

namespace lockstep::ui {
namespace {

void exportByDialog(QWidget *widget, ChartSource *chart) {
    const QString path = QFileDialog::getSaveFileName(
        widget, QObject::tr("Export chart"), chart->chartName() + QStringLiteral(".png"),
        QObject::tr("PNG picture (*.png);;SVG drawing (*.svg);;CSV data (*.csv);;Tab-separated data (*.tsv)"));
    if (path.isEmpty())
        return;
    ChartExportEvent wanted(*chart, widget->size(), path);
    QCoreApplication::sendEvent(widget->window(), &wanted);
    if (wanted.isAccepted())
        return;
    if (const auto saved = saveChart(*chart, widget->size(), path); !saved)
        QMessageBox::warning(widget, QObject::tr("Export chart"), QString::fromStdString(saved.error().message()));
}

/// Pixels for most programs, SVG for those that accept it.
void copyImage(ChartSource &chart, const QSize &size) {
    auto *mime = new QMimeData;
    mime->setImageData(chartImage(chart, size));
    mime->setData(QStringLiteral("image/svg+xml"), chartSvg(chart, size));
    QGuiApplication::clipboard()->setMimeData(mime);
}

QAction *addAction(QWidget *widget, const QString &text, const QKeySequence &keys) {
    auto *action = new QAction(text, widget);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    widget->addAction(action);
    return action;
}

} // namespace

QEvent::Type ChartExportEvent::kind() {
    static const auto registered = QEvent::Type(QEvent::registerEventType());
    return registered;
}

void installChartMenu(QWidget *widget, ChartSource *chart) {
    widget->setContextMenuPolicy(Qt::ActionsContextMenu);
    widget->setFocusPolicy(Qt::StrongFocus);
    makeReadable(widget, chart);

    QAction *image = addAction(widget, QObject::tr("Copy image"), QKeySequence::Copy);
    QObject::connect(image, &QAction::triggered, widget, [widget, chart] { copyImage(*chart, widget->size()); });
    QAction *data = addAction(widget, QObject::tr("Copy data"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C));
    QObject::connect(data, &QAction::triggered, widget,
                     [chart] { QGuiApplication::clipboard()->setMimeData(mimeOfTabbed(chart->chartData())); });
    QAction *save = addAction(widget, QObject::tr("Export…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S));
    QObject::connect(save, &QAction::triggered, widget, [widget, chart] { exportByDialog(widget, chart); });
    if (!chart->hasLogAxis())
        return;
    QAction *log = addAction(widget, QObject::tr("Log axis"), QKeySequence(Qt::CTRL | Qt::Key_L));
    log->setCheckable(true);
    log->setChecked(chart->isLogAxis());
    QObject::connect(log, &QAction::toggled, widget, [chart](bool on) { chart->setLogAxis(on); });
}

} // namespace lockstep::ui
