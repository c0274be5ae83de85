// SPDX-License-Identifier: MIT
// The filter line: what it accepts, what it says of a mistake and where, what it offers.

#include "analysis/history/run_columns.h"
#include "analysis/history/run_filter.h"
#include "analysis/history/run_filter_completion.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

IndexedRun makeRun(const std::string &id, const std::string &method, int devices, double accuracy) {
    IndexedRun run;
    run.run = id;
    run.name = method == "ddp" ? "DDP on 2 devices" : "baseline";
    run.recipe = "lenet-dp-vs-ddp";
    run.method = method;
    run.devices = devices;
    run.epochs = 3;
    run.state = "done";
    run.testAccuracy = accuracy;
    run.totalTrainingTimeS = 90;
    run.startWallUs = QDateTime(QDate(2026, 1, 31), QTime(14, 30)).toMSecsSinceEpoch() * 1000;
    run.settings = "\nlr=0.05\nworkers=2\n";
    run.tags = "slow, kept";
    run.note = "The first that worked";
    run.starred = true;
    run.peakRssBytes = 600.0 * 1024 * 1024;
    run.otherLoad = 1.72;
    run.viewersShare = 0.05;
    run.samplesPerS = 21'345.2;
    return run;
}

QStringList texts(const FilterCompletion &offered) {
    QStringList out;
    for (const auto &choice : offered.choices)
        out.append(choice.text);
    return out;
}

} // namespace

class CoreFilterTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aLineAcceptsWhatItSays_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<bool>("accepted"); // the DDP run on 2 devices, 88.5 %, 90 s
        const struct {
            const char *line;
            bool accepted;
        } cases[] = {
            {"", true},
            {"   ", true},
            {"method=ddp devices>=2 accuracy>0.88", true},
            {"method=DDP", true},
            {"METHOD=ddp", true},
            {"method=dp", false},
            {"method==ddp", true},
            {"method!=dp", true},
            {"method=dp,ddp", true},
            {"accuracy>88%", true},
            {"accuracy>=88.5%", true},
            {"accuracy>88.5%", false},
            {"accuracy < 90%", true},
            {"accuracy=0.9", true},   // to the digits given
            {"accuracy=0.90", false}, // to two
            {"acc<89%", true},
            {"training=1.5min", true},
            {"training<2min training>80s", true},
            {"training>1h", false},
            {"training>=90000ms", true},
            {"time=90", true},
            {"devices=2..4", true},
            {"devices=3..4", false},
            {"devices=1,2", true},
            {"devices!=2", false},
            {"memory>500MiB", true},
            {"memory<0.5GiB", false},
            {"memory>0", true},
            {"surroundings>1.5", true},
            {"surroundings=1.72", true},
            {"surroundings>=2cores", false},
            {"surroundings>150%", true}, // as it was before it was shown in cores
            {"watching=5%", true},
            {"watching>0.1", false},
            {"throughput>21,345", true}, // as lists show it
            {"throughput>21,346", false},
            {"throughput=\"21,345\"", true},
            {"throughput=\"20,000..30,000\"", true},
            {"throughput=21345,345", true}, // one of two
            {"throughput=20000..30000", true},
            {"batch_size=32,64", true},
            {"batch_size=16,128", false}, // what was set is listed without groups
            {"started=2026-01-31", true},
            {"started>2026-01-31", false},
            {"started>=2026-01-31", true},
            {"started<=2026-01-31", true},
            {"started<2026-01-31", false},
            {"started>2026-01-30", true},
            {"started=2026-01-31T14:30", true},
            {"started>2026-01-31T14:29", true},
            {"started=2026-01-01..2026-01-31", true},
            {"started=today", false},
            {"loss=-", true}, // unknown
            {"loss>0", false},
            {"loss!=1", true},
            {"accuracy=-", false},
            {"lr=0.05", true},
            {"lr>0.01 workers=2", true},
            {"lr=0.1", false}, // what was set, exactly, whatever the digits given
            {"lr=0", false},
            {"lr!=0", true},
            {"lr=0,5e-2", true},
            {"devices=1e1", false},
            {"workers=2.0", true},
            {"batch_size=64", true}, // a default that was not set
            {"batch-size=64", true}, // as the flag is spelt
            {"pin_memory=false", true},
            {"star=yes", true},
            {"star=no", false},
            {"tag=slow", true},
            {"tags=slo", false},
            {"tag=slo*", true},
            {"tag!=slow", false},
            {"tag~slo", true},
            {"note~FIRST", true},
            {"note!~second", true},
            {"name=DDP*", true},
            {"name=\"DDP on 2 devices\"", true},
            {"name=\"DDP ×2\"", true}, // as older versions named it
            {"name~\"DDP ×2\"", true},
            {"\"DDP ×2\"", true},
            {"\"DDP ×4\"", false},
            {"name=DDP", false},
            {"lenet", true},
            {"LENET slow", true},
            {"\"first that\"", true},
            {"resnet", false},
            {"not resnet", true},
            {"not method=ddp", false},
            {"method=dp or method=ddp", true},
            {"method=dp or method=ddp devices=8", false},
            {"(method=dp or method=ddp) devices=2", true},
            {"not (method=dp or devices>4)", true},
            {"method=ddp and devices=2", true},
            {"not not method=ddp", true},
        };
        for (const auto &one : cases)
            QTest::newRow(one.line) << QString::fromUtf8(one.line) << one.accepted;
    }
    void aLineAcceptsWhatItSays() {
        QFETCH(QString, line);
        QFETCH(bool, accepted);
        const auto filter = RunFilter::parse(line);
        QVERIFY2(filter.has_value(), filter ? "" : filter.error().message().c_str());
        QCOMPARE(filter->accepts(makeRun("20260131T143000Z-00000001", "ddp", 2, 0.885)), accepted);
    }

    void aMistakeIsReportedWithItsPlaceAndTheWayOut_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<int>("at");
        QTest::addColumn<int>("length");
        QTest::addColumn<QString>("says");
        const struct {
            const char *line;
            int at, length;
            const char *says;
        } cases[] = {
            {"metod=ddp", 0, 5, "did you mean method?"},
            {"method=ddp devces>=2", 11, 6, "did you mean devices?"},
            {"method=dpd", 7, 3, "use baseline, dp, ddp"},
            {"method<3", 6, 1, "no order"},
            {"devices~2", 7, 1, "is a number"},
            {"devices>=two", 9, 3, "give a number"},
            {"accuracy>88", 9, 2, "write 88%"},
            {"accuracy>150%", 9, 4, "write 0.88 or 88%"},
            {"memory>300", 7, 3, "memory needs a unit, and 300 has none; write 300MiB"},
            {"training>2parsec", 9, 7, "30s, 2min or 1h"},
            {"started>soon", 8, 4, "2026-01-31"},
            {"devices>=", 9, 0, "a value is missing"},
            {"devices>= or x", 10, 2, "can't be compared"},
            {"(method=ddp", 0, 1, "never closed"},
            {"method=ddp)", 10, 1, "never opened"},
            {"=ddp", 0, 1, "a column's name is missing"},
            {"method=ddp or", 13, 0, "something is missing after \"or\""},
            {"or x", 0, 2, "something is missing"},
            {"name=\"DDP", 5, 4, "never closed"},
            {"state=done,", 6, 5, "beside a comma"},
            {"star>yes", 4, 1, "use ="},
            {"throughput=21,345", 11, 6, "may be one number or several; write 21345, or a comparison"},
            {"throughput!=20,000..30,000", 12, 14, "write 20000..30000"},
            {"throughput>21,34", 11, 5, "give a number"},
        };
        for (const auto &one : cases)
            QTest::newRow(one.line) << QString::fromUtf8(one.line) << one.at << one.length << QString(one.says);
    }
    void aMistakeIsReportedWithItsPlaceAndTheWayOut() {
        QFETCH(QString, line);
        QFETCH(int, at);
        QFETCH(int, length);
        QFETCH(QString, says);
        const auto filter = RunFilter::parse(line);
        QVERIFY(!filter.has_value());
        const QString message = QString::fromStdString(filter.error().message());
        QVERIFY2(message.contains(says), qPrintable(message));
        QVERIFY2(message.startsWith(QStringLiteral("at %1: ").arg(at + 1)), qPrintable(message));
        QCOMPARE(int(filter.error().at), at);
        QCOMPARE(int(filter.error().length), length);
    }

    void aRepeatIsFoundByItsNameWithAndWithoutItsNumber() {
        IndexedRun run = makeRun("20260131T143000Z-00000001", "baseline", 1, 0.9);
        run.repeated = true;
        const auto accepts = [&](const char *line) {
            const auto filter = RunFilter::parse(QString::fromUtf8(line));
            return filter && filter->accepts(run);
        };
        QVERIFY(accepts("name=baseline") && accepts("name=\"baseline #1\"") && accepts("name=base*"));
        QVERIFY(!accepts("name!=baseline") && !accepts("name=\"baseline #2\"") && !accepts("name=-"));
        run.givenName = "the good one";
        QVERIFY(accepts("name=\"the good one\"") && !accepts("name=baseline") && !accepts("name=-"));
    }

    void aMetricOfAScriptNamedAsAColumnIsShownBesideIt() {
        IndexedRun run = makeRun("20260131T143000Z-00000001", "ddp", 2, 0.9);
        run.metrics = "\nLoad=3\naccuracy=0.5\nmetric_accuracy=7\nsamples_per_s=9\n";
        const std::vector<RunColumn> invented = inventedColumns({run});
        const auto valueOf = [&](const char *key) {
            const RunColumn *column = findRunColumn(key, invented);
            const ColumnValue value = column ? column->value(run) : ColumnValue();
            return std::holds_alternative<double>(value) ? std::get<double>(value) : -1;
        };
        QCOMPARE(invented.size(), std::size_t(3)); // the throughput's own column shows samples_per_s
        QCOMPARE(valueOf("accuracy"), 0.9);
        QCOMPARE(valueOf("metric_accuracy"), 0.5);
        QCOMPARE(valueOf("metric_metric_accuracy"), 7.0);
        QCOMPARE(valueOf("metric_load"), 3.0);
        const auto filter = RunFilter::parse(QStringLiteral("metric_accuracy<0.6 accuracy>0.8"), invented);
        QVERIFY(filter && filter->accepts(run));
    }

    void lessThanAHundredthOfACoreIsShownAndFoundByItsDigits() {
        const RunColumn &watching = runColumns()[std::size_t(runColumn("watching"))];
        const auto textOf = [&](double cores) { return shownValue(watching, cores); };
        QCOMPARE(textOf(0.004), QStringLiteral("0.00400"));
        QCOMPARE(textOf(0.056), QStringLiteral("0.06"));
        QCOMPARE(textOf(0), QStringLiteral("0.00"));
        IndexedRun run = makeRun("20260131T143000Z-00000001", "ddp", 2, 0.9);
        const auto filter = RunFilter::parse(QStringLiteral("watching=") + textOf(0.004));
        QVERIFY(filter.has_value());
        run.viewersShare = 0.004;
        QVERIFY(filter->accepts(run));
        run.viewersShare = 0.0046;
        QVERIFY(!filter->accepts(run));
    }

    void bracketsWithoutEndAreRefusedBeforeTheStackIs() {
        const auto filter = RunFilter::parse(QString(100'000, u'('));
        QVERIFY(!filter.has_value());
        QVERIFY(filter.error().message().find("nested") != std::string::npos);
        QVERIFY(!RunFilter::parse(QStringLiteral("not ").repeated(100'000) + u'x').has_value());
    }

    void keysAreOfferedWhileAWordIsWritten() {
        const std::vector<IndexedRun> none;
        QCOMPARE(texts(completeFilter(QStringLiteral("dev"), 3, none)),
                 (QStringList{"devices>=", "device=", "cores_per_device>=", "batch_per_device>=", "server_devices>="}));
        const FilterCompletion second = completeFilter(QStringLiteral("method=ddp accur"), 16, none);
        QCOMPARE(texts(second), QStringList{"accuracy>"});
        QCOMPARE(int(second.from), 11);
        QCOMPARE(int(second.length), 5);
        QVERIFY(!second.choices.front().hint.isEmpty());
        QVERIFY(completeFilter(QStringLiteral("method=ddp "), 11, none).choices.empty());
        QVERIFY(texts(completeFilter(QStringLiteral("memo"), 4, none)).contains("pin_memory=")); // inside a key
    }

    void valuesAreOfferedBehindAnOperator() {
        const std::vector<IndexedRun> runs = {makeRun("20260131T143000Z-00000001", "ddp", 2, 0.885),
                                              makeRun("20260131T143000Z-00000002", "ddp", 2, 0.9),
                                              makeRun("20260131T143000Z-00000003", "baseline", 1, 0.9)};
        const FilterCompletion methods = completeFilter(QStringLiteral("method="), 7, runs);
        QStringList expected = {"ddp", "baseline"}; // the most frequent first, then those never seen
        for (const MethodSpec &method : methodTable)
            if (method.id != Method::Ddp && method.id != Method::Baseline)
                expected.append(QString::fromUtf8(method.name.data(), qsizetype(method.name.size())));
        std::sort(expected.begin() + 2, expected.end());
        QCOMPARE(texts(methods), expected);
        QCOMPARE(methods.choices.front().hint, QStringLiteral("2 runs"));
        QCOMPARE(texts(completeFilter(QStringLiteral("method=ba"), 9, runs)), QStringList{"baseline"});
        const FilterCompletion another = completeFilter(QStringLiteral("method=dp,ba"), 12, runs);
        QCOMPARE(texts(another), QStringList{"baseline"});
        QCOMPARE(int(another.from), 10);
        QCOMPARE(texts(completeFilter(QStringLiteral("tag="), 4, runs)), (QStringList{"kept", "slow"}));
        QCOMPARE(texts(completeFilter(QStringLiteral("name=D"), 6, runs)), QStringList{"\"DDP on 2 devices\""});
        QCOMPARE(texts(completeFilter(QStringLiteral("devices>="), 9, runs)), (QStringList{"2", "1"}));
        QCOMPARE(texts(completeFilter(QStringLiteral("star="), 5, runs)), (QStringList{"yes", "no"}));
    }

    void everyColumnHasAKeyAHeadAndASentence() {
        QStringList keys;
        for (const RunColumn &column : runColumns()) {
            QVERIFY2(!column.head.empty() && !column.help.empty(), column.key.c_str());
            QVERIFY2(!keys.contains(QString::fromStdString(column.key)), column.key.c_str());
            keys.append(QString::fromStdString(column.key));
            QCOMPARE(runColumn(column.key), int(keys.size()) - 1);
        }
        for (const FieldSpec &field : runConfigFields()) // what can be configured can be filtered by
            QVERIFY2(field.perProcess || runColumnAt(field.key) >= 0, std::string(field.key).c_str());
    }
};

QTEST_GUILESS_MAIN(CoreFilterTest)
#include "filter_test.moc"
