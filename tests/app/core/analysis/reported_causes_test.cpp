// SPDX-License-Identifier: MIT
// Causes in what fake ranks report: times set by hand come back. The ranks sleep, so repeats at once don't disturb each other.

#include "analysis/causes/bottleneck.h"
#include "analysis/compare/judgement.h"
#include "causes_support.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreReportedCausesTest : public QObject {
    Q_OBJECT
    Home m_home;

    void expectFakeRanks() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
        for (const char *name : {"FAKE_RANK_0", "FAKE_RANK_1", "LOCKSTEP_TEST_DELAY"})
            qunsetenv(name);
    }
private Q_SLOTS:
    void cleanupTestCase() { endAll(); }

    void fakeRanksPhasesComeBackAsCauses_data() {
        QTest::addColumn<QByteArray>("before");
        QTest::addColumn<QByteArray>("after");
        QTest::addColumn<int>("cause");
        QTest::addColumn<double>("ms"); // a step
        QTest::newRow("loading gone") << QByteArray("load:12,forward:5,backward:8,optimizer:2")
                                      << QByteArray("load:1,forward:5,backward:8,optimizer:2")
                                      << int(Cause::DataLoading) << -11.0;
        QTest::newRow("computing longer")
            << QByteArray("load:3,forward:5,backward:8,optimizer:2")
            << QByteArray("load:3,forward:9,backward:14,optimizer:2") << int(Cause::Compute) << 10.0;
    }
    void fakeRanksPhasesComeBackAsCauses() {
        expectFakeRanks();
        QFETCH(QByteArray, before);
        QFETCH(QByteArray, after);
        QFETCH(int, cause);
        QFETCH(double, ms);
        const auto run = [](const QString &name, const QByteArray &phases) {
            qputenv("FAKE_RANK", "steps=15;phases=" + phases);
            return measured(name, QStringLiteral("\"method\":\"baseline\",\"epochs\":2"), 2, 2);
        };
        const RepeatGroup reference = run(QStringLiteral("before"), before),
                          changed = run(QStringLiteral("after"), after);
        QVERIFY(!reference.runs.empty() && !changed.runs.empty());
        const auto found = attribute(reference, changed, {});
        QVERIFY(found);
        const double planted = ms * 1e-3 * 30;
        qInfo("planted %.3f s; %s", planted, qPrintable(textOf(*found)));
        QVERIFY(int(largest(*found)) == cause);
        QVERIFY2(std::fabs(found->secondsOf(Cause(cause)) - planted) <= 0.05 * std::fabs(planted),
                 qPrintable(textOf(*found)));
        QVERIFY2(std::fabs(found->secondsOf(Cause::Unattributed)) <= 0.05 * std::fabs(planted),
                 qPrintable(textOf(*found)));
    }

    void theCommandLineShowsTheSameNumbers() {
        expectFakeRanks();
        qputenv("FAKE_RANK", "steps=10;phases=load:6,forward:4,backward:4");
        const RepeatGroup plain =
            measured(QStringLiteral("baseline"), QStringLiteral("\"method\":\"baseline\",\"epochs\":2"), 3, 3);
        qputenv("FAKE_RANK", "steps=10;phases=load:1,forward:4,backward:4");
        const RepeatGroup loaded = measured(QStringLiteral("baseline, 4 workers"),
                                            QStringLiteral("\"method\":\"baseline\",\"epochs\":2,\"workers\":4"), 3, 3);
        QVERIFY(plain.runs.size() == 3 && loaded.runs.size() == 3);
        std::vector<RunOutcome> runs = plain.runs;
        runs.insert(runs.end(), loaded.runs.begin(), loaded.runs.end());
        QStringList ids;
        for (const RunOutcome &run : runs)
            ids << QString::fromStdString(run.run);
        const ResultTable table = resultTable(runs);
        const Judgement found = judge(table, runs, {});
        QVERIFY2(found.sentence.find("is data loading") != std::string::npos, found.sentence.c_str());

        const Answer json = ctl(QStringList{QStringLiteral("compare"), QStringLiteral("--json")} + ids);
        QVERIFY2(json.code == 0, json.err.constData());
        QVERIFY(nlohmann::json::parse(json.out.toStdString())["judgement"] == nlohmann::json::parse(toJson(found)));
        const Answer text = ctl(QStringList{QStringLiteral("compare")} + ids);
        for (const std::string &part :
             {found.sentence, std::string("Speed-ups with 95 % intervals"),
              std::string("From baseline to baseline, 4 workers"), std::string("What bounds each run"),
              std::string("baseline: input-bound. Loading takes ")})
            QVERIFY2(text.out.contains(QByteArray::fromStdString(part)), text.out.constData());
        for (const std::string &reservation : found.reservations)
            QVERIFY2(text.out.contains(QByteArray::fromStdString("! " + reservation)), text.out.constData());
    }

    void aSlowFakeRankIsImbalanceThroughTheStoreToo() {
        expectFakeRanks();
        const auto run = [](const QString &name, const QByteArray &rank0, const QByteArray &rank1) {
            qputenv("FAKE_RANK", "steps=15");
            qputenv("FAKE_RANK_0", "phases=" + rank0);
            qputenv("FAKE_RANK_1", "phases=" + rank1);
            return measured(name, QStringLiteral("\"method\":\"ddp\",\"devices\":2,\"epochs\":2"), 2, 2);
        };
        const RepeatGroup even = run(QStringLiteral("even"), "load:2,forward:4,backward:8,exposed:3,wait:0,optimizer:1",
                                     "load:2,forward:4,backward:8,exposed:3,wait:0,optimizer:1");
        const RepeatGroup uneven =
            run(QStringLiteral("uneven"), "load:2,forward:4,backward:8,wait:10,exposed:3,optimizer:1",
                "load:2,forward:4,backward:18,exposed:3,wait:0,optimizer:1");
        QVERIFY(!even.runs.empty() && !uneven.runs.empty());
        const auto found = attribute(even, uneven, {});
        qInfo("planted 0.300 s; %s", qPrintable(textOf(*found)));
        QVERIFY2(std::fabs(found->secondsOf(Cause::Imbalance) - 0.3) <= 0.015, qPrintable(textOf(*found)));
        QVERIFY2(std::fabs(found->secondsOf(Cause::Compute)) <= 0.015, qPrintable(textOf(*found)));
        const Bottleneck bottleneck = bottleneckOf(uneven, {});
        QVERIFY(bottleneck.bound == Bound::Straggler);
        QVERIFY2(bottleneck.evidence.find("rank 1 spends") != std::string::npos &&
                     bottleneck.evidence.find("in backward") != std::string::npos,
                 bottleneck.evidence.c_str());
    }
};

QTEST_GUILESS_MAIN(CoreReportedCausesTest)
#include "reported_causes_test.moc"
