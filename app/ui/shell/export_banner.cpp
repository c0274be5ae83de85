// SPDX-License-Identifier: MIT
#include "app/ui/shell/export_banner.h"

#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QToolButton>
#include <QUrl>

#include <algorithm>

#include "app/ui/shell/export_job.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/progress_bar.h"

namespace lockstep::ui {

ExportBanner::ExportBanner(const Theme &theme, QWidget *parent) : QFrame(parent), m_theme(theme) {
    setObjectName(QStringLiteral("exportBanner"));
    auto *line = new QHBoxLayout(this);
    line->setContentsMargins(2 * grid, grid / 2, 2 * grid, grid / 2);
    line->setSpacing(2 * grid);
    m_words = new ElidedLabel("", 20 * grid, this);
    line->addWidget(m_words, 1);
    m_bar = new ProgressBar(theme, this);
    m_bar->setFixedWidth(16 * grid);
    line->addWidget(m_bar);
    const auto add = [&](const QString &words, const QKeySequence &keys, const QString &tip) {
        auto *button = new QToolButton(this);
        button->setText(words);
        button->setShortcut(keys);
        button->setToolTip(tip);
        line->addWidget(button);
        return button;
    };
    m_cancel = add(tr("Cancel"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
                   tr("Cancels the export; nothing of it is kept (Ctrl+Shift+E)"));
    m_cancel->setProperty("verb", tr("Cancel the export"));
    m_open = add(tr("Open folder"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L),
                 tr("Shows what was exported in the file manager (Ctrl+Shift+L)"));
    connect(m_open, &QToolButton::clicked, this,
            [this] { (void)QDesktopServices::openUrl(QUrl::fromLocalFile(m_folder)); });
    m_dismiss = add({}, {}, tr("Dismiss this message"));
    m_dismiss->setAccessibleName(tr("Dismiss the export's message"));
    connect(m_dismiss, &QToolButton::clicked, this, &QWidget::hide);
    connect(&m_theme, &Theme::changed, this, &ExportBanner::restyle);
    restyle();
    hide();
}

void ExportBanner::restyle() {
    m_dismiss->setIcon(m_theme.icon(QStringLiteral("close"), m_theme.palette().textSecondary));
}

QString ExportBanner::text() const {
    return m_words->text();
}

void ExportBanner::follow(ExportJob *job) {
    m_folder = QDir::cleanPath(QDir::current().absoluteFilePath(job->target().folder));
    connect(m_cancel, &QToolButton::clicked, job, [this, job] {
        job->cancel();
        m_words->setText(tr("Cancelling the export…"));
        m_cancel->setEnabled(false);
    });
    connect(job, &ExportJob::progressed, this, &ExportBanner::showProgress);
    connect(job, &ExportJob::finished, this, [this](const QStringList &files) {
        showEnd(files.size() == 1 ? tr("%1 written into %2").arg(QFileInfo(files.first()).fileName(), m_folder)
                                  : tr("%1 files written into %2").arg(files.size()).arg(m_folder));
        m_open->show();
    });
    connect(job, &ExportJob::failed, this, [this](const Error &error) {
        showEnd(QString::fromStdString(error.message()));
        setStyleProperty(m_words, "role", QStringLiteral("failure"));
    });
    connect(job, &ExportJob::cancelled, this, [this] { showEnd(tr("Export cancelled: nothing was written")); });
    setStyleProperty(m_words, "role", QString());
    m_cancel->setEnabled(true);
    m_open->hide();
    m_dismiss->hide();
    m_cancel->show();
    m_bar->show();
    showProgress(0, 1, {});
    show();
}

void ExportBanner::showProgress(int done, int all, const QString &file) {
    if (m_cancel->isEnabled())
        m_words->setText(file.isEmpty() ? tr("Exporting…") : tr("Exporting %1").arg(file));
    m_bar->setFraction(double(done) / std::max(1, all), m_theme.palette().textSecondary);
}

void ExportBanner::showEnd(const QString &words) {
    m_words->setText(words);
    m_bar->hide();
    m_cancel->hide();
    m_dismiss->show();
}

} // namespace lockstep::ui

#include "moc_export_banner.cpp"
