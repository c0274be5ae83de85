// SPDX-License-Identifier: MIT
#include "store/load_run.h"

#include <map>
#include <optional>
#include <vector>

#include "ipc/file_system.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"
#include "store/run_store.h"
#include "store/status_reader.h"

namespace lockstep::core {
namespace {

/// What the logs lack by their own lines, and how far they go.
struct LogsRead {
    LogGaps gaps;
    std::uint64_t damagedLines = 0;
    std::map<int, std::uint64_t> nextSeqs; ///< by node
};

LogsRead readOf(int node, const LogReadReport &report) {
    return {report.gaps, report.damagedLines, {{node, report.lines + report.gaps.frames()}}};
}

LogsRead readOf(const std::vector<int> &nodes, const NodeLines &lines) {
    LogsRead read{lines.gaps(), lines.damagedLines(), {}};
    for (const int node : nodes)
        read.nextSeqs[node] = lines.nextSeq(node);
    return read;
}

Result<LogsRead> readLogs(RunStore &store, const RunFolder &folder, const std::function<void(const Frame &)> &onFrame) {
    Decoder decoder;
    const std::function<void(std::string_view)> take = [&](std::string_view line) {
        const Result<Frame> frame = decoder.decode(line);
        if (!frame)
            return store.refuse(frame.error());
        store.take(*frame);
        if (onFrame)
            onFrame(*frame);
    };
    const std::vector<int> nodes = nodesIn(folder);
    if (nodes.empty())
        return LogsRead();
    if (nodes.size() == 1) { // readLog() says why a log can't be read
        const Result<LogReadReport> report = readLog(folder.log(nodes.front()), 0, take);
        if (!report)
            return fail(report.error());
        return readOf(nodes.front(), *report);
    }
    NodesReplay replay;
    NodeLines lines;
    replay.open(folder);
    while (replay.slice([&](std::string_view line, int node) { lines.take(line, node, take); })) {
    }
    return readOf(nodes, lines);
}

/// With the lines that a finished run's result counts and that the logs have lost at their ends.
LogGaps gapsOf(const LogsRead &read, const std::optional<RunResult> &result) {
    LogGaps gaps = read.gaps;
    if (!result)
        return gaps;
    const std::vector<LogGap> missing = missingLines(*result, [&](int node) {
        const auto next = read.nextSeqs.find(node);
        return next == read.nextSeqs.end() ? std::uint64_t(0) : next->second;
    });
    for (const LogGap &gap : missing)
        gaps.add(gap);
    return gaps;
}

} // namespace

Result<void> loadRun(RunStore &store, const RunFolder &folder, const std::function<void(const Frame &)> &onFrame) {
    StatusReader statuses;
    return loadRun(store, folder, statuses, onFrame);
}

Result<void> loadRun(RunStore &store, const RunFolder &folder, StatusReader &statuses,
                     const std::function<void(const Frame &)> &onFrame) {
    const Result<RunRecord> record = readRunRecord(folder);
    if (!record)
        return fail(
            Error::failed("run " + store.runId().toStdString() + " can't be read: " + record.error().what,
                          record.error().wayOut.empty() ? "lockstepctl list shows the runs" : record.error().wayOut));
    store.setRecord(*record);
    const RunStatus status =
        statuses.read(folder, *record); // before the logs: they have all lines that a result counts
    const Result<LogsRead> read = readLogs(store, folder, onFrame);
    if (!read)
        return fail(read.error());
    store.setGaps(gapsOf(*read, status.result), read->damagedLines);
    if (status.result)
        store.setResult(*status.result);
    using Kind = RunStatus::Kind;
    if (status.kind == Kind::Unknown || status.kind == Kind::AgentDied)
        store.setLink(status.kind == Kind::Unknown ? LinkState::Unknown : LinkState::AgentDied,
                      QString::fromStdString(status.sentence));
    else
        store.setLink(status.kind == Kind::Finished ? LinkState::Finished : LinkState::Idle);
    return {};
}

} // namespace lockstep::core
