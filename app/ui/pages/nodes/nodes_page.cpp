// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/nodes_page.h"

#include <QComboBox>
#include <QDateTime>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QProcess>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/nodes/node_card.h"
#include "app/ui/pages/nodes/node_dialog.h"
#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "base/command_prefix.h"
#include "base/command_request.h"
#include "base/format.h"
#include "models/node_tables.h"

namespace lockstep::ui {
namespace {

using core::qs;

constexpr int cardWidth = 62 * grid; ///< at least, when several stand beside each other

QLabel *wrapped(const QString &text, QWidget *parent) {
    QLabel *label = makeLabel(text, "secondary", parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
}

QString countText(const std::vector<core::Finding> &findings) {
    int errors = 0, warnings = 0;
    for (const core::Finding &finding : findings) {
        errors += finding.severity == core::Finding::Severity::Error;
        warnings += finding.severity == core::Finding::Severity::Warning;
    }
    if (errors + warnings == 0)
        return QObject::tr("Nothing stands in the way of a run over these nodes.");
    const auto counted = [](int count, const QString &one, const QString &more) {
        return QString::number(count) + u' ' + (count == 1 ? one : more);
    };
    return QObject::tr("%1, %2.").arg(counted(errors, QObject::tr("error"), QObject::tr("errors")),
                                      counted(warnings, QObject::tr("warning"), QObject::tr("warnings")));
}

} // namespace

NodesPage::NodesPage(Theme &theme, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_stack(new QStackedWidget(this)), m_asker(new SshAsker(this)) {
    connect(m_asker, &SshAsker::failed, this, &NodesPage::failed);
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    m_empty = new EmptyState(theme, QStringLiteral("nodes"), tr("No node yet"),
                             tr("A node is a machine that a run may be put on, this one too. Add one by the name under "
                                "which ssh knows it; the doctor then finds interface, ports and versions, and Sync "
                                "brings over what is missing."),
                             tr("Add node"), this);
    connect(m_empty, &EmptyState::clicked, this, &NodesPage::askForNode);
    m_stack->addWidget(m_empty);
    m_stack->addWidget(buildBody());
    refresh();
}

NodesPage::~NodesPage() {
    core::endWithoutWaiting(std::move(m_adding));
}

Card *NodesPage::buildHead(QWidget *parent) {
    auto *card = new Card(tr("Nodes"), parent);
    m_doctor = new QPushButton(tr("Doctor"), card);
    m_doctor->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D));
    m_doctor->setToolTip(
        tr("Looks at every node and tries every way between two of them: interfaces, ports, bandwidth, "
           "versions, data, disk, limits, clocks (Ctrl+Shift+D)"));
    m_syncAll = new QPushButton(tr("Sync all"), card);
    m_syncAll->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S));
    m_syncAll->setToolTip(tr("Brings agent, trainer and PyTorch to every node, only what differs (Ctrl+Shift+S)"));
    m_add = new QPushButton(tr("Add node"), card);
    m_add->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N));
    m_add->setToolTip(tr("Adds a host by ssh, this machine, or a Slurm partition (Ctrl+Shift+N)"));
    for (QWidget *tool : std::initializer_list<QWidget *>{m_doctor, m_syncAll, m_add})
        card->addTool(tool);
    m_about = wrapped({}, card);
    card->body()->addWidget(m_about);
    connect(m_add, &QPushButton::clicked, this, &NodesPage::askForNode);
    connect(m_doctor, &QPushButton::clicked, this, &NodesPage::examine);
    connect(m_syncAll, &QPushButton::clicked, this, [this] { sync(m_nodes); });
    return card;
}

Card *NodesPage::buildTopology(QWidget *parent) {
    auto *card = new Card(tr("Topology"), parent);
    m_method = new QComboBox(card);
    for (const MethodSpec &method : methodTable)
        if (method.traffic != Traffic::None) {
            m_method->addItem(qs(method.label), qs(method.name));
            m_method->setItemData(m_method->count() - 1, qs(sentenceOf(method.traffic)), Qt::ToolTipRole);
        }
    m_method->setAccessibleName(tr("Method"));
    m_method->setToolTip(tr("Whose traffic is drawn"));
    m_model = new QComboBox(card);
    for (const ModelSpec &model : modelTable)
        m_model->addItem(qs(model.name));
    m_model->setCurrentIndex(
        int(std::ranges::max_element(modelTable, {}, &ModelSpec::parameters) - modelTable.begin()));
    m_model->setAccessibleName(tr("Model"));
    m_model->setToolTip(tr("Its gradients travel once a step"));
    m_devices = new QComboBox(card);
    for (const int count : {1, 2, 4, 8, 16})
        m_devices->addItem(count == 1 ? tr("1 device a node") : tr("%1 devices a node").arg(count), count);
    m_devices->setCurrentIndex(1);
    m_devices->setAccessibleName(tr("Devices a node"));
    m_devices->setToolTip(tr("Devices that a run would use on each node, as far as it has them"));
    for (QWidget *tool : std::initializer_list<QWidget *>{m_method, m_model, m_devices})
        card->addTool(tool);
    m_topology = new TopologyView(m_theme, card);
    m_topologyText = wrapped({}, card);
    card->body()->addWidget(m_topology);
    card->body()->addWidget(m_topologyText);
    connect(m_method, &QComboBox::currentIndexChanged, this, &NodesPage::showTopology);
    connect(m_model, &QComboBox::currentIndexChanged, this, &NodesPage::showTopology);
    connect(m_devices, &QComboBox::currentIndexChanged, this, &NodesPage::showTopology);
    return card;
}

Card *NodesPage::buildDoctor(QWidget *parent) {
    auto *card = new Card(tr("Doctor"), parent);
    m_doctorText = wrapped(tr("Not asked yet."), card);
    m_findings = new FindingList(card);
    m_links = makeTable(m_theme, card);
    m_links->setModel(&m_linkModel);
    m_links->setAccessibleName(tr("Bandwidth and round trip between nodes"));
    m_links->hide();
    card->body()->addWidget(m_doctorText);
    card->body()->addWidget(m_findings);
    card->body()->addWidget(m_links);
    return card;
}

QWidget *NodesPage::buildBody() {
    const auto [area, body, layout] = makeScrolledBody(this);
    layout->addWidget(buildHead(body));
    m_cardGrid = new QGridLayout;
    m_cardGrid->setSpacing(2 * grid);
    layout->addLayout(m_cardGrid);
    layout->addWidget(buildTopology(body));
    layout->addWidget(buildDoctor(body));
    layout->addStretch(1);
    return area;
}

bool NodesPage::isEmpty() const {
    return m_stack->currentIndex() == 0;
}

NodeCard *NodesPage::card(const QString &node) const {
    const auto found = m_cards.find(node.toStdString());
    return found == m_cards.end() ? nullptr : found->second;
}

QString NodesPage::doctorText() const {
    return m_doctorText->text();
}

bool NodesPage::waiting() const {
    return m_doctorJob || std::any_of(m_watches.begin(), m_watches.end(), [](const auto &one) {
               return !one.second->live() && one.second->look().trouble == core::NodeTrouble::None;
           });
}

std::vector<ChartSource *> NodesPage::charts() const {
    if (isEmpty())
        return {};
    return {m_topology};
}

void NodesPage::say(const Result<void> &result) {
    if (!result)
        Q_EMIT failed(QString::fromStdString(result.error().message()));
}

void NodesPage::refresh() {
    auto nodes = core::readNodes();
    if (!nodes) {
        Q_EMIT failed(QString::fromStdString(nodes.error().message()));
        return;
    }
    const bool same = *nodes == m_nodes;
    m_nodes = std::move(*nodes);
    m_stack->setCurrentIndex(m_nodes.empty() ? 0 : 1);
    if (!same)
        makeCards();
    const auto count = int(m_nodes.size());
    m_about->setText(
        count == 1 ? tr("One node. A run over several wants another one.")
                   : tr("%1 nodes. The doctor tries every way between two of them before a run does.").arg(count));
    m_doctor->setEnabled(count > 0 && !(m_doctorJob && m_cancelled));
    showTopology();
}

void NodesPage::makeCards() {
    for (const auto &[name, card] : m_cards)
        card->deleteLater(); // its own button may have led here
    m_cards.clear();
    for (const core::NodeEntry &node : m_nodes)
        m_cards[node.name] = makeCard(node);
    m_columns = 0;
    placeCards();
    std::erase_if(m_watches, [this](const auto &one) {
        return std::none_of(m_nodes.begin(), m_nodes.end(),
                            [&](const core::NodeEntry &node) { return node == one.second->look().node; });
    });
    if (isVisible())
        watchAll();
    for (const auto &[name, watch] : m_watches)
        showLook(name);
}

NodeCard *NodesPage::makeCard(const core::NodeEntry &node) {
    auto *card = new NodeCard(m_theme, node, m_cardGrid->parentWidget());
    connect(card, &NodeCard::syncWanted, this, [this, node] { sync({node}); });
    connect(card, &NodeCard::removeWanted, this, [this, node] { remove(node); });
    connect(card, &NodeCard::againWanted, this, [this, node] { watch(node); });
    connect(card, &NodeCard::interfaceChosen, this,
            [this, node](const QString &interface) { change(node, interface); });
    return card;
}

void NodesPage::placeCards() {
    const int columns = std::clamp(width() / cardWidth, 1, std::max(1, int(m_nodes.size())));
    if (columns == m_columns)
        return;
    m_columns = columns;
    while (QLayoutItem *item = m_cardGrid->takeAt(0))
        delete item;
    for (int column = 0; column < std::max(columns, m_cardGrid->columnCount()); ++column) {
        m_cardGrid->setColumnStretch(column, column < columns ? 1 : 0);
        m_cardGrid->setColumnMinimumWidth(column, 0);
    }
    int at = 0;
    for (const core::NodeEntry &node : m_nodes) {
        m_cardGrid->addWidget(m_cards[node.name], at / columns, at % columns);
        ++at;
    }
}

void NodesPage::watchAll() {
    for (const core::NodeEntry &node : m_nodes)
        if (!m_watches.contains(node.name))
            watch(node);
}

void NodesPage::watch(const core::NodeEntry &node) {
    auto &watch = m_watches[node.name];
    watch = std::make_unique<core::NodeWatch>(node, m_asker->answers());
    connect(watch.get(), &core::NodeWatch::changed, this, [this, name = node.name] { showLook(name); });
    watch->start();
    showLook(node.name);
}

void NodesPage::showLook(const std::string &name) {
    const auto watch = m_watches.find(name);
    const auto card = m_cards.find(name);
    if (watch == m_watches.end() || card == m_cards.end())
        return;
    card->second->setLook(watch->second->look(), watch->second->live());
    if (!m_examined)
        showTopology();
}

/// What the doctor measured; before it did, the nodes as they tell of themselves.
void NodesPage::showTopology() {
    core::DoctorLook look;
    if (m_examined) {
        look = m_look;
    } else {
        for (const core::NodeEntry &node : m_nodes) {
            const auto watch = m_watches.find(node.name);
            core::NodeLook one;
            one.node = node;
            look.nodes.push_back(watch == m_watches.end() ? one : watch->second->look());
        }
    }
    core::Topology topology = core::topologyOf(look);
    const double gradients = core::gradientBytesOf(m_model->currentText().toStdString()).value_or(0);
    core::putOn(topology, m_method->currentData().toString().toStdString(), gradients,
                m_devices->currentData().toInt());
    const int ranks = topology.worldSize();
    const auto least = topology.leastStepS();
    const QString sentence =
        ranks < 2      ? tr("No traffic: it takes two devices that can be used.")
        : least == 0.0 ? tr("%1 ranks on one node: nothing of a step crosses between nodes.").arg(ranks)
        : !least
            ? tr("%1 ranks. The doctor measures what the ways carry; then the least time of a step's communication "
                 "stands here.")
                  .arg(ranks)
            : tr("%1 ranks, %2 of gradients: at the measured bandwidth a step's communication takes %3 or more.")
                  .arg(ranks)
                  .arg(core::bytes(gradients), core::shortTime(least));
    m_topologyText->setText(sentence);
    m_topology->setTopology(std::move(topology));
}

void NodesPage::examine() {
    if (m_doctorJob) {
        m_doctorJob->stop();
        m_cancelled = true;
        m_doctor->setEnabled(false);
        m_doctorText->setText(tr("Cancelled; waiting for ssh to end …"));
        return;
    }
    m_cancelled = false;
    m_doctorJob = std::make_unique<core::DoctorJob>();
    connect(m_doctorJob.get(), &core::DoctorJob::progressed, this, [this](const QString &what) {
        if (!m_cancelled)
            m_doctorText->setText(what);
    });
    connect(m_doctorJob.get(), &core::DoctorJob::finished, this, &NodesPage::examined, Qt::QueuedConnection);
    setWords(m_doctor, tr("Cancel"));
    m_doctorText->setText(tr("Looking …"));
    m_doctorJob->start(m_nodes, {}, m_asker->answers());
}

void NodesPage::examined(const core::DoctorLook &look, const std::vector<core::Finding> &findings) {
    m_doctorJob.reset();
    setWords(m_doctor, tr("Doctor"));
    m_doctor->setEnabled(true);
    if (m_cancelled) {
        m_doctorText->setText(tr("Cancelled."));
        return refresh();
    }
    m_look = look;
    m_examined = true;
    m_findings->setFindings(findings);
    m_linkModel.setTable(core::linkTable(look));
    m_links->setVisible(look.nodes.size() > 1);
    fitColumns(m_links, 80, 320);
    fitHeight(m_links);
    m_doctorText->setText(
        tr("%1 Asked at %2.").arg(countText(findings), QLocale().toString(QTime::currentTime(), QLocale::ShortFormat)));
    say(core::keepChoices(look)); // the interfaces found go into the book
    refresh();
}

void NodesPage::sync(const std::vector<core::NodeEntry> &nodes) {
    if (m_syncJob) {
        m_syncJob->stop();
        return;
    }
    std::vector<core::NodeEntry> others;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(others),
                 [](const core::NodeEntry &node) { return node.how != "local"; });
    if (others.empty())
        return;
    m_syncJob = std::make_unique<core::SyncJob>();
    connect(m_syncJob.get(), &core::SyncJob::progressed, this, &NodesPage::synced);
    const auto over = [this](const QString &node, const QString &words) {
        if (NodeCard *card = this->card(node))
            card->setWork(words, {});
    };
    connect(m_syncJob.get(), &core::SyncJob::nodeDone, this,
            [over](const QString &node, const std::vector<core::SyncReport> &) { over(node, {}); });
    connect(m_syncJob.get(), &core::SyncJob::nodeFailed, this, [this, over](const QString &node, const Error &error) {
        over(node, {});
        Q_EMIT failed(node + QStringLiteral(": ") + QString::fromStdString(error.message()));
    });
    connect(
        m_syncJob.get(), &core::SyncJob::finished, this,
        [this] {
            m_syncJob.reset();
            setWords(m_syncAll, tr("Sync all"));
            m_watches.clear(); // the agent may lie elsewhere now
            refresh();
            if (isVisible())
                watchAll();
        },
        Qt::QueuedConnection);
    setWords(m_syncAll, tr("Cancel sync"));
    for (const core::NodeEntry &node : others)
        if (NodeCard *card = this->card(qs(node.name)))
            card->setWork(tr("waiting to be synced"), {});
    m_syncJob->start(nodes, {}, m_asker->answers()); // this machine too: all agree on a line of PyTorch
}

void NodesPage::synced(const core::SyncProgress &progress) {
    NodeCard *card = this->card(qs(progress.node));
    if (!card)
        return;
    const bool moves = progress.totalBytes > 0;
    card->setWork(moves ? tr("%1 %2: %3 of %4")
                              .arg(qs(progress.what), qs(progress.bundle), core::bytes(progress.doneBytes),
                                   core::bytes(progress.totalBytes))
                        : qs(progress.what) + u' ' + qs(progress.bundle),
                  moves ? std::optional(progress.doneBytes / progress.totalBytes) : std::nullopt);
}

void NodesPage::askForNode() {
    auto *dialog = new NodeDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { add(dialog->node()); });
    dialog->open();
}

void NodesPage::add(const core::NodeEntry &node) {
    if (node.how != "slurm") {
        say(core::addNode(node, core::windowPatience));
        refresh();
        return;
    }
    const auto ctl = core::findCtl();
    if (!ctl) {
        Q_EMIT failed(QString::fromStdString(ctl.error().message()));
        return;
    }
    m_adding = std::make_unique<QProcess>();
    connect(m_adding.get(), &QProcess::finished, this, [this](int code) {
        if (code != 0)
            Q_EMIT failed(QString::fromUtf8(m_adding->readAllStandardError()).trimmed());
        m_adding.release()->deleteLater();
        refresh();
    });
    QStringList words = {QStringLiteral("nodes"), QStringLiteral("add"), QStringLiteral("--partition"),
                         qs(node.partition)};
    if (!node.agent.empty())
        words << QStringLiteral("--agent") << qs(node.agent);
    m_adding->start(qs(*ctl), words);
}

void NodesPage::remove(const core::NodeEntry &node) {
    say(core::removeNode(node.name, core::windowPatience));
    m_examined = false; // the picture would show it still
    refresh();
}

void NodesPage::change(const core::NodeEntry &node, const QString &interface) {
    core::NodeEntry changed = node;
    changed.interfacePinned = !interface.isEmpty();
    if (changed.interfacePinned)
        changed.interface = interface.toStdString();
    say(core::replaceNode(changed));
    refresh();
}

void NodesPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
    watchAll();
}

void NodesPage::hideEvent(QHideEvent *event) {
    m_watches.clear();
    QWidget::hideEvent(event);
}

void NodesPage::resizeEvent(QResizeEvent *event) {
    QWidget::resizeEvent(event);
    placeCards();
}

} // namespace lockstep::ui
