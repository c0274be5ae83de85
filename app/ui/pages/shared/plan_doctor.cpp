// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/plan_doctor.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {
namespace {

using Severity = core::Finding::Severity;

constexpr qint64 freshMs = 10 * 60 * 1000; ///< hosts go down and fill up

QString counted(std::ptrdiff_t count, const QString &one, const QString &more) {
    return QString::number(count) + u' ' + (count == 1 ? one : more);
}

/// Names matter to torchrun by hand; our own agents get addresses.
bool concernsRun(const core::Finding &finding) {
    return finding.severity != Severity::Note && finding.code != "name_resolution";
}

} // namespace

PlanDoctor::PlanDoctor(SshAsker &asker, QWidget *parent) : QFrame(parent), m_asker(asker) {
    setObjectName(QStringLiteral("notice"));
    auto *rows = new QVBoxLayout(this);
    rows->setContentsMargins(grid + grid / 2, grid, grid, grid);
    rows->setSpacing(grid);
    auto *line = new QHBoxLayout;
    line->setSpacing(grid);
    m_sentence = makeLabel({}, "secondary", this);
    m_sentence->setWordWrap(true);
    line->addWidget(m_sentence, 1);
    m_button = new QPushButton(tr("Ask the doctor"), this);
    m_button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_O));
    m_button->setToolTip(tr("Checks these nodes and every connection between them (Alt+O)"));
    connect(m_button, &QPushButton::clicked, this, [this] { examining() ? stop() : examine(); });
    line->addWidget(m_button, 0, Qt::AlignTop);
    rows->addLayout(line);
    m_list = new FindingList(this, FindingList::Width::Narrow);
    rows->addWidget(m_list);
    setSubject(tr("Start checks these nodes first."), tr("this run"));
}

void PlanDoctor::setSubject(const QString &before, const QString &subject) {
    m_before = before;
    m_subject = subject;
    restyle();
}

void PlanDoctor::setRun(std::vector<core::NodeEntry> nodes, const std::string &dataset) {
    if (nodes == m_nodes && dataset == m_dataset)
        return;
    m_nodes = std::move(nodes);
    m_dataset = dataset;
    restyle();
}

void PlanDoctor::examine() {
    if (m_job || m_nodes.empty())
        return;
    core::DoctorOptions options;
    options.dataset = m_dataset;
    options.bandwidthS = 0; // measured on the Nodes page; a slow link does not prevent a run
    m_job = std::make_unique<core::DoctorJob>();
    connect(m_job.get(), &core::DoctorJob::progressed, this, [this](const QString &what) {
        if (!m_stopping)
            m_progress = what;
        restyle();
    });
    connect(m_job.get(), &core::DoctorJob::finished, this, &PlanDoctor::take, Qt::QueuedConnection);
    m_progress = tr("The doctor is checking…");
    m_job->start(m_nodes, options, m_asker.answers());
    restyle();
}

void PlanDoctor::stop() {
    if (!m_job)
        return;
    m_stopping = true; // its thread ends at the next step; its results are ignored
    m_job->stop();
    m_progress = tr("Cancelled; waiting for ssh to end…");
    restyle();
    Q_EMIT stopped();
}

void PlanDoctor::take(const core::DoctorSnapshot &snapshot, const std::vector<core::Finding> &findings) {
    m_job.reset();
    if (std::exchange(m_stopping, false))
        return restyle();
    m_snapshot = snapshot;
    m_age.start();
    if (const auto kept = core::keepChoices(snapshot); !kept)
        Q_EMIT failed(QString::fromStdString(kept.error().message()));
    std::vector<core::Finding> shown;
    std::copy_if(findings.begin(), findings.end(), std::back_inserter(shown), concernsRun);
    m_found = shown;
    m_list->setFindings(shown);
    restyle();
    Q_EMIT finished();
}

bool PlanDoctor::asked() const {
    if (m_job || !m_age.isValid() || m_age.elapsed() > freshMs || m_snapshot.nodes.size() != m_nodes.size() ||
        m_snapshot.dataset != m_dataset)
        return false;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        const core::NodeEntry &then = m_snapshot.nodes[i].node, &now = m_nodes[i];
        const std::string &found = i < m_snapshot.choices.size() ? m_snapshot.choices[i].interface : then.interface;
        if (then.name != now.name || then.how != now.how || then.host != now.host || then.agent != now.agent ||
            (now.interface != then.interface && now.interface != found))
            return false;
    }
    return true;
}

bool PlanDoctor::anyError() const {
    return core::anyError(m_found);
}

std::map<std::string, std::string> PlanDoctor::addresses() const {
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < m_snapshot.choices.size() && i < m_snapshot.nodes.size(); ++i)
        if (!m_snapshot.choices[i].address.empty())
            out[m_snapshot.nodes[i].node.name] = m_snapshot.choices[i].address;
    return out;
}

std::string PlanDoctor::whyUnusable(const std::string &host) const {
    if (!asked())
        return {};
    for (const core::NodeSnapshot &snapshot : m_snapshot.nodes)
        if (!snapshot.usable() && snapshot.node.host == host)
            return snapshot.problem;
    return {};
}

QString PlanDoctor::sentence() const {
    return m_sentence->text();
}

void PlanDoctor::restyle() {
    const bool known = asked();
    const auto count = [this](Severity severity) {
        return std::count_if(m_found.begin(), m_found.end(),
                             [&](const core::Finding &finding) { return finding.severity == severity; });
    };
    const auto errors = count(Severity::Error), warnings = count(Severity::Warning);
    const QString beside =
        warnings == 0 ? QString() : QStringLiteral(" · ") + counted(warnings, tr("warning"), tr("warnings"));
    m_sentence->setText(
        examining() ? m_progress
        : !known    ? m_before
        : errors == 0
            ? tr("Found nothing that would stop %1.").arg(m_subject) + beside
            : tr("Found %1 that would stop %2.").arg(counted(errors, tr("error"), tr("errors")), m_subject) + beside);
    setStyleProperty(m_sentence, "role", known && errors > 0 ? "wrong" : "secondary");
    setWords(m_button, examining() ? tr("Cancel") : known ? tr("Ask again") : tr("Ask the doctor"));
    m_list->setVisible(known && m_list->count() > 0);
}

} // namespace lockstep::ui

#include "moc_plan_doctor.cpp"
