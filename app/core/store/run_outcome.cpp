// What a run amounts to, and reading one whole from its folder.
#include <algorithm>
#include <filesystem>

#include "ipc/file_system.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

void takeSummary(const Summary &summary, RunOutcome &out) {
    if (!out.totalTrainingTimeS) // else the sum of what each rank reported, as it is shown by epoch
        out.totalTrainingTimeS = summary.totalTrainingTimeS;
    out.testAccuracy = summary.testAccuracy;
    out.perClassAccuracy = summary.perClassAccuracy;
    out.phasesS = summary.phasesS;
    out.oversubscribed = summary.oversubscribed;
    if (!summary.backend.empty())
        out.backend = summary.backend;
}

void takeEpochs(RunOutcome &out) {
    bool whole = !out.epochs.empty();
    double sum = 0;
    for (const MergedEpoch &epoch : out.epochs) {
        whole = whole && epoch.complete;
        sum += epoch.durationS;
        if (epoch.complete && epoch.loss)
            out.finalLoss = epoch.loss;
        if (epoch.eval) {
            out.testAccuracy = epoch.eval->accuracy;
            out.perClassAccuracy = epoch.eval->perClassAccuracy;
        }
    }
    if (whole && out.state == RunState::Done) // a part of a run has no total
        out.totalTrainingTimeS = sum;
}

std::map<std::string, double, std::less<>> slowestRank(const RunStore &store) {
    std::map<std::string, double, std::less<>> slowest;
    double most = -1;
    for (const auto &[rank, info] : store.ranks()) {
        const PhaseTimes phases = store.phases(rank);
        double sum = 0;
        for (const std::string_view name : additivePhases())
            if (const auto found = phases.find(name); found != phases.end())
                sum += found->second.sumS;
        if (sum <= most || phases.empty())
            continue;
        most = sum;
        slowest.clear();
        for (const auto &[name, time] : phases)
            slowest[name] = time.sumS;
    }
    return slowest;
}

std::map<int, std::map<std::string, double, std::less<>>> rankPhases(const RunStore &store) {
    std::map<int, std::map<std::string, double, std::less<>>> out;
    for (const auto &[rank, info] : store.ranks())
        for (const auto &[name, time] : store.phases(rank))
            out[rank][name] = time.sumS;
    return out;
}

std::optional<double> launchTime(const RunStore &store, std::int64_t startWallUs) {
    for (const StateChange &change : store.stateChanges())
        if (change.rank && change.state == RunState::Training && startWallUs > 0 && change.wallUs >= startWallUs)
            return double(change.wallUs - startWallUs) * 1e-6;
    return std::nullopt;
}

/// The script among a command's words, else its program, without folders.
std::string programOf(const RunRecord &record) {
    if (!isScript(record))
        return "lockstep-trainer";
    const auto script = std::find_if(record.command.begin(), record.command.end(),
                                     [](const std::string &word) { return word.ends_with(".py"); });
    const std::string &word = script == record.command.end() ? record.command.front() : *script;
    return word.substr(word.rfind('/') + 1);
}

RunConditions conditionsOf(const RunStore &store) {
    RunConditions out;
    if (const auto &record = store.record()) {
        out.machines = record->machines;
        out.lockstepVersion = record->lockstepVersion;
        out.freeCores = record->freeCores;
        out.program = programOf(*record);
    }
    for (const auto &[rank, info] : store.ranks()) {
        if (!info.scheduling.empty())
            out.scheduling = out.scheduling.empty() || out.scheduling == info.scheduling ? info.scheduling : "mixed";
        if (!out.threads)
            out.threads = info.threads;
    }
    if (const auto &result = store.result()) {
        out.watching = result->watching;
        out.surroundings = result->surroundings;
    }
    return out;
}

} // namespace

RunOutcome RunStore::outcome() const {
    RunOutcome out;
    out.run = m_runId.toStdString();
    if (m_record) {
        out.name = m_record->name;
        out.experiment = m_record->experiment;
        out.recipe = m_record->recipe;
        out.repeat = m_record->repeat;
        out.config = workOf(*m_record);
        out.processes = m_record->processes;
        out.deviceNames = m_record->deviceNames;
        out.startWallUs = m_record->startWallUs;
        out.launchS = launchTime(*this, out.startWallUs);
        out.script = isScript(*m_record);
        out.nodes = std::max<int>(1, int(m_record->machines.size()));
        for (const MachineRecord &machine : m_record->machines)
            out.hosts.push_back(machine.host);
        if (out.config) {
            out.oversubscribed = out.config->oversubscribe;
            out.backend = isDistributed(out.config->method) ? out.config->backend : "";
        }
    }
    out.about = m_about;
    out.state = state();
    out.agentDied = m_link == LinkState::AgentDied && !(out.state && isFinal(*out.state));
    out.reason = out.agentDied ? "agent died" : m_result ? m_result->reason : m_stateDetail;
    for (const auto &[rank, info] : m_ranks) {
        if (!info.backend.empty() && info.backend != "none")
            out.backend = info.backend;
        if (!info.host.empty() && std::find(out.hosts.begin(), out.hosts.end(), info.host) == out.hosts.end())
            out.hosts.push_back(info.host);
    }
    out.nodes = std::max<int>(out.nodes, int(out.hosts.size()));
    out.epochs = m_epochs;
    takeEpochs(out);
    out.phasesS = slowestRank(*this);
    out.rankPhasesS = rankPhases(*this);
    out.conditions = conditionsOf(*this);
    if (m_result) {
        if (m_result->runTimeS > 0)
            out.runTimeS = m_result->runTimeS;
        if (m_result->summary)
            takeSummary(*m_result->summary, out);
    }
    return out;
}

namespace {

Result<void> readLogs(RunStore &store, const RunFolder &folder, const std::function<void()> &onFrame) {
    Decoder decoder;
    const auto take = [&](std::string_view line) {
        if (const Result<Frame> frame = decoder.decode(line))
            store.take(*frame);
        else
            store.countUndecodable();
        if (onFrame)
            onFrame();
    };
    const std::vector<int> nodes = nodesIn(folder);
    if (nodes.size() < 2) { // knows of a torn tail, too
        if (nodes.empty())
            return {};
        const Result<LogReadReport> report = readLog(folder.log(nodes.front()), 0, take);
        if (!report)
            return fail(report.error());
        store.setGaps(report->gaps, report->damagedLines);
        return {};
    }
    NodesReplay replay;
    NodeLines lines;
    replay.open(folder);
    while (replay.slice([&](std::string_view line, int node) {
        if (lines.check(line, node) == LineChecker::Verdict::Good)
            take(line);
    })) {
    }
    store.setGaps(lines.gaps(), lines.damagedLines());
    return {};
}

} // namespace

Result<void> loadRun(RunStore &store, const RunFolder &folder, const std::function<void()> &onFrame) {
    const Result<std::string> config = realFileSystem().readAll(folder.config());
    if (!config)
        return fail(Error::failed("run " + store.runId().toStdString() + " can't be read: " + config.error().what,
                                  "lockstepctl list shows the runs"));
    const Result<RunRecord> record = runRecordFromJson(*config);
    if (!record)
        return fail(record.error());
    store.setRecord(*record);
    if (Result<void> read = readLogs(store, folder, onFrame); !read)
        return read;
    const RunStatus status = readRunStatus(folder);
    if (status.result)
        store.setResult(*status.result);
    using Kind = RunStatus::Kind;
    store.setLink(status.kind == Kind::Finished    ? LinkState::Finished
                  : status.kind == Kind::AgentDied ? LinkState::AgentDied
                                                   : LinkState::Idle);
    return {};
}

} // namespace lockstep::core
