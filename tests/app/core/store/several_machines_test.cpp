// SPDX-License-Identifier: MIT
// Runs on several machines, and runs that others started, in what is listed and compared of them.
#include <algorithm>

#include "analysis/history/run_diff.h"
#include "analysis/history/run_filter.h"
#include "core_support.h"
#include "store/load_run.h"
#include "store/run_index.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

RunRecord recordOn(const std::vector<std::string> &hosts) {
    RunRecord record = ddpRecord("");
    record.machines.clear();
    for (const std::string &host : hosts) {
        MachineRecord machine;
        machine.node = int(record.machines.size());
        machine.host = host;
        machine.cores = host == "hostC" ? 8 : 4;
        record.machines.push_back(machine);
    }
    return record;
}

DiffLine lineOf(const RunDiff &diff, const char *key) {
    for (const DiffSection &section : diff.sections)
        for (const DiffLine &line : section.lines)
            if (line.key == QLatin1String(key))
                return line;
    return {};
}

void load(RunStore &store) {
    QVERIFY(loadRun(store, runFolder(store.runId().toStdString())).has_value());
}

} // namespace

class CoreSeveralMachinesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRunIsListedAndFoundByEachOfItsHosts() {
        const Home home;
        const RunRecord two = recordOn({"hostA", "hostB", "hostA"});
        finishedRun(1, &two);
        auto index = RunIndex::open();
        (void)index->refresh();
        const IndexedRun run = index->runs().front();
        QCOMPARE(run.host, std::string("hostA"));
        QCOMPARE(run.hosts, std::string("hostA, hostB"));
        for (const char *host : {"hostA", "hostB"}) {
            const auto filter = RunFilter::parse(QStringLiteral("host=") + QLatin1String(host));
            QVERIFY(filter && filter->accepts(run));
        }
        QVERIFY(!RunFilter::parse(QStringLiteral("host=hostC"))->accepts(run));
    }

    void aDifferenceIsOfAllMachinesOfTwoRuns() {
        const Home home;
        const RunRecord one = recordOn({"hostA", "hostB"}), other = recordOn({"hostA", "hostC"});
        RunStore a(QString::fromStdString(finishedRun(1, &one))), b(QString::fromStdString(finishedRun(2, &other)));
        load(a);
        load(b);
        const RunDiff diff = diffRuns(a, b);
        QCOMPARE(lineOf(diff, "host").a, QStringLiteral("hostA; hostB"));
        QCOMPARE(lineOf(diff, "host").b, QStringLiteral("hostA; hostC"));
        QVERIFY(!lineOf(diff, "cores").same);
        QCOMPARE(lineOf(diff, "cores").a, QStringLiteral("4")); // of both
        QCOMPARE(lineOf(diff, "cores").b, QStringLiteral("4; 8"));
        QCOMPARE(lineOf(diffRuns(a, a), "cores").figureA, std::optional(4.0));
    }

    void aFurtherNodesPartHasNoTimesOfTheRunAndSaysWhereThatIs() {
        const Home home;
        RunRecord part = recordOn({"hostB"});
        RunStore whole(QString::fromStdString(finishedRun(1, &part)));
        part.machines.front().node = 1;
        RunStore store(QString::fromStdString(finishedRun(2, &part)));
        load(whole);
        load(store);
        const RunOutcome all = outcomeOf(whole), own = outcomeOf(store);
        QVERIFY(all.totalTrainingTimeS && all.runTimeS && !all.epochs.empty());
        QVERIFY(!own.totalTrainingTimeS && !own.runTimeS && own.epochs.empty());
        QVERIFY(all.finalLoss && all.testAccuracy && all.launchS && all.steps && !all.perClassAccuracy.empty());
        QVERIFY(!own.finalLoss && !own.testAccuracy && !own.launchS && !own.steps && own.perClassAccuracy.empty());
        QVERIFY(std::ranges::find(own.warnings, "this is node 1's part of a run over nodes: the whole run is in its "
                                                "folder on the first node") != own.warnings.end());
    }

    void aFurtherNodesPartIsListedWithoutFiguresOfTheRun() {
        const Home home;
        RunRecord record = recordOn({"hostB"});
        std::string whole;
        for (const int node : {0, 1}) {
            record.machines.front().node = node;
            const std::string id = finishedRun(std::uint32_t(node + 1), &record);
            RunResult result = doneResult(id, 10, 3);
            result.summary.emplace();
            result.summary->totalTrainingTimeS = 2;
            result.summary->testAccuracy = 0.9;
            result.summary->backend = "gloo";
            result.summary->epochs = {{1, 0.5, 2, 1000}};
            result.watching = Watching{10, 0.56, 0.4, 0.1, 1.25};
            write(runFolder(id).result(), toJson(result));
            if (node == 0)
                whole = id;
        }
        auto index = RunIndex::open();
        (void)index->refresh();
        const std::vector<IndexedRun> runs = index->runs();
        QCOMPARE(runs.size(), std::size_t(2));
        for (const IndexedRun &run : runs) {
            QCOMPARE(run.state, std::string("done"));
            QCOMPARE(run.backend, std::string("gloo"));
            for (const auto figure : {&IndexedRun::runTimeS, &IndexedRun::totalTrainingTimeS, &IndexedRun::testAccuracy,
                                      &IndexedRun::finalLoss, &IndexedRun::samplesPerS, &IndexedRun::ranksWaitedS})
                QCOMPARE((run.*figure).has_value(), run.run == whole);
        }
    }

    void aRunTimeWhoseRanksEndsAreUnknownIsTheSpanOfItsFrames() {
        const Home home;
        const std::string started = finishedRun(1, nullptr, 2.0), elsewhere = finishedRun(2, nullptr, 3.0);
        RunResult result = *readRunResult(runFolder(elsewhere));
        result.ranks = {{0, "box", {}, {}, {}}, {1, "box", {}, {}, {}}};
        write(runFolder(elsewhere).result(), toJson(result));
        RunStore a(QString::fromStdString(started)), b(QString::fromStdString(elsewhere));
        load(a);
        load(b);
        QVERIFY(!outcomeOf(a).spansFrames && outcomeOf(b).spansFrames);
        QVERIFY(!lineOf(diffRuns(a, b), "run_time_s").same);
        QVERIFY(lineOf(diffRuns(a, b), "run_time_s").change.isEmpty());
        result.ranks.front().code = 0;
        QVERIFY(!isSpanOfFrames(result));
    }
};

QTEST_GUILESS_MAIN(CoreSeveralMachinesTest)
#include "several_machines_test.moc"
