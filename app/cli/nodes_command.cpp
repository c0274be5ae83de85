// SPDX-License-Identifier: MIT
// nodes: the list of machines for runs, their state (live or once), and the sync of programs and data.
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QProcess>

#include "base/command_request.h"
#include "ipc/printable.h"
#include "ipc/unix_socket.h"
#include "nodes/node_book.h"
#include "nodes/node_watch.h"
#include "nodes/sync.h"
#include "nodes_options.h"
#include "output.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using core::NodeEntry;

std::string orDash(const std::string &text) {
    return text.empty() ? "-" : text;
}

int listNodes(bool json) {
    const auto nodes = core::readNodes();
    if (!nodes)
        return complain(nodes.error());
    if (json) {
        print(core::toJson(*nodes));
        return Done;
    }
    std::vector<std::vector<std::string>> rows = {{"node", "by", "host", "interface", "PyTorch", "agent"}};
    for (const NodeEntry &node : *nodes)
        rows.push_back(
            {node.name, node.how, node.how == "slurm" ? node.host + " in " + node.partition : orDash(node.host),
             orDash(node.interface) + (node.interfacePinned ? " (set)" : ""), orDash(node.torch), orDash(node.agent)});
    print(nodes->empty() ? "no node yet; `lockstepctl nodes add NAME` adds one\n" : aligned(rows));
    return Done;
}

/// The nodes of a partition, from sinfo.
Result<std::vector<std::string>> partitionNodes(const std::string &partition) {
    NodeEntry probe{"x", "slurm", "x", partition, {}, {}, false, {}};
    if (auto right = core::checkNode(probe); !right)
        return fail(right.error());
    QProcess sinfo;
    core::boundOutput(sinfo, core::mostAnswerBytes);
    sinfo.start(QStringLiteral("sinfo"),
                {QStringLiteral("--noheader"), QStringLiteral("--Node"),
                 QStringLiteral("--partition=") + QString::fromStdString(partition), QStringLiteral("--format=%N")});
    if (!sinfo.waitForFinished(20'000) || sinfo.exitCode() != 0)
        return fail(Error::badArgument("sinfo gives no nodes of partition " + partition + ": " +
                                           (sinfo.error() == QProcess::FailedToStart
                                                ? "it is not installed"
                                                : QString::fromUtf8(core::endOfStderr(sinfo)).trimmed().toStdString()),
                                       "check `sinfo`", "--partition"));
    std::vector<std::string> names;
    for (const QString &line : QString::fromUtf8(sinfo.readAllStandardOutput()).split(u'\n', Qt::SkipEmptyParts))
        names.push_back(line.trimmed().toStdString());
    if (names.empty())
        return fail(Error::badArgument("there is no partition " + partition + ", or it has no nodes", "check `sinfo`",
                                       "--partition"));
    return names;
}

int addPartition(const NodesOptions &options) {
    const auto names = partitionNodes(options.partition);
    if (!names)
        return complain(names.error());
    for (const std::string &name : *names) {
        NodeEntry node{name, "slurm", name, options.partition, options.agent, {}, false, {}};
        if (auto added = core::addNode(node); !added)
            return complain(added.error());
        print("added " + name + " of partition " + options.partition + "\n");
    }
    return Done;
}

std::string figuresText(const core::NodeSnapshot &snapshot) {
    std::string text = snapshot.node.name + "\n";
    std::vector<std::vector<std::string>> rows;
    for (const auto &[title, value, detail] : core::nodeFigures(snapshot))
        rows.push_back({"  " + title, value + (detail.empty() ? "" : ", " + detail)});
    return text + aligned(rows);
}

Json snapshotJson(const core::NodeSnapshot &snapshot) {
    Json json = {{"node", snapshot.node.name},
                 {"usable", snapshot.usable()},
                 {"problem", snapshot.problem},
                 {"figures", Json::array()}};
    for (const auto &[title, value, detail] : core::nodeFigures(snapshot))
        json["figures"].push_back({{"name", title}, {"value", value}, {"detail", detail}});
    if (snapshot.clock) {
        json["clock_offset_s"] = snapshot.clock->offsetS;
        json["clock_error_s"] = snapshot.clock->errorS;
    }
    return json;
}

} // namespace

core::SshAnswers terminalAnswers() {
    // Test for a terminal, not for stdin: a person may pipe something in.
    const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
    return {terminal.valid() ? core::SshAnswers::Who::Terminal : core::SshAnswers::Who::Nobody, {}};
}

int nodesListCommand(bool json) {
    return listNodes(json);
}

int nodesAddCommand(const NodesOptions &options) {
    if (!options.partition.empty())
        return addPartition(options);
    if (options.names.size() != 1)
        return complain(Error::badArgument("no name is given", "lockstepctl nodes add NAME [--host HOST]"));
    NodeEntry node;
    node.name = options.names.front();
    node.how = options.local ? "local" : "ssh";
    node.host = options.local ? "" : options.host.empty() ? node.name : options.host;
    node.agent = options.agent;
    node.interface = options.interface;
    node.interfacePinned = !options.interface.empty();
    if (auto right = core::checkNode(node); !right)
        return complain(right.error());
    core::NodeSnapshot snapshot;
    if (!options.untried) {
        snapshot = core::probeNode(node, terminalAnswers());
        using core::NodeTrouble;
        // A node without an agent can still be synced; an unreachable one may be a typing error.
        if (snapshot.trouble != NodeTrouble::None && snapshot.trouble != NodeTrouble::NoAgent &&
            snapshot.trouble != NodeTrouble::OldAgent)
            return complain(Error::badArgument(snapshot.problem, snapshot.wayOut + " (--untried adds it anyway)"));
    }
    if (auto added = core::addNode(node); !added)
        return complain(added.error());
    print("added " + node.name + "\n" + (options.untried ? "" : figuresText(snapshot)));
    return Done;
}

int nodesSetCommand(const NodesOptions &options) {
    const auto nodes = core::chosenNodes(options.names);
    if (!nodes)
        return complain(nodes.error());
    for (NodeEntry node : *nodes) {
        if (options.interfaceGiven) {
            node.interface = options.interface == "auto" ? "" : options.interface;
            node.interfacePinned = !node.interface.empty();
        }
        if (!options.host.empty())
            node.host = options.host;
        if (!options.agent.empty()) {
            node.agent = options.agent;
            node.torch = node.lineReason = {}; // they described the former agent
        }
        if (auto set = core::replaceNode(node); !set)
            return complain(set.error());
    }
    return Done;
}

int nodesRemoveCommand(const NodesOptions &options) {
    for (const std::string &name : options.names)
        if (auto removed = core::removeNode(name); !removed)
            return complain(removed.error());
    return Done;
}

int nodesShowCommand(const NodesOptions &options) {
    const auto nodes = core::chosenNodes(options.names);
    if (!nodes)
        return complain(nodes.error());
    Json all = Json::array();
    bool well = true;
    for (const NodeEntry &node : *nodes) {
        const core::NodeSnapshot snapshot = core::probeNode(node, terminalAnswers());
        well = well && snapshot.usable();
        if (options.json)
            all.push_back(snapshotJson(snapshot));
        else
            print(figuresText(snapshot));
    }
    if (options.json)
        print(all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    return well ? Done : Failed;
}

int nodesWatchCommand(const NodesOptions &options) {
    const auto nodes = core::chosenNodes(options.names);
    if (!nodes)
        return complain(nodes.error());
    std::vector<std::unique_ptr<core::NodeWatch>> watches;
    int left = options.times;
    const core::SshAnswers answers = terminalAnswers();
    for (const NodeEntry &node : *nodes) {
        watches.push_back(std::make_unique<core::NodeWatch>(node, answers));
        QObject::connect(watches.back().get(), &core::NodeWatch::changed, [&, watch = watches.back().get()] {
            print(options.json
                      ? snapshotJson(watch->snapshot()).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                      : figuresText(watch->snapshot()));
            if (options.times > 0 && --left <= 0)
                QCoreApplication::exit();
        });
        QMetaObject::invokeMethod(watches.back().get(), &core::NodeWatch::start, Qt::QueuedConnection);
    }
    const StopSignals signals([] { QCoreApplication::exit(); });
    QCoreApplication::exec();
    return Done;
}

int nodesSyncCommand(const NodesOptions &options) {
    auto nodes = core::chosenNodes(options.names);
    if (!nodes)
        return complain(nodes.error());
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    std::string last;
    const auto printProgress = [&](const core::SyncProgress &progress) {
        const std::string line = progress.node + ": " + progress.bundle + " " + progress.what +
                                 (progress.totalBytes > 0 && progress.what == "copying"
                                      ? " " + std::to_string(int(progress.doneBytes / progress.totalBytes * 100)) +
                                            " % of " + std::to_string(int(progress.totalBytes / 1e6)) + " MB"
                                      : "");
        if (terminal ? line != last : progress.what != last)
            std::fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", printable(line).c_str());
        last = terminal ? line : progress.what;
    };
    core::SyncOptions wanted;
    wanted.datasets = options.datasets;
    wanted.ownTorch = !options.torch;
    wanted.line = options.line;
    wanted.way = options.tar ? core::SyncWay::Tar : core::SyncWay::Best;
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows = {{"node", "what", "version", "files", "size", "sent", "by"}};
    int code = Done;
    core::SyncEvents events;
    events.progressed = printProgress;
    std::string line;
    events.chosen = [&](const core::LineChoice &choice) {
        line = choice.line.version;
        std::fprintf(stderr, terminal ? "\r\033[K%s\n" : "%s\n", printable(choice.reason).c_str());
    };
    events.done = [&](const std::string &, const Result<std::vector<core::SyncReport>> &reports) {
        if (terminal)
            std::fprintf(stderr, "\r\033[K");
        if (!reports) {
            code = complain(reports.error());
            return;
        }
        for (const core::SyncReport &one : *reports) {
            all.push_back({{"node", one.node},
                           {"bundle", one.bundle},
                           {"version", one.version},
                           {"folder", one.folder},
                           {"files", one.files},
                           {"bytes", one.bytes},
                           {"moved_files", one.movedFiles},
                           {"moved_bytes", one.movedBytes},
                           {"by", one.by},
                           {"line", line}});
            const auto megabytes = [](double bytes) {
                return QString::number(bytes / 1e6, 'f', 1).toStdString() + " MB";
            };
            rows.push_back({one.node, one.bundle, one.version,
                            std::to_string(one.movedFiles) + " of " + std::to_string(one.files), megabytes(one.bytes),
                            megabytes(one.movedBytes), orDash(one.by)});
        }
    };
    core::syncNodes(*nodes, wanted, terminalAnswers(), events);
    print(options.json      ? all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"
          : rows.size() > 1 ? aligned(rows)
                            : "");
    return code;
}

} // namespace lockstep::cli
