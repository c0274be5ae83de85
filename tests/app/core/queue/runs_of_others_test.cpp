// SPDX-License-Identifier: MIT
// Runs that an experiment's document names, but that are another's: nobody follows, stops or removes them for it.
#include <filesystem>

#include <QScopeGuard>
#include <QSignalSpy>

#include "core_queue_support.h"
#include "follow/run_follower.h"
#include "ipc/file_system.h"
#include "ipc/messages.h"
#include "nodes/known_places.h"
#include "queue/experiment_runner.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

const QueueRequest stop = [] {
    QueueRequest out;
    out.kind = QueueRequest::Kind::Stop;
    out.by = "the test";
    return out;
}();

} // namespace

class RunsOfOthersTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void init() { m_home = std::make_unique<Home>(); }
    void cleanup() { m_home.reset(); }

    void aRunOfAnotherIsNeitherFollowedNorStoppedNorRemoved_data() {
        QTest::addColumn<EntryState>("state");
        QTest::addColumn<std::string>("whose");
        QTest::addColumn<bool>("stopped");
        QTest::newRow("running, nobody's") << EntryState::Running << std::string() << false;
        QTest::newRow("running, another's") << EntryState::Running << makeRunId() << false;
        QTest::newRow("launching") << EntryState::Launching << makeRunId() << false;
        QTest::newRow("stopped, nobody's") << EntryState::Running << std::string() << true;
        QTest::newRow("stopped, another's") << EntryState::Launching << makeRunId() << true;
    }
    void aRunOfAnotherIsNeitherFollowedNorStoppedNorRemoved() {
        QFETCH(EntryState, state);
        QFETCH(std::string, whose);
        QFETCH(bool, stopped);
        RunRecord record = ddpRecord({});
        record.experiment = whose;
        Experiment experiment = ofOneRun(state);
        const std::string run = finishedRun(1, &record), console = runFolder(run).path + "/precious";
        RunResult refused = doneResult(run, 1); // as a script ends by exit 2
        refused.state = RunState::Failed;
        refused.exitCode = exitBadArguments;
        write(runFolder(run).result(), toJson(refused));
        write(runFolder(run).log(0), sealed(run, {}).front() + "\n");
        write(console, "important");
        experiment.entries[0].run = run;
        QVERIFY(writeExperiment(experiment).has_value());
        if (stopped) {
            const auto alive = FileLock::acquire(runFolder(run).lock(0)); // it would be asked, and would not answer
            QVERIFY(alive.has_value());
            const Result<void> asked = requestQueue(experiment.id, stop);
            QVERIFY2(asked.has_value(), asked ? "" : asked.error().message().c_str());
        } else {
            ExperimentRunner runner;
            QVERIFY(runner.own(experiment.id).has_value());
            QSignalSpy finished(&runner, &ExperimentRunner::finished), followed(&runner, &ExperimentRunner::runStarted);
            runner.start();
            QTRY_COMPARE(finished.count(), 1);
            QCOMPARE(finished[0][0].toInt(), 1);
            QCOMPARE(followed.count(), 0);
            runner.discard();
        }
        QVERIFY(isThere(console));
        const ExperimentEntry after = read(experiment.id).entries.at(0);
        QVERIFY(after.state == EntryState::Failed && after.run.empty());
        QCOMPARE(after.reason, "run " + run + " is none of this experiment's: its record names " +
                                   (whose.empty() ? "no experiment" : "experiment " + whose));
    }

    /// The machine far is another data home here, behind a program called ssh.
    void aRunElsewhereIsStoppedOnlyForTheExperimentThatItsRecordThereNames() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
        const QTemporaryDir folder;
        const std::string far = folder.path().toStdString();
        write(far + "/ssh", "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nLOCKSTEP_HOME='" + far +
                                "' exec sh -c \"$*\"\n");
        std::filesystem::permissions(far + "/ssh", std::filesystem::perms::owner_all);
        const QByteArray path = qgetenv("PATH");
        qputenv("PATH", folder.path().toUtf8() + ':' + path);
        const auto restore = qScopeGuard([&] { qputenv("PATH", path); });
        const CommandPrefix there = prefixFor("far", (bin + QStringLiteral("/lockstep-agent")).toStdString()).value();
        QVERIFY(rememberPlace(there).has_value());
        for (const bool own : {true, false}) {
            Experiment experiment = ofOneRun(EntryState::Running);
            RunRecord record = ddpRecord({});
            record.experiment = own ? experiment.id : makeRunId();
            const std::string run = finishedRun(own ? 1 : 2, &record);
            std::filesystem::create_directories(far + "/runs");
            std::filesystem::rename(runFolder(run).path, far + "/runs/" + run);
            experiment.host = there.host;
            experiment.remoteAgent = there.agent;
            experiment.entries[0].run = run;
            QVERIFY(writeExperiment(experiment).has_value());
            const Result<void> asked = requestQueue(experiment.id, stop);
            const std::string said = asked ? "" : asked.error().message();
            QVERIFY2(asked.has_value() == own, said.c_str());
            QVERIFY2(own || said.find("run " + run + " is none of this experiment's: its record names experiment " +
                                      record.experiment) != std::string::npos,
                     said.c_str());
            QVERIFY(read(experiment.id).entries.at(0).state == (own ? EntryState::Stopped : EntryState::Running));
        }
    }

    /// Its copy here, which came with the experiment, says what that one's author wants.
    void aRunThatIsFollowedElsewhereIsAskedToStopWhereItsRecordIs() {
        const QTemporaryDir folder;
        const std::string words = folder.filePath(QStringLiteral("words")).toStdString();
        Experiment experiment = ofOneRun(EntryState::Running);
        RunRecord record = ddpRecord({});
        record.experiment = experiment.id;
        const std::string run = finishedRun(1, &record);
        std::filesystem::remove(runFolder(run).result());
        Hello hello;
        hello.role = "agent";
        hello.run = run;
        hello.live = true;
        const std::string script = "case $2 in attach) echo '" + encode(hello) +
                                   "'; exec cat >/dev/null;; stop) echo \"$*\" > '" + words +
                                   "'; echo refused >&2;; esac; exit 1";
        const CommandPrefix there{{"/bin/sh", "-c", script, "--"}, "far", "lockstep-agent", false};
        QVERIFY(rememberPlace(there).has_value());
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run), there);
        follower.start();
        QTRY_VERIFY(store.lifecycle().link() == LinkState::Live);
        const Result<void> asked = waitFor(follower.requestStop(QStringLiteral("the test"), experiment.id));
        QVERIFY(!asked);
        QCOMPARE(asked.error().what, std::string("stopping on far failed: refused"));
        QCOMPARE(realFileSystem().readAll(words).value_or(""),
                 "lockstep-agent stop " + run + " --by the test --experiment " + experiment.id + "\n");
    }

    void aRunIsItsExperimentsUntilARecordSaysOtherwise() {
        Experiment experiment = ofOneRun(EntryState::Launching);
        QVERIFY(!notItsRun(experiment, experiment.entries[0]));
        experiment.entries[0].run = makeRunId(); // its agent is about to start
        QVERIFY(!notItsRun(experiment, experiment.entries[0]));
        RunRecord record = ddpRecord({});
        record.experiment = experiment.id;
        experiment.entries[0].run = finishedRun(1, &record);
        QVERIFY(!notItsRun(experiment, experiment.entries[0]));
    }
};

QTEST_GUILESS_MAIN(RunsOfOthersTest)
#include "runs_of_others_test.moc"
