// SPDX-License-Identifier: MIT
// lockstepctl's list, tag, rename, note, star, delete, restore, trash and diff over real folders.
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "core_support.h"
#include "experiment/experiment.h"
#include "ipc/unix_socket.h"
#include "store/run_notes.h"
#include "tests/app/cli/control.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// On a terminal, which has one stream for both.
QString onTerminal(const QStringList &arguments) {
    QProcess process;
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(QStringLiteral("python3"),
                  QStringList{"-c", "import pty, sys; pty.spawn(sys.argv[1:])", LOCKSTEP_BIN "/lockstepctl"} +
                      arguments);
    if (!process.waitForFinished(test::hangLimitMs))
        return {};
    return QString::fromUtf8(process.readAllStandardOutput());
}

/// A finished run that took so long; `lr` makes it another configuration.
std::string madeRun(std::uint32_t number, double trainingS, double lr = 0.01, const std::string &experiment = {}) {
    RunRecord record = ddpRecord("");
    record.config->lr = lr;
    record.experiment = experiment;
    const std::string run = finishedRun(number, &record);
    RunResult result = doneResult(run, 10, trainingS + 1);
    result.summary.emplace();
    result.summary->totalTrainingTimeS = trainingS;
    write(runFolder(run).result(), toJson(result));
    return run;
}

QStringList listed(const QStringList &options) {
    QStringList out;
    const QJsonArray runs = control(QStringList{"list", "--json"} + options).json()["runs"].toArray();
    for (const QJsonValue run : runs)
        out.append(run["run"].toString());
    return out;
}

/// A run whose log has one alert.
std::string madeRunThatSays(std::uint32_t number, const std::string &message) {
    const std::string run = madeRun(number, 4);
    Frame frame;
    frame.rank = 0;
    frame.rseq = 0;
    frame.body = AlertFrame{"error", "test", message, std::nullopt};
    std::string log;
    for (const std::string &line : sealed(run, {frame}))
        log += line + "\n";
    write(runFolder(run).log(0), log);
    return run;
}

} // namespace

class CoreCliHistoryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theListIsFilteredSortedAndShowsTheColumnsAskedFor() {
        const Home home;
        const std::string slow = madeRun(1, 30), fast = madeRun(2, 10), other = madeRun(3, 20, 0.5);
        QCOMPARE(listed({"--filter", "training<25s"}), (QStringList{id(other), id(fast)}));
        QCOMPARE(listed({"--sort", "training"}), (QStringList{id(fast), id(other), id(slow)}));
        QCOMPARE(listed({"--sort=-training"}), (QStringList{id(slow), id(other), id(fast)}));
        const Said table = control({"list", "--filter", "lr>0.1", "--columns", "run,lr,training"});
        QCOMPARE(table.out.section('\n', 0, 0).simplified(), QStringLiteral("Run id Learning rate Training time (s)"));
        QCOMPARE(table.out.section('\n', 1, 1).simplified(), id(other) + " 0.5 20.0");
        QVERIFY(control({"list", "--filter", "lr>1"}).out.startsWith("No run matches"));
        const QStringList columns = control({"list", "--columns", "help"}).out.split('\n');
        QVERIFY2(!columns.filter(QRegularExpression("^training +Training time \\(s\\) +\\S")).isEmpty(),
                 qPrintable(columns.join('\n')));
        QVERIFY(control({"list"}).out.contains(id(slow)));
    }

    void theListNamesARunWhoseRecordCantBeRead() {
        const Home home;
        const std::string refused = madeRun(1, 10);
        write(runFolder(refused).config(), "{");
        const QString words = "Not listed, since the record can't be read: " + id(refused) + ". lockstepctl show " +
                              id(refused) + " says why.";
        QCOMPARE(control({"list"}).out, words + "\n"); // not that there are no runs yet
        const std::string shown = madeRun(2, 20);
        const QString both = control({"list"}).out;
        QVERIFY2(both.contains(id(shown)) && both.endsWith("\n" + words + "\n"), qPrintable(both));
        QVERIFY(!control({"list", "--columns", "run"}).out.contains(id(refused)));
    }

    void oneEndlessNameWidensNoOtherRow() {
        const Home home;
        const std::string run = madeRun(1, 10);
        RunRecord record = ddpRecord(run);
        record.name = std::string(100'000, 'x');
        const std::string odd = finishedRun(2, &record);
        const QStringList lines = control({"list"}).out.split('\n');
        const QStringList usual = lines.filter(id(run)), endless = lines.filter(id(odd));
        QVERIFY(usual.size() == 1 && usual[0].size() < 1000);
        QVERIFY(endless.size() == 1 && endless[0].size() > 390 && endless[0].size() < 1000);
    }

    void showShowsWhatWatchingTook() {
        const Home home;
        const std::string run = madeRun(1, 10);
        QVERIFY(!control({"show", id(run)}).out.contains("watched")); // an older version's run
        RunResult result = doneResult(run, 10, 20);
        result.watching = Watching{10, 0.56, std::nullopt, std::nullopt, 1.25};
        write(runFolder(run).result(), toJson(result));
        const Said shown = control({"show", id(run)});
        QVERIFY2(
            shown.out.contains("viewers took 0.056 cores for 10.0 s of the run's 20.0 s, whether a core was free of "
                               "ranks is unknown; the ranks' threads waited 1.25 s for a core"),
            qPrintable(shown.out));
        const QJsonObject watching =
            control({"show", id(run), "--json"}).json()["result"].toObject()["watching"].toObject();
        QCOMPARE(watching["viewers_cpu_s"].toDouble(), 0.56);
        QVERIFY(!watching.contains("agent_cpu_s"));
    }

    void aRunNamedTwiceIsOneRepeat() {
        const Home home;
        const QString one = id(madeRun(1, 10)), other = id(madeRun(2, 12)), thrice = QStringList(3, one).join(',');
        const Said checked = control({"check", thrice, other + ',' + other, "--json"});
        QCOMPARE(checked.code, 4);
        const QJsonObject found = checked.json()["runs"].toArray().at(0).toObject();
        QCOMPARE(found["base_repeats"].toInt(), 1);
        QCOMPARE(found["new_repeats"].toInt(), 1);
        QCOMPARE(control({"export", one, one, "--format", "json"}).out,
                 control({"export", one, "--format", "json"}).out);
    }

    void aRunOfTheBaseThatIsNotMadeAgainIsNoPass() {
        const Home home;
        const auto runs = [](std::uint32_t first, const QStringList &names) {
            QStringList out;
            for (const QString &name : names)
                for (int repeat = 1; repeat <= 3; ++repeat) {
                    RunRecord record = ddpRecord("");
                    record.name = name.toStdString();
                    record.repeat = repeat;
                    out << id(finishedRun(first++, &record));
                }
            return out.join(',');
        };
        const QString base = runs(1, {"a", "b"}), next = runs(11, {"a"});
        QCOMPARE(control({"check", base, runs(21, {"a", "b"})}).code, 0);
        const Said said = control({"check", base, next});
        QCOMPARE(said.code, 4);
        QVERIFY2(said.out.contains("undecided  b is missing in the new measurement"), qPrintable(said.out));
        QVERIFY2(said.out.contains("passed  a "), qPrintable(said.out));
    }

    void aRunOfBothSidesIsRefused() {
        const Home home;
        const QString one = id(madeRun(1, 10)), both = id(madeRun(2, 12)), other = id(madeRun(3, 12));
        const Said said = control({"check", one + ',' + both, both + ',' + other});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains("run " + both + " is named in both the base and the new measurement"),
                 qPrintable(said.error));
        QCOMPARE(said.error.count('\n'), 1);
    }

    void aMeasurementThatIsRecordedOnBothSidesIsRefused() {
        const Home home;
        const auto recorded = [](std::uint32_t number) {
            RunRecord record = ddpRecord("");
            record.files = RecordedFiles{"rank 0 on box, at 1 us", 100};
            return id(finishedRun(number, &record));
        };
        const QString one = recorded(1), same = recorded(2);
        const Said said = control({"check", one, same});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains("run " + same + " was recorded from the same files as run " + one),
                 qPrintable(said.error));
    }

    void aCopyOfARunOfTheBaseIsRefusedUnderAnyId() {
        const Home home;
        const std::string one = finishedRun(1), copy = finishedRun(2);
        std::string text = *realFileSystem().readAll(runFolder(one).log(0));
        text.replace(text.find(one), one.size(), copy);
        write(runFolder(copy).log(0), text);
        const Said said = control({"check", id(one), id(copy)});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains("run " + id(copy) + " has the same log as run " + id(one)),
                 qPrintable(said.error));
    }

    void aRepeatThatWasSkippedIsNoPass() {
        const Home home;
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        PlanOptions options;
        options.quick = true;
        Experiment experiment = makeExperiment(*expand(recipe, facts, options), recipe, true, {});
        const std::string name = ddpRecord("").name;
        std::erase_if(experiment.entries, [&](const ExperimentEntry &entry) { return entry.planned.name != name; });
        QCOMPARE(experiment.entries.size(), std::size_t(3));
        QStringList base;
        for (std::uint32_t i = 0; i < 3; ++i) {
            ExperimentEntry &entry = experiment.entries[i];
            RunRecord record = ddpRecord("");
            record.repeat = int(i) + 1;
            base << id(finishedRun(i + 1, &record));
            record.experiment = experiment.id;
            entry.run = finishedRun(i + 11, &record);
            entry.state = EntryState::Done;
        }
        const auto check = [&] {
            return writeExperiment(experiment) ? control({"check", base.join(','), id(experiment.id)}) : Said();
        };
        QCOMPARE(check().code, 0);
        ExperimentEntry skipped = experiment.entries.back();
        skipped.planned.repeat = 4;
        skipped.run.clear();
        skipped.state = EntryState::Stopped;
        experiment.entries.push_back(skipped);
        const Said said = check();
        QCOMPARE(said.code, 4);
        QVERIFY2(said.out.contains(", but 1 new repeat was stopped"), qPrintable(said.out));
    }

    void outputThatCannotBeWrittenIsAFailureAndAReaderThatHasGoneIsNone() {
        const Home home;
        madeRun(1, 10);
        const auto said = [](const char *where) {
            QProcess process;
            process.start(QStringLiteral("bash"),
                          {"-c", QStringLiteral("set -o pipefail; " LOCKSTEP_BIN "/lockstepctl list ") + where});
            return process.waitForFinished(test::hangLimitMs)
                       ? std::pair(process.exitCode(), QString::fromUtf8(process.readAllStandardError()))
                       : std::pair(-1, QString());
        };
        const auto [code, why] = said("> /dev/full");
        QCOMPARE(code, 1);
        QCOMPARE(why, QStringLiteral("lockstepctl: the output can't be written: No space left on device\n"));
        QCOMPARE(said("| true"), std::pair(0, QString()));
    }

    void whatLockstepKeepsIsNotExportedOver() {
        const Home home;
        const std::string run = madeRun(1, 10);
        const std::string file = runFolder(run).result(), before = *realFileSystem().readAll(file);
        const std::string link = home.path() + "/results.json";
        QCOMPARE(::symlink(file.c_str(), link.c_str()), 0);
        for (const std::string &out : {file, link, home.path() + "/runs/../experiments/x.json"}) {
            const Said said = control({"export", id(run), "--format", "json", "--out", QString::fromStdString(out)});
            QCOMPARE(said.code, 2);
            QVERIFY2(said.error.contains("can't be written: Lockstep keeps its runs and experiments there"),
                     qPrintable(said.error));
        }
        QCOMPARE(*realFileSystem().readAll(file), before);
        const QString elsewhere = QString::fromStdString(home.path() + "/out.json");
        QCOMPARE(control({"export", id(run), "--format", "json", "--out", elsewhere}).code, 0);
        QCOMPARE(control({"export", id(run), "--format", "tensorboard", "--out", id(runFolder(run).path)}).code, 2);
    }

    void stdinIsReadAsFarAsADocumentMayGo() {
        const Home home;
        const std::string run = madeRun(1, 10), file = home.path() + "/long";
        write(file, "x");
        std::error_code error;
        std::filesystem::resize_file(file, largestDocument + 1, error);
        if (error)
            QSKIP("there is no room for a long file");
        for (const QStringList &command : {QStringList{"note", id(run), "-"}, {"run", "-"}}) {
            QProcess process;
            process.setStandardInputFile(QString::fromStdString(file));
            process.start(QStringLiteral(LOCKSTEP_BIN "/lockstepctl"), command);
            QVERIFY(process.waitForFinished(test::hangLimitMs));
            QCOMPARE(process.exitCode(), 2);
            const QByteArray said = process.readAllStandardError();
            QVERIFY2(said.contains("stdin has more than the 64 MiB that a document may have"), said.constData());
        }
        QVERIFY(readRunNotes(runFolder(run))->note.empty());
    }

    void showShowsWhatElseWentOn() {
        const Home home;
        const std::string run = madeRun(1, 10);
        RunResult result = doneResult(run, 10, 20);
        result.surroundings = Surroundings{20, 1.0, 0.5, 2.0, {"CPU quota"}};
        write(runFolder(run).result(), toJson(result));
        const Said shown = control({"show", id(run)});
        QVERIFY2(shown.out.contains("other programs took 0.050 cores; the hypervisor gave 0.025 cores to "
                                    "others; clocks or quota held it down for 10.0 % of the time (CPU quota)"),
                 qPrintable(shown.out));
    }

    void aLargeComparisonIsShortShowsWhatItLeftOutAndIsWholeWhenAsked() {
        const Home home;
        QStringList runs;
        for (std::uint32_t i = 1; i <= 15; ++i) { // as many settings, all unlike in the rate
            RunRecord record = ddpRecord("");
            record.name = "setting " + std::to_string(i);
            record.config->lr = 0.01 * i;
            runs << id(finishedRun(i, &record));
        }
        const Said brief = control(QStringList{"compare"} + runs),
                   whole = control(QStringList{"compare", "--all"} + runs);
        QCOMPARE(brief.code, 0);
        const QString verdict = brief.out.section("\n\n", 2, 2); // right after the title and the verdict's lines
        QVERIFY2(brief.out.section("\n\n", 1, 1).contains("can't tell yet"), qPrintable(brief.out));
        const QString table = whole.out.section("Speed-ups with 95 % intervals", 1).section("\n\n", 0, 0);
        QVERIFY2(table.contains("can't tell yet") && !table.contains("unknown"), qPrintable(table));
        QVERIFY2(verdict.contains("! "), qPrintable(brief.out));
        QVERIFY2(brief.out.indexOf(verdict) < brief.out.indexOf("utilisation"), qPrintable(brief.out));
        QVERIFY2(brief.out.contains("and 3 more: --all"), qPrintable(brief.out));
        QCOMPARE(brief.out.count("Learning rate: 0.01 in the reference; 0.02 in setting 2; 0.03 in setting 3"), 1);
        QVERIFY(brief.out.contains("other values in 10 more"));
        QVERIFY(!whole.out.contains("more: --all"));
        for (int i = 1; i <= 15; ++i)
            QVERIFY2(whole.out.contains(QStringLiteral("setting %1  ").arg(i)), qPrintable(whole.out));
        QVERIFY(brief.out.count('\n') * 2 < whole.out.count('\n'));
        const QJsonObject json = control(QStringList{"compare", "--json"} + runs).json();
        QCOMPARE(json["rows"].toArray().size(), 15);
        QCOMPARE(json["judgement"].toObject()["pairs"].toArray().size(), 14);
    }

    void compareShowsWhenATargetWasReachedAndHowItKnows() {
        const Home home;
        const QString run = id(madeRun(1, 10)); // epochs of 0.45 s, losses 1.0 and 0.5, accuracies 0.8 and 0.9
        const Said said = control({"compare", run, "--target-loss", "0.75", "--target-accuracy", "0.95"});
        QVERIFY2(said.out.contains("interpolated between epochs 1 and 2"), qPrintable(said.out));
        QVERIFY2(said.out.contains("not reached: best 90.00 % in 2 epochs"), qPrintable(said.out));
        const QJsonArray targets =
            control({"compare", run, "--target-loss", "0.75", "--json"}).json()["time_to_target"].toArray();
        QCOMPARE(targets.size(), 1);
        const QJsonObject cell = targets[0].toObject()["cells"].toArray()[0].toObject();
        QCOMPARE(cell["median_s"].toDouble(), 0.675);
        QVERIFY(cell["speed_up"].isNull());
        QVERIFY(!control({"compare", run, "--json"}).json().contains("time_to_target"));
        QCOMPARE(control({"compare", run, "--target-accuracy", "88"}).code, 2);
    }

    void repeatsAreGroupedWithMeanAndDeviation() {
        const Home home;
        madeRun(1, 10);
        madeRun(2, 12);
        madeRun(3, 99, 0.5);
        const QJsonArray groups =
            control({"list", "--group", "--json", "--sort", "training"}).json()["groups"].toArray();
        QCOMPARE(groups.size(), 2);
        QCOMPARE(groups[0]["runs"].toArray().size(), 2);
        const QJsonObject training = groups[0]["figures"]["training"].toObject();
        QCOMPARE(training["n"].toInt(), 2);
        QCOMPARE(training["mean"].toDouble(), 11.0);
        QVERIFY(std::abs(training["standard_deviation"].toDouble() - std::sqrt(2.0)) < 1e-12);
        QVERIFY(groups[1]["figures"]["training"]["standard_deviation"].isNull());
        QVERIFY(control({"list", "--group"}).out.contains("11.0 ± 1.4"));
    }

    void aMistakeIsOneSentenceAndExitCodeTwo_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const QString nobody = "20990101T000000Z-00000000";
        QTest::newRow("filter") << QStringList{"list", "--filter", "devices>=2 acuracy>1"} << "at 12: ";
        QTest::newRow("sort") << QStringList{"list", "--sort", "speeed"} << "no column \"speeed\"";
        QTest::newRow("columns") << QStringList{"list", "--columns", "name,acuracy"} << "did you mean accuracy?";
        QTest::newRow("tag an unknown run") << QStringList{"tag", "x", nobody} << nobody;
        QTest::newRow("tag nobody") << QStringList{"tag", "x"} << "no run is given";
        QTest::newRow("bad tag") << QStringList{"tag", "a\"b", nobody} << "is no tag";
        QTest::newRow("star by an empty filter") << QStringList{"star", "--filter", "name=none"} << "no run matches";
        QTest::newRow("rename") << QStringList{"rename", nobody, "x"} << nobody;
        QTest::newRow("note") << QStringList{"note", nobody} << nobody;
        QTest::newRow("delete") << QStringList{"delete", "../../etc"} << "no run ../../etc";
        QTest::newRow("restore") << QStringList{"restore", nobody} << "the trash holds no run";
        QTest::newRow("diff") << QStringList{"diff", nobody, nobody} << nobody;
    }
    void aMistakeIsOneSentenceAndExitCodeTwo() {
        const Home home;
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Said said = control(arguments);
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains(says), qPrintable(said.error));
        QCOMPARE(said.error.count('\n'), 1);
    }

    void tagsNamesNotesAndStarsAreThoseOfTheWindow() {
        const Home home;
        const std::string first = madeRun(1, 10), second = madeRun(2, 12);
        QCOMPARE(control({"tag", "slow,keep", id(first), id(second)}).code, 0);
        QCOMPARE(control({"tag", "slow", id(second), "--remove"}).code, 0);
        QCOMPARE(control({"rename", id(first), "the good one"}).code, 0);
        QCOMPARE(control({"note", id(first), "remember"}).code, 0);
        QCOMPARE(control({"star", "--filter", "tag=slow"}).code, 0);
        const RunNotes notes = *readRunNotes(runFolder(first));
        QCOMPARE(notes.name, std::string("the good one"));
        QCOMPARE(notes.tags, (std::vector<std::string>{"keep", "slow"}));
        QVERIFY(notes.starred);
        QCOMPARE(control({"note", id(first)}).out, QStringLiteral("remember\n"));
        QCOMPARE(listed({"--filter", "star=yes name=\"the good one\""}), QStringList{id(first)});
        QCOMPARE(readRunNotes(runFolder(second))->tags, std::vector<std::string>{"keep"});
        QVERIFY(!readRunNotes(runFolder(second))->starred);
        QCOMPARE(control({"star", id(first), "--off"}).code, 0);
        QCOMPARE(control({"rename", id(first), ""}).code, 0);
        QVERIFY(listed({"--filter", "star=yes"}).isEmpty());
    }

    void whatIsDeletedCanBePutBack() {
        const Home home;
        const std::string first = madeRun(1, 10), second = madeRun(2, 12), third = madeRun(3, 14);
        const Said deleted = control({"delete", id(first), id(second), "--json"});
        QCOMPARE(deleted.code, 0);
        QCOMPARE(deleted.json()["runs"].toArray().size(), 2);
        QCOMPARE(listed({}), QStringList{id(third)});
        QVERIFY(control({"trash"}).out.contains(id(second)));
        QCOMPARE(control({"restore", id(second)}).code, 0); // one of the two
        QCOMPARE(listed({}), (QStringList{id(third), id(second)}));
        QCOMPARE(control({"restore"}).code, 0); // the rest of what was deleted last
        QCOMPARE(listed({}).size(), 3);
        QCOMPARE(control({"restore"}).code, 1);
        QCOMPARE(control({"delete", id(third)}).code, 0);
        QCOMPARE(control({"trash", "--empty", "--json"}).json()["removed"].toInt(), 1);
        QCOMPARE(control({"restore"}).code, 1);
    }

    void aTerminalObeysNothingThatARunSays() {
        const std::string escape(1, char(0x1b)), introducer = {char(0xC2), char(0x9B)}; // ESC, CSI
        const std::string run = madeRunThatSays(8, escape + "]0;owned\a " + introducer + "2J");
        QVERIFY(realFileSystem().writeAtomically(runFolder(run).notes(), "{\"name\":\"\\u001b[2J\"}").has_value());
        for (const QStringList &words : {QStringList{"show", id(run)}, {"attach", id(run)}, {"list"}}) {
            QString said = onTerminal(words);
            said.remove(QStringLiteral("\r\x1b[K")); // our own, which clears the line
            QVERIFY(!said.isEmpty());
            QVERIFY2(!said.contains(QChar(0x1b)) && !said.contains(QChar(0x9b)), qPrintable(said));
        }
        QVERIFY(onTerminal({"show", id(run)}).contains(QStringLiteral("owned")));
        QVERIFY(control({"show", id(run)}).out.contains(QString::fromStdString(escape))); // a program gets every byte
    }

    void whatOthersPutIntoRunFoldersHangsAndEndsNothing() {
        const std::string good = madeRun(1, 4), deep(100'000, '[');
        for (const char *origin :
             {R"({"host":5,"shared":1,"machine":[]})", R"({"shared":"yes","host":{}})", "[]", ""}) {
            const std::string run = madeRun(2, 4);
            write(runFolder(run).origin(), origin);
            QCOMPARE(control({"list"}).code, 0);
            QCOMPARE(control({"attach", id(run)}).code, 0);
        }
        for (const auto place : {&RunFolder::origin, &RunFolder::config, &RunFolder::result, &RunFolder::notes}) {
            const std::string run = madeRun(3, 4);
            write((runFolder(run).*place)(), deep);
            QCOMPARE(control({"list"}).code, 0);
            QVERIFY(control({"attach", id(run)}).code >= 0);
        }
        const auto pipes = [](std::uint32_t number, auto pathOf) {
            const std::string run = madeRun(number, 4);
            const std::string path = pathOf(runFolder(run));
            ::unlink(path.c_str());
            QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
            const Said all = control({"list"}), one = control({"attach", id(run)}), shown = control({"show", id(run)});
            QVERIFY2(all.code == 0 && one.code >= 0 && shown.code >= 0, path.c_str());
        };
        pipes(4, [](const RunFolder &folder) { return folder.config(); });
        pipes(5, [](const RunFolder &folder) { return folder.result(); });
        pipes(6, [](const RunFolder &folder) { return folder.log(0); });
        pipes(7, [](const RunFolder &folder) { return folder.lock(0); });
        const QString empty = id(runFolder(madeRun(12, 4)).path);
        QVERIFY(QDir(empty).removeRecursively() && QDir().mkpath(empty));
        const Said nothing = control({"attach", QFileInfo(empty).fileName()});
        QVERIFY2(nothing.code == 2 && nothing.error.contains("nothing will come of it"), qPrintable(nothing.error));
        QVERIFY(listed({}).contains(id(good)));
    }

    void aLinkThatLeadsInCirclesIsOneSentenceToEveryCommand() {
        const std::string run = madeRun(9, 4), whole = madeRun(10, 4), experiment = makeRunId();
        const std::string path = runFolder(run).config();
        ::unlink(path.c_str());
        QCOMPARE(::symlink("config.json", path.c_str()), 0);
        QVERIFY(QDir(id(runFolder(whole).path)).removeRecursively());
        QCOMPARE(::symlink(whole.c_str(), runFolder(whole).path.c_str()), 0);
        QVERIFY(realFileSystem().makeFolders(experimentFolder(experiment).path).has_value());
        QCOMPARE(::symlink("experiment.json", experimentFolder(experiment).json().c_str()), 0);
        for (const std::string &one : {run, whole, experiment})
            for (const char *command : {"show", "compare", "attach", "stop", "stacks"}) {
                const Said said = control({command, id(one)});
                QVERIFY2(said.code >= 0 && said.code <= 2, command);
                QVERIFY2(said.code == 0 || said.error.contains("lockstepctl: "), qPrintable(said.error));
                QVERIFY2(!said.error.contains("terminate"), qPrintable(said.error));
            }
        ::unlink(runFolder(whole).path.c_str());
    }

    void whatARunSaysIsOneLineOfShow() {
        const std::string run = madeRunThatSays(11, "slow\n  ! disk full\n    what to do: sh");
        QVERIFY(control({"show", id(run)}).out.contains("  ! slow   ! disk full     what to do: sh\n"));
    }

    void aRunningRunIsRefusedWithASentence() {
        const Home home;
        const std::string run = madeRun(1, 10);
        std::remove(runFolder(run).result().c_str());
        const auto lock = FileLock::acquire(runFolder(run).lock(0)); // as its agent does
        QVERIFY(lock.has_value());
        const Said refused = control({"delete", id(run)});
        QCOMPARE(refused.code, 1);
        QVERIFY2(refused.error.contains("it is running; stop it first"), qPrintable(refused.error));
        QVERIFY(QFile::exists(id(runFolder(run).config())));
    }

    void anExperimentKeepsWorkingWithoutARunOfIts() {
        const Home home;
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        Experiment experiment = makeExperiment(*expand(recipe, facts), recipe, true, {});
        std::vector<std::string> runs;
        for (std::size_t i = 0; i < experiment.entries.size(); ++i) {
            ExperimentEntry &entry = experiment.entries[i];
            if (!entry.planned.runnable())
                continue;
            entry.state = EntryState::Done;
            entry.run = madeRun(std::uint32_t(i + 1), 10, 0.01, experiment.id);
            runs.push_back(entry.run);
        }
        QVERIFY(runs.size() >= 2);
        QVERIFY(writeExperiment(experiment).has_value());
        const QString before = control({"show", id(experiment.id)}).out;
        QCOMPARE(control({"delete", id(runs.front())}).code, 0);
        const Said shown = control({"show", id(experiment.id)});
        QCOMPARE(shown.code, 0);
        QVERIFY(!shown.out.isEmpty() && shown.out != before);
        QCOMPARE(control({"attach", id(experiment.id)}).code, 0);
        QVERIFY(control({"list"}).out.contains(id(experiment.id)));
        QCOMPARE(control({"restore"}).code, 0);
        QCOMPARE(control({"show", id(experiment.id)}).out, before);
        // One that can't be read is named, and the others are shown. What judges a change leaves none out.
        const std::string torn = runs.back();
        write(runFolder(torn).config(), "{\"run\": ");
        for (const QStringList &words : {QStringList{"show"}, {"compare"}, {"export", "--format", "md"}}) {
            const Said said = control(words + QStringList{id(experiment.id)});
            QCOMPARE(said.code, 0);
            QVERIFY2(said.out.contains("run " + id(torn) + " is left out, since it can't be read: "),
                     qPrintable(said.out));
            QVERIFY2(said.out.contains(id(experiment.entries.front().planned.name)), qPrintable(said.out));
        }
        const Said check = control({"check", id(experiment.id), id(experiment.id)});
        QVERIFY2(check.code != 0 && check.error.contains(id(torn)), qPrintable(check.error));
    }

    void whatRunsAreCalledAndSayStandsAsNoLineOfItsOwn() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.name = "base";
        const std::string base = finishedRun(1, &record);
        record.name = "DDP\n\npassed: worth it";
        record.config->lr = 0.5;
        const std::string run = finishedRun(2, &record);
        RunResult result = doneResult(run, 0);
        result.warnings = {"odd\n- all good\nworth it  DDP  5.00x"};
        write(runFolder(run).result(), toJson(result));
        const Said said = control({"compare", id(base), id(run)});
        QVERIFY2(said.out.contains("odd - all good worth it  DDP  5.00x"), qPrintable(said.out));
        for (const QString &line : said.out.split('\n'))
            QVERIFY2(!line.startsWith("passed") && !line.startsWith("- all") && !line.startsWith("worth it  DDP  5"),
                     qPrintable(said.out));
    }

    void twoRunsAreDiffered() {
        const Home home;
        const std::string first = madeRun(1, 10), second = madeRun(2, 20, 0.5);
        const Said text = control({"diff", id(first), id(second)});
        QCOMPARE(text.code, 0);
        QCOMPARE(text.out.section('\n', 1, 2).simplified(), QStringLiteral("Configuration Learning rate 0.01 0.5"));
        QVERIFY(!text.out.contains("Momentum"));
        QVERIFY(control({"diff", id(first), id(second), "--all"}).out.contains("Momentum"));
        const QJsonObject json = control({"diff", id(first), id(second), "--json"}).json();
        QCOMPARE(json["b"]["run"].toString(), id(second));
        const QJsonObject line = json["sections"][0]["lines"][0].toObject();
        QVERIFY(line["key"].toString() == QStringLiteral("lr") && !line["same"].toBool(true));
        const Said same = control({"diff", id(first), id(first)});
        QCOMPARE(same.code, 2);
        QVERIFY2(same.error.contains(id(first) + " is given twice"), qPrintable(same.error));
    }
};

QTEST_GUILESS_MAIN(CoreCliHistoryTest)
#include "cli_history_test.moc"
