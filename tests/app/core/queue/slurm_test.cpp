// SPDX-License-Identifier: MIT
// Slurm's queue as squeue prints it, and how an experiment stands by it. Real jobs: tests/e2e/slurm_test.py.

#include <numeric>

#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "experiment/plan.h"
#include "fake_slurm.h"
#include "ipc/file_system.h"
#include "launch/jobs/job_shape.h"
#include "queue/queue_request.h"
#include "queue/slurm/slurm_experiment.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

const std::string first = "20260102T030405Z-89abcdef", second = "20260102T040506Z-89abcdef",
                  other = "20260102T030405Z-01234567";

SlurmAttempt attempt(const std::string &run, std::optional<RunState> ended) {
    SlurmAttempt out{run, {}};
    out.status.kind = ended ? RunStatus::Kind::Finished : RunStatus::Kind::Running;
    if (ended) {
        RunResult result;
        result.state = *ended;
        result.reason = *ended == RunState::Done ? "" : "stopped by SIGTERM";
        out.status.result = result;
    }
    return out;
}

SlurmJob job(const std::string &state) {
    SlurmJob out;
    out.id = out.rawId = out.array = "12";
    out.state = state;
    return out;
}

/// What a squeue does that is asked for the comments of jobs, by number: it prints them as they are, whatever stands around them in the
/// format.
std::string commented(const std::vector<std::pair<std::string, std::string>> &jobs) {
    std::string script = "for format; do :; done\n";
    for (const auto &[number, comment] : jobs)
        script += "printf '%s' \"${format%%%F*}\" '" + number + " " + comment + "' \"${format##*%k}\"; echo\n";
    return script;
}

/// A run's folder whose record names that experiment.
RunFolder runOf(const std::string &experiment, const std::string &run) {
    RunRecord record;
    record.run = run;
    record.experiment = experiment;
    const RunFolder folder = runFolder(run);
    (void)realFileSystem().makeFolders(folder.path);
    write(folder.config(), toJson(record));
    return folder;
}

RunResult done() {
    RunResult result;
    result.state = RunState::Done;
    return result;
}

/// An experiment of one run that Slurm has as this job; empty: it is not submitted yet.
Experiment inSlurm(const std::string &job) {
    const Recipe recipe = *recipeFromJson(R"({"name":"mine","runs":[{"method":"baseline","devices":1,"epochs":1}]})");
    Experiment experiment = makeExperiment(*expand(recipe, localMachineFacts()), recipe, false, {});
    (void)createExperiment(experiment, [&] {
        write(slurmFiles(experiment.id).script, "#!/bin/sh\n");
        return writeSlurmRecord(experiment.id, SlurmRecord{job, {0}, {first}, false});
    });
    return experiment;
}

Experiment submitted() {
    return inSlurm("12");
}

std::vector<SlurmJob> jobsIn(std::string_view squeue) {
    return jobsFromSqueue(squeue).jobs;
}

Experiment experimentOfOne() {
    Experiment experiment;
    experiment.entries.resize(1);
    return experiment;
}

} // namespace

class SlurmTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void squeuesLinesAreJobs() {
        const auto jobs = jobsIn("3_1|3|3|1|PENDING|n/a|N/A|4294901757|main|Priority\n"
                                 "4|4|4|N/A|PENDING|n/a|2026-11-22T00:12:26|10|main|a|b\n"
                                 "3_0|5|3|0|RUNNING|n1|2026-11-21T23:12:27|4294901757|main|None\n"
                                 "slurm_load_jobs error: Unable to contact slurm controller\n");
        QCOMPARE(jobs.size(), std::size_t(3));
        QCOMPARE(jobs[0].task, std::optional(1));
        QVERIFY(jobs[0].waits() && jobs[0].start.empty() && jobs[0].node.empty());
        QVERIFY(!jobs[1].task);
        QCOMPARE(jobs[1].reason, std::string("a|b"));
        QCOMPARE(jobs[1].start, std::string("2026-11-22T00:12:26"));
        QCOMPARE(jobs[2].rawId, std::string("5"));
        QVERIFY(jobs[2].runs() && jobs[2].reason.empty());
        QCOMPARE(jobs[2].node, std::string("n1"));
        QCOMPARE(jobsOf(jobs, "3").size(), std::size_t(2));
    }

    void ofEndlessJobsTheFirstAreTakenAndTheUserIsTold() {
        std::string text;
        for (std::size_t i = 0; i < mostSlurmJobs; ++i)
            text += "4|4|4|N/A|PENDING|||1|main|\n";
        QVERIFY(jobsFromSqueue(text + "no job\n").leftOut().empty());
        text += "3_0|5|3|0|RUNNING|n1||1|main|\n3_1|3|3|1|PENDING|||1|main|\n";
        const SlurmJobs taken = jobsFromSqueue(text);
        QCOMPARE(taken.jobs.size(), mostSlurmJobs);
        QVERIFY2(taken.leftOut().find("more than 100,000 jobs") != std::string::npos, taken.leftOut().c_str());
        const SlurmJobs asked = jobsFromSqueue(text, "3"); // comes after all of them, and is found
        QCOMPARE(asked.jobs.size(), std::size_t(2));
        QVERIFY(asked.leftOut().empty());
    }

    void whatSqueueSaysIsNoOtherTaskAndNoLongText() {
        const std::string text(100'000, 'x');
        const auto jobs = jobsIn("3_4294967297|9|3|4294967297|PENDING|n/a|N/A|1|main|Priority\n"
                                 "-4|-4|-4|N/A|PENDING|n/a|N/A|1|main|Priority\n"
                                 "3_1|3|3|1|PENDING|" +
                                 text + "|" + text + "|1|main|" + text + "\n");
        QCOMPARE(jobs.size(), std::size_t(1));
        for (const std::string &said : {jobs[0].node, jobs[0].start, jobs[0].reason})
            QCOMPARE(said.size(), std::size_t(200));
        const auto longest = jobsIn(text + "|3|" + text + "|1|" + text + "|n/a|N/A|1|" + text + "|Priority");
        QCOMPARE(longest.size(), std::size_t(1));
        for (const std::string &said : {longest[0].id, longest[0].array, longest[0].state, longest[0].partition})
            QCOMPARE(said.size(), std::size_t(200));
    }

    void aNegativeNumberIsNoJob() {
        const FakeSlurm slurm;
        slurm.program("sbatch", "echo -5");
        slurm.program("squeue", commented({{"-5", "mark"}}));
        const Submitted job = submitToSlurm("#!/bin/sh\n", "log", "mark");
        QVERIFY2(job.job.empty() && job.error.what.find("-5") != std::string::npos, job.job.c_str());
    }

    void slurmThatIsNotConfiguredTakesNoJob() {
        const FakeSlurm slurm;
        const std::string lost = "echo 'NAME: fatal: Could not establish a configuration source' >&2; exit 1";
        slurm.program("sbatch", lost);
        slurm.program("squeue", lost);
        const Submitted job = submitToSlurm("#!/bin/sh\n", "log", "mark");
        QVERIFY(!job.unknown); // whether it is in the queue
        QCOMPARE(job.error.what, std::string("Slurm is not configured here: sbatch finds no configuration"));
        slurm.program("squeue", "echo 'squeue: error: Socket timed out' >&2; exit 1");
        QCOMPARE(slurmJobs().error().what, std::string("squeue: error: Socket timed out"));
    }

    void aJobThatSlurmDidNotCancelIsNotRecordedAsCancelled() {
        const Home home;
        const FakeSlurm slurm;
        slurm.program("scancel", "echo scancel >> $DIR/said\nexit 1");
        const Experiment experiment = submitted();
        slurm.program("squeue", commented({{"12", slurmMark(experiment.id)}}));
        QVERIFY(!stopExperiment(experiment.id, "the test").has_value());
        QCOMPARE(slurm.said(), std::string("scancel\n"));
        QVERIFY(!readSlurmRecord(experiment.id)->cancelled);
    }

    void aFolderThatNamesSomebodyElsesJobCancelsNothing_data() {
        QTest::addColumn<QByteArray>("squeue");
        const auto squeue = [](const std::vector<std::pair<std::string, std::string>> &jobs) {
            return QByteArray::fromStdString(commented(jobs));
        };
        QTest::newRow("another's job") << squeue({{"12", "lockstep:20260102T030405Z-00000001"}});
        QTest::newRow("no comment") << squeue({{"12", "(null)"}});
        QTest::newRow("the line of another's comment")
            << squeue({{"12", "(null)"}, {"5", "x\n12 MARK"}, {"6", "12 MARK"}});
        QTest::newRow("a comment that begins or ends like it")
            << squeue({{"12", "MARK\nx"}, {"12", "x MARK"}, {"12", "MARK x"}});
        QTest::newRow("gone") << QByteArray("exit 0");
        QTest::newRow("Slurm does not say") << QByteArray("exit 1");
    }
    void aFolderThatNamesSomebodyElsesJobCancelsNothing() {
        QFETCH(QByteArray, squeue);
        const Home home;
        const FakeSlurm slurm;
        slurm.program("scancel", "echo scancel \"$@\" >> $DIR/said");
        const Experiment copied = submitted();
        slurm.program("squeue", squeue.replace("MARK", slurmMark(copied.id).c_str()).toStdString());
        const auto stopped = stopExperiment(copied.id, "the test");
        QVERIFY(!stopped);
        if (!squeue.startsWith("exit"))
            QVERIFY2(stopped.error().what.find("nothing was cancelled") != std::string::npos,
                     stopped.error().what.c_str());
        QVERIFY(!cancelSlurmExperiment(copied.id, *readSlurmRecord(copied.id), "12_0"));
        const std::string folder = experimentFolder(copied.id).requests();
        QVERIFY(realFileSystem().makeFolders(folder).has_value());
        QueueRequest stop;
        write(folder + "/1.json", toJson(stop));
        qputenv("LOCKSTEP_SQUEUE_S", "0.1");
        SlurmWatch watch;
        QVERIFY(watch.own(copied.id).has_value());
        watch.start();
        QTest::qWait(500);
        qunsetenv("LOCKSTEP_SQUEUE_S");
        QCOMPARE(slurm.said(), std::string());
        QVERIFY(!readSlurmRecord(copied.id)->cancelled);
    }

    void othersJobsAreNeitherOnesOwnNorWhatOnesOwnAreSaidToBe() {
        const Home home;
        const FakeSlurm slurm;
        const std::string mark = "lockstep:20260102T030405Z-00000001";
        slurm.program("squeue",
                      "case \"$*\" in\n"
                      "*--user=$(id -u)*%k*) exit 0 ;;\n"
                      "*%k*)" +
                          commented({{"777", mark}}) +
                          ";;\n"
                          "*--user=$(id -u)*)\n"
                          "    echo '12|12|12|N/A|PENDING|n/a|N/A|10|main|Resources'\n"
                          "    case \"$*\" in *%j*) echo '12|12|12|N/A|RUNNING|n1|N/A|10|main|None|x' ;; esac ;;\n"
                          "*--states=PENDING*) printf '20|777|N/A|main\\n10|12|N/A|main\\n' ;;\n"
                          "*) echo '777|777|777|N/A|PENDING|n/a|N/A|20|main|Resources|x' ;;\n"
                          "esac");
        QCOMPARE(slurmJobMarked(mark).value(), std::string());
        QVERIFY(!isSlurmJobMarked("777", mark).value());
        const std::vector<SlurmJob> jobs = slurmJobs().value().jobs;
        QCOMPARE(jobs.size(), std::size_t(1));
        QVERIFY(jobs[0].id == "12" && jobs[0].waits());
        QCOMPARE(jobs[0].place, std::optional(2)); // after the other's
    }

    void ofSeveralJobsWithAnExperimentsCommentNoneIsTakenForItsOwn() {
        const Home home;
        const FakeSlurm slurm;
        slurm.program("sbatch", "echo sbatch >> $DIR/said\necho 14");
        slurm.program("scancel", "echo scancel \"$@\" >> $DIR/said");
        const Experiment experiment = inSlurm("");
        SlurmRecord record = readSlurmRecord(experiment.id).value();
        record.unanswered = true;
        QVERIFY(writeSlurmRecord(experiment.id, record).has_value());
        const std::string mark = slurmMark(experiment.id);
        slurm.program("squeue", commented({{"12", mark}, {"13", mark}}));
        const auto again = submitSlurmExperiment(experiment.id);
        QVERIFY2(!again && again.error().what.find("several of your jobs have the comment " + mark + ": 12, 13") == 0,
                 again ? "" : again.error().what.c_str());
        QVERIFY(!stopExperiment(experiment.id, "the test").has_value());
        QCOMPARE(slurm.said(), std::string());
        slurm.program("squeue", commented({{"12", mark}, {"12", mark}})); // two tasks of one array
        QCOMPARE(submitSlurmExperiment(experiment.id)->job, std::string("12"));
    }

    void aRunOfAnotherExperimentTakesNoEntrysPlace() {
        const Home home;
        Experiment experiment = submitted();
        const SlurmRecord record = *readSlurmRecord(experiment.id);
        const RunFolder others = runOf("20260102T030405Z-00000001", second);
        write(others.result(), toJson(done()));
        QVERIFY(slurmAttempts(record, experiment.id)[0].empty());
        QVERIFY(realFileSystem().makeFolders(runFolder(first).path).has_value()); // whose record is not there yet
        write(runFolder(first).result(), toJson(done()));
        reconcile(experiment, record, {job("PENDING")}, slurmAttempts(record, experiment.id));
        QVERIFY(experiment.entries[0].state == EntryState::Queued && experiment.entries[0].earlierRuns.empty());
        experiment.entries[0].state = EntryState::Failed;
        experiment.entries[0].run = second;
        QVERIFY(writeExperiment(experiment).has_value());
        QVERIFY(takeLateResults(experiment.id).has_value());
        QVERIFY(readExperiment(experiment.id)->entries[0].state == EntryState::Failed);
    }

    void aRunWhoseAgentLivesHasNotFailedAndALaterResultWins() {
        const Home home;
        Experiment experiment = submitted();
        const SlurmRecord record = *readSlurmRecord(experiment.id);
        const RunFolder folder = runOf(experiment.id, first);
        {
            const auto agent = FileLock::acquire(folder.lock(0));
            QVERIFY(agent.has_value());
            reconcile(experiment, record, {}, slurmAttempts(record, experiment.id)); // squeue names no job
            QVERIFY(experiment.entries[0].state == EntryState::Running);
        }
        reconcile(experiment, record, {}, slurmAttempts(record, experiment.id));
        QVERIFY(experiment.entries[0].state == EntryState::Failed);
        QVERIFY(writeExperiment(experiment).has_value());
        QVERIFY(takeLateResults(experiment.id).has_value());
        QVERIFY(readExperiment(experiment.id)->entries[0].state == EntryState::Failed);
        write(folder.result(), toJson(done()));
        QVERIFY(takeLateResults(experiment.id).has_value());
        QVERIFY(readExperiment(experiment.id)->entries[0].state == EntryState::Done);
        QVERIFY(readExperiment(experiment.id)->entries[0].reason.empty());
    }

    void thoseThatWaitHaveTheirPlacesByPriorityInTheirPartition() {
        auto jobs = jobsIn("7|7|7|N/A|PENDING|n/a|N/A|5|main|Priority\n6|6|6|N/A|PENDING|n/a|N/A|9|main|Resources\n"
                           "8|8|8|N/A|PENDING|n/a|N/A|1|other|Resources\n5|5|5|N/A|PENDING|n/a|N/A|5|main|Priority\n"
                           "4|4|4|N/A|RUNNING|n1|N/A|99|main|None\n");
        const std::string own = "5|7|N/A|main\n9|6|N/A|main\n1|8|N/A|other\n5|5|N/A|main\n";
        numberPlaces(jobs, own);
        QCOMPARE(jobs[1].place, std::optional(1));
        QCOMPARE(jobs[3].place, std::optional(2));
        QCOMPARE(jobs[0].place, std::optional(3));
        QCOMPARE(jobs[2].place, std::optional(1));
        QVERIFY(!jobs[4].place);
        auto odd = jobsIn("2|2|2|N/A|PENDING|n/a|N/A|-9223372036854775808|main|Priority\n"
                          "1|1|1|N/A|PENDING|n/a|N/A|9223372036854775807|main|Priority\n");
        numberPlaces(odd, "-9223372036854775808|2|N/A|main\n9223372036854775807|1|N/A|main\n");
        QCOMPARE(odd[0].place, std::optional(2));
        QCOMPARE(waitSentence("DDP", jobs[1]),
                 std::string("DDP: job 6 waits, place 1, Resources: it waits for free nodes"));
        numberPlaces(jobs,
                     own + "7|3|0|main\n7|3|1|main\n5|6|2|main\n4|1|N/A|main\n9|1|N/A|third\nno line of a job's\n");
        QCOMPARE(jobs[1].place, std::optional(1));
        QCOMPARE(jobs[3].place, std::optional(4)); // after two tasks of another's array
        QCOMPARE(jobs[0].place, std::optional(6));
        QCOMPARE(jobs[2].place, std::optional(1));
    }

    void anEntryStandsAsItsJobAndItsRunsSay_data() {
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("attempts"); // r: runs, s: stopped, d: done, x: no result and nobody there
        QTest::addColumn<QString>("entry");
        QTest::addColumn<QString>("run");
        QTest::addColumn<int>("earlier");
        const QString a = QString::fromStdString(first), b = QString::fromStdString(second);
        QTest::newRow("waits") << "PENDING"
                               << ""
                               << "queued"
                               << "" << 0;
        QTest::newRow("agents come up") << "RUNNING"
                                        << ""
                                        << "queued"
                                        << "" << 0;
        QTest::newRow("runs") << "RUNNING"
                              << "r"
                              << "running" << a << 0;
        QTest::newRow("done, the job still there") << "COMPLETING"
                                                   << "d"
                                                   << "done" << a << 0;
        QTest::newRow("done") << ""
                              << "d"
                              << "done" << a << 0;
        QTest::newRow("asked to stop, perhaps for a requeue") << "COMPLETING"
                                                              << "s"
                                                              << "running" << a << 0;
        QTest::newRow("requeued") << "PENDING"
                                  << "s"
                                  << "queued"
                                  << "" << 1;
        QTest::newRow("runs again") << "RUNNING"
                                    << "sr"
                                    << "running" << b << 1;
        QTest::newRow("done at last") << ""
                                      << "sd"
                                      << "done" << b << 1;
        QTest::newRow("stopped") << ""
                                 << "s"
                                 << "stopped" << a << 0;
        QTest::newRow("a node died") << ""
                                     << "r"
                                     << "failed" << a << 0;
        QTest::newRow("never ran") << ""
                                   << ""
                                   << "stopped"
                                   << "" << 0;
    }
    void anEntryStandsAsItsJobAndItsRunsSay() {
        QFETCH(QString, state);
        QFETCH(QString, attempts);
        QFETCH(QString, entry);
        QFETCH(QString, run);
        QFETCH(int, earlier);
        std::vector<SlurmAttempt> made;
        for (const QChar c : attempts)
            made.push_back(attempt(made.empty() ? first : second, c == u'd'   ? std::optional(RunState::Done)
                                                                  : c == u's' ? std::optional(RunState::Stopped)
                                                                              : std::nullopt));
        Experiment experiment = experimentOfOne();
        const SlurmRecord record{"12", {0}, {first}, false};
        const auto jobs = state.isEmpty() ? std::vector<SlurmJob>() : std::vector{job(state.toStdString())};
        reconcile(experiment, record, jobs, {made});
        const ExperimentEntry &now = experiment.entries.front();
        QCOMPARE(QString::fromStdString(std::string(toString(now.state))), entry);
        QCOMPARE(QString::fromStdString(now.run), run);
        QCOMPARE(int(now.earlierRuns.size()), earlier);
        QVERIFY(!reconcile(experiment, record, jobs, {made})); // the same again changes nothing
    }

    void anAttemptIsKnownByItsDigits() {
        QVERIFY(attemptDigits(second) == "89abcdef" && attemptDigits(first) == "89abcdef");
        QVERIFY(attemptDigits(other) == "01234567");
        QVERIFY(attemptDigits("x-89abcdef").empty());
    }

    void aRecordComesBackAsItWent() {
        const SlurmRecord record{"12", {0, 2}, {first, other}, true};
        QCOMPARE(*slurmRecordFromJson(toJson(record)), record);
        QVERIFY(!slurmRecordFromJson(R"({"entries":[0],"runs":[]})"));
        QVERIFY(!slurmRecordFromJson(R"({"entries":[0],"runs":["../../x"]})"));
        Experiment two; // another's record may name any entry
        two.entries.resize(2);
        const SlurmRecord wild{"12", {1, 1'000'000, -1}, {first, other, first}, false};
        QVERIFY(entryOf(two, wild, 0) == &two.entries[1]);
        for (const std::size_t task : {std::size_t(1), std::size_t(2), std::size_t(3)})
            QVERIFY(entryOf(two, wild, task) == nullptr);
    }

    void theTasksOfARecordAreDifferentEntriesOfAPlan() { // a small file could name one entry without end
        const auto read = [](std::vector<int> entries) {
            SlurmRecord record;
            record.runs.assign(entries.size(), first);
            record.entries = std::move(entries);
            return slurmRecordFromJson(toJson(record));
        };
        std::vector<int> all(mostRunsPlanned);
        std::iota(all.rbegin(), all.rend(), 0);
        QVERIFY(read(all).has_value());
        const std::vector<std::vector<int>> others = {
            {0, 1, 0}, {-1}, {int(mostRunsPlanned)}, std::vector<int>(2 * mostRunsPlanned, 0)};
        for (const std::vector<int> &bad : others) {
            const auto refused = read(bad);
            QVERIFY(!refused);
            QCOMPARE(refused.error().message(),
                     std::string("slurm.json is damaged: its entries are not different ones from 0 to 9999"));
        }
    }

    void aRecordNamesAJobByItsNumberOnly() { // scancel takes "--user=root" for all jobs of that user
        for (const char *job : {"--user=root", "12 13", "12_1", "-1"})
            QVERIFY2(!slurmRecordFromJson(toJson(SlurmRecord{job, {0}, {first}, false})), job);
    }

    void aStopReachesSlurmAlthoughNobodyWatchesTheQueue() {
        const Home home;
        const FakeSlurm slurm;
        slurm.program("scancel", "echo scancel \"$@\" >> $DIR/said");
        const Experiment experiment = submitted();
        slurm.program("squeue", commented({{"12", slurmMark(experiment.id)}}));
        QueueRequest skip;
        skip.kind = QueueRequest::Kind::Skip;
        skip.entry = 0;
        QVERIFY(!requestQueue(experiment.id, skip));
        QVERIFY(readExperiment(experiment.id)->entries[0].state == EntryState::Queued);
        QVERIFY(stopExperiment(experiment.id, "the test").has_value());
        QCOMPARE(slurm.said(), std::string("scancel 12\n"));
        QVERIFY(readSlurmRecord(experiment.id)->cancelled);
    }

    void aJobWhoseSubmissionWasInterruptedIsFoundByItsMark_data() {
        QTest::addColumn<QString>("command");
        QTest::newRow("submitted again") << "submit";
        QTest::newRow("cancelled") << "cancel";
        QTest::newRow("stopped") << "stop";
    }
    void aJobWhoseSubmissionWasInterruptedIsFoundByItsMark() {
        if (!QFile::exists(bin + QStringLiteral("/lockstepctl")))
            QSKIP("lockstepctl is not built");
        QFETCH(QString, command);
        const Home home;
        const FakeSlurm slurm;
        const Experiment experiment = inSlurm("");
        slurm.program("sbatch", "echo sbatch >> $DIR/said\nkill -KILL $PPID");
        slurm.program("squeue", commented({{"12", slurmMark(experiment.id)}}));
        slurm.program("scancel", "echo scancel \"$@\" >> $DIR/said");
        const QString id = QString::fromStdString(experiment.id);
        (void)ctl({QStringLiteral("slurm"), QStringLiteral("submit"), id});
        QTRY_COMPARE(slurm.said(), std::string("sbatch\n"));
        if (command == QStringLiteral("submit")) {
            const auto again = submitSlurmExperiment(experiment.id);
            QVERIFY(again.has_value() && again->recorded.has_value());
            QCOMPARE(again->job, std::string("12"));
        } else if (command == QStringLiteral("cancel")) {
            const Answer cancelled = ctl({QStringLiteral("slurm"), command, id});
            QVERIFY2(cancelled.code == 0, cancelled.err.constData());
        } else {
            QVERIFY(stopExperiment(experiment.id, "the test").has_value());
        }
        QCOMPARE(slurm.said(), std::string(command == QStringLiteral("submit") ? "sbatch\n" : "sbatch\nscancel 12\n"));
        const auto record = readSlurmRecord(experiment.id);
        QVERIFY(record.has_value() && !record->unanswered);
        QCOMPARE(record->job, std::string("12"));
    }

    void aSubmissionThatSlurmRefusesLeavesNothingToLookFor() {
        const Home home;
        const FakeSlurm slurm;
        const Experiment experiment = inSlurm("");
        slurm.program("sbatch", "exit 1");
        slurm.program("squeue", "exit 0");
        QVERIFY(!submitSlurmExperiment(experiment.id).has_value());
        QVERIFY(!readSlurmRecord(experiment.id)->unanswered);
    }

    void oneAnswerWithoutTheJobEndsNothingAndNobodysFilterHidesIt() {
        const Home home;
        const FakeSlurm slurm;
        slurm.program("squeue",
                      "echo $SQUEUE_STATES. >> $DIR/said\n"
                      "test $(wc -l < $DIR/said) -le 2 || echo '12|12|12|N/A|PENDING|n/a|N/A|10|main|Resources'");
        qputenv("SQUEUE_STATES", "RUNNING");
        qputenv("LOCKSTEP_SQUEUE_S", "0.1");
        const Experiment experiment = submitted();
        SlurmWatch watch;
        QVERIFY(watch.own(experiment.id).has_value());
        watch.start();
        QTRY_VERIFY(slurm.said().size() >= 10);
        QCOMPARE(slurm.said().substr(0, 10), std::string(".\n.\n.\n.\n.\n"));
        QVERIFY(watch.experiment().entries[0].state == EntryState::Queued);
        slurm.program("squeue", "exit 0");
        QTRY_VERIFY(watch.experiment().entries[0].state == EntryState::Stopped); // several in a row do
        qunsetenv("SQUEUE_STATES");
        qunsetenv("LOCKSTEP_SQUEUE_S");
    }

    void aPersonsVariablesChangeNeitherWhatTheScriptSaysNorWhatIsCancelled() {
        const FakeSlurm slurm;
        slurm.program("sbatch", "env | grep ^SBATCH_ | sort >> $DIR/said\necho 12");
        slurm.program("scancel", "env | grep -c ^SCANCEL_ >> $DIR/said\necho scancel \"$@\" >> $DIR/said");
        const std::vector<const char *> variables = {"SBATCH_ACCOUNT",     "SBATCH_ARRAY_INX", "SBATCH_GPUS",
                                                     "SBATCH_MEM_PER_CPU", "SBATCH_PARTITION", "SBATCH_QOS",
                                                     "SBATCH_TIMELIMIT",   "SBATCH_WAIT",      "SCANCEL_STATE"};
        for (const char *variable : variables)
            qputenv(variable, "1");
        const Submitted most = submitToSlurm("#SBATCH --partition=other --ti 10\n#SBATCH --mem=4G -Alab\n", "log", "");
        const Submitted none = submitToSlurm("#SBATCH --nodes=1\necho --qos -q\n", "log", "");
        const Result<void> cancelled = cancelSlurmJob("12");
        for (const char *variable : variables)
            qunsetenv(variable);
        QVERIFY(most.job == "12" && none.job == "12" && cancelled.has_value());
        QCOMPARE(slurm.said(), std::string("SBATCH_QOS=1\n"
                                           "SBATCH_ACCOUNT=1\nSBATCH_MEM_PER_CPU=1\nSBATCH_PARTITION=1\nSBATCH_QOS=1\n"
                                           "SBATCH_TIMELIMIT=1\n0\nscancel 12\n"));
    }

    void attemptsStandInTheOrderOfTheirJobsRestartsThoughANodesClockIsBehind() {
        const Home home;
        const std::string experiment = makeRunId();
        for (const auto &[run, restarts] : {std::pair(second, 0), std::pair(first, 1)})
            write(runOf(experiment, run).origin(), "{\"restarts\":" + std::to_string(restarts) + "}\n");
        const auto attempts = slurmAttempts(SlurmRecord{"12", {0}, {second}, false}, experiment);
        QCOMPARE(attempts[0].size(), std::size_t(2));
        QCOMPARE(attempts[0][0].run, second);
        QCOMPARE(attempts[0][1].run, first);
    }

    void aRunIsAnAttemptOfOneTaskOnly() {
        const Home home;
        const std::string experiment = makeRunId();
        write(runOf(experiment, first).origin(), "{\"restarts\":0}\n");
        const auto attempts = slurmAttempts(SlurmRecord{"12", {0, 1, 2}, {first, second, first}, false}, experiment);
        QCOMPARE(attempts[0].size(), std::size_t(1));
        QVERIFY(attempts[1].empty() && attempts[2].empty());
    }

    void aNodeOfAJobIsReachedBySrunAndNoShellReadsIt() {
        const auto prefix = prefixFor("slurm:12/n1", "/opt/lock step/agent");
        QVERIFY(prefix.has_value());
        const auto words = agentCommand(*prefix, {"attach", "a b"});
        QCOMPARE(words.front(), std::string("srun"));
        QVERIFY(std::find(words.begin(), words.end(), "--overlap") != words.end());
        QVERIFY(std::find(words.begin(), words.end(), "--nodelist=n1") != words.end());
        QCOMPARE(words[words.size() - 3], std::string("/opt/lock step/agent"));
        QCOMPARE(words.back(), std::string("a b"));
        for (const char *bad :
             {"slurm:", "slurm:12", "slurm:12/", "slurm:x/n1", "slurm:12/-w", "slurm:12/n1;x", "slurm:1 2/n1"})
            QVERIFY2(!prefixFor(bad), bad);
    }

    void namesForSchedulersArePlain() {
        QCOMPARE(jobName("DDP on 2 devices"), std::string("ddp-x2"));
        QCOMPARE(jobName("'; rm -rf /"), std::string("rm-rf"));
        QCOMPARE(jobName("8 ranks"), std::string("run-8-ranks"));
        QCOMPARE(jobName(""), std::string("run"));
        QVERIFY(jobName(std::string(500, 'a')).size() <= 40);
        QCOMPARE(commentText("a\nb\x1b"), std::string("a b "));
    }
};

QTEST_GUILESS_MAIN(SlurmTest)
#include "slurm_test.moc"
