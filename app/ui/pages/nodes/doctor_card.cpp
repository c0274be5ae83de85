// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/doctor_card.h"

#include <QDateTime>
#include <QLabel>
#include <QLocale>
#include <QTableView>
#include <QVBoxLayout>

#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "models/node_tables.h"

namespace lockstep::ui {
namespace {

QString countText(const std::vector<core::Finding> &findings) {
    int errors = 0, warnings = 0;
    for (const core::Finding &finding : findings) {
        errors += finding.severity == core::Finding::Severity::Error;
        warnings += finding.severity == core::Finding::Severity::Warning;
    }
    if (errors + warnings == 0)
        return QObject::tr("Nothing would stop a run over these nodes.");
    const auto counted = [](int count, const QString &one, const QString &more) {
        return QString::number(count) + u' ' + (count == 1 ? one : more);
    };
    return QObject::tr("%1, %2.").arg(counted(errors, QObject::tr("error"), QObject::tr("errors")),
                                      counted(warnings, QObject::tr("warning"), QObject::tr("warnings")));
}

} // namespace

DoctorCard::DoctorCard(const Theme &theme, QWidget *parent) : Card(tr("Doctor"), parent) {
    m_text = makeLabel(tr("Not checked yet."), "secondary", this);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_findings = new FindingList(this);
    m_links = makeTable(theme, this);
    m_links->setModel(&m_linkModel);
    m_links->setAccessibleName(tr("Bandwidth and round trip between nodes"));
    m_links->hide();
    body()->addWidget(m_text);
    body()->addWidget(m_findings);
    body()->addWidget(m_links);
}

QString DoctorCard::text() const {
    return m_text->text();
}

void DoctorCard::examine(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers) {
    if (m_job) {
        m_job->stop();
        m_cancelled = true;
        m_text->setText(tr("Cancelled; waiting for ssh to end…"));
        return Q_EMIT changed();
    }
    m_cancelled = false;
    m_job = std::make_unique<core::DoctorJob>();
    connect(m_job.get(), &core::DoctorJob::progressed, this, [this](const QString &what) {
        if (!m_cancelled)
            m_text->setText(what);
    });
    connect(m_job.get(), &core::DoctorJob::finished, this, &DoctorCard::over, Qt::QueuedConnection);
    m_text->setText(tr("Checking…"));
    Q_EMIT changed();
    m_job->start(nodes, {}, std::move(answers));
}

void DoctorCard::over(const core::DoctorSnapshot &snapshot, const std::vector<core::Finding> &findings) {
    m_job.reset();
    Q_EMIT changed();
    if (m_cancelled) {
        m_text->setText(tr("Cancelled."));
        return Q_EMIT finished();
    }
    m_snapshot = snapshot;
    m_findings->setFindings(findings);
    m_linkModel.setTable(core::linkTable(snapshot));
    m_links->setVisible(snapshot.nodes.size() > 1);
    fitColumns(m_links, 80, 320);
    fitHeight(m_links);
    m_text->setText(tr("%1 Checked at %2.")
                        .arg(countText(findings), QLocale().toString(QTime::currentTime(), QLocale::ShortFormat)));
    Q_EMIT examined(snapshot);
    Q_EMIT finished();
}

} // namespace lockstep::ui

#include "moc_doctor_card.cpp"
