// SPDX-License-Identifier: MIT
// What the list of runs and the difference of two say of a script: what is known of it, and no default of ours.
#include <algorithm>

#include "analysis/history/run_diff.h"
#include "analysis/history/run_filter.h"
#include "core_support.h"
#include "store/run_index.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// Of a script of which its method, its devices and one setting are known.
RunRecord scriptRecord(const std::string &batchSize) {
    RunRecord record = ddpRecord("");
    record.command = {"python", "train.py", "--batch-size", batchSize};
    record.claims.known = std::vector<std::string>{"method", "devices", "workers"};
    record.claims.flags = {{"batch-size", batchSize}};
    return record;
}

IndexedRun onlyRow() {
    auto index = RunIndex::open();
    (void)index->refresh();
    return index->runs().at(0);
}

bool accepts(const IndexedRun &run, const char *line) {
    const auto filter = RunFilter::parse(QString::fromUtf8(line));
    return filter && filter->accepts(run);
}

std::string settingIn(const IndexedRun &run, const char *key) {
    return run.setting(*findField(key)).value_or("unknown");
}

/// As it stands in the log of a rank that reports a precision.
void takeReporting(RunStore &store, const RunRecord &record, const std::string &precision) {
    store.setRecord(record);
    StateFrame init;
    init.worldSize = 2;
    init.about = {{"precision", precision}};
    store.take(frame(init, 0, 0));
}

} // namespace

class ScriptRowsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatIsUnknownOfAScriptIsNoDefaultOfOurs() {
        const Home home;
        const RunRecord record = scriptRecord("32");
        finishedRun(1, &record);
        const IndexedRun run = onlyRow();
        QCOMPARE(settingIn(run, "workers"), std::string("0")); // known, though it is the default
        for (const char *key : {"batch_size", "precision", "lr", "optimizer", "loader", "seed", "augment"})
            QCOMPARE(settingIn(run, key), std::string("unknown"));
        QVERIFY(accepts(run, "workers=0") && accepts(run, "lr=-"));
        QVERIFY(!accepts(run, "batch_size=64") && !accepts(run, "optimizer=sgd") && !accepts(run, "lr=0.01"));
    }

    void whatAScriptReportedOfItselfIsListedAndFiltered() {
        const Home home;
        const RunRecord record = scriptRecord("8");
        const std::string id = finishedRun(1, &record);
        RunResult result = doneResult(id, 10, 3);
        result.summary.emplace();
        result.summary->totalTrainingTimeS = 2;
        result.summary->epochs = {{1, 0.5, 2, 1000}};
        result.summary->batchSize = 8;
        result.summary->lr = 0.001;
        result.summary->precision = "bf16";
        result.summary->workers = 5; // the recipe knows better
        write(runFolder(id).result(), toJson(result));
        const IndexedRun run = onlyRow();
        QCOMPARE(settingIn(run, "batch_size"), std::string("8"));
        QCOMPARE(settingIn(run, "lr"), std::string("0.001"));
        QCOMPARE(settingIn(run, "workers"), std::string("0"));
        QCOMPARE(settingIn(run, "optimizer"), std::string("unknown"));
        QVERIFY(accepts(run, "precision=bf16 batch_size<10"));
    }

    void twoRunsOfAScriptDifferInTheirFlagsAndInWhatTheyReported() {
        RunStore a(QStringLiteral("a")), b(QStringLiteral("b"));
        takeReporting(a, scriptRecord("16"), "fp32");
        takeReporting(b, scriptRecord("32"), "bf16");
        const RunDiff diff = diffRuns(a, b);
        QCOMPARE(diff.sections.front().title, QStringLiteral("Configuration"));
        const auto said = [&](const char *key) {
            const auto &lines = diff.sections.front().lines;
            const auto found = std::ranges::find(lines, QString::fromLatin1(key), &DiffLine::key);
            return found == lines.end() ? QStringLiteral("absent") : QString(found->a + u'|' + found->b);
        };
        QCOMPARE(said("flag batch-size"), QStringLiteral("16|32"));
        QCOMPARE(said("command"), QStringLiteral("python train.py --batch-size 16|python train.py --batch-size 32"));
        QCOMPARE(said("precision"), QStringLiteral("fp32|bf16"));
        QCOMPARE(said("workers"), QStringLiteral("0|0"));
        QCOMPARE(said("lr"), QStringLiteral("absent"));
        QCOMPARE(diff.sections.front().differing(), 3);
    }
};

QTEST_GUILESS_MAIN(ScriptRowsTest)
#include "script_rows_test.moc"
