// SPDX-License-Identifier: MIT
// The queue with a real agent and fake ranks: real processes, sockets, files.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include <QSignalSpy>

#include "base/command_prefix.h"
#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "follow/run_follower.h"
#include "ipc/alerts.h"
#include "queue/experiment_follower.h"
#include "queue/experiment_runner.h"
#include "queue/queue_run.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreRunnerTest : public QObject {
    Q_OBJECT
    std::unique_ptr<FakeRankHome> m_home;

    static Experiment oneRun() {
        const Recipe recipe =
            *recipeFromJson(R"({"name":"mine","runs":[{"method":"baseline","devices":1,"epochs":1}]})");
        return makeExperiment(*expand(recipe, localMachineFacts()), recipe, false, {});
    }
    static std::string headerOf(const std::string &run, int format, int node = 0, std::uint64_t seq = 0) {
        return sealLine(encode(frame(HeaderFrame{format, run, {}}, std::nullopt, 0)), node, seq) + "\n";
    }
    /// A run's folder that a newer Lockstep has begun to fill.
    static std::string newerRun() {
        const std::string run = makeRunId();
        std::filesystem::create_directories(runFolder(run).path);
        write(runFolder(run).log(0), headerOf(run, logFormat + 1));
        return run;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
    }
    void init() { m_home = std::make_unique<FakeRankHome>("step_ms=10"); }
    void cleanup() { m_home.reset(); }

    void aRecipeRunsToItsTable() {
        QTemporaryDir out;
        const Answer answer = ctl(quickRun + QStringList{QStringLiteral("--out"), out.path()});
        QVERIFY2(answer.code == 0, answer.err.constData());
        QVERIFY(answer.out.contains("baseline  epoch 1/3  loss "));
        QVERIFY(answer.out.contains("speed-up"));
        QVERIFY(answer.out.contains("published, 8 × H100, sum of epoch durations"));
        for (const char *file :
             {"results.csv", "results.json", "results.md", "results.tex", "results.html", "curves.csv", "curves.json"})
            QVERIFY2(QFileInfo(out.filePath(QString::fromLatin1(file))).size() > 0, file);
        const Answer list = ctl({QStringLiteral("list"), QStringLiteral("--json")});
        const auto json = nlohmann::json::parse(list.out.toStdString());
        QVERIFY(json["runs"].size() >= 3);
        for (const auto &run : json["runs"])
            QCOMPARE(run["state"].get<std::string>(), std::string("done"));
        const Answer curves = ctl({QStringLiteral("export"), QString::fromStdString(json["runs"][0]["run"]),
                                   QStringLiteral("--what"), QStringLiteral("curves")});
        QVERIFY(curves.out.startsWith("Wall time,Step,Value\r\n"));
        QVERIFY(curves.out.count('\n') > 2);
    }

    void theRunnerKilledTheRunGoesOnAndTheQueueIsResumed() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Running);
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QTRY_VERIFY(!isOwned(started.experiment));
        const std::string run = read(started.experiment).entries[0].run;

        ExperimentFollower viewer;
        QVERIFY(viewer.open(started.experiment).has_value());
        QVERIFY(viewer.orphaned());
        QVERIFY(readRunStatus(runFolder(run)).kind == RunStatus::Kind::Running); // the run does not care

        const Answer second =
            ctl({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(started.experiment)});
        QVERIFY2(second.code == 0, second.err.constData());
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries[0].run, run); // attached to, not started again
        for (const ExperimentEntry &entry : after.entries)
            QVERIFY(!entry.planned.runnable() || entry.state == EntryState::Done);
        RunStore store(QString::fromStdString(run));
        QVERIFY(loadRun(store, runFolder(run)).has_value());
        QVERIFY(store.log().gaps.empty());
        QCOMPARE(store.epochs().merged().size(), std::size_t(3));
        const Answer third =
            ctl({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(started.experiment)});
        QCOMPARE(third.code, 2); // over: nothing to resume
    }

    void killedBetweenTheIdAndTheAgentsAnswerTheRunIsFoundOrStarted_data() {
        QTest::addColumn<bool>("cameUp");
        QTest::newRow("the agent came up") << true;
        QTest::newRow("it did not") << false;
    }
    void killedBetweenTheIdAndTheAgentsAnswerTheRunIsFoundOrStarted() {
        QFETCH(bool, cameUp);
        Experiment experiment = oneRun();
        experiment.entries[0].state = EntryState::Launching;
        RunRecord record = ddpRecord({});
        record.experiment = experiment.id;
        experiment.entries[0].run = cameUp ? finishedRun(1, &record) : "20260102T030405Z-0badcafe";
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentRunner runner;
        QVERIFY(runner.own(experiment.id).has_value());
        QSignalSpy finished(&runner, &ExperimentRunner::finished);
        runner.start();
        QVERIFY(finished.wait(test::hangLimitMs));
        QCOMPARE(runner.exitCode(), 0);
        const ExperimentEntry after = read(experiment.id).entries[0];
        QVERIFY(after.state == EntryState::Done);
        // Its agent may be about to start, and must not find another run of the entry beside it.
        QCOMPARE(after.run, experiment.entries[0].run);
    }

    void anAgentThatIsSlowToStartIsNotStartedTwice() {
        QTemporaryDir folder;
        const QString slow = folder.filePath(QStringLiteral("agent")), once = folder.filePath(QStringLiteral("once"));
        write(slow.toStdString(), "#!/bin/sh\nif [ \"$1\" = serve ] && mkdir " + once.toStdString() +
                                      " 2>/dev/null; then sleep 1; fi\nexec " +
                                      (bin + QStringLiteral("/lockstep-agent")).toStdString() + " \"$@\"\n");
        QVERIFY(QFile::setPermissions(slow, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        qputenv("LOCKSTEP_AGENT", slow.toUtf8());
        const Detached started = startDetached();
        QTRY_VERIFY(QFile::exists(once));
        const std::string run = read(started.experiment).entries[0].run;
        QVERIFY(!run.empty());
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QTRY_VERIFY(!isOwned(started.experiment));
        const Answer second =
            ctl({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(started.experiment)});
        QVERIFY(useFakeRanks());
        QVERIFY2(second.code == 0, second.err.constData());
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries[0].run, run);
        const auto runnable =
            std::ranges::count_if(after.entries, [](const ExperimentEntry &entry) { return entry.planned.runnable(); });
        QCOMPARE(QDir(QString::fromStdString(runsFolder())).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(),
                 qsizetype(runnable));
    }

    // A run that nobody has written down would be lost with its owner, or be made twice.
    void noRunStartsBeforeTheDiskHasIt() {
        const Experiment experiment = oneRun();
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentRunner runner;
        QVERIFY(runner.own(experiment.id).has_value());
        const QString json = QString::fromStdString(experimentFolder(experiment.id).json());
        QVERIFY(QFile::remove(json) && QDir().mkpath(json)); // nothing can be written there
        QSignalSpy finished(&runner, &ExperimentRunner::finished);
        runner.start();
        QVERIFY(runner.experiment().entries[0].state == EntryState::Queued);
        QVERIFY(QDir(QString::fromStdString(runsFolder())).isEmpty());
        QVERIFY(QDir().rmdir(json));
        QVERIFY(finished.wait(test::hangLimitMs));
        QCOMPARE(runner.exitCode(), 0);
        QVERIFY(read(experiment.id).entries[0].state == EntryState::Done);
    }

    void aRequestThatComesWhenTheLastRunEndsIsCarriedOut() {
        const Experiment experiment = oneRun();
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentRunner runner;
        QVERIFY(runner.own(experiment.id).has_value());
        bool asked = false;
        connect(&runner, &ExperimentRunner::experimentChanged, this, [&] {
            if (asked || runner.experiment().entries[0].state != EntryState::Done)
                return;
            asked = true;
            QueueRequest again;
            again.kind = QueueRequest::Kind::Retry;
            again.entry = 0;
            QVERIFY(requestQueue(experiment.id, again));
        });
        QSignalSpy finished(&runner, &ExperimentRunner::finished);
        runner.start();
        QVERIFY(finished.wait(test::hangLimitMs));
        QVERIFY(asked);
        const Experiment after = read(experiment.id);
        QVERIFY(after.over());
        QCOMPARE(std::ranges::count(after.entries, EntryState::Done, &ExperimentEntry::state) +
                     std::ptrdiff_t(after.entries[0].earlierRuns.size()),
                 2);
        QVERIFY(pendingRequests(experimentFolder(experiment.id)).empty());
        QVERIFY(!isOwned(experiment.id)); // while its results are read and printed, too
    }

    void anAgentKilledIsReportedAndTheQueueGoesOn() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Running);
        const std::string run = read(started.experiment).entries[0].run;
        RunStore store(QString::fromStdString(run));
        RunFollower viewer(&store, QString::fromStdString(run));
        QSignalSpy ended(&viewer, &RunFollower::ended);
        viewer.start();
        QTRY_VERIFY(!store.losses().all().points().empty());
        const pid_t agent = std::atoi(realFileSystem().readAll(runFolder(run).lock(0))->c_str());
        QVERIFY(agent > 1);
        QCOMPARE(::kill(agent, SIGKILL), 0);
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("failed: agent died"));
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Failed);
        QCOMPARE(read(started.experiment).entries[0].reason, std::string("agent died"));
        QTRY_VERIFY(read(started.experiment).entries[1].state == EntryState::Running);
        QTRY_VERIFY(::kill(pid_t(*store.ranks().all().at(0).pid), 0) != 0); // no orphan
    }

    void aRankKilledIsNamedAndTheNextRunStarts() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Running);
        const std::string run = read(started.experiment).entries[0].run;
        RunStore store(QString::fromStdString(run));
        RunFollower viewer(&store, QString::fromStdString(run));
        viewer.start();
        QTRY_VERIFY(store.ranks().all().contains(0) && store.ranks().all().at(0).pid);
        QCOMPARE(::kill(pid_t(*store.ranks().all().at(0).pid), SIGKILL), 0);
        QTRY_VERIFY(store.result().has_value());
        QVERIFY2(store.lifecycle().sentence().contains(QStringLiteral("rank 0")),
                 qPrintable(store.lifecycle().sentence()));
        QVERIFY(store.lifecycle().sentence().contains(QStringLiteral("SIGKILL")));
        QTRY_VERIFY(read(started.experiment).entries[1].state == EntryState::Running);
    }

    void anExperimentWhoseFolderIsRemovedEndsItsQueueAndStartsNothingMore() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Running);
        const std::string run = read(started.experiment).entries[0].run;
        ExperimentFollower viewer;
        QVERIFY(viewer.open(started.experiment).has_value());
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QTRY_VERIFY(!store.losses().all().points().empty());

        const std::string home = dataHome();
        QVERIFY(QDir(QString::fromStdString(home)).removeRecursively());
        QTRY_VERIFY(::kill(started.owner, 0) != 0);
        QVERIFY(ended.count() == 1 || ended.wait(lockstep::test::hangLimitMs));
        QCOMPARE(store.lifecycle().linkSentence(), QStringLiteral("the run's folder %1 was removed while it ran")
                                                       .arg(QString::fromStdString(runFolder(run).path)));
        QTRY_VERIFY(viewer.experiment().over());
        QCOMPARE(viewer.experiment().entries[1].reason, std::string("the experiment's folder was removed"));
        QTRY_VERIFY(::kill(pid_t(*store.ranks().all().at(0).pid), 0) != 0);
        QVERIFY(!QFile::exists(QString::fromStdString(home))); // nothing was put in its place
    }

    void aRunOfANewerFormatIsRefusedWithASentence() {
        const std::string run = newerRun();
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QVERIFY2(store.lifecycle().linkSentence().contains(QStringLiteral("newer Lockstep")),
                 qPrintable(store.lifecycle().linkSentence()));
        const Answer attached = ctl({QStringLiteral("attach"), QString::fromStdString(run)});
        QCOMPARE(attached.code, 1);
        QVERIFY2(attached.err.contains("newer Lockstep"), attached.err.constData());
        QCOMPARE(realFileSystem().readAll(runFolder(run).log(0)).value(), headerOf(run, logFormat + 1)); // untouched
    }

    void aFurtherNodesNewerLogIsLeftOutAndALaterHeaderSaysNothing() {
        const std::string run = makeRunId();
        const RunFolder folder = runFolder(run);
        std::filesystem::create_directories(folder.path);
        const Frame alert = frame(makeAlert("disk_low", "node 1's own"), std::nullopt, 0);
        write(folder.log(0), headerOf(run, logFormat) + headerOf(run, logFormat + 1, 0, 1));
        write(folder.log(1), headerOf(run, logFormat + 1, 1) + sealLine(encode(alert), 1, 1) + "\n" +
                                 headerOf(run, logFormat + 1, 1, 2));
        RunResult result = doneResult(run, 2);
        result.nodeLogLines = {{1, 3}};
        write(folder.result(), toJson(result));
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QVERIFY2(store.lifecycle().link() == LinkState::Finished, qPrintable(store.lifecycle().linkSentence()));
        const std::string why = "the log of node 1 was written by a newer Lockstep (log format " +
                                std::to_string(logFormat + 1) + ", this one knows " + std::to_string(logFormat) +
                                "): none of it counts";
        QCOMPARE(store.messages().alerts().size(), std::size_t(1));
        QCOMPARE(store.messages().alerts()[0].alert.message, why);
        QVERIFY(std::ranges::count(outcomeOf(store).warnings, why) == 1);
    }

    void aRunThatCanNotBeFollowedIsOverForItsQueueOnlyOnceItsAgentIs() {
        const std::string run = newerRun();
        auto locked = FileLock::acquire(runFolder(run).lock(0));
        QVERIFY(locked.has_value());
        std::optional<FileLock> agent(std::move(*locked));
        QueueRun queued(makeRunId());
        QSignalSpy ended(&queued, &QueueRun::ended);
        const RunStore *store = queued.follow(run, {});
        queued.startFollowing();
        QTRY_VERIFY(store->lifecycle().link() == LinkState::Failed);
        QCoreApplication::processEvents();
        QCOMPARE(ended.count(), 0); // it trains on
        agent.reset();
        QTRY_COMPARE(ended.count(), 1);
    }

    void aRunWhoseRecordIsNoneIsNotTakenForOneOfWhichNothingWasAsked() {
        const std::string run = makeRunId();
        const RunFolder folder = runFolder(run);
        QVERIFY(realFileSystem().makeFolders(folder.path).has_value());
        RunResult result;
        result.run = run;
        result.state = RunState::Done;
        result.summary.emplace().totalTrainingTimeS = 5.0;
        QVERIFY(realFileSystem().writeAtomically(folder.config(), R"({"command":"train.py"})").has_value());
        QVERIFY(realFileSystem().writeAtomically(folder.result(), toJson(result)).has_value());
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(lockstep::test::hangLimitMs));
        QVERIFY2(store.lifecycle().linkSentence().startsWith(QStringLiteral("the run's record can't be read: ")),
                 qPrintable(store.lifecycle().linkSentence()));
        QVERIFY(!outcomeOf(store).totalTrainingTimeS);
    }

    void aQueueHasOneOwner() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        ExperimentRunner second;
        const auto owned = second.own(started.experiment);
        QVERIFY(!owned.has_value());
        QVERIFY2(owned.error().message().find(std::to_string(started.owner)) != std::string::npos,
                 owned.error().message().c_str());
    }

    void aStopEndsTheRunAndTheQueue() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries[0].state == EntryState::Running);
        QCOMPARE(ctl({QStringLiteral("stop"), QString::fromStdString(started.experiment)}).code, 0);
        QVERIFY(read(started.experiment).queued().empty()); // an owner that dies now leaves nothing to start
        QTRY_VERIFY(read(started.experiment).over());
        const Experiment after = read(started.experiment);
        QVERIFY(after.entries[0].state == EntryState::Stopped);
        QVERIFY(after.entries[1].state == EntryState::Stopped);
        QVERIFY(after.entries[1].run.empty());
        QCOMPARE(ctl({QStringLiteral("attach"), QString::fromStdString(started.experiment)}).code, 130);
    }

    void ctrlCStopsRunAndQueueWith130() {
        qputenv("FAKE_RANK", "step_ms=40");
        QProcess process;
        process.start(bin + QStringLiteral("/lockstepctl"), quickRun);
        QTRY_VERIFY(!listExperiments().empty() && read(listExperiments()[0]).entries[0].state == EntryState::Running);
        ::kill(pid_t(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(test::hangLimitMs));
        QCOMPARE(process.exitCode(), 130);
        QVERIFY(read(listExperiments()[0]).over());
    }

    void aRunLooksTheSameLiveAndReplayed() {
        qputenv("FAKE_RANK", "step_ms=20");
        const Detached started = startDetached();
        QTRY_VERIFY(!read(started.experiment).entries[0].run.empty() &&
                    read(started.experiment).entries[0].state == EntryState::Running);
        const QString run = QString::fromStdString(read(started.experiment).entries[0].run);
        RunStore live(run), replayed(run);
        RunFollower follower(&live, run);
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(test::hangLimitMs));
        QVERIFY(loadRun(replayed, runFolder(run.toStdString())).has_value());
        QCOMPARE(live.log().frames, replayed.log().frames);
        QCOMPARE(live.losses().all().points().size(), replayed.losses().all().points().size());
        QCOMPARE(follower.nextSeq(), replayed.result()->logLines);
        QVERIFY(live.log().gaps.empty());
    }

    void whatIsRefusedStartsNothingAndLeavesNothing_data() {
        QTest::addColumn<QStringList>("extra");
        QTest::addColumn<QByteArray>("reported");
        const auto set = [](const char *pair) {
            return QStringList{QStringLiteral("--set"), QString::fromLatin1(pair)};
        };
        QTest::newRow("unknown key") << set("batchsize=3") << QByteArray("did you mean \"batch_size\"?");
        QTest::newRow("indivisible batch") << set("batch_size=63") << QByteArray("63 can't be divided");
        QTest::newRow("read-only output")
            << QStringList{QStringLiteral("--out"), QStringLiteral("/proc/x")} << QByteArray("/proc/x");
        QTest::newRow("host that is an option")
            << QStringList{QStringLiteral("--host=-oProxyCommand=x")} << QByteArray("is refused");
        QTest::newRow("host with shell in it") << QStringList{QStringLiteral("--host=a;b")} << QByteArray("is refused");
    }
    void whatIsRefusedStartsNothingAndLeavesNothing() {
        QFETCH(QStringList, extra);
        QFETCH(QByteArray, reported);
        const Answer answer = ctl(quickRun + extra);
        QCOMPARE(answer.code, 2);
        QVERIFY2(answer.err.contains(reported), answer.err.constData());
        QVERIFY(listExperiments().empty());
        QVERIFY(!QDir(QString::fromStdString(runsFolder())).exists() ||
                QDir(QString::fromStdString(runsFolder())).isEmpty());
    }

    void aHostThatWasNeverReachedEndsTheQueueWithWhatSshSays_data() {
        QTest::addColumn<QString>("nodes");
        QTest::addColumn<int>("ran");
        QTest::newRow("of the first node") << QStringLiteral("nohost%lo:0;.%lo:0") << 0;
        QTest::newRow("of a further node, after a run here") << QStringLiteral(".%lo:0;nohost%lo:0") << 1;
    }
    void aHostThatWasNeverReachedEndsTheQueueWithWhatSshSays() {
        QFETCH(QString, nodes);
        QFETCH(int, ran);
        const QTemporaryDir folder;
        const QString ssh = folder.filePath(QStringLiteral("ssh"));
        write(ssh.toStdString(), "#!/bin/sh\necho 'ssh: Could not resolve hostname nohost' >&2\nexit 255\n");
        QVERIFY(QFile::setPermissions(ssh, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        const QByteArray path = qgetenv("PATH");
        qputenv("PATH", folder.path().toUtf8() + ':' + path);
        const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--no-check"),
                                   QStringLiteral("--set"), QStringLiteral("nodes=") + nodes},
                                  60'000, R"({"name":"mine","base":{"epochs":1,"batch_size":64,"train_samples":640,
                                  "oversubscribe":true},"runs":[{"method":"baseline","devices":[0]},
                                  {"method":"ddp","devices":[0,1]}]})");
        qputenv("PATH", path);
        QCOMPARE(answer.code, 2);
        QVERIFY2(answer.err.contains("nohost can't be reached: ssh: Could not resolve hostname nohost"),
                 answer.err.constData());
        const QDir runs(QString::fromStdString(runsFolder()));
        QCOMPARE(int(runs.entryList(QDir::Dirs | QDir::NoDotAndDotDot).size()), ran);
    }

    void aTrainerThatRefusesEndsTheQueueWithItsSentence() {
        qputenv("LOCKSTEP_TRAINER", "/nonexistent/trainer");
        const Answer answer = ctl(quickRun);
        qputenv("LOCKSTEP_TRAINER", (bin + QStringLiteral("/fake_rank")).toUtf8());
        QCOMPARE(answer.code, 2);
        QVERIFY2(answer.err.contains("/nonexistent/trainer"), answer.err.constData());
        QVERIFY(listExperiments().empty());
        QVERIFY(QDir(QString::fromStdString(runsFolder())).isEmpty() ||
                !QDir(QString::fromStdString(runsFolder())).exists());
    }

    void aScriptThatEndsWithTwoHasFailedAsAnyOtherAndTheQueueGoesOn() {
        const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--no-check")}, 60'000,
                                  R"({"name":"mine","runs":[
                    {"name":"a","method":"baseline","devices":1,"command":["sh","-c","echo hours of results; exit 2"]},
                    {"name":"b","method":"baseline","devices":1,"command":["true"]}]})");
        QCOMPARE(answer.code, 1);
        QCOMPARE(listExperiments().size(), std::size_t(1));
        const Experiment after = read(listExperiments()[0]);
        QVERIFY(after.entries[0].state == EntryState::Failed);
        QVERIFY(after.entries[1].state == EntryState::Done);
        const auto console = realFileSystem().readAll(runFolder(after.entries[0].run).console(0));
        QVERIFY(console && console->find("hours of results") != std::string::npos);
    }

    void repeatsStartInTheFolderThatTheExperimentWasMadeIn() {
        const QString before = QDir::currentPath();
        const auto back = qScopeGuard([&] { QDir::setCurrent(before); });
        QTemporaryDir made;
        const QTemporaryDir other;
        for (const QTemporaryDir *folder : {&std::as_const(made), &other})
            write(folder->filePath(QStringLiteral("train.sh")).toStdString(), "echo run >> runs\n");
        QVERIFY(QDir::setCurrent(made.path()));
        const Answer first = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--no-check")}, 60'000,
                                 R"({"name":"mine","runs":[{"method":"baseline","devices":1,
                                     "command":["sh","train.sh"]}]})");
        QVERIFY2(first.code == 0, first.err.constData());
        const std::string id = listExperiments()[0];
        const QStringList again = {QStringLiteral("repeat"), QString::fromStdString(id), QStringLiteral("1")};
        QVERIFY(QDir::setCurrent(other.path()));
        QCOMPARE(ctl(again).code, 0);
        QTRY_VERIFY(read(id).over() && !isOwned(id));
        const std::string runs = made.filePath(QStringLiteral("runs")).toStdString();
        QCOMPARE(realFileSystem().readAll(runs).value_or(""), std::string("run\nrun\n"));
        QVERIFY(!QFile::exists(other.filePath(QStringLiteral("runs"))));
        QCOMPARE(read(id).entries.size(), std::size_t(2));
        for (const ExperimentEntry &entry : read(id).entries)
            QCOMPARE(readRunRecord(runFolder(entry.run))->folder, QDir(made.path()).canonicalPath().toStdString());

        QVERIFY(made.remove());
        QCOMPARE(ctl(again).code, 0);
        QTRY_VERIFY(read(id).over() && !isOwned(id));
        QCOMPARE(read(id).entries.size(), std::size_t(3));
        const ExperimentEntry last = read(id).entries.back();
        QVERIFY(last.state == EntryState::Failed);
        QVERIFY2(last.reason.find("is gone or can't be entered") != std::string::npos, last.reason.c_str());
    }

    void aRecipeComesInOnStdin() {
        const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--json")}, 60'000,
                                  R"({"name":"mine","runs":[{"method":"baseline","devices":1,"epochs":1}]})");
        QVERIFY2(answer.code == 0, answer.err.constData());
        const auto json = nlohmann::json::parse(answer.out.toStdString(), nullptr, false);
        QCOMPARE(json["exit_code"].get<int>(), 0);
        QCOMPARE(json["results"]["rows"][0]["epochs"].size(), std::size_t(1));
    }
};

QTEST_GUILESS_MAIN(CoreRunnerTest)
#include "runner_test.moc"
