// SPDX-License-Identifier: MIT
// Odd numbers (NaN, infinite, negative, zero, tiny, huge) in what scripts, logs and results report, sent the whole way:
// frame, agent, log, store, verdict, every export. The draws come from a fixed seed.
#include <QRegularExpression>
#include <QtTest>

#include <cstring>
#include <random>

#include "analysis/compare/repeat_group.h"
#include "core_support.h"
#include "export/export.h"
#include "export/tensorboard_writer.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/fuzz/script_lines.h"
#include "trainer/agent/log/frame_intake.h"

using namespace lockstep;
using namespace lockstep::core;
using fuzz::Numbers, fuzz::Script, fuzz::Random;

namespace {

constexpr int experiments = 120, names = 2, repeats = 3;
constexpr int never = 1'000'000'000; // one in so many: none is odd

RunRecord scriptRecord(const std::string &run, int group, int repeat) {
    RunRecord record;
    record.run = run;
    record.name = group == 0 ? "baseline" : "DDP on 2 devices";
    record.experiment = "20260102T030405Z-00000001";
    record.repeat = repeat;
    record.command = {"python3", "train.py"};
    RunConfig config;
    config.method = group == 0 ? Method::Baseline : Method::Ddp;
    if (group > 0)
        config.devices = {"0", "1"};
    config.epochs = Script::epochs;
    record.config = config;
    record.deviceNames = {"cpu:0"};
    record.startWallUs = Script::startUs + repeat * 10'000'000 + group * 1'000'000;
    return record;
}

std::string runNumber(int number) {
    char id[32];
    std::snprintf(id, sizeof id, "20260102T03%02d%02dZ-%08x", number / 60 % 60, number % 60, unsigned(number));
    return id;
}

/// The lines as an agent writes them into its log.
void throughTheAgent(const RunRecord &record, const RunFolder &folder, const std::vector<std::string> &lines) {
    const SystemClock clock;
    auto journal = agent::RunJournal::open(realFileSystem(), clock, folder.log(0), 0, record.run, "box");
    QVERIFY(journal.has_value());
    (void)realFileSystem().makeFolders(folder.path + "/console");
    agent::FrameIntake intake(clock, **journal, folder, {0},
                              {[](std::int64_t, std::int64_t) { return std::vector<DeviceEpochUse>(); },
                               [](int, std::string_view) {}, [] {}, true});
    for (const std::string &line : lines)
        intake.takeLine(0, line);
    (*journal)->state(RunState::Done);
    RunResult result = test::doneResult(record.run, (*journal)->nextSeq(), 60);
    result.summary = intake.reported().summary(record, 10);
    (*journal)->finish();
    test::write(folder.result(), toJson(result));
}

/// The lines as a log of somewhere else might have them, with a result to match.
void asAForeignLog(const RunRecord &record, const RunFolder &folder, const std::vector<std::string> &lines,
                   Numbers &number) {
    std::vector<std::string> log = test::sealed(record.run, {});
    for (const std::string &line : lines)
        log.push_back(sealLine(line, 0, log.size()));
    StateFrame done;
    done.state = RunState::Done;
    log.push_back(sealLine(encode(test::frame(done, std::nullopt, 60'000)), 0, log.size()));
    std::string text;
    for (const std::string &line : log)
        text += line + "\n";
    test::write(folder.log(0), text);
    test::write(folder.result(), R"({"run":")" + record.run + R"(","state":"done","exit_code":0,"run_time_s":)" +
                                     number(10) + R"(,"log_lines":)" + std::to_string(log.size()) +
                                     R"(,"surroundings":{"measured_s":)" + number(10) + R"(,"other_cpu_s":)" +
                                     number(1) + R"(},"summary":{"test_accuracy":)" + number(0.8) +
                                     R"(,"total_training_time_s":)" + number(9) + R"(,"phases_s":{"load":)" +
                                     number(1) + R"(},"metrics":{"grad_norm":)" + number(1) + "}}}");
}

struct Read {
    std::vector<std::unique_ptr<RunStore>> stores;
    std::vector<RunOutcome> outcomes;
    std::vector<ExportedCurve> curves;
};

Read readAll(const std::vector<std::string> &runs) {
    Read out;
    for (const std::string &run : runs) {
        auto &store = out.stores.emplace_back(std::make_unique<RunStore>(QString::fromStdString(run)));
        if (!loadRun(*store, runFolder(run)))
            continue; // refused with a sentence
        out.outcomes.push_back(outcomeOf(*store));
        out.curves.push_back(exportedCurve(*store));
    }
    return out;
}

/// A number that is none, outside of the sentences that say so.
QString oddIn(const std::string &text) {
    static const QRegularExpression said(QStringLiteral("(is|was) (NaN|minus infinite|infinite)")),
        odd(QStringLiteral("(?<![A-Za-z_])[-+−]?(nan|inf|infinity)(?![A-Za-z_]).{0,40}"),
            QRegularExpression::CaseInsensitiveOption);
    QString rest = QString::fromStdString(text);
    rest.remove(said);
    const auto match = odd.match(rest);
    return match.hasMatch() ? rest.mid(std::max<qsizetype>(0, match.capturedStart() - 80), 160) : QString();
}

/// Whether an event file has a value that is not finite: its records' field 2 of type fixed32, simple_value.
bool hasOddFloat(const std::string &file) {
    for (std::size_t at = 0; at + 12 < file.size();) {
        std::uint64_t length = 0;
        std::memcpy(&length, file.data() + at, sizeof length);
        const std::string record = file.substr(at + 12, length);
        for (std::size_t i = 0; i + 4 < record.size(); ++i)
            if (float value = 0; record[i] == 0x15) {
                std::memcpy(&value, record.data() + i + 1, sizeof value);
                if (!std::isfinite(value))
                    return true;
            }
        at += 12 + length + 4;
    }
    return false;
}

void checkTensorBoard(const RunStore &store) {
    const QTemporaryDir folder;
    auto writer = TensorBoardWriter::open(folder.path().toStdString(), store);
    QVERIFY(writer.has_value());
    QVERIFY(writer->takeNew(store).has_value());
    for (const std::string &path : writer->files())
        QVERIFY2(!hasOddFloat(*realFileSystem().readAll(path)), path.c_str());
}

void checkOutputs(const Read &read, int experiment) {
    const ResultTable table = resultTable(read.outcomes);
    const Report report = reportOf(table, read.outcomes, {}, read.curves);
    std::vector<std::string> outputs = {toJson(report.judgement)};
    for (const ExportFormatSpec &format : resultFormats()) {
        outputs.push_back(format.write(report));
        if (format.carriesCurves)
            outputs.push_back(exportCurves(report.curves, format.format).value());
    }
    if (report.target)
        outputs.push_back(toJson(*report.target, report.times));
    for (const std::string &output : outputs)
        QVERIFY2(oddIn(output).isEmpty(),
                 qPrintable(QStringLiteral("experiment %1: %2").arg(experiment).arg(oddIn(output))));
    for (const auto &store : read.stores)
        checkTensorBoard(*store);
}

/// The run's folder with its config and without a frame.
RunFolder emptyRun(const RunRecord &record) {
    RunFolder folder = runFolder(record.run);
    (void)realFileSystem().makeFolders(folder.path);
    test::write(folder.config(), toJson(record));
    test::write(folder.lock(0), "");
    return folder;
}

/// Six runs of a script; the number of one line of the first run's is `replaced`.
Read sixRuns(const std::string &line, const std::string &replaced) {
    Random random(7);
    std::vector<std::string> runs;
    for (int group = 0; group < names; ++group)
        for (int repeat = 1; repeat <= repeats; ++repeat) {
            const RunRecord record = scriptRecord(runNumber(int(runs.size()) + 1), group, repeat);
            const RunFolder folder = emptyRun(record);
            std::vector<std::string> lines =
                Script(Numbers(random, never), record.startWallUs).lines(group == 0 ? 5 : 3);
            if (runs.empty()) {
                const auto one =
                    std::ranges::find_if(lines, [&](const std::string &l) { return l.find(line) != l.npos; });
                one->replace(one->find(line), line.size(), replaced);
            }
            throughTheAgent(record, folder, lines);
            runs.push_back(record.run);
        }
    return readAll(runs);
}

} // namespace

class OddNumbersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void noOutputHasANumberThatIsNone() {
        Random random(20260102);
        int judged = 0;
        for (int experiment = 0; experiment < experiments; ++experiment) {
            const test::Home home;
            std::vector<std::string> runs;
            for (int group = 0; group < names; ++group)
                for (int repeat = 1; repeat <= repeats; ++repeat) {
                    const RunRecord record = scriptRecord(runNumber(int(runs.size()) + 1), group, repeat);
                    const RunFolder folder = emptyRun(record);
                    Numbers number(random, experiment % 2 == 0 ? 40 : 400);
                    const std::vector<std::string> lines = Script(number, record.startWallUs).lines(group == 0 ? 5 : 3);
                    if (random() % 2)
                        throughTheAgent(record, folder, lines);
                    else
                        asAForeignLog(record, folder, lines, number);
                    runs.push_back(record.run);
                }
            const Read read = readAll(runs);
            checkOutputs(read, experiment);
            if (QTest::currentTestFailed())
                return;
            const Judgement judgement = judge(resultTable(read.outcomes), read.outcomes, {});
            judged += !judgement.pairs.empty() && judgement.pairs.front().training ? 1 : 0;
        }
        QVERIFY2(judged > experiments / 4, qPrintable(QStringLiteral("only %1 have a speed-up").arg(judged)));
    }

    void aDurationThatIsNoneIsRefusedByNameAndNotCountedAsZero_data() {
        QTest::addColumn<QByteArray>("was");
        QTest::addColumn<QByteArray>("is");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *was, const char *is, const char *says) {
            QTest::newRow(is) << QByteArray(was) << QByteArray(is) << QByteArray(says);
        };
        row(R"("duration_s":5.0)", R"("duration_s":"NaN")",
            "\"duration_s\" should be a duration in seconds, 0 or more, but is NaN");
        row(R"("duration_s":5.0)", R"("duration_s":-5)",
            "\"duration_s\" should be a duration in seconds, 0 or more, but is -5");
        row(R"("duration_s":5.0)", R"("duration_s":"Inf")",
            "\"duration_s\" should be a duration of at most 1e9 seconds, but is infinite");
        row(R"("duration_s":5.0)", R"("duration_s":0)",
            "\"duration_s\" should be a nanosecond or more for an epoch that has steps, but is 0");
        row(R"("load":{"sum_s":1.6666666666666667)", R"("load":{"sum_s":"NaN")",
            "\"phases.load.sum_s\" should be a duration in seconds, 0 or more, but is NaN");
    }
    void aDurationThatIsNoneIsRefusedByNameAndNotCountedAsZero() {
        QFETCH(QByteArray, was);
        QFETCH(QByteArray, is);
        QFETCH(QByteArray, says);
        const test::Home home;
        const Read read = sixRuns(was.toStdString(), is.toStdString());
        const auto &alerts = read.stores.front()->messages().alerts();
        QVERIFY2(std::ranges::any_of(alerts,
                                     [&](const AlertLine &line) {
                                         return line.alert.message.find(says.toStdString()) != std::string::npos;
                                     }),
                 alerts.empty() ? "no alert" : alerts.front().alert.message.c_str());
        QVERIFY(!read.outcomes.front().totalTrainingTimeS);
        const Judgement judgement = judge(resultTable(read.outcomes), read.outcomes, {});
        QCOMPARE(judgement.pairs.at(0).training->referenceRepeats, 2);
        QCOMPARE(judgement.pairs.at(0).training->factor, 5.0 / 3);
    }

    void aLossThatIsNaNIsSaidAndCountsNowhere() {
        const test::Home home;
        const Read read = sixRuns(R"("mean":1.5)", R"("mean":"NaN")");
        QCOMPARE(read.outcomes.front().divergence,
                 std::string("loss was NaN at one of the steps 0 to 9 and is finite again"));
        const Report report = reportOf(resultTable(read.outcomes), read.outcomes, {}, read.curves);
        QVERIFY(exportResults(report, ExportFormat::Markdown).find("loss was NaN at one of the steps 0 to 9") !=
                std::string::npos);
        QVERIFY(std::ranges::any_of(report.judgement.reservations, [](const std::string &sentence) {
            return sentence.find("loss was NaN") != std::string::npos;
        }));
        QVERIFY(exportCurves(read.curves, ExportFormat::Json)->find("\"loss\": null") != std::string::npos);
        checkOutputs(read, 0);
    }

    void anEpochWhoseLossIsInfiniteHasNoFinalLoss() {
        const test::Home home;
        const Read read = sixRuns(R"("epoch":3,"loss":0.3333333333333333)", R"("epoch":3,"loss":"Inf")");
        QVERIFY(!read.outcomes.front().finalLoss);
        QCOMPARE(read.outcomes.front().divergence, std::string("loss is infinite in epoch 3"));
    }
};

QTEST_GUILESS_MAIN(OddNumbersTest)
#include "odd_numbers_test.moc"
