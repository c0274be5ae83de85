#include "store/run_store.h"

#include <algorithm>
#include <cmath>

#include "store/phase_sums.h"

namespace lockstep::core {
namespace {

constexpr int tellEveryMs = 33;
constexpr std::size_t laneLimit = 18'000; // an hour at 5 Hz
constexpr std::size_t consoleLimit = 20'000;
constexpr std::size_t commLimit = 600;
constexpr std::int64_t viewersUs = 10'000'000;

/// A malformed frame may name any epoch; memory must not follow it.
bool plausible(int epoch, std::size_t known) {
    return epoch >= 1 && epoch <= int(known) + 10'000;
}

void mergeDevices(std::vector<DeviceUse> &into, const std::vector<DeviceUse> &more) {
    for (const DeviceUse &use : more) {
        const auto same = std::find_if(into.begin(), into.end(), [&](const auto &o) { return o.device == use.device; });
        if (same == into.end())
            into.push_back(use);
    }
}

} // namespace

RunStore::RunStore(QString runId, QObject *parent) : QObject(parent), m_runId(std::move(runId)) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(tellEveryMs);
    connect(&m_timer, &QTimer::timeout, this, &RunStore::flush);
}

void RunStore::tell(Changes what) {
    m_told |= what;
    if (!m_timer.isActive())
        m_timer.start();
}

void RunStore::flush() {
    m_timer.stop();
    if (!m_told)
        return;
    const Changes what = std::exchange(m_told, Changes());
    Q_EMIT changed(what);
}

void RunStore::take(const Frame &frame) {
    ++m_frames;
    const auto link = frame.node ? m_links.find(*frame.node) : m_links.end();
    if (link != m_links.end() && link->second.clockOffsetS) {
        Frame here = frame;
        here.wallUs -= std::llround(*link->second.clockOffsetS * 1e6);
        return takeHere(here);
    }
    takeHere(frame);
}

void RunStore::takeHere(const Frame &frame) {
    m_lastWallUs = std::max(m_lastWallUs, frame.wallUs);
    std::visit([&](const auto &body) { takeBody(frame, body); }, frame.body);
}

void RunStore::setRecord(const RunRecord &record) {
    m_record = record;
    m_merger.setRanks(std::max(1, record.processes));
    tell(Record | Devices);
}

void RunStore::setResult(const RunResult &result) {
    m_result = result;
    m_merger.flush(m_loss);
    tell(State | Loss | ProgressChange);
}

void RunStore::setLink(LinkState link, const QString &sentence) {
    if (link == m_link && sentence == m_linkSentence)
        return;
    m_link = link;
    m_linkSentence = sentence;
    if (link == LinkState::Finished || link == LinkState::AgentDied)
        m_merger.flush(m_loss);
    tell(Link | State | Loss);
}

void RunStore::setGaps(const std::vector<LogGap> &gaps, std::uint64_t damagedLines) {
    m_gaps = gaps;
    m_damaged = damagedLines;
    tell(Gaps);
}

QString RunStore::title() const {
    return m_record && !m_record->name.empty() ? QString::fromStdString(m_record->name) : m_runId;
}

QString RunStore::method() const {
    if (!m_record || !m_record->config) {
        const auto said = m_about.find("method");
        return said == m_about.end() ? QString() : QString::fromStdString(said->second);
    }
    const std::string_view name = toString(m_record->config->method);
    return QString::fromUtf8(name.data(), qsizetype(name.size()));
}

bool RunStore::over() const {
    return m_link == LinkState::AgentDied || (state() && isFinal(*state()));
}

QString RunStore::stateSentence() const {
    const std::string reason = m_result ? m_result->reason : m_stateDetail;
    if (m_link == LinkState::AgentDied && !(state() && isFinal(*state())))
        return QStringLiteral("failed: agent died");
    if (!state())
        return QStringLiteral("starting");
    const std::string_view word = toString(*state());
    QString text = QString::fromUtf8(word.data(), qsizetype(word.size()));
    if (isFinal(*state()) && *state() != RunState::Done && !reason.empty())
        text += QStringLiteral(": ") + QString::fromStdString(reason);
    return text;
}

std::optional<RunState> RunStore::state() const {
    if (m_result)
        return m_result->state;
    if (m_state && isFinal(*m_state))
        return m_state;
    const auto first = m_ranks.find(0);
    if (first != m_ranks.end() && first->second.state && !isFinal(*first->second.state))
        return first->second.state;
    return m_state;
}

int RunStore::worldSize() const {
    if (m_record)
        return std::max(1, m_record->processes);
    return m_worldSize.value_or(0);
}

const LossSeries *RunStore::rankLoss(int rank) const {
    const auto found = m_rankLoss.find(rank);
    return found == m_rankLoss.end() ? nullptr : &found->second;
}

RankInfo &RunStore::rankInfo(int rank) {
    RankInfo &info = m_ranks[rank];
    info.rank = rank;
    return info;
}

MergedEpoch &RunStore::merged(int epoch) {
    while (int(m_epochs.size()) < epoch) {
        MergedEpoch next;
        next.epoch = int(m_epochs.size()) + 1;
        m_epochs.push_back(std::move(next));
    }
    return m_epochs[std::size_t(epoch - 1)];
}

void RunStore::takeBody(const Frame &, const HeaderFrame &body) {
    if (m_runId.isEmpty())
        m_runId = QString::fromStdString(body.run);
}

void RunStore::takeBody(const Frame &frame, const StateFrame &body) {
    m_stateChanges.push_back({frame.wallUs, frame.rank, body.state, body.detail, body.epoch});
    if (!frame.rank && frame.node.value_or(0) > 0) {
        return; // an agent of another node: what the run as a whole does is agent 0's to say
    }
    if (!frame.rank) {
        m_state = body.state;
        m_stateDetail = body.detail;
        if (isFinal(body.state))
            m_merger.flush(m_loss);
    } else {
        RankInfo &info = rankInfo(*frame.rank);
        info.state = body.state;
        m_clocks[*frame.rank].hear(frame.monoNs, body.state);
        const auto keep = [](std::string &own, const std::string &heard) {
            if (!heard.empty())
                own = heard;
        };
        keep(info.host, body.host);
        keep(info.device, body.device);
        keep(info.cores, body.cores);
        keep(info.backend, body.backend);
        keep(info.scheduling, body.scheduling);
        if (body.pid)
            info.pid = body.pid;
        if (body.threads)
            info.threads = body.threads;
        if (!body.replicaBatch.empty())
            info.replicaBatch = body.replicaBatch;
        takeAbout(info, body.about);
    }
    if (body.worldSize) {
        m_worldSize = body.worldSize;
        if (!m_record)
            m_merger.setRanks(*body.worldSize);
    }
    if (body.epochs)
        m_epochsTotal = body.epochs;
    if (body.totalSteps)
        m_totalSteps = body.totalSteps;
    if (body.stepsPerEpoch)
        m_stepsPerEpoch = body.stepsPerEpoch;
    if (!body.totalSteps && !m_saidSteps && body.stepsPerEpoch &&
        m_epochsTotal) // a script knows its loader's length, epoch by epoch
        m_totalSteps = *body.stepsPerEpoch * *m_epochsTotal;
    tell(State | ProgressChange);
}

void RunStore::takeAbout(RankInfo &info, const About &about) {
    if (about.empty())
        return;
    m_about.insert(about.begin(), about.end()); // the first rank that says it
    const auto keep = [&](const char *key, std::string &own) {
        if (const auto said = about.find(key); said != about.end() && own.empty())
            own = said->second;
    };
    keep("backend", info.backend);
    keep("device", info.device);
    bool whole = false;
    if (const auto epochs = about.find("epochs"); epochs != about.end() && !m_epochsTotal)
        if (const int count = QString::fromStdString(epochs->second).toInt(&whole); whole && count > 0)
            m_epochsTotal = count;
    // What a script says of its length as a whole holds more than what follows from one epoch's.
    if (const auto steps = about.find("total_steps"); steps != about.end())
        if (const qlonglong count = QString::fromStdString(steps->second).toLongLong(&whole); whole && count > 0)
            m_totalSteps = m_saidSteps = count;
    tell(Record | ProgressChange);
}

void RunStore::takeBody(const Frame &frame, const StepsFrame &body) {
    const int rank = frame.rank.value_or(0);
    RankInfo &info = rankInfo(rank);
    info.lastStep = std::max(info.lastStep.value_or(-1), body.lastStep);
    if (plausible(body.epoch, m_epochs.size()))
        merged(body.epoch);
    addPhases(rank, frame, body);
    addReplicas(body);
    if (body.loss)
        addLoss(rank, frame, body);
    tell(Changes(Loss) | Phases | Epochs | ProgressChange);
}

void RunStore::addPhases(int rank, const Frame &frame, const StepsFrame &body) {
    RankPhases &phases = m_phases[rank];
    if (phases.currentEpoch != body.epoch) { // an epoch whose own frame never came counts by its windows
        add(phases.finished, phases.current);
        phases.finishedSteps += phases.currentSteps;
        phases.current.clear();
        phases.currentSteps = 0;
        phases.lossSum = phases.lossSamples = 0;
        phases.currentEpoch = body.epoch;
    }
    if (body.loss) {
        phases.lossSum += body.loss->mean * double(body.samples);
        phases.lossSamples += double(body.samples);
    }
    add(phases.current, body.phases);
    phases.currentSteps += body.count;
    phases.recent.push_back({frame.monoNs, body.count, body.phases, additiveSum(body.phases)});
    while (phases.recent.front().monoNs < frame.monoNs - recentNs)
        phases.recent.pop_front();
    if (!m_epochs.empty() && body.epoch == int(m_epochs.size()))
        m_epochs.back().runningS = std::max(m_epochs.back().runningS, additiveSum(phases.current));
}

void RunStore::addReplicas(const StepsFrame &body) {
    for (const ReplicaTime &replica : body.replicas) {
        const auto same = std::find_if(m_replicas.begin(), m_replicas.end(),
                                       [&](const ReplicaTime &known) { return known.device == replica.device; });
        if (same == m_replicas.end())
            m_replicas.push_back(replica);
        else
            add(same->phases, replica.phases);
    }
    if (!body.replicas.empty())
        m_replicaSteps += body.count;
}

void RunStore::addLoss(int rank, const Frame &frame, const StepsFrame &body) {
    LossPoint point;
    point.step = body.lastStep;
    point.epoch = m_stepsPerEpoch && *m_stepsPerEpoch > 0 ? double(body.lastStep + 1) / double(*m_stepsPerEpoch)
                                                          : double(body.epoch);
    point.wallUs = frame.wallUs;
    point.runS = m_clocks[rank].at(frame.monoNs);
    point.loss = body.loss->mean;
    point.min = body.loss->min;
    point.max = body.loss->max;
    point.samples = body.samples;
    m_rankLoss[rank].append(point);
    m_merger.add(rank, point, m_loss);
}

void RunStore::takeBody(const Frame &frame, const EpochFrame &body) {
    if (!plausible(body.epoch, m_epochs.size()))
        return;
    const int rank = frame.rank.value_or(0);
    const auto same = std::find_if(m_rankEpochs.begin(), m_rankEpochs.end(), [&](const RankEpoch &known) {
        return known.rank == rank && known.frame.epoch == body.epoch;
    });
    if (same != m_rankEpochs.end())
        return;
    m_rankEpochs.push_back({rank, body, frame.wallUs});
    MergedEpoch &epoch = merged(body.epoch);
    if (!epoch.loss)
        epoch.loss = body.loss;
    if (!body.loss) {
        epoch.lossSum += m_phases[rank].lossSum;
        epoch.lossSamples += m_phases[rank].lossSamples;
    }
    epoch.durationS = std::max(epoch.durationS, body.durationS);
    epoch.samples += body.samples;
    epoch.rankDurationS[rank] = body.durationS;
    if (body.readyBatches)
        epoch.readyBatches = std::min(epoch.readyBatches.value_or(*body.readyBatches), *body.readyBatches);
    epoch.ranksReported = int(epoch.rankDurationS.size());
    epoch.complete = epoch.ranksReported >= std::max(1, worldSize());
    if (epoch.complete && !epoch.loss && epoch.lossSamples > 0)
        epoch.loss = epoch.lossSum / epoch.lossSamples;
    mergeDevices(epoch.devices, body.devices);

    RankPhases &phases = m_phases[rank];
    add(phases.finished, body.phases.empty() ? phases.current : body.phases);
    phases.finishedSteps += body.phases.empty() ? phases.currentSteps : body.steps;
    phases.current.clear();
    phases.currentSteps = 0;
    phases.lossSum = phases.lossSamples = 0;
    tell(Changes(Epochs) | Phases);
}

void RunStore::takeBody(const Frame &frame, const EvalFrame &body) {
    if (!plausible(body.epoch, m_epochs.size()))
        return;
    merged(body.epoch).eval = body;
    merged(body.epoch).evalWallUs = frame.wallUs;
    tell(Epochs);
}

void RunStore::takeViewers(std::int64_t wallUs, const DeviceFrame &body) {
    std::optional<double> cores; // a viewer's first sample does not know yet
    for (const ProcessSample &viewer : body.viewers)
        if (viewer.cpuCores)
            cores = cores.value_or(0) + *viewer.cpuCores;
    if (cores)
        m_viewersUse.push_back({wallUs, body.intervalS, *cores * body.intervalS});
    while (!m_viewersUse.empty() && m_viewersUse.front().wallUs < wallUs - viewersUs)
        m_viewersUse.pop_front();
}

std::optional<double> RunStore::viewersShare() const {
    double timeS = 0, cpuS = 0;
    for (const ViewersUse &use : m_viewersUse) {
        timeS += use.intervalS;
        cpuS += use.cpuS;
    }
    return timeS > 0 ? std::optional(cpuS / timeS) : std::nullopt;
}

void RunStore::takeBody(const Frame &frame, const DeviceFrame &body) {
    for (const DeviceSample &sample : body.devices) {
        auto &lane = m_lanes[sample.device];
        if (lane.empty()) {
            m_heardDevices.push_back(sample.device);
            m_nodeOfDevice[sample.device] = frame.node.value_or(0);
        }
        lane.push_back({frame.wallUs, sample});
        if (lane.size() > laneLimit)
            lane.pop_front();
    }
    for (const ProcessSample &process : body.processes)
        if (process.rank) {
            RankInfo &info = rankInfo(*process.rank);
            info.cpuCores = process.cpuCores;
            info.rssBytes = process.rssBytes;
        }
    if (frame.node.value_or(0) == 0) { // viewers follow agent 0
        if (body.agent)
            m_agentSample = body.agent;
        m_viewers = body.viewers;
        takeViewers(frame.wallUs, body);
    }
    tell(Devices);
}

void RunStore::takeBody(const Frame &, const CommFrame &body) {
    m_comm.push_back(body);
    if (m_comm.size() > 2 * commLimit)
        m_comm.erase(m_comm.begin(), m_comm.end() - std::ptrdiff_t(commLimit));
    tell(Phases);
}

void RunStore::appendConsole(ConsoleLine line) {
    m_console.push_back(std::move(line));
    if (m_console.size() > consoleLimit) {
        m_console.pop_front();
        ++m_consoleDropped;
    }
    tell(Console);
}

void RunStore::takeBody(const Frame &frame, const LogFrame &body) {
    appendConsole({frame.wallUs, frame.rank, body.level, body.source, body.message});
}

void RunStore::takeBody(const Frame &frame, const AlertFrame &body) {
    m_alerts.push_back({frame.wallUs, frame.rank, body});
    tell(Alerts);
}

void RunStore::takeBody(const Frame &, const HeartbeatFrame &) {}

void RunStore::takeBody(const Frame &frame, const ExitFrame &body) {
    if (frame.rank)
        rankInfo(*frame.rank).exit = body;
    const bool fine = body.code == 0;
    const std::string who = frame.rank ? "rank " + std::to_string(*frame.rank) : "a rank";
    appendConsole({frame.wallUs, frame.rank, fine ? "info" : "error", "agent",
                   body.reason.empty() ? who + " ended" : body.reason});
    tell(State);
}

void RunStore::takeBody(const Frame &frame, const LinkFrame &body) {
    NodeLink &link = m_links[body.ofNode];
    link.node = body.ofNode;
    if (!body.host.empty())
        link.host = body.host;
    const bool lost = body.link == "lost";
    if (lost && link.up)
        ++link.losses;
    link.up = body.link == "up";
    link.ended = body.link == "ended";
    link.reason = body.reason;
    link.sinceWallUs = frame.wallUs;
    if (body.clockOffsetS)
        link.clockOffsetS = body.clockOffsetS;
    if (body.roundTripS)
        link.roundTripS = body.roundTripS;
    tell(Link | State);
}

bool RunStore::linkToNodeLost() const {
    return !over() && std::any_of(m_links.begin(), m_links.end(),
                                  [](const auto &link) { return !link.second.up && !link.second.ended; });
}

QString RunStore::whyUnheard() const {
    const bool unheard = m_link == LinkState::Lost || (m_link == LinkState::Connecting && m_frames > 0);
    if (over() || !unheard)
        return {};
    const std::string_view words = toString(m_link);
    return m_linkSentence.isEmpty() ? QString::fromUtf8(words.data(), qsizetype(words.size())) : m_linkSentence;
}

QString RunStore::whyUnheard(const std::string &device) const {
    if (const QString whole = whyUnheard(); over() || !whole.isEmpty())
        return whole;
    const auto node = m_nodeOfDevice.find(device);
    const auto link = node == m_nodeOfDevice.end() ? m_links.end() : m_links.find(node->second);
    return link == m_links.end() || link->second.up || link->second.ended
               ? QString()
               : QString::fromStdString(sentenceOf(link->second));
}

QString RunStore::linksSentence() const {
    if (m_links.empty())
        return {};
    QStringList lost;
    int ended = 0;
    for (const auto &[node, link] : m_links) {
        if (!link.up && !link.ended)
            lost << QString::fromStdString(sentenceOf(link));
        ended += link.ended ? 1 : 0;
    }
    if (!lost.isEmpty())
        return lost.join(QStringLiteral("; "));
    const QString nodes = QStringLiteral("%1 nodes, ").arg(m_links.size() + 1);
    return nodes + (ended == int(m_links.size()) ? QStringLiteral("all ended") : QStringLiteral("all links up"));
}

void RunStore::takeBody(const Frame &, const UnknownFrame &) {
    ++m_unknown;
}

std::vector<std::string> RunStore::deviceNames() const {
    std::vector<std::string> names;
    if (m_record)
        names = m_record->deviceNames;
    for (const std::string &heard : m_heardDevices)
        if (std::find(names.begin(), names.end(), heard) == names.end())
            names.push_back(heard);
    return names;
}

const std::deque<LaneSample> *RunStore::lane(const std::string &device) const {
    const auto found = m_lanes.find(device);
    return found == m_lanes.end() ? nullptr : &found->second;
}

} // namespace lockstep::core
