// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/node_hub.h"

#include <sys/epoll.h>

#include <algorithm>

#include "ipc/placement.h"
#include "trainer/agent/nodes/sound_reports.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
constexpr std::chrono::milliseconds silenceCheckInterval{250};
constexpr int mostProcessesOfNode = 4096; ///< a node that names more is not believed

int badness(const NodeMessage &over) {
    const auto state = runStateFrom(over.state);
    return state == RunState::Failed ? 2 : state == RunState::Stopped ? 1 : 0;
}
} // namespace

Result<std::unique_ptr<NodeHub>> NodeHub::open(EventLoop &loop, const Clock &clock, const RunFolder &folder,
                                               NodeListener::Options options, const std::vector<std::string> &titles,
                                               int ownProcesses) {
    options.otherNodes = static_cast<int>(titles.size());
    auto listener = NodeListener::open(loop, clock, std::move(options));
    if (!listener)
        return fail(listener.error());
    return std::unique_ptr<NodeHub>(new NodeHub(loop, clock, folder, std::move(*listener), titles, ownProcesses));
}

NodeHub::NodeHub(EventLoop &loop, const Clock &clock, const RunFolder &folder, std::unique_ptr<NodeListener> listener,
                 const std::vector<std::string> &titles, int ownProcesses)
    : m_loop(loop), m_disk(folder.path), m_listener(std::move(listener)), m_ownProcesses(ownProcesses) {
    for (const std::string &title : titles)
        m_nodes.push_back(std::make_unique<RemoteNode>(clock, m_disk, m_reader, folder, count() + 1, title));
    m_foundToken = m_loop.watch(m_reader.foundFd(), EPOLLIN, [this](std::uint32_t) { m_reader.clearFound(); });
}

NodeHub::~NodeHub() {
    for (EventLoop::Token *timer : {&m_secondTimer, &m_silenceTimer})
        m_loop.cancel(*timer);
    m_loop.unwatch(m_foundToken);
}

void NodeHub::start(Handlers handlers) {
    m_handlers = std::move(handlers);
    for (const auto &node : m_nodes)
        openNode(*node);
    m_listener->start({[this](int number, const Hello &hello, std::shared_ptr<LineSocket> socket) {
                           const std::string peer = socket->peer();
                           RemoteNode &node = *m_nodes[static_cast<std::size_t>(number - 1)];
                           if (const auto taken = node.connect(std::move(socket), hello); !taken)
                               m_handlers.onRefused(peer + refusedAsNode + taken.error().message());
                       },
                       m_handlers.onRefused});
    m_secondTimer = m_loop.every(oneSecond, [this] {
        for (const auto &node : m_nodes)
            node->everySecond();
    });
    m_silenceTimer = m_loop.every(silenceCheckInterval, [this] {
        for (const auto &node : m_nodes)
            node->checkSilence(silence);
    });
}

void NodeHub::openNode(RemoteNode &node) {
    RemoteNode::Handlers handlers;
    handlers.onJoined = [this, &node] { onJoined(node); };
    handlers.onFailed = m_handlers.onFailed;
    handlers.onGone = m_handlers.onGone;
    handlers.onLink = m_handlers.onLink;
    handlers.onExit = m_handlers.onExit;
    handlers.onRankFrame = m_handlers.onRankFrame;
    handlers.onTrace = [this, &node](TraceInbox::Whole trace) { m_handlers.onTrace(node.number(), std::move(trace)); };
    handlers.onControl = m_handlers.onControl;
    handlers.onOverstep = m_handlers.onOverstep;
    node.setHandlers(std::move(handlers));
}

void NodeHub::onJoined(RemoteNode &node) {
    if (m_go) // it may have missed the go and what followed
        sendGo(node);
    for (const auto *order : {&m_abort, &m_settle, &m_stop, &m_end})
        if (order->has_value())
            node.send(**order);
    if (m_allJoined || !absent().empty())
        return;
    m_allJoined = true;
    m_handlers.onAllJoined();
}

// --- orders ------------------------------------------------------------------------------------------------------

void NodeHub::sendAll(const NodeMessage &message) {
    for (const auto &node : m_nodes)
        node->send(message);
}

EpochNumbers::Made NodeHub::leastMade(EpochNumbers::Made here) const {
    for (const auto &node : m_nodes)
        if (const auto &gone = node->gone())
            here = lesserMade(here, *gone);
    return here;
}

void NodeHub::go(const std::string &masterAddress, int masterPort, int number, int restarts,
                 const EpochNumbers::Made &made) {
    m_abort.reset(); // it belonged to the previous ranks
    m_go.emplace();
    m_go->what = What::Go;
    m_go->masterAddress = masterAddress;
    m_go->masterPort = masterPort;
    m_go->number = number;
    m_go->restarts = restarts;
    m_go->epochs = made.epochs;
    m_go->steps = made.steps;
    for (const auto &node : m_nodes)
        sendGo(*node);
}

void NodeHub::sendGo(RemoteNode &node) {
    const std::vector<int> counts = processes(), first = firstRanks(counts);
    const auto place = static_cast<std::size_t>(node.number());
    m_go->worldSize = first.back() + counts.back();
    m_go->firstRank = first[place];
    node.sendGo(*m_go, counts[place]);
}

void NodeHub::settle() {
    if (m_settle)
        return;
    m_settle.emplace();
    m_settle->what = What::Settle;
    sendAll(*m_settle);
}

void NodeHub::abort(const std::string &reason) {
    if (m_abort)
        return;
    m_abort.emplace();
    m_abort->what = What::Abort;
    m_abort->reason = reason;
    m_abort->number = m_go ? m_go->number : std::nullopt;
    sendAll(*m_abort);
}

void NodeHub::stop(const std::string &by) {
    const std::int64_t times = m_stop ? m_stop->number.value_or(0) : 0;
    m_stop.emplace();
    m_stop->what = What::Stop;
    m_stop->by = by;
    m_stop->number = times + 1; // a second stop kills the ranks; one that is repeated after a cut does not
    sendAll(*m_stop);
}

void NodeHub::askRanks(const Control &control) {
    NodeMessage message;
    message.what = control.command == "stacks" ? What::Stacks : What::Trace;
    message.by = control.by;
    message.steps = control.steps;
    sendAll(message);
}

void NodeHub::end(RunState state, const std::string &reason, int exitCode) {
    m_end.emplace();
    m_end->what = What::End;
    m_end->state = std::string(toString(state));
    m_end->reason = reason;
    m_end->exitCode = exitCode;
    sendAll(*m_end);
}

// --- questions about all -----------------------------------------------------------------------------------------

std::string NodeHub::absent() const {
    std::string text;
    for (const auto &node : m_nodes)
        if (!node->join() || node->isLost())
            text += (text.empty() ? "" : ", ") + ("node " + std::to_string(node->number())) + " (" + node->title() +
                    (node->isLost() ? ", lost after it had joined)" : ")");
    return text;
}

std::vector<int> NodeHub::processes() const {
    std::vector<int> counts{m_ownProcesses};
    for (const auto &node : m_nodes)
        counts.push_back(node->join() ? std::clamp(node->join()->processes.value_or(1), 1, mostProcessesOfNode) : 1);
    return counts;
}

std::vector<MachineRecord> NodeHub::machines() const {
    std::vector<MachineRecord> machines;
    for (const auto &node : m_nodes)
        if (node->join() && node->join()->machine) {
            machines.push_back(*node->join()->machine);
            machines.back().node = node->number();
        }
    return machines;
}

std::vector<std::string> NodeHub::devices() const {
    std::vector<std::string> devices;
    for (const auto &node : m_nodes)
        if (node->join())
            devices.insert(devices.end(), node->join()->devices.begin(), node->join()->devices.end());
    return devices;
}

bool NodeHub::allGone() const {
    return std::all_of(m_nodes.begin(), m_nodes.end(),
                       [](const auto &node) { return !node->over() && node->ranksGone(); });
}

bool NodeHub::allEnded() const {
    return std::all_of(m_nodes.begin(), m_nodes.end(), [](const auto &node) { return node->hasEnded(); });
}

bool NodeHub::onlyLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const {
    return std::all_of(m_nodes.begin(), m_nodes.end(), [&](const auto &node) {
        return node->hasEnded() || (!m_settle && node->ranksGone()) || node->isLostFor(closed, silent);
    });
}

std::string NodeHub::titlesOf(bool (*belongs)(const RemoteNode &node)) const {
    std::string text;
    for (const auto &node : m_nodes)
        if (belongs(*node))
            text += (text.empty() ? "" : ", ") + node->title();
    return text;
}

std::string NodeHub::lostNodes() const {
    return titlesOf([](const RemoteNode &node) { return node.isLost(); });
}

std::string NodeHub::unendedNodes() const {
    return titlesOf([](const RemoteNode &node) { return !node.hasEnded(); });
}

std::string NodeHub::closedAround(std::int64_t monoNs, std::int64_t aroundNs) const {
    for (const auto &node : m_nodes)
        if (node->closedAround(monoNs, aroundNs))
            return node->title();
    return {};
}

bool NodeHub::connected() const {
    return std::any_of(m_nodes.begin(), m_nodes.end(), [](const auto &node) { return node->connected(); });
}

std::map<int, std::uint64_t> NodeHub::logLines() const {
    std::map<int, std::uint64_t> lines;
    for (const auto &node : m_nodes)
        lines[node->number()] = node->logLines();
    return lines;
}

std::vector<WatchedLog> NodeHub::logs() const {
    std::vector<WatchedLog> logs;
    for (const auto &node : m_nodes)
        if (const NodeLog *log = node->log())
            logs.push_back({log->path(), log->state()});
    return logs;
}

std::optional<NodeMessage> NodeHub::worstEnd() const {
    std::optional<NodeMessage> worst;
    for (const auto &node : m_nodes)
        if (node->over() && (!worst || badness(*node->over()) > badness(*worst)))
            worst = node->over();
    return worst;
}

} // namespace lockstep::agent
