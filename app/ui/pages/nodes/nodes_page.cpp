// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/nodes_page.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/nodes/doctor_card.h"
#include "app/ui/pages/nodes/node_card.h"
#include "app/ui/pages/nodes/node_cards.h"
#include "app/ui/pages/nodes/node_dialog.h"
#include "app/ui/pages/nodes/node_list_editor.h"
#include "app/ui/pages/nodes/node_sync.h"
#include "app/ui/pages/nodes/topology_card.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/page_stack.h"
#include "app/ui/widgets/scrolled_body.h"

namespace lockstep::ui {
namespace {

constexpr QKeyCombination addNodeKeys = Qt::CTRL | Qt::SHIFT | Qt::Key_N; ///< of the one of two buttons that shows

QString addNodeHint() {
    return QObject::tr("Adds a host by ssh, this machine, or a Slurm partition (Ctrl+Shift+N)");
}

} // namespace

NodesPage::NodesPage(Theme &theme, QWidget *parent)
    : QWidget(parent), m_list(new NodeListEditor(this)), m_sync(new NodeSync(this)), m_asker(new SshAsker(this)) {
    m_empty =
        new EmptyState(theme, QStringLiteral("nodes"), tr("No node yet"),
                       tr("Add a machine by its ssh name; the doctor checks it, and Sync copies what is missing."),
                       tr("Add node"), this);
    m_empty->button()->setShortcut(addNodeKeys);
    m_empty->button()->setToolTip(addNodeHint());
    m_stack = new PageStack(*this, m_empty);
    m_stack->setBody(buildBody(theme));
    connectParts();
    refresh();
}

Card *NodesPage::buildHead(QWidget *parent) {
    auto *card = new Card(tr("Nodes"), parent);
    m_doctor = new QPushButton(tr("Doctor"), card);
    m_doctor->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D));
    m_doctor->setToolTip(tr("Checks every node and every connection between two of them (Ctrl+Shift+D)"));
    m_syncAll = new QPushButton(tr("Sync all"), card);
    m_syncAll->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S));
    m_syncAll->setToolTip(tr("Copies agent, trainer and PyTorch to every node, only what differs (Ctrl+Shift+S)"));
    m_add = new QPushButton(tr("Add node"), card);
    m_add->setShortcut(addNodeKeys);
    m_add->setToolTip(addNodeHint());
    for (QWidget *tool : std::initializer_list<QWidget *>{m_doctor, m_syncAll, m_add})
        card->addTool(tool);
    m_about = makeLabel({}, "secondary", card);
    m_about->setToolTip(tr("The doctor checks every connection between two nodes before a run uses it"));
    m_about->setWordWrap(true);
    m_about->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    card->body()->addWidget(m_about);
    return card;
}

QWidget *NodesPage::buildBody(Theme &theme) {
    const auto [area, body, layout] = makeScrolledBody(this);
    layout->addWidget(buildHead(body));
    layout->addWidget(m_cards = new NodeCards(theme, *m_asker, body));
    layout->addWidget(m_topology = new TopologyCard(theme, body));
    layout->addWidget(m_examination = new DoctorCard(theme, body));
    layout->addStretch(1);
    return area;
}

void NodesPage::connectParts() {
    connect(m_empty, &EmptyState::clicked, this, &NodesPage::askForNode);
    connect(m_add, &QPushButton::clicked, this, &NodesPage::askForNode);
    connect(m_doctor, &QPushButton::clicked, this, &NodesPage::examine);
    connect(m_syncAll, &QPushButton::clicked, this, [this] { m_sync->sync(m_cards->nodes(), m_asker->answers()); });
    connect(m_asker, &SshAsker::failed, this, &NodesPage::failed);
    connect(m_list, &NodeListEditor::failed, this, &NodesPage::failed);
    connect(m_list, &NodeListEditor::changed, this, &NodesPage::refresh);
    connect(m_cards, &NodeCards::snapshotChanged, this, [this] {
        if (!m_examination->snapshot())
            showTopology();
    });
    connect(m_cards, &NodeCards::syncWanted, this,
            [this](const core::NodeEntry &node) { m_sync->sync({node}, m_asker->answers()); });
    connect(m_cards, &NodeCards::removeWanted, this, [this](const core::NodeEntry &node) {
        m_examination->forgetSnapshot(); // the picture would show it still
        m_list->remove(node);
    });
    connect(m_cards, &NodeCards::interfaceChosen, m_list, &NodeListEditor::setInterface);
    connect(m_examination, &DoctorCard::changed, this, &NodesPage::restyle);
    connect(m_examination, &DoctorCard::examined, m_list, &NodeListEditor::keepChoices);
    connect(m_examination, &DoctorCard::finished, this, &NodesPage::refresh);
    connect(m_sync, &NodeSync::failed, this, &NodesPage::failed);
    connect(m_sync, &NodeSync::started, this, [this] { setWords(m_syncAll, tr("Cancel sync")); });
    connect(m_sync, &NodeSync::progressed, this,
            [this](const QString &node, const QString &words, std::optional<double> fraction) {
                if (NodeCard *card = this->card(node))
                    card->setWork(words, fraction);
            });
    connect(m_sync, &NodeSync::finished, this, [this] {
        setWords(m_syncAll, tr("Sync all"));
        m_cards->unwatchAll(); // the agent may lie elsewhere now
        refresh();
        if (isVisible())
            m_cards->watchAll();
    });
}

bool NodesPage::isEmpty() const {
    return !m_stack->showsBody();
}

NodeCard *NodesPage::card(const QString &node) const {
    return m_cards->card(node);
}

TopologyView *NodesPage::topology() const {
    return m_topology->view();
}

QString NodesPage::doctorText() const {
    return m_examination->text();
}

bool NodesPage::waiting() const {
    return m_examination->examining() || m_cards->waiting();
}

std::vector<ChartSource *> NodesPage::charts() const {
    if (isEmpty())
        return {};
    return {topology()};
}

void NodesPage::refresh() {
    auto nodes = core::readNodes();
    if (!nodes) {
        Q_EMIT failed(QString::fromStdString(nodes.error().message()));
        return;
    }
    m_stack->showBody(!nodes->empty());
    m_cards->setNodes(*nodes);
    const auto count = int(nodes->size());
    m_about->setText(count == 1 ? tr("One node. Add another for runs over several.") : tr("%1 nodes").arg(count));
    restyle();
    showTopology();
}

void NodesPage::restyle() {
    setWords(m_doctor, m_examination->examining() ? tr("Cancel") : tr("Doctor"));
    m_doctor->setEnabled(!m_cards->nodes().empty() && !m_examination->stopping());
}

/// What the doctor measured; before that, what the nodes report about themselves.
void NodesPage::showTopology() {
    m_topology->show(m_examination->snapshot().value_or(m_cards->snapshot()));
}

void NodesPage::examine() {
    m_examination->examine(m_cards->nodes(), m_asker->answers());
}

void NodesPage::askForNode() {
    auto *dialog = new NodeDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { add(dialog->node()); });
    dialog->open();
}

void NodesPage::add(const core::NodeEntry &node) {
    m_list->add(node);
}

void NodesPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
    m_cards->watchAll();
}

void NodesPage::hideEvent(QHideEvent *event) {
    m_cards->unwatchAll();
    QWidget::hideEvent(event);
}

void NodesPage::resizeEvent(QResizeEvent *event) {
    QWidget::resizeEvent(event);
    m_cards->place(width());
}

} // namespace lockstep::ui

#include "moc_nodes_page.cpp"
