// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/node_card.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/plain_hints.h"
#include "app/ui/widgets/progress_bar.h"
#include "models/cells.h"
#include "nodes/node_watch.h"

namespace lockstep::ui {
namespace {

using core::qs;

constexpr int titleWidth = 12 * grid;

QString howText(const core::NodeEntry &node) {
    return node.how == "local"   ? QObject::tr("this machine")
           : node.how == "slurm" ? QObject::tr("Slurm, partition %1").arg(qs(node.partition))
                                 : QObject::tr("ssh %1").arg(qs(node.host));
}

/// Joins the lines of a repeated title (GPU, interface) into one text.
std::vector<core::NodeFigure> joined(const core::NodeSnapshot &snapshot) {
    std::vector<core::NodeFigure> out;
    for (core::NodeFigure &figure : core::nodeFigures(snapshot)) {
        if (!out.empty() && out.back().title == figure.title)
            out.back().value += "\n" + figure.value;
        else
            out.push_back(std::move(figure));
    }
    return out;
}

} // namespace

NodeCard::NodeCard(Theme &theme, const core::NodeEntry &node, QWidget *parent)
    : Card(qs(node.name), parent), m_theme(theme), m_node(node), m_figures(new QGridLayout) {
    m_interface = new QComboBox(this);
    m_interface->setAccessibleName(tr("Interface of %1").arg(name()));
    m_interface->setToolTip(
        tr("Network interface for Gloo and NCCL. The doctor chooses one that every other node reaches"));
    m_again = new QPushButton(tr("Connect"), this);
    m_again->setProperty("verb", tr("Connect to %1 again").arg(name()));
    m_again->setToolTip(tr("Connects again; ssh may ask for a passphrase or about a new host's key"));
    m_sync = new QPushButton(tr("Sync"), this);
    m_sync->setToolTip(tr("Copies agent, trainer and PyTorch there, only what differs"));
    m_remove = new QToolButton(this);
    m_remove->setIcon(theme.icon(QStringLiteral("trash"), theme.palette().textSecondary));
    m_remove->setAutoRaise(true);
    m_remove->setAccessibleName(tr("Remove %1").arg(name()));
    m_remove->setToolTip(tr("Removes the node from this list; nothing on it changes"));
    for (QWidget *tool : std::initializer_list<QWidget *>{m_again, m_interface, m_sync, m_remove})
        addTool(tool);
    m_problem = makePlainLabel({}, "wrong", this);
    m_work = makePlainLabel({}, "secondary", this);
    m_bar = new ProgressBar(theme, this);
    m_busy = new ProgressBar(theme, this);
    m_memory = new ProgressBar(theme, this);
    m_busy->setToolTip(tr("Share of the allowed cores' time that is used"));
    m_memory->setToolTip(tr("Share of the memory that is used"));
    m_figures->setHorizontalSpacing(2 * grid);
    m_figures->setVerticalSpacing(grid / 2);
    m_figures->setColumnMinimumWidth(0, titleWidth);
    m_figures->setColumnStretch(1, 1);
    body()->addWidget(m_problem);
    body()->addWidget(m_work);
    body()->addWidget(m_bar);
    body()->addLayout(m_figures);
    body()->addStretch(1);
    connect(m_sync, &QPushButton::clicked, this, &NodeCard::syncWanted);
    connect(m_again, &QPushButton::clicked, this, &NodeCard::againWanted);
    connect(m_remove, &QToolButton::clicked, this, &NodeCard::removeWanted);
    connect(m_interface, &QComboBox::activated, this,
            [this](int) { Q_EMIT interfaceChosen(m_interface->currentData().toString()); });
    connect(&theme, &Theme::changed, this,
            [this] { m_remove->setIcon(m_theme.icon(QStringLiteral("trash"), m_theme.palette().textSecondary)); });
    m_sync->setVisible(node.how != "local"); // this machine needs no copy
    setWork({}, {});
    core::NodeSnapshot nothing;
    nothing.node = node;
    setSnapshot(nothing, false);
}

QString NodeCard::name() const {
    return qs(m_node.name);
}

QString NodeCard::stateText() const {
    return m_problem->isHidden() ? QString() : m_problem->text();
}

QString NodeCard::figure(const QString &title) const {
    const QLabel *label = m_values.value(title);
    return label ? label->text() : QString();
}

void NodeCard::setSnapshot(const core::NodeSnapshot &snapshot, bool live) {
    const bool trouble = snapshot.trouble != core::NodeTrouble::None;
    setNote(howText(m_node) + (live             ? tr(" · live")
                               : trouble        ? tr(" · not connected")
                               : snapshot.facts ? QString()
                                                : tr(" · connecting …")));
    const QString words =
        qs(snapshot.problem) + (snapshot.wayOut.empty() ? QString() : QStringLiteral("; ") + qs(snapshot.wayOut));
    m_problem->setText(trouble ? words : QString());
    m_problem->setVisible(trouble);
    m_again->setVisible(trouble && snapshot.trouble != core::NodeTrouble::NoAgent &&
                        snapshot.trouble != core::NodeTrouble::OldAgent);
    showInterfaces(snapshot);
    showFigures(snapshot);
}

/// The same rows each second: only words change, so that a selection stays.
void NodeCard::showFigures(const core::NodeSnapshot &snapshot) {
    const auto rows = snapshot.facts ? joined(snapshot) : std::vector<core::NodeFigure>();
    QStringList titles;
    for (const core::NodeFigure &figure : rows)
        titles << qs(figure.title);
    if (titles != m_titles) {
        while (QLayoutItem *item = m_figures->takeAt(0)) {
            if (item->widget() && item->widget() != m_busy && item->widget() != m_memory)
                delete item->widget();
            delete item;
        }
        m_values.clear();
        m_titles = titles;
        int at = 0;
        for (const QString &title : titles) {
            m_figures->addWidget(makeLabel(title, "secondary", this), at, 0, Qt::AlignTop);
            auto *value = makePlainLabel({}, "", this);
            m_figures->addWidget(value, at, 1);
            m_values.insert(title, value);
            ProgressBar *bar = title == QLatin1String("busy")          ? m_busy
                               : title == QLatin1String("memory used") ? m_memory
                                                                       : nullptr;
            if (bar) {
                bar->setFixedWidth(12 * grid);
                m_figures->addWidget(bar, at, 2, Qt::AlignVCenter);
            } else {
                m_figures->addWidget(value, at, 1, 1, 2);
            }
            ++at;
        }
    }
    for (const auto &[title, value, detail] : rows) {
        QLabel *label = m_values[qs(title)];
        label->setText(qs(value));
        label->setToolTip(plainHint(qs(detail)));
    }
    m_busy->setVisible(titles.contains(QStringLiteral("busy")));
    m_memory->setVisible(titles.contains(QStringLiteral("memory used")));
    if (!snapshot.facts)
        return;
    const QColor color = m_theme.palette().textSecondary;
    m_busy->setFraction(snapshot.facts->cpuBusy, color);
    const auto &total = snapshot.facts->memoryTotalBytes, &left = snapshot.facts->memoryAvailableBytes;
    m_memory->setFraction(total && left && *total > 0 ? std::optional(1 - *left / *total) : std::nullopt, color);
}

void NodeCard::showInterfaces(const core::NodeSnapshot &snapshot) {
    QStringList names;
    if (snapshot.facts)
        for (const core::NodeFacts::Interface &one : snapshot.facts->interfaces)
            if (!one.loopback && !one.addresses.empty())
                names << qs(one.name);
    const QString chosen = qs(snapshot.node.interface);
    if (!chosen.isEmpty() && !names.contains(chosen))
        names << chosen;
    m_interface->setVisible(!names.isEmpty());
    QStringList shown;
    for (int i = 1; i < m_interface->count(); ++i)
        shown << m_interface->itemData(i).toString();
    if (shown != names || m_interface->count() == 0) {
        m_interface->clear();
        m_interface->addItem({}, QString());
        for (const QString &one : names)
            m_interface->addItem(one, one);
    }
    const bool doctors = !snapshot.node.interfacePinned;
    m_interface->setItemText(0, doctors && !chosen.isEmpty() ? tr("%1 (doctor's)").arg(chosen) : tr("doctor's choice"));
    if (!m_interface->view()->isVisible()) // not while a person chooses
        m_interface->setCurrentIndex(doctors ? 0 : std::max(0, m_interface->findData(chosen)));
}

void NodeCard::setWork(const QString &words, std::optional<double> fraction) {
    m_work->setText(words);
    m_work->setVisible(!words.isEmpty());
    m_bar->setVisible(!words.isEmpty() && fraction.has_value());
    if (fraction)
        m_bar->setFraction(fraction, m_theme.palette().textSecondary);
    m_sync->setEnabled(words.isEmpty());
}

} // namespace lockstep::ui

#include "moc_node_card.cpp"
