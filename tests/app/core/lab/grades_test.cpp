// SPDX-License-Identifier: MIT
// Forecasts graded all together, with planted records: the share that held, what widens the next one's intervals.
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>
#include <random>

#include "core_support.h"
#include "lab/forecast_grades.h"
#include "models/lab_tables.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

constexpr std::int64_t madeUs = 1'700'000'000'000'000;

/// A forecast of DDP on 2 devices whose model says 10 ms a step and leaves 5 % open; its batch distinguishes its work from others'.
ForecastRecord forecastOf(int number) {
    ForecastRecord record;
    char id[40];
    std::snprintf(id, sizeof id, "20260102T03%02d%02dZ-%08x", number / 60, number % 60, unsigned(number));
    record.id = id;
    record.title = record.recipe = "mine";
    record.host = "box";
    record.cpuModel = "Xeon 8592+";
    record.startWallUs = madeUs;
    record.input.config.method = Method::Ddp;
    record.input.config.devices = {"0", "1"};
    record.input.config.batchSize = 64 + 2 * number;
    ForecastRow row;
    row.devices = 2;
    row.stepS = row.epochS = row.speedUp = {0.010, 0.010 / 1.05, 0.010 * 1.05};
    record.forecast.rows = {row};
    return record;
}

GradingRun runOf(const ForecastRecord &record, double stepS, bool disturbed = false) {
    return {record.input.config, record.host, record.cpuModel, record.startWallUs + 1'000'000, stepS, disturbed};
}

ForecastTally tallyOf(const std::vector<ForecastRecord> &records, const std::vector<GradingRun> &runs) {
    ForecastTally out;
    for (const ForecastRecord &record : records)
        addTo(out, record, runs);
    return out;
}

std::stop_token stopped() {
    std::stop_source source;
    source.request_stop();
    return source.get_token();
}

} // namespace

class CoreGradesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theShareThatHeldIsSaid() {
        std::vector<ForecastRecord> records;
        std::vector<GradingRun> runs;
        for (int i = 0; i < 31; ++i) {
            records.push_back(forecastOf(i));
            runs.push_back(runOf(records.back(), i < 27 ? 0.0102 : 0.012));
        }
        records.push_back(forecastOf(31)); // did not run yet
        const ForecastTally tally = tallyOf(records, runs);
        QCOMPARE(tally.graded, 31);
        QCOMPARE(tally.held, 27);
        QCOMPARE(sentenceOf(tally), std::string("27 of 31 forecasts held (87 %; 90 % are meant to)."));
        QVERIFY(sentenceOf(ForecastTally()).starts_with("No forecast is graded yet"));
    }

    void theTallyOfTheFolderIsThatOfItsForecastsAndEndsWhenAsked() {
        const test::Home home;
        std::vector<GradingRun> runs;
        for (int i = 0; i < 3; ++i) {
            const ForecastRecord record = forecastOf(i);
            QVERIFY(writeForecast(record).has_value());
            runs.push_back(runOf(record, i < 2 ? 0.0102 : 0.012));
        }
        const ForecastPlace box = placeOf(forecastOf(0));
        QCOMPARE(tallyOfForecasts(box, runs).graded, 3);
        QCOMPARE(tallyOfForecasts(box, runs).held, 2);
        QCOMPARE(tallyOfForecasts(box, runs, stopped()).graded, 0);
        QCOMPARE(newestForecastsFor({}).size(), std::size_t(1));
        QVERIFY(newestForecastsFor({}, stopped()).empty());
    }

    void whatOtherMachinesForecastsMissedSaysNothingAboutThisOnes() {
        const test::Home home;
        const auto nodes = *nodesFromText("hostA%eth0:0;hostB%eth0:0;hostC%eth0:0");
        ForecastRecord here = forecastOf(0), elsewhere = forecastOf(1), renamed = forecastOf(2), over = forecastOf(3);
        elsewhere.host = "elsewhere";
        renamed.cpuModel = "EPYC 9654";
        over.input.config.nodes = firstDevices(nodes, 2);
        std::vector<GradingRun> runs;
        for (const ForecastRecord *record : {&here, &elsewhere, &renamed, &over}) {
            QVERIFY(writeForecast(*record).has_value());
            runs.push_back(runOf(*record, 0.0102));
        }
        QCOMPARE(tallyOfForecasts(placeOf(here), runs).graded, 1);
        QCOMPARE(tallyOfForecasts(placeOf(elsewhere), runs).graded, 1);
        QCOMPARE(tallyOfForecasts({{}, {"box", ""}}, runs).graded, 2);       // of an unknown processor
        QCOMPARE(tallyOfForecasts({nodes, {"any", "any"}}, runs).graded, 1); // on nodes the places count
        QCOMPARE(tallyOfForecasts({{}, {}}, runs).graded, 0);
    }

    void ofRowsWithTheSameWayAndDevicesOneIsGraded() {
        ForecastRecord record = forecastOf(1);
        ForecastRow ring = record.forecast.rows.front();
        ring.way.settings = {{"all_reduce", "ring"}};
        record.forecast.rows.assign(500, record.forecast.rows.front());
        record.forecast.rows.push_back(ring);
        QCOMPARE(tallyOf({record}, {runOf(record, 0.0102)}).graded, 1);
        GradingRun run = runOf(record, 0.0102);
        QVERIFY(findField("all_reduce")->set(run.config, "ring"));
        QCOMPARE(tallyOf({record}, {runOf(record, 0.0102), run}).graded, 2);
    }

    void aDisturbedRunGradesNothingAndIsCounted() {
        const ForecastRecord record = forecastOf(1);
        const auto alone = outcomesOf(record, {runOf(record, 0.02, true)});
        QVERIFY(!alone.front().grade && !alone.front().measuredStepS);
        QCOMPARE(alone.front().disturbed, 1);
        const auto both = outcomesOf(record, {runOf(record, 0.02, true), runOf(record, 0.0101)});
        QVERIFY(both.front().grade->within);
        QCOMPARE(both.front().runs, 1);
        QCOMPARE(tallyOf({record}, {runOf(record, 0.02, true)}).graded, 0);
    }

    void aRunGradesTheRowOfItsOwnSettings() {
        ForecastRecord record = forecastOf(1);
        ForecastRow row = record.forecast.rows.front();
        row.way = {Method::Pipeline};
        record.forecast.rows = {row, row};
        record.forecast.rows.back().way.settings = {{"micro_batches", "8"}};
        GradingRun eight = runOf(record, 0.0101);
        eight.config.method = Method::Pipeline;
        eight.config.microBatches = 8;
        const auto outcomes = outcomesOf(record, {eight});
        QVERIFY(!outcomes.front().measuredStepS && outcomes.back().measuredStepS);
        eight.config.shards = "adaptive"; // a pipeline has none
        QVERIFY(outcomesOf(record, {eight}).back().measuredStepS);
    }

    void anOldForecastIsOfEvenShardsWhateverWasAsked() {
        ForecastRecord record = forecastOf(1);
        record.input.config.shards = "adaptive";
        record.input.samples = 640;
        auto json = QJsonDocument::fromJson(QByteArray::fromStdString(toJson(record))).object();
        QCOMPARE(forecastRecordFromJson(toJson(record))->input.config.shards, std::string("adaptive"));
        json.remove(QStringLiteral("layers"));
        const std::string old = QJsonDocument(json).toJson().toStdString();
        QCOMPARE(forecastRecordFromJson(old)->input.config.shards, std::string("even"));
    }

    void aRunOfAnotherProcessorOnAMachineOfTheSameNameGradesNothing() {
        ForecastRecord record = forecastOf(1);
        GradingRun other = runOf(record, 0.02);
        other.cpuModel = "EPYC 9654";
        QVERIFY(!outcomesOf(record, {other}).front().measuredStepS);
        const ForecastTally tally = tallyOf({record}, {other, runOf(record, 0.0101)});
        QCOMPARE(tally.graded, 1);
        QCOMPARE(tally.held, 1);
        other.cpuModel.clear(); // unknown: the name decides
        QVERIFY(outcomesOf(record, {other}).front().grade.has_value());
        other.cpuModel = "EPYC 9654";
        record.cpuModel.clear(); // a record of an earlier version
        QVERIFY(outcomesOf(record, {other}).front().grade.has_value());
    }

    void aRunOnABusyMachineIsReadAsDisturbed() {
        for (const auto &[otherCores, freeCores, disturbed] :
             {std::tuple(0.02, 0, false), {0.5, 0, true}, {0.5, 1, false}}) {
            const test::Home home;
            RunRecord record = test::ddpRecord("20260102T030405Z-00000001");
            record.freeCores = freeCores;
            record.machines.front().cpuModel = "Xeon 8592+";
            RunResult result = test::doneResult(record.run, 1);
            result.summary = Summary();
            result.summary->epochs = {{1, {}, 3, 640}, {2, {}, 2, 640}};
            result.surroundings = Surroundings{10, otherCores * 10, 0, 0, {}};
            const RunFolder folder = runFolder(record.run);
            (void)realFileSystem().makeFolders(folder.path);
            test::write(folder.config(), toJson(record));
            test::write(folder.result(), toJson(result));
            const std::vector<GradingRun> runs = readGradingRuns();
            QCOMPARE(runs.size(), std::size_t{1});
            QVERIFY(readGradingRuns(gradingRuns, stopped()).empty());
            QCOMPARE(runs.front().disturbed, disturbed);
            QCOMPARE(runs.front().cpuModel, record.machines.front().cpuModel);
            QCOMPARE(runs.front().stepS, 2.0 / std::ceil(640.0 / double(globalBatch(*record.config))));
        }
    }

    void aRunGradesByTheEpochsThatItMadeItself() {
        struct Made {
            bool resumes;
            std::optional<int> firstEpoch;
            bool amid;
            std::optional<double> durationS; ///< of the epochs that count
        };
        for (const Made &made :
             {Made{false, {}, false, 4}, Made{true, 1, false, 4}, Made{true, 2, false, 5}, Made{true, 3, false, 5},
              Made{true, 3, true, {}}, Made{true, 4, false, {}}, Made{true, {}, false, {}}}) {
            const test::Home home;
            RunRecord record = test::ddpRecord("20260102T030405Z-00000001");
            record.config->resume = made.resumes;
            RunResult result = test::doneResult(record.run, 1);
            Summary &summary = result.summary.emplace();
            summary.epochs = {{1, {}, 9, 640}, {2, {}, 3, 640}, {3, {}, 5, 640}};
            summary.firstEpoch = made.firstEpoch;
            summary.amidEpoch = made.amid;
            const RunFolder folder = runFolder(record.run);
            (void)realFileSystem().makeFolders(folder.path);
            test::write(folder.config(), toJson(record));
            test::write(folder.result(), toJson(result));
            const std::vector<GradingRun> runs = readGradingRuns();
            QCOMPARE(runs.size(), std::size_t(made.durationS ? 1 : 0));
            if (made.durationS)
                QCOMPARE(runs.front().stepS, *made.durationS / std::ceil(640.0 / double(globalBatch(*record.config))));
        }
    }

    void nineGradesAreNeededToWiden() {
        ForecastTally tally;
        tally.scores.assign(8, 2.0);
        QCOMPARE(calibrationOf(tally).graded, 0);
        QCOMPARE(sentenceOf(calibrationOf(tally)), std::string("Intervals are the model's own bounds: fewer than nine "
                                                               "forecasts were graded when this one was made."));
        tally.scores = {1, 2, 3, 4, 5, 6, 7, 8, 9};
        QVERIFY((calibrationOf(tally) == Calibration{9, 9})); // of nine the largest: ceil(0.9 · 10)
        tally.scores.assign(19, 1.5);
        tally.scores.back() = 100; // one of 19 may miss
        QVERIFY((calibrationOf(tally) == Calibration{1.5, 19}));
        QVERIFY(sentenceOf(calibrationOf(tally))
                    .starts_with("90 % prediction intervals of steps: the model's bounds × 1.5, as 19"));
    }

    void aLevelIsClaimedOfStepsOnlyAndOnceIntervalsWereCalibrated() {
        ForecastRecord record = forecastOf(1);
        const auto level = [&] {
            const QJsonObject json = QJsonDocument::fromJson(QByteArray::fromStdString(toJson(record))).object();
            return json.value(QStringLiteral("interval_level"));
        };
        QVERIFY(level().isNull());
        QCOMPARE(forecastTable(record, {}).hints[2],
                 QStringLiteral("The model's own bounds: too few forecasts were graded to say how many measured steps "
                                "they hold"));
        record.calibration = {1.5, 19};
        QCOMPARE(level().toDouble(), 0.9);
        const CellTable table = forecastTable(record, {});
        QCOMPARE(table.hints[2], QStringLiteral("Is to hold the measured step in 90 % of forecasts"));
        QVERIFY(!table.hints[5].contains(u'%')); // of the speed-up
    }

    void runsOfOtherStepsAreNamedAsNotForecast() {
        PlannedRun like;
        like.name = "DDP on 2 devices, batch 64";
        like.config.method = Method::Ddp;
        like.config.devices = {"0", "1"};
        std::vector<PlannedRun> plan{like, like, like, like, like};
        plan[1].config.method = Method::PsSync;
        plan[1].config.bucketMb = 1; // its own
        plan[2].config.epochs = 7;
        plan[3].config.method = Method::Baseline; // sends nothing
        plan[3].config.batchSize = 512;
        plan[4].repeat = 2;
        plan[4].config.batchSize = 512; // as its first repeat, if it were there
        QCOMPARE(leftOutSentence(like, plan), std::string());
        plan.push_back(like);
        plan.back().name = "DDP on 2 devices, batch 512";
        plan.back().config.batchSize = 512;
        const std::string says = "The forecast is of steps as in \"DDP on 2 devices, batch 64\". These runs have other "
                                 "steps and are not forecast: \"DDP on 2 devices, batch 512\"";
        QCOMPARE(leftOutSentence(like, plan), says + ".");
        for (int i = 0; i < 6; ++i) {
            plan.push_back(like);
            plan.back().name = "other " + std::to_string(i);
            plan.back().config.loader = "item";
        }
        QCOMPARE(leftOutSentence(like, plan),
                 says + ", \"other 0\", \"other 1\", \"other 2\", \"other 3\" and 2 more.");
    }

    void widenedIntervalsHoldNineOfTen() {
        std::mt19937_64 random(9);
        std::normal_distribution<> miss(0, 0.08); // the model's bounds of 5 % hold less than half
        int held = 0, model = 0;
        constexpr int all = 2000;
        for (int experiment = 0; experiment < all; ++experiment) {
            ForecastTally tally;
            std::vector<ForecastRecord> records;
            std::vector<GradingRun> runs;
            for (int i = 0; i < 30; ++i) {
                records.push_back(forecastOf(i));
                runs.push_back(runOf(records.back(), 0.010 * std::exp(miss(random))));
            }
            ForecastRecord next = forecastOf(40);
            const double measured = 0.010 * std::exp(miss(random));
            model += gradeForecast(next.forecast.rows.front(), measured)->within ? 1 : 0;
            widen(next.forecast, calibrationOf(tallyOf(records, runs)));
            held += gradeForecast(next.forecast.rows.front(), measured)->within ? 1 : 0;
        }
        QVERIFY2(model < all / 2, qPrintable(QString::number(model)));
        QVERIFY2(held >= 1780 && held <= 1880, qPrintable(QString::number(held))); // ceil(27.9) of 30: 28/31 = 90.3 %
    }

    void aWidenedForecastIsScoredAgainstTheModelsBounds() {
        ForecastRecord plain = forecastOf(1), wide = forecastOf(2);
        wide.calibration = {2, 19};
        widen(wide.forecast, wide.calibration);
        const ForecastTally tally = tallyOf({plain, wide}, {runOf(plain, 0.0107), runOf(wide, 0.0107)});
        QCOMPARE(tally.held, 1);
        QVERIFY(std::fabs(tally.scores[0] - tally.scores[1]) < 1e-9);
        QVERIFY(std::fabs(tally.scores[0] - std::log(1.07) / std::log(1.05)) < 1e-9);
        const auto read = forecastRecordFromJson(toJson(wide));
        QVERIFY(read.has_value());
        QVERIFY(read->calibration == wide.calibration);
    }
};

QTEST_GUILESS_MAIN(CoreGradesTest)
#include "grades_test.moc"
