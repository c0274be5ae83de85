// SPDX-License-Identifier: MIT
// Causes planted into real runs, through lockstepctl, agents, logs and stores: fake ranks with set phase times, and the real
// trainer slowed down in one phase by LOCKSTEP_TEST_DELAY.

#include "analysis/causes/attribution.h"
#include "analysis/causes/bottleneck.h"
#include "analysis/causes/phase_parts.h"
#include "analysis/compare/judgement.h"
#include "core_queue_support.h"
#include "ipc/median.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

#include <QDir>
#include <QRandomGenerator>

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// Repeats of one run as a group; empty when they failed, with the reason as a warning.
RepeatGroup measured(const QString &name, const QString &keys, int repeats = 3, int sideBySide = 1) {
    const QByteArray recipe = QStringLiteral("{\"name\":\"planted\",\"base\":{\"batch_size\":64},\"repeats\":%3,"
                                             "\"runs\":[{\"name\":\"%1\",%2}]}")
                                  .arg(name, keys)
                                  .arg(repeats)
                                  .toUtf8();
    const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--json"),
                               QStringLiteral("--side-by-side"), QString::number(sideBySide)},
                              100'000, recipe);
    RepeatGroup out{name.toStdString(), {}, false};
    const qsizetype begin = answer.out.indexOf("{\n"); // the result, after the progress lines
    const auto json = nlohmann::json::parse(answer.out.mid(begin).toStdString(), nullptr, false);
    if (answer.code != 0 || !json.is_object()) {
        qWarning("%s%s", answer.out.constData(), answer.err.constData());
        return out;
    }
    for (const ExperimentEntry &entry : read(json["experiment"]).entries) {
        RunStore store(QString::fromStdString(entry.run));
        if (loadRun(store, runFolder(entry.run)))
            out.runs.push_back(outcomeOf(store));
    }
    return out;
}

double secondsIn(const RepeatGroup &group, int rank, std::string_view phase) {
    std::vector<double> values;
    for (const RunOutcome &run : group.runs)
        values.push_back(phaseOf(run, rank, phase));
    return median(std::move(values)).value_or(0);
}

QString textOf(const Attribution &attribution) {
    QString out;
    for (const AttributionBar &bar : attribution.bars)
        out +=
            QStringLiteral("%1 %2 s; ").arg(QString::fromStdString(std::string(toString(bar.cause)))).arg(bar.seconds);
    return out;
}

Cause largest(const Attribution &attribution) {
    const auto most = std::ranges::max_element(attribution.bars, {}, [](const AttributionBar &bar) {
        return bar.cause == Cause::StartUp ? -1 : std::fabs(bar.seconds);
    });
    return most->cause;
}

/// Images of noise for the real trainer, no more than it trains on: only time is measured.
void writeImages(const QString &folder) {
    QDir().mkpath(folder);
    QRandomGenerator random(1);
    for (const auto &[name, count] : {std::pair("train", 4096), std::pair("t10k", 300)}) {
        QByteArray labels = QByteArray::fromHex("00000801"), images = QByteArray::fromHex("00000803");
        for (QByteArray *file : {&labels, &images})
            file->append(char(0)).append(char(0)).append(char(count >> 8)).append(char(count & 0xff));
        images.append(QByteArray::fromHex("0000001c0000001c"));
        for (int i = 0; i < count; ++i) {
            labels.append(char(i % 10));
            for (int pixel = 0; pixel < 28 * 28; ++pixel)
                images.append(char(random.bounded(256)));
        }
        for (const auto &[kind, bytes] :
             {std::pair("-labels-idx1-ubyte", labels), std::pair("-images-idx3-ubyte", images)}) {
            QFile file(folder + u'/' + QString::fromLatin1(name) + QString::fromLatin1(kind));
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size());
        }
    }
}

} // namespace

class CoreCausesTest : public QObject {
    Q_OBJECT
    Home m_home;

    void expectFakeRanks() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
        for (const char *name : {"FAKE_RANK_0", "FAKE_RANK_1", "LOCKSTEP_TEST_DELAY"})
            qunsetenv(name);
    }
    void expectTrainer() {
        for (const char *name : {"lockstepctl", "lockstep-agent", "lockstep-trainer"})
            if (!QFile::exists(bin + u'/' + QString::fromLatin1(name)))
                QSKIP(qPrintable(QString::fromLatin1(name) + QStringLiteral(" is not built in ") + bin));
        for (const char *name : {"LOCKSTEP_TRAINER", "LOCKSTEP_AGENT", "LOCKSTEP_TEST_DELAY"})
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
            qputenv("FAKE_RANK", "steps=30;phases=" + phases); // they sleep, so two at once disturb nobody
            return measured(name, QStringLiteral("\"method\":\"baseline\",\"epochs\":2"), 2, 2);
        };
        const RepeatGroup reference = run(QStringLiteral("before"), before),
                          changed = run(QStringLiteral("after"), after);
        QVERIFY(!reference.runs.empty() && !changed.runs.empty());
        const auto found = attribute(reference, changed, {});
        QVERIFY(found);
        const double planted = ms * 1e-3 * 60;
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
            measured(QStringLiteral("baseline"), QStringLiteral("\"method\":\"baseline\",\"epochs\":2"));
        qputenv("FAKE_RANK", "steps=10;phases=load:1,forward:4,backward:4");
        const RepeatGroup loaded = measured(QStringLiteral("baseline, 4 workers"),
                                            QStringLiteral("\"method\":\"baseline\",\"epochs\":2,\"workers\":4"));
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
            qputenv("FAKE_RANK", "steps=30");
            qputenv("FAKE_RANK_0", "phases=" + rank0);
            qputenv("FAKE_RANK_1", "phases=" + rank1);
            return measured(name, QStringLiteral("\"method\":\"ddp\",\"devices\":2,\"epochs\":2"), 2);
        };
        const RepeatGroup even = run(QStringLiteral("even"), "load:2,forward:4,backward:8,exposed:3,wait:0,optimizer:1",
                                     "load:2,forward:4,backward:8,exposed:3,wait:0,optimizer:1");
        const RepeatGroup uneven =
            run(QStringLiteral("uneven"), "load:2,forward:4,backward:8,wait:10,exposed:3,optimizer:1",
                "load:2,forward:4,backward:18,exposed:3,wait:0,optimizer:1");
        QVERIFY(!even.runs.empty() && !uneven.runs.empty());
        const auto found = attribute(even, uneven, {});
        qInfo("planted 0.600 s; %s", qPrintable(textOf(*found)));
        QVERIFY2(std::fabs(found->secondsOf(Cause::Imbalance) - 0.6) <= 0.03, qPrintable(textOf(*found)));
        QVERIFY2(std::fabs(found->secondsOf(Cause::Compute)) <= 0.03, qPrintable(textOf(*found)));
        const Bottleneck bottleneck = bottleneckOf(uneven, {});
        QVERIFY(bottleneck.bound == Bound::Straggler);
        QVERIFY2(bottleneck.evidence.find("rank 1 spends") != std::string::npos &&
                     bottleneck.evidence.find("in backward") != std::string::npos,
                 bottleneck.evidence.c_str());
    }

    void theRealTrainersDelaysComeBackAsCauses_data() {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<QByteArray>("delay");
        QTest::addColumn<int>("cause");
        const QString alone = QStringLiteral("\"method\":\"baseline\"");
        const QString two = QStringLiteral("\"method\":\"ddp\",\"devices\":2");
        QTest::newRow("loading") << alone << QByteArray("0:load:40") << int(Cause::DataLoading);
        // At batch 4 a forward after 12 ms of waiting starts cold: it and backward really take longer, and stand in the same bar.
        QTest::newRow("the optimizer") << alone + QStringLiteral(
                                                      ",\"optimizer\":\"adamw\",\"batch_size\":4,\"train_samples\":256")
                                       << QByteArray("0:optimizer:100") << int(Cause::Compute);
        QTest::newRow("backward of one rank") << two << QByteArray("1:backward:15") << int(Cause::Imbalance);
    }
    /// A delay makes its phase F times as long, so (F - 1) / F of what was measured in it was planted. Computing is forward and
    /// backward too: what these changed by, measured, was not planted, is in the bar rightly, and is expected there.
    void theRealTrainersDelaysComeBackAsCauses() {
        expectTrainer();
        QFETCH(QString, keys);
        QFETCH(QByteArray, delay);
        QFETCH(int, cause);
        const QString samples =
            keys.contains(QStringLiteral("train_samples")) ? QString() : QStringLiteral(",\"train_samples\":4096");
        const QString data = QString::fromStdString(m_home.path()) + QStringLiteral("/images");
        if (!QFile::exists(data))
            writeImages(data);
        const QString all =
            keys + samples +
            QStringLiteral(",\"data_dir\":\"%1\",\"epochs\":1,\"augment\":\"affine\",\"loader\":\"batch\"").arg(data);
        const RepeatGroup reference = measured(QStringLiteral("plain"), all);
        qputenv("LOCKSTEP_TEST_DELAY", delay);
        const RepeatGroup slow = measured(QStringLiteral("slow"), all);
        qunsetenv("LOCKSTEP_TEST_DELAY");
        QVERIFY(!reference.runs.empty() && !slow.runs.empty());
        QCOMPARE(reference.runs.size(), slow.runs.size());
        const QList<QByteArray> parts = delay.split(':');
        const double factor = parts[2].toDouble();
        std::vector<double> errors, unattributed;
        for (std::size_t i = 0; i < slow.runs.size();
             ++i) { // each its own: a busy machine delays each by another amount
            const RepeatGroup plainOne{"plain", {reference.runs[i]}, false}, slowOne{"slow", {slow.runs[i]}, false};
            const double planted = secondsIn(slowOne, parts[0].toInt(), parts[1].toStdString()) * (factor - 1) / factor;
            double expected = planted;
            if (cause == int(Cause::Compute))
                for (const std::string_view phase : {"forward", "backward"})
                    expected += secondsIn(slowOne, 0, phase) - secondsIn(plainOne, 0, phase);
            const auto found = attribute(plainOne, slowOne, {});
            QVERIFY(found);
            errors.push_back(std::fabs(found->secondsOf(Cause(cause)) - expected) / planted);
            unattributed.push_back(std::fabs(found->secondsOf(Cause::Unattributed)) / planted);
            qInfo("planted %.3f s, expected %.3f s, error %.1f %%, unattributed %.1f %%; %s", planted, expected,
                  errors.back() * 100, unattributed.back() * 100, qPrintable(textOf(*found)));
        }
        const auto found = attribute(reference, slow, {});
        QVERIFY(found);
        qInfo("of all repeats together: %s", qPrintable(textOf(*found)));
        QVERIFY(int(largest(*found)) == cause);
        QVERIFY(*median(errors) <= 0.05);
        QVERIFY(*median(unattributed) <= 0.05);
        if (cause == int(Cause::Imbalance)) {
            const Bottleneck bottleneck = bottleneckOf(slow, {});
            QVERIFY2(bottleneck.bound == Bound::Straggler &&
                         bottleneck.evidence.find("rank 1 spends") != std::string::npos,
                     bottleneck.evidence.c_str());
        }
    }
};

QTEST_GUILESS_MAIN(CoreCausesTest)
#include "causes_test.moc"
