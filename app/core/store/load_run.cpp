// SPDX-License-Identifier: MIT
#include "store/load_run.h"

#include "ipc/file_system.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

Result<void> readLogs(RunStore &store, const RunFolder &folder, const std::function<void()> &onFrame) {
    Decoder decoder;
    const std::function<void(std::string_view)> take = [&](std::string_view line) {
        if (const Result<Frame> frame = decoder.decode(line))
            store.take(*frame);
        else
            store.refuse(frame.error());
        if (onFrame)
            onFrame();
    };
    const std::vector<int> nodes = nodesIn(folder);
    if (nodes.size() < 2) { // readLog() also recognises a torn last line
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
    while (replay.slice([&](std::string_view line, int node) { lines.take(line, node, take); })) {
    }
    store.setGaps(lines.gaps(), lines.damagedLines());
    return {};
}

} // namespace

Result<void> loadRun(RunStore &store, const RunFolder &folder, const std::function<void()> &onFrame) {
    const Result<RunRecord> record = readRunRecord(folder);
    if (!record)
        return fail(
            Error::failed("run " + store.runId().toStdString() + " can't be read: " + record.error().what,
                          record.error().wayOut.empty() ? "lockstepctl list shows the runs" : record.error().wayOut));
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
