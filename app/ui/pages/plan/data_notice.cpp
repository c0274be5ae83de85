// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/data_notice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/progress_bar.h"
#include "data/data_download.h"
#include "ipc/models.h"

namespace lockstep::ui {
namespace {

QString megabytes(qint64 bytes) {
    return QStringLiteral("%1 MB").arg(double(bytes) / 1e6, 0, 'f', 1);
}

} // namespace

DataNotice::DataNotice(const Theme &theme, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_sources(core::knownDatasets()) {
    setObjectName(QStringLiteral("notice"));
    auto *rows = new QVBoxLayout(this);
    rows->setContentsMargins(grid, grid, grid, grid);
    rows->setSpacing(grid / 2);
    auto *line = new QHBoxLayout;
    line->setSpacing(grid);
    m_sentence = new QLabel(this);
    m_sentence->setTextFormat(Qt::PlainText);
    m_sentence->setWordWrap(true);
    line->addWidget(m_sentence, 1);
    m_button = new QPushButton(tr("Download"), this);
    m_button->setToolTip(tr("Downloads the data set and checks it (Alt+D)"));
    m_button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_D));
    connect(m_button, &QPushButton::clicked, this, &DataNotice::press);
    line->addWidget(m_button, 0, Qt::AlignTop);
    rows->addLayout(line);
    m_bar = new ProgressBar(theme, this);
    m_bar->hide();
    rows->addWidget(m_bar);
    hide();
}

DataNotice::~DataNotice() = default;

bool DataNotice::check(const QString &dataset) {
    if (m_download) {
        setVisible(true);
        return m_wanted.isFor(dataset.toStdString());
    }
    const auto found = core::findDataset(m_sources, dataset.toStdString());
    const bool missing = found && core::presentDatasetFolder(*found).empty();
    if (missing && found->name != m_wanted.name)
        m_why.clear();
    if (missing)
        m_wanted = *found;
    setVisible(missing);
    if (missing)
        refresh();
    return missing;
}

std::string DataNotice::whyMissing(const std::string &dataset) const {
    const auto found = core::findDataset(m_sources, dataset);
    const bool missing = found && core::presentDatasetFolder(*found).empty();
    return missing ? tr("%1 is not on this machine").arg(QString::fromStdString(found->title)).toStdString() : "";
}

void DataNotice::refresh() {
    const QString title = QString::fromStdString(m_wanted.title);
    setStyleProperty(m_sentence, "role", m_why.isEmpty() || m_download ? "secondary" : "wrong");
    if (!m_download) {
        m_sentence->setText(m_why.isEmpty() ? tr("%1 is not on this machine.").arg(title) : m_why);
        setWords(m_button, tr("Download (%1)").arg(megabytes(m_wanted.bytes())));
        m_button->setToolTip(tr("Downloads %1 files into %2 and checks the sha256 of each (Alt+D)")
                                 .arg(m_wanted.files.size())
                                 .arg(QString::fromStdString(downloadedDataFolder(m_wanted.name))));
    }
    m_bar->setVisible(m_download != nullptr);
}

void DataNotice::press() {
    if (m_download)
        return m_download->cancel();
    m_why.clear();
    m_download = core::DataDownload::make(m_wanted, downloadedDataFolder(m_wanted.name));
    connect(m_download.get(), &core::DataDownload::progressed, this,
            [this](const QString &file, qint64 received, qint64 total) {
                m_sentence->setText(tr("%1: %2 of %3").arg(file, megabytes(received), megabytes(total)));
                m_bar->setFraction(total > 0 ? std::optional(double(received) / double(total)) : std::nullopt,
                                   m_theme.palette().accent);
            });
    connect(m_download.get(), &core::DataDownload::finished, this, [this] { over({}); });
    connect(m_download.get(), &core::DataDownload::failed, this,
            [this](const Error &error) { over(QString::fromStdString(error.message())); });
    m_sentence->setText(tr("Requesting %1…").arg(QString::fromStdString(m_wanted.title)));
    setWords(m_button, tr("Cancel"));
    m_button->setToolTip(tr("Stops; a later download gets only what is missing (Alt+D)"));
    m_bar->setFraction(std::nullopt, m_theme.palette().accent);
    m_bar->show();
    m_download->start();
}

void DataNotice::over(const QString &why) {
    m_download.release()->deleteLater();
    m_why = why;
    refresh();
    if (why.isEmpty()) {
        hide();
        Q_EMIT arrived();
    }
}

} // namespace lockstep::ui

#include "moc_data_notice.cpp"
