// SPDX-License-Identifier: MIT
// lockstepctl check and compare over real folders: copies without logs, experiments that have lost runs, runs beside other programs.
#include "core_support.h"
#include "experiment/experiment.h"
#include "queue/slurm/slurm_experiment.h"
#include "tests/app/cli/control.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// ddpRecording() as a run, but each epoch takes `times` as long, and each rank sees so many samples in it. Its result
/// tells the same.
std::string madeRun(std::uint32_t number, double times, std::int64_t samples, const std::string &name = {}) {
    RunRecord record = ddpRecord("");
    if (!name.empty())
        record.name = name;
    const std::string run = finishedRun(number, &record);
    std::vector<Frame> frames = ddpRecording();
    Summary summary;
    for (Frame &frame : frames)
        if (auto *epoch = std::get_if<EpochFrame>(&frame.body)) {
            epoch->durationS *= times;
            epoch->samples = samples;
            if (frame.rank == 1) // the slower one
                summary.epochs.push_back({epoch->epoch, epoch->loss, epoch->durationS, 2 * samples});
        }
    summary.steps = 40;
    summary.totalTrainingTimeS = 0;
    for (const EpochSummary &epoch : summary.epochs)
        *summary.totalTrainingTimeS += epoch.durationS;
    const std::vector<std::string> lines = sealed(run, frames);
    std::string log;
    for (const std::string &line : lines)
        log += line + "\n";
    write(runFolder(run).log(0), log);
    RunResult result = doneResult(run, lines.size());
    result.summary = std::move(summary);
    write(runFolder(run).result(), toJson(result));
    return run;
}

/// Three repeats, the first with that number.
QStringList madeRuns(std::uint32_t number, double times, std::int64_t samples) {
    QStringList out;
    for (const double scatter : {0.99, 1.0, 1.01})
        out << id(madeRun(number++, times * scatter, samples));
    return out;
}

void removeLogs(const QStringList &runs) {
    for (const QString &run : runs)
        QVERIFY(QFile::remove(QString::fromStdString(runFolder(run.toStdString()).log(0))));
}

/// Three repeats of DDP that are done, each with a run.
Experiment threeDone() {
    const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
    PlanOptions options;
    options.quick = true;
    Experiment out = makeExperiment(*expand(recipe, machine(2), options), recipe, true, {});
    const std::string name = ddpRecord("").name;
    std::erase_if(out.entries, [&](const ExperimentEntry &entry) { return entry.planned.name != name; });
    std::uint32_t number = 11;
    for (ExperimentEntry &entry : out.entries) {
        RunRecord record = ddpRecord("");
        record.experiment = out.id;
        record.repeat = entry.planned.repeat;
        entry.run = finishedRun(number++, &record);
        entry.state = EntryState::Done;
    }
    return out;
}

} // namespace

class CliCheckTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void newRunsWithoutTheirLogsDontHideThatTheyDidLess() {
        const Home home;
        const QStringList base = madeRuns(1, 1, 640), same = madeRuns(11, 1, 640), less = madeRuns(21, 0.5, 320);
        const auto check = [&](const QStringList &next) { return control({"check", base.join(','), next.join(',')}); };
        for (const bool logged : {true, false}) {
            if (!logged) {
                removeLogs(same);
                removeLogs(less);
            }
            const Said passed = check(same), undecided = check(less);
            QVERIFY2(passed.code == 0, qPrintable(passed.out));
            QVERIFY2(undecided.code == 4 && undecided.out.contains("Samples seen 1280 instead of 2560"),
                     qPrintable(undecided.out));
        }
    }

    /// The reference's repeats differ by less than repeats may, and each of the others is compared with the one further off.
    void aComparisonOfOtherWorkHasNoFactorAndNamesEachValueBesideItsOwnReferences() {
        const Home home;
        const QStringList runs = {id(madeRun(1, 1, 640)), id(madeRun(2, 1.01, 642)), id(madeRun(3, 0.5, 320, "half")),
                                  id(madeRun(4, 2, 1280, "double"))};
        const Said said = control(QStringList{"compare"} + runs);
        for (const char *part :
             {"decisive: Samples seen ", "1280 instead of 2568 in half", "5120 instead of 2560 in double"})
            QVERIFY2(said.out.contains(part), qPrintable(said.out + said.error));
        QVERIFY2(said.out.contains("half and double: Samples seen not as in DDP on 2 devices, see each comparison."),
                 qPrintable(said.out));
        const QString speedUps = said.out.section("Speed-ups with 95 % intervals", 1).section("\n\n", 0, 0);
        QCOMPARE(speedUps.count("other work"), 2);
        QVERIFY2(!speedUps.contains("×"), qPrintable(speedUps));
    }

    void doneRepeatsWhoseFoldersWereLostAreNoPassAndTheResultNamesThem() {
        const Home home;
        Experiment experiment = threeDone();
        QCOMPARE(experiment.entries.size(), std::size_t(3));
        ExperimentEntry lost = experiment.entries.back();
        lost.planned.repeat = 4;
        lost.run = "20260102T030459Z-00000063";
        const QString base = madeRuns(1, 1, 640).join(',');
        QVERIFY(writeExperiment(experiment).has_value());
        const QString before = control({"show", id(experiment.id)}).out;
        QVERIFY2(!before.contains("not here"), qPrintable(before));
        QCOMPARE(control({"check", base, id(experiment.id)}).code, 0);
        experiment.entries.push_back(lost);
        QVERIFY(writeExperiment(experiment).has_value());
        const Said said = control({"check", base, id(experiment.id)});
        QCOMPARE(said.code, 4);
        QVERIFY2(said.out.contains(", but 1 new repeat is not here"), qPrintable(said.out));
        const QString shown = control({"export", id(experiment.id), "--format", "json"}).out;
        QVERIFY2(shown.contains("1 of its 4 repeats is done, but not here"), qPrintable(shown));
    }

    void anExperimentCantPassWithTheRunsOfAnother() {
        const Home home;
        const QString base = madeRuns(1, 1, 640).join(',');
        const Experiment own = threeDone();
        Experiment other = own, mixed = own;
        other.id = makeRunId();
        RunRecord record = ddpRecord("");
        record.experiment = other.id;
        mixed.entries.push_back(own.entries.back());
        mixed.entries.back().planned.repeat = 4;
        mixed.entries.back().run = finishedRun(21, &record);
        const QString sentence = "run %1 does not count: its own record says that it is another one";
        for (const Experiment &one : {own, other, mixed}) {
            QVERIFY(writeExperiment(one).has_value());
            const bool isOwn = one.id == own.id && one.entries.size() == own.entries.size();
            for (const bool asBase : {false, true}) {
                const QStringList both = asBase ? QStringList{id(one.id), base} : QStringList{base, id(one.id)};
                const Said said = control(QStringList{"check"} + both);
                QVERIFY2(said.code == (isOwn ? 0 : 4), qPrintable(said.out + said.error));
                const QString stranger = id(one.id == other.id ? own.entries[0].run : mixed.entries.back().run);
                QVERIFY2(said.out.contains(sentence.arg(stranger)) == !isOwn, qPrintable(said.out));
            }
        }
    }

    void whatIsNamedOrGivenInVainIsReportedWithTheWayOut_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("command") << QStringList{"lst"}
                                 << "lockstepctl: there is no command \"lst\"; did you mean list?\n";
        QTest::newRow("another command") << QStringList{"xxxxxxxx"} << "`lockstepctl --help` lists the commands";
        QTest::newRow("command of a command") << QStringList{"slurm", "lst"} << "no command \"lst\"";
        QTest::newRow("accuracy") << QStringList{"compare", "a", "--target-accuracy", "nan"} << "nan is no number";
        QTest::newRow("loss") << QStringList{"compare", "a", "--target-loss", "nan"} << "nan is no number";
        for (const char *option : {"--repeats", "--max-steps"})
            QTest::newRow(option) << QStringList{"check", "a", "b", option, "3"} << "requires --against";
    }
    void whatIsNamedOrGivenInVainIsReportedWithTheWayOut() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Said said = control(arguments);
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains(says), qPrintable(said.error));
    }

    void optionsThatSwitchSomethingOffHaveNoValueInTheHelp() {
        for (const char *command : {"run", "study", "doctor"}) {
            const Said said = control({QString::fromLatin1(command), QStringLiteral("--help")});
            QVERIFY2(said.code == 0 && said.out.contains("--no-") && !said.out.contains("{false}"), command);
        }
    }

    void anExperimentIsNamedAloneAndCurvesOfRepeatsHaveTheirNumbers() {
        const Home home;
        const QStringList runs = madeRuns(1, 1, 640);
        const Experiment experiment = threeDone();
        QVERIFY(writeExperiment(experiment).has_value());
        const Said refused = control({"compare", id(experiment.id), runs.front()});
        QCOMPARE(refused.code, 2);
        QVERIFY2(refused.error.contains(id(experiment.id) + " is an experiment"), qPrintable(refused.error));
        const QString curves = control(QStringList{"export", "--what", "curves", "--format", "csv"} + runs).out;
        for (int i = 1; i <= 3; ++i)
            QVERIFY2(curves.contains(runs[i - 1] + ",DDP on 2 devices #" + QString::number(i) + ","),
                     qPrintable(curves));
    }

    void runsOfNoExperimentCountByTheirIdsButNotForAnExperimentThatNamesThem() {
        const Home home;
        const QString base = madeRuns(1, 1, 640).join(',');
        Experiment experiment = threeDone();
        QStringList runs;
        for (ExperimentEntry &entry : experiment.entries) {
            RunRecord record = ddpRecord("");
            record.repeat = entry.planned.repeat;
            entry.run = finishedRun(std::uint32_t(20 + record.repeat), &record);
            runs << id(entry.run);
        }
        QVERIFY(writeExperiment(experiment).has_value());
        QCOMPARE(control({"check", base, runs.join(',')}).code, 0);
        const Said said = control({"check", base, id(experiment.id)});
        QVERIFY2(said.code == 4, qPrintable(said.out + said.error));
        const QString sentence = "run " + runs.front() + " does not count: its own record names no experiment";
        QVERIFY2(said.out.contains(sentence), qPrintable(said.out));
        const QString exported = control({"export", id(experiment.id), "--format", "json"}).out;
        QVERIFY2(exported.contains(sentence), qPrintable(exported));
    }

    void compareGivesAFindingALineForEachWeightAndNoRetryToSlurmsQueue() {
        const Home home;
        const std::string inSlurm = "20260102T030405Z-89abcdef";
        (void)realFileSystem().makeFolders(experimentFolder(inSlurm).path);
        QVERIFY(writeSlurmRecord(inSlurm, SlurmRecord{"12", {0}, {"20260102T030405Z-01234567"}}).has_value());
        QStringList runs;
        std::uint32_t number = 0;
        for (const auto &[name, cores] : {std::pair("quiet", 0.0), std::pair("busy a", 0.8), std::pair("busy b", 0.8),
                                          std::pair("less a", 0.2), std::pair("less b", 0.2)}) {
            RunRecord record = ddpRecord("");
            record.name = name;
            record.experiment = inSlurm;
            record.freeCores = 0;
            const std::string run = finishedRun(++number, &record);
            RunResult result = doneResult(run, sealed(run, ddpRecording()).size(), 20);
            result.surroundings = Surroundings{20, 20 * cores, 0.0, {}, {}};
            write(runFolder(run).result(), toJson(result));
            runs << id(run);
        }
        const Said said = control(QStringList{"compare"} + runs);
        const QStringList lines = said.out.split('\n'), decisive = lines.filter("decisive: Other programs"),
                          notable = lines.filter("notable: Other programs");
        QVERIFY2(decisive.size() == 1 && notable.size() == 1, qPrintable(said.out));
        QVERIFY2(decisive[0].endsWith("in busy a and busy b"), qPrintable(decisive[0]));
        QVERIFY2(notable[0].endsWith("in less a and less b"), qPrintable(notable[0]));
        QVERIFY2(said.out.contains("its queue is Slurm's: ") && !said.out.contains("lockstepctl retry"),
                 qPrintable(said.out));
    }
};

QTEST_GUILESS_MAIN(CliCheckTest)
#include "cli_check_test.moc"
