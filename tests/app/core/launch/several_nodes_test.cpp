// SPDX-License-Identifier: MIT
// A run on several nodes as the core has it: lines of all nodes, clocks that disagree, links, launch and follow.
#include <sstream>

#include <QSignalSpy>

#include "core_queue_support.h"
#include "experiment/plan.h"
#include "follow/run_follower.h"
#include "launch/jobs/exported_job.h"
#include "launch/nodes_launcher.h"
#include "launch/torchrun_command.h"
#include "models/run_topology.h"
#include "queue/slurm/slurm_script.h"
#include "store/load_run.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"
#include "store/recent_data.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr std::int64_t hourMs = 3'600'000;

std::string sealed(const Frame &one, int node, std::uint64_t seq) {
    return sealLine(encode(one), node, seq);
}

LinkFrame link(const char *state, std::optional<double> offsetS = {}) {
    LinkFrame frame;
    frame.ofNode = 1;
    frame.host = "hostB";
    frame.link = state;
    if (std::string_view(state) == "lost")
        frame.reason = "nothing was heard for 6 s";
    frame.clockOffsetS = offsetS;
    frame.roundTripS = 0.001;
    return frame;
}

RunConfig onNodes(const char *text) {
    RunConfig config;
    config.method = Method::Ddp;
    config.oversubscribe = true;
    config.nodes = nodesFromText(text).value();
    config.batchSize = 32 * deviceCount(config);
    return config;
}

PlannedRun ddpOn(int devices) {
    PlannedRun run;
    run.name = "DDP";
    run.config.method = Method::Ddp;
    run.config.devices.assign(std::size_t(devices), "0");
    return run;
}

JobPlace placeOf(int nodes) {
    JobPlace place;
    place.nodes = nodes;
    place.masterAddress = "hostA";
    return place;
}

LaunchRequest requestOf(const RunConfig &config) {
    LaunchRequest request;
    request.record.config = config;
    request.record.name = "nodes";
    request.record.processes = processCount(config);
    return request;
}

std::vector<Frame> framesOf(const std::string &log) {
    std::vector<Frame> frames;
    Decoder decoder;
    std::istringstream lines(realFileSystem().readAll(log).value());
    for (std::string line; std::getline(lines, line);)
        if (const auto one = decoder.decode(line))
            frames.push_back(*one);
    return frames;
}

QFileInfo fakeTime() {
    for (const QFileInfo &folder : QDir(QStringLiteral("/usr/lib")).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (const QFileInfo library(folder.filePath() + QStringLiteral("/faketime/libfaketime.so.1")); library.exists())
            return library;
    return {};
}

/// An agent, and ranks under it, that read another wall clock.
std::string agentOfAnotherTime(const QFileInfo &library, const char *shiftS) {
    const std::string path = dataHome() + "/agent" + shiftS;
    const std::string text = "#!/bin/sh\nexec env LD_PRELOAD=" + library.filePath().toStdString() +
                             " FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 FAKETIME=" + shiftS + " " +
                             findAgent().value() + " \"$@\"\n";
    (void)realFileSystem().makeFolders(dataHome());
    (void)realFileSystem().writeAtomically(path, text);
    QFile::setPermissions(QString::fromStdString(path), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return path;
}

} // namespace

class CoreSeveralNodesTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        qputenv("FAKE_RANK", "epochs=1;steps=20");
    }
    void cleanup() {
        endAll();
        m_home.reset();
    }

    void linesOfSeveralNodesAreEachCheckedByTheirOwnNumbers() {
        NodeLines lines;
        const auto good = [&lines](const std::string &line, int hint = 0) {
            int count = 0;
            lines.take(line, hint, [&count](std::string_view) { ++count; });
            return count;
        };
        const Frame beat = frame(HeartbeatFrame{}, std::nullopt, 1);
        QCOMPARE(good(sealed(beat, 0, 0)), 1);
        QCOMPARE(good(sealed(beat, 1, 0) + "\v" + sealed(beat, 1, 1)), 2); // the line end between them was damaged
        QCOMPARE(good(sealed(beat, 1, 0)), 0);                             // comes twice
        QCOMPARE(good(sealed(beat, 0, 3)), 1);                             // 1 and 2 never came
        std::string bad = sealed(beat, 1, 2);
        bad[10] ^= 1;
        QCOMPARE(good(bad, 1), 0);
        QCOMPARE(lines.nextSeq(0), std::uint64_t(4));
        QVERIFY(lines.nextSeqsBut(0) == (std::map<int, std::uint64_t>{{1, 2}}));
        QVERIFY(lines.gaps() == (LogGaps{{1, 2}}));
        QCOMPARE(lines.damagedLines(), std::uint64_t(1));
        RunResult result;
        result.logLines = 4;
        result.nodeLogLines = {{1, 2}};
        QVERIFY(lines.complete(result));
        result.nodeLogLines = {{1, 5}};
        QVERIFY(lines.missing(result) == std::vector<LogGap>{(LogGap{2, 4})});
    }

    void logsAreReadInTheOrderOfTimeThoughAClockIsAnHourOff_data() {
        QTest::addColumn<qint64>("offsetMs");
        QTest::newRow("ahead") << qint64(hourMs);
        QTest::newRow("behind") << qint64(-hourMs);
    }
    void logsAreReadInTheOrderOfTimeThoughAClockIsAnHourOff() {
        QFETCH(qint64, offsetMs);
        const RunFolder folder = runFolder(makeRunId());
        QVERIFY(realFileSystem().makeFolders(folder.path).has_value());
        const qint64 begunMs = 2 * hourMs;
        std::string first = sealed(frame(link("up", double(offsetMs) / 1e3), std::nullopt, begunMs), 0, 0) + "\n",
                    second;
        for (int i = 1; i <= 5; ++i) { // ten lines a second apart, in turns
            first += sealed(frame(LogFrame{"info", std::to_string(2 * i), "agent"}, {}, begunMs + 2000 * i), 0,
                            std::uint64_t(i)) +
                     "\n";
            second += sealed(frame(LogFrame{"info", std::to_string(2 * i + 1), "agent"}, {},
                                   begunMs + 2000 * i + 1000 + offsetMs),
                             1, std::uint64_t(i - 1)) +
                      "\n";
        }
        QVERIFY(realFileSystem().writeAtomically(folder.log(0), first).has_value());
        QVERIFY(realFileSystem().writeAtomically(folder.log(1), second).has_value());
        NodesReplay replay;
        RunStore store;
        Decoder decoder;
        replay.open(folder);
        while (replay.slice([&](std::string_view line, int) { store.take(decoder.decode(line).value()); })) {
        }
        QCOMPARE(store.messages().console().size(), std::size_t(10));
        for (int i = 0; i < 10; ++i) {
            const ConsoleLine &line = store.messages().console()[std::size_t(i)];
            QCOMPARE(line.message, std::to_string(i + 2));
            QCOMPARE(line.wallUs, frame(HeartbeatFrame{}, {}, begunMs + 1000 * (i + 2)).wallUs); // by node 0's clock
        }
    }

    void aLostLinkIsSaidApartFromTheRunsState() {
        RunStore store;
        const auto take = [&](FrameBody body, int node, std::int64_t atMs) {
            Frame one = frame(std::move(body), std::nullopt, atMs);
            one.node = node;
            store.take(one);
        };
        StateFrame training;
        training.state = RunState::Training;
        take(training, 0, 1);
        take(link("up", 0.0), 0, 2);
        QCOMPARE(store.links().sentence(), QStringLiteral("2 nodes, all links up"));
        take(link("lost"), 0, 3);
        QVERIFY(linkToNodeLost(store));
        QCOMPARE(store.links().sentence(),
                 QStringLiteral("link to hostB lost, its training state unknown (nothing was heard for 6 s)"));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("training"));
        StateFrame failed;
        failed.state = RunState::Failed;
        take(failed, 1, 4); // that node's agent speaks for its own ranks
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("training"));
        take(link("up"), 0, 5);
        QVERIFY(!linkToNodeLost(store));
        QCOMPARE(store.links().all().at(1).losses, 1);
        QVERIFY(store.links().all().at(1).clockOffsetS.has_value());
    }

    void theLineOfPyTorchIsReportedWithTheReasonThatChoseIt() {
        RunRecord record;
        QVERIFY(torchSentence(record).isEmpty());
        for (const char *host : {"hostA", "hostB"}) {
            MachineRecord &machine = record.machines.emplace_back();
            machine.host = host;
        }
        QVERIFY(torchSentence(record).isEmpty()); // no trainer reported it
        for (MachineRecord &machine : record.machines)
            machine.torchVersion = "2.7.1+cu126";
        QCOMPARE(torchSentence(record), QStringLiteral("PyTorch 2.7.1+cu126 on all nodes"));
        record.torchReason = "PyTorch 2.7.1 (CUDA 12.6): since 2.11.0 is not built here";
        QCOMPARE(torchSentence(record),
                 QStringLiteral("PyTorch 2.7.1+cu126 on all nodes: since 2.11.0 is not built here"));
        const auto again = runRecordFromJson(toJson(record)); // it is in config.json
        QVERIFY(again.has_value());
        QCOMPARE(torchSentence(*again), torchSentence(record));
        record.torchReason = "PyTorch 2.11.0 (CUDA 13.0): the newest, and every node can use it"; // of an older sync
        QCOMPARE(torchSentence(record), QStringLiteral("PyTorch 2.7.1+cu126 on all nodes"));
        record.machines[1].torchVersion.clear();
        QCOMPARE(torchSentence(record), QStringLiteral("PyTorch 2.7.1+cu126 on hostA; an unknown version on hostB"));
    }

    void aRecipeOnNodesTrainsItsBaselineOnOneDeviceAndLeavesDpOut() {
        Recipe recipe;
        for (const Method method : {Method::Baseline, Method::Dp, Method::Ddp}) {
            RunSpec &spec = recipe.runs.emplace_back();
            spec.config.method = method;
            spec.config.batchSize = 63;
        }
        PlanOptions options;
        options.set = {{"nodes", "hostA%eth0:0,1;hostB%eth0:0"}};
        MachineFacts facts;
        facts.allowedCores = {0};
        const auto plan = expand(recipe, facts, options);
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        std::map<std::string, PlannedRun> runs;
        for (const PlannedRun &run : plan->runs)
            runs[std::string(toString(run.config.method))] = run;
        QCOMPARE(toText(runs["baseline"].config.nodes), std::string("hostA%eth0:0"));
        QVERIFY2(runs["dp"].notRunReason.find("can't span 2 nodes") != std::string::npos,
                 runs["dp"].notRunReason.c_str());
        QVERIFY(runs["ddp"].runnable());
        QCOMPARE(runs["ddp"].name, std::string("DDP on 3 devices"));
        const std::string torchrun = torchrunCommand(runs["ddp"].config);
        QVERIFY2(torchrun.find("--nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr hostA") != std::string::npos,
                 torchrun.c_str());
    }

    void ofARunOnVeryManyNodesTheFirstCommandsAreWritten() {
        const auto linesFor = [](std::size_t nodes) {
            RunConfig config = onNodes("a%e:0");
            config.nodes.assign(nodes, config.nodes.front());
            return QString::fromStdString(torchrunCommand(config)).split(u'\n');
        };
        QCOMPARE(linesFor(mostNodesInFull).size(), qsizetype(mostNodesInFull));
        const QStringList many = linesFor(4096);
        QCOMPARE(many.size(), qsizetype(nodesOfVeryMany + 1));
        QCOMPARE(many.back(),
                 QStringLiteral("# and on 4,092 more nodes: lockstepctl export-job --to torchrun writes them all"));
    }

    void allAgentsAreStartedAndTheRunIsFollowedWhole() {
        if (!useFakeRanks())
            QSKIP("lockstep-agent or fake_rank is not built");
        NodesLauncher launcher;
        QSignalSpy ready(&launcher, &NodesLauncher::ready), failed(&launcher, &NodesLauncher::failed);
        launcher.start({}, requestOf(onNodes(".:0,1;.:0;.:0,1,2")));
        QVERIFY(ready.wait(test::hangLimitMs));
        QVERIFY(failed.isEmpty());
        const QString run = ready[0][0].toString();
        RunStore store(run);
        RunFollower follower(&store, run);
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QVERIFY2(store.lifecycle().link() == LinkState::Finished, qPrintable(store.lifecycle().linkSentence()));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("done"));
        QCOMPARE(store.ranks().all().size(), std::size_t(6));
        QVERIFY(store.log().gaps.empty());
        QCOMPARE(store.links().sentence(), QStringLiteral("3 nodes, all ended"));
        QCOMPARE(store.record()->machines.size(), std::size_t(3));

        RunStore replayed(run);
        QVERIFY(loadRun(replayed, runFolder(run.toStdString())).has_value());
        QCOMPARE(replayed.log().frames, store.log().frames);
        QCOMPARE(replayed.losses().all().points().size(), store.losses().all().points().size());
    }

    void framesOfRealAgentsWhoseClocksAreAnHourOffComeInTheOrderOfTime() {
        const QFileInfo found = fakeTime();
        if (!useFakeRanks())
            QSKIP("lockstep-agent or fake_rank is not built");
        if (!found.exists())
            QSKIP("there is no libfaketime here: apt install faketime");
        RunConfig config = onNodes(".:0;.:0;.:0");
        qputenv("FAKE_RANK", "epochs=1;steps=200");
        config.nodes[1].agent = agentOfAnotherTime(found, "+3600");
        config.nodes[2].agent = agentOfAnotherTime(found, "-3600");
        NodesLauncher launcher;
        QSignalSpy ready(&launcher, &NodesLauncher::ready);
        launcher.start({}, requestOf(config));
        QVERIFY(ready.wait(test::hangLimitMs));
        const QString run = ready[0][0].toString();
        RunStore store(run);
        RunFollower follower(&store, run);
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("done"));
        constexpr double hourS = hourMs / 1e3;
        QVERIFY(std::abs(store.links().all().at(1).clockOffsetS.value_or(0) - hourS) < 0.1);
        QVERIFY(std::abs(store.links().all().at(2).clockOffsetS.value_or(0) + hourS) < 0.1);

        // Processes of one machine share CLOCK_MONOTONIC, which nobody has shifted: it says what came first.
        NodesReplay replay;
        Decoder decoder;
        std::int64_t latest = 0, worst = 0, ownWorst = 0;
        std::map<int, std::int64_t> ownLatest, learned; // by node, the second of when its clock's offset was known
        std::map<int, std::int64_t> apartS;             // a node's wall clock less its monotonic one
        replay.open(runFolder(run.toStdString()));
        while (replay.slice([&](std::string_view line, int node) {
            const Frame one = decoder.decode(line).value();
            if (one.monoNs == 0)
                return; // a header
            apartS[node] = (one.wallUs - one.monoNs / 1000) / 1'000'000;
            if (const auto *link = std::get_if<LinkFrame>(&one.body); link && link->clockOffsetS)
                learned.try_emplace(link->ofNode, one.monoNs);
            const bool known = learned.size() == 2 && one.monoNs > std::max(learned.at(1), learned.at(2));
            worst = std::max(worst, known ? latest - one.monoNs : 0);
            latest = std::max(latest, one.monoNs);
            ownWorst = std::max(ownWorst, ownLatest[node] - one.monoNs);
            ownLatest[node] = std::max(ownLatest[node], one.monoNs);
        })) {
        }
        QVERIFY(std::abs(apartS.at(1) - apartS.at(0) - 3600) <= 1); // the logs keep what the clocks said
        QVERIFY(std::abs(apartS.at(2) - apartS.at(0) + 3600) <= 1);
        // Until a node's offset is known its lines wait. From then on, a node's own lines are logged as they come, which is later than
        // they were stamped; to that, the two offsets' errors add.
        qInfo("%.1f ms out of order at most, %.1f ms within a node", double(worst) / 1e6, double(ownWorst) / 1e6);
        QVERIFY(worst <= ownWorst + 200'000'000);

        // By the clocks alone the nodes' lines would stand apart by the whole run.
        std::vector<std::pair<std::int64_t, std::int64_t>> byWall;
        for (int node = 0; node < 3; ++node)
            for (const Frame &one : framesOf(runFolder(run.toStdString()).log(node)))
                if (one.monoNs > 0)
                    byWall.emplace_back(one.wallUs, one.monoNs);
        std::sort(byWall.begin(), byWall.end());
        for (latest = worst = 0; const auto &[wallUs, monoNs] : byWall) {
            worst = std::max(worst, latest - monoNs);
            latest = std::max(latest, monoNs);
        }
        QVERIFY(worst > 1'000'000'000);
    }

    void exportedLinesShareTheirCommandAndHaveTheirOwnDevices() {
        QCOMPARE(torchrunLines(ddpOn(3), placeOf(2)).value(),
                 std::string("# DDP: each node runs this definition and its own line\n"
                             "command=(lockstep-trainer --method=ddp)\n"
                             "# DDP, on node 0\n"
                             "torchrun --no-python --nnodes 2 --node-rank 0 --nproc-per-node 2 --master-addr hostA "
                             "--master-port 29500 \"${command[@]}\" --devices=0,1\n"
                             "# DDP, on node 1\n"
                             "torchrun --no-python --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr hostA "
                             "--master-port 29500 \"${command[@]}\" --devices=0\n"));
        PlannedRun run = ddpOn(mostNodes);
        const std::string longWord(100'000, 'x');
        run.command = {"python3", "train.py", longWord};
        const std::string text = torchrunLines(run, placeOf(mostNodes)).value();
        QVERIFY(text.find(longWord) == text.rfind(longWord));
        QVERIFY(text.find("--node-rank " + std::to_string(mostNodes - 1) + " ") != std::string::npos);
        QVERIFY(text.size() < 1'000'000);
    }

    void aJobsTextOfMoreThanItMayHaveIsRefused() {
        JobPlace place = placeOf(mostNodes);
        place.masterAddress.assign(100'000, 'h');
        const auto lines = torchrunLines(ddpOn(mostNodes), place);
        QVERIFY(!lines && lines.error().what.find("it may have 67,108,864") != std::string::npos);
        PlannedRun quoted = ddpOn(1);
        quoted.command.assign(50, std::string(100'000, '\'')); // each of which is five characters to a shell
        const auto script = slurmScript(slurmTasks(std::vector{quoted, quoted, quoted}), {});
        QVERIFY2(!script && script.error().what.find("with DDP the job's text has ") == 0,
                 script ? "" : script.error().what.c_str());
        QVERIFY(slurmScript(slurmTasks(std::vector{quoted, quoted}), {}).has_value());
    }

    void aNodeThatCannotStartEndsTheLaunchAndLeavesNothing() {
        if (!useFakeRanks())
            QSKIP("lockstep-agent or fake_rank is not built");
        RunConfig config = onNodes(".:0;.:0");
        config.nodes[1].agent = "/no/such/lockstep-agent";
        NodesLauncher launcher;
        QSignalSpy ready(&launcher, &NodesLauncher::ready), failed(&launcher, &NodesLauncher::failed);
        launcher.start({}, requestOf(config));
        QVERIFY(failed.wait(test::hangLimitMs));
        QVERIFY(ready.isEmpty());
        const std::string what = failed[0][0].value<Error>().what;
        QVERIFY2(what.find("node 1 (this machine)") == 0, what.c_str());
        QVERIFY(QDir(QString::fromStdString(runsFolder())).entryList(QDir::Dirs | QDir::NoDotAndDotDot).isEmpty());
    }
};

QTEST_GUILESS_MAIN(CoreSeveralNodesTest)
#include "several_nodes_test.moc"
