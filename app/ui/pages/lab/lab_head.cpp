// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_head.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/progress_bar.h"
#include "base/format.h"
#include "lab/lab_report.h"

namespace lockstep::ui {
namespace {

/// "hostA (bond0): cpu:0, cpu:1 and hostB (eno1): cpu:0"
QString devicesOf(const core::LabRecord &lab) {
    QStringList nodes;
    for (const NodePlace &node : lab.nodes) {
        const QString kind = QString::fromStdString(node.device.empty() ? lab.device : node.device);
        QStringList devices;
        for (const std::string &device : node.devices)
            devices << kind + u':' + QString::fromStdString(device);
        nodes << QString::fromStdString(titleOf(node)) +
                     (node.interface.empty() ? QString()
                                             : QStringLiteral(" (%1)").arg(QString::fromStdString(node.interface))) +
                     QStringLiteral(": ") + devices.join(QStringLiteral(", "));
    }
    return nodes.join(QObject::tr(" and "));
}

QStringList aboutOf(const core::LabRecord &lab) {
    QStringList about = {
        QObject::tr("%1 on %2 devices, %3 each, %4, %5, measured in %6")
            .arg(QString::fromStdString(lab.backend), QString::fromStdString(lab.device),
                 lab.coresPerDevice == 1 ? QObject::tr("1 core") : QObject::tr("%1 cores").arg(lab.coresPerDevice),
                 QString::fromStdString(core::sweepsText(lab)), QString::fromStdString(core::schedulingText(lab)),
                 core::timeLeft(lab.durationS))};
    if (!lab.nodes.empty())
        about << QObject::tr("Measured between %1").arg(devicesOf(lab));
    for (const std::string &sentence : core::labReservations(lab, core::thisMachine()))
        about << QString::fromStdString(sentence);
    for (const std::string &sentence : lab.leftOut)
        about << QObject::tr("Left out: %1").arg(QString::fromStdString(sentence));
    for (const auto *sentences : {&lab.notRun, &lab.notOffered})
        for (const std::string &sentence : *sentences)
            about << QObject::tr("Not measured: %1").arg(QString::fromStdString(sentence));
    return about;
}

} // namespace

LabHead::LabHead(const Theme &theme, QWidget *parent) : Card(tr("Lab"), parent) {
    m_quick = new QCheckBox(tr("Quick"), this);
    m_quick->setChecked(true);
    m_quick->setToolTip(tr("Five short sweeps instead of eleven or more"));
    m_ranks = new QComboBox(this);
    m_ranks->setAccessibleName(tr("Ranks shown"));
    m_measure = new QPushButton(tr("Measure again"), this);
    m_measure->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_M));
    m_measure->setToolTip(tr("Measures these devices again, in the background (Ctrl+M)"));
    m_stop = new QPushButton(tr("Cancel"), this);
    for (QWidget *tool : std::initializer_list<QWidget *>{m_ranks, m_quick, m_measure, m_stop})
        addTool(tool);
    m_about = makeLabel({}, "secondary", this);
    m_about->setWordWrap(true);
    m_about->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_progress = new ProgressBar(theme, this);
    m_progressText = makeLabel({}, "secondary", this);
    body()->addWidget(m_about);
    body()->addWidget(m_progress);
    body()->addWidget(m_progressText);
    connect(m_ranks, &QComboBox::activated, this, &LabHead::ranksChosen);
}

int LabHead::ranks() const {
    return std::max(2, m_ranks->currentData().toInt());
}

bool LabHead::quick() const {
    return m_quick->isChecked();
}

QString LabHead::progressText() const {
    return m_progressText->text();
}

void LabHead::show(const core::LabRecord &lab) {
    setTitle(lab.nodes.empty()       ? tr("Lab of %1").arg(QString::fromStdString(lab.host))
             : lab.nodes.size() == 1 ? tr("Lab of %1").arg(QString::fromStdString(titleOf(lab.nodes[0])))
                                     : tr("Lab over %1 nodes").arg(lab.nodes.size()));
    setNote(core::wallTime(lab.startWallUs));
    m_about->setText(aboutOf(lab).join(u'\n'));
    std::set<int> ranks;
    for (const core::LabRow &row : lab.rows)
        ranks.insert(row.ranks);
    m_ranks->clear();
    for (const int n : ranks)
        m_ranks->addItem(tr("%1 ranks").arg(n), n);
    m_ranks->setVisible(ranks.size() > 1);
}

void LabHead::showProgress(const QString &words, bool busy, std::optional<double> fraction) {
    m_progress->setVisible(busy);
    m_progress->setFraction(fraction, methodColor(Method::Ddp));
    m_progressText->setText(words);
    m_progressText->setVisible(busy);
    m_stop->setVisible(fraction.has_value());
    m_measure->setVisible(!busy);
    m_quick->setVisible(!busy);
}

void LabHead::offer(const QString &words, bool enabled) {
    setWords(m_measure, words);
    m_measure->setEnabled(enabled);
}

} // namespace lockstep::ui

#include "moc_lab_head.cpp"
