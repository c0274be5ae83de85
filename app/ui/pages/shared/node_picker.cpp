// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/node_picker.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/cells.h"
#include "nodes/node_choice.h"

namespace lockstep::ui {
namespace {

using core::qs;

QLabel *wrapped(const QString &text, const char *role, QWidget *parent) {
    QLabel *label = makeLabel(text, role, parent);
    label->setWordWrap(true);
    return label;
}

/// "ranks 0-1", "rank 2"
QString rankWords(int first, int count) {
    return count == 1 ? QObject::tr("rank %1").arg(first)
                      : QObject::tr("ranks %1-%2").arg(first).arg(first + count - 1);
}

} // namespace

NodePicker::NodePicker(const Theme &theme, SshAsker &asker, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_asker(asker), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(grid + grid / 2);
    m_empty = new QWidget(this);
    auto *line = new QHBoxLayout(m_empty);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(2 * grid);
    line->addWidget(wrapped(tr("No node yet: add a machine by its ssh name."), "secondary", m_empty), 1);
    m_add = new QPushButton(tr("Add nodes"), m_empty);
    m_add->setShortcut(QKeySequence(Qt::ALT | Qt::Key_N));
    m_add->setToolTip(tr("Opens Nodes, where they are added (Alt+N)"));
    connect(m_add, &QPushButton::clicked, this, &NodePicker::nodesWanted);
    line->addWidget(m_add, 0, Qt::AlignTop);
    m_layout->addWidget(m_empty);
    m_others = wrapped({}, "secondary", this);
    m_others->hide();
    m_layout->addWidget(m_others);
    connect(&m_theme, &Theme::changed, this, &NodePicker::restyle);
    refresh();
}

void NodePicker::refresh() {
    auto book = core::readNodes();
    if (!book) {
        Q_EMIT failed(QString::fromStdString(book.error().message()));
        return;
    }
    if (*book == m_book && (!m_rows.empty() || m_book.empty())) {
        m_empty->setVisible(m_book.empty());
        return;
    }
    const std::vector<core::NodeEntry> before = std::exchange(m_book, std::move(*book));
    const std::vector<NodePlace> places = core::followBook(m_places, before, m_book);
    makeRows();
    if (places != m_places) {
        m_places = places;
        Q_EMIT chosen(m_places);
    }
    restyle();
}

/// Unchanged nodes keep their boxes, so that nothing flickers when another node is added.
void NodePicker::makeRows() {
    std::vector<Row> rows;
    for (const core::NodeEntry &node : m_book) {
        const auto kept = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row &row) {
            return row.box && row.node.name == node.name && row.node.host == node.host && row.node.how == node.how &&
                   row.node.agent == node.agent;
        });
        if (kept == m_rows.end()) {
            rows.push_back(makeRow(node));
            continue;
        }
        rows.push_back(*kept);
        rows.back().node = node;
        kept->box = nullptr;
    }
    for (const Row &row : m_rows)
        if (row.box)
            row.box->deleteLater(); // its own box may have caused this call
    m_rows = std::move(rows);
    for (const Row &row : m_rows)
        m_layout->addWidget(row.box); // in the book's order
    m_layout->addWidget(m_others);
    m_empty->setVisible(m_book.empty());
}

NodePicker::Row NodePicker::makeRow(const core::NodeEntry &node) {
    Row row;
    row.node = node;
    row.box = new QWidget(this);
    auto *lines = new QVBoxLayout(row.box);
    lines->setContentsMargins(0, 0, 0, 0);
    lines->setSpacing(grid / 2);
    auto *head = new QHBoxLayout;
    head->setSpacing(grid);
    row.name = new QLabel(row.box);
    row.name->setTextFormat(Qt::PlainText);
    row.name->setText(qs(node.name));
    QFont bold = Theme::font(Type::Body, QFont::DemiBold);
    row.name->setFont(bold);
    row.part = makeLabel({}, "secondary", row.box);
    row.part->setToolTip(tr("Node: a machine of the run, in the order chosen. Master: node 0, where all ranks "
                            "meet.\nRank: a process (DDP: one per device), numbered over all nodes."));
    row.way = makeLabel({}, "small", row.box);
    row.way->setToolTip(
        tr("Network interface for Gloo and NCCL, found by the doctor. Another one can be chosen on Nodes"));
    head->addWidget(row.name);
    head->addWidget(row.part);
    head->addStretch(1);
    head->addWidget(row.way);
    lines->addLayout(head);
    if (const std::string why = core::whyNotChosen(node); !why.empty()) {
        lines->addWidget(wrapped(qs(why), "secondary", row.box));
        return row;
    }
    row.devices = new DevicePicker(m_theme, row.box);
    row.devices->setWaitingText(tr("Asking %1 for its devices…").arg(qs(node.name)));
    std::map<std::string, std::string> environment;
    if (node.how == "ssh")
        if (auto asked = m_asker.answers().environment())
            environment = std::move(*asked);
    if (auto prefix = core::prefixFor(node))
        row.devices->pickFrom(*prefix, std::move(environment));
    row.devices->setCoresPerDevice(m_coresPerDevice);
    connect(row.devices, &DevicePicker::chosen, this, [this, node](const QString &kind, const QStringList &devices) {
        std::vector<std::string> names;
        for (const QString &device : devices)
            names.push_back(device.toStdString());
        m_places = core::withDevices(m_places, node, kind.toStdString(), names);
        restyle();
        Q_EMIT chosen(m_places);
    });
    lines->addWidget(row.devices);
    return row;
}

const NodePicker::Row *NodePicker::row(const QString &node) const {
    const auto found =
        std::find_if(m_rows.begin(), m_rows.end(), [&](const Row &row) { return qs(row.node.name) == node; });
    return found == m_rows.end() ? nullptr : &*found;
}

bool NodePicker::probing() const {
    return isVisible() && std::any_of(m_rows.begin(), m_rows.end(), [](const Row &row) {
               return row.devices && row.devices->boxes().empty() && row.devices->problem().isEmpty();
           });
}

void NodePicker::show(const std::vector<NodePlace> &places, const RunConfig *run) {
    m_places = places;
    m_hasRun = run != nullptr;
    if (run)
        m_run = *run;
    restyle();
}

void NodePicker::setCoresPerDevice(int cores) {
    m_coresPerDevice = cores;
    for (const Row &row : m_rows)
        if (row.devices)
            row.devices->setCoresPerDevice(cores);
}

void NodePicker::probeAgain() {
    for (const Row &row : m_rows)
        if (row.devices)
            row.devices->probeAgain();
}

void NodePicker::setAddresses(std::map<std::string, std::string> addresses) {
    m_addresses = std::move(addresses);
    restyle();
}

void NodePicker::restyle() {
    const bool ranks = m_hasRun && m_run.nodes.size() == m_places.size();
    const std::vector<int> processes = ranks ? processesOfNodes(m_run) : std::vector<int>();
    const std::vector<int> first = firstRanks(processes);
    std::vector<bool> known(m_places.size(), false);
    for (const Row &row : m_rows) {
        const NodePlace *place = core::placeOf(m_places, row.node);
        QStringList devices;
        QString part;
        if (place) {
            const auto at = std::size_t(place - m_places.data());
            known[at] = true;
            for (const std::string &device : place->devices)
                devices << qs(device);
            part = tr("node %1").arg(at) + (at == 0 ? tr(" · master") : QString());
            if (ranks)
                part += QStringLiteral(" · ") + rankWords(first[at], processes[at]);
        }
        row.part->setText(part);
        const std::string interface = place && !place->interface.empty() ? place->interface : row.node.interface;
        const auto address = m_addresses.find(row.node.name);
        row.way->setText(!row.devices        ? QString()
                         : interface.empty() ? tr("interface not chosen yet")
                         : address == m_addresses.end() || interface != row.node.interface ? qs(interface)
                                                                                           : qs(interface) +
                                                                                                 QStringLiteral(" · ") +
                                                                                                 qs(address->second));
        if (row.devices)
            row.devices->setChosen(place ? qs(place->device.empty() ? m_run.device : place->device) : QString(),
                                   devices);
    }
    QStringList others;
    for (std::size_t i = 0; i < known.size(); ++i)
        if (!known[i])
            others << tr("node %1: %2").arg(i).arg(qs(titleOf(m_places[i])));
    m_others->setText(
        tr("Not in the list of nodes, so the doctor doesn't check it: %1").arg(others.join(QStringLiteral(", "))));
    m_others->setVisible(!others.isEmpty());
}

void NodePicker::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace lockstep::ui

#include "moc_node_picker.cpp"
