// SPDX-License-Identifier: MIT
// What may be asked of a queue: on values, and of a real owner with real agents and fake ranks.
#include <unistd.h>

#include <csignal>

#include "core_queue_support.h"
#include "ipc/process_stat.h"
#include "queue/control_seat.h"
#include "queue/experiment_follower.h"
#include "queue/owned_experiment.h"
#include "queue/queue_request.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;
using Kind = QueueRequest::Kind;

namespace {

Experiment fourQueued() {
    Experiment experiment;
    experiment.id = makeRunId();
    experiment.title = "four";
    experiment.recipe = loadRecipe("lenet-dp-vs-ddp").value_or(Recipe{});
    for (const char *name : {"a", "b", "c", "d"}) {
        ExperimentEntry entry;
        entry.planned.name = name;
        experiment.entries.push_back(entry);
    }
    return experiment;
}

QueueRequest request(Kind kind, int entry = -1, int to = 0) {
    QueueRequest out;
    out.kind = kind;
    out.entry = entry;
    out.to = to;
    out.by = "the test";
    return out;
}

using Places = std::vector<int>;

EntryState stateOf(const Detached &started, int entry) {
    const Experiment experiment = read(started.experiment);
    return entry < int(experiment.entries.size()) ? experiment.entries[std::size_t(entry)].state : EntryState::Queued;
}

QString number(int value) {
    return QString::number(value);
}

QString idOf(const Detached &started) {
    return QString::fromStdString(started.experiment);
}

} // namespace

class CoreQueueTest : public QObject {
    Q_OBJECT
    std::unique_ptr<FakeRankHome> m_home;

private Q_SLOTS:
    void initTestCase() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
    }
    void init() { m_home = std::make_unique<FakeRankHome>("step_ms=20"); }
    void cleanup() { m_home.reset(); }

    void aWaitingRunMovesAmongTheWaitingOnes() {
        Experiment experiment = fourQueued();
        experiment.entries[0].state = EntryState::Running;
        experiment.entries[0].run = makeRunId();
        QVERIFY(apply(request(Kind::Move, 3, 0), experiment).has_value());
        QCOMPARE(experiment.queued(), (Places{3, 1, 2}));
        QVERIFY(apply(request(Kind::Move, 3, 99), experiment).has_value()); // as far as it goes
        QCOMPARE(experiment.queued(), (Places{1, 2, 3}));
        QVERIFY(!apply(request(Kind::Move, 0, 1), experiment).has_value()); // it runs
        QVERIFY(!apply(request(Kind::Move, 4, 1), experiment).has_value()); // there is none
        QVERIFY(apply(request(Kind::Move, 2, 0), experiment).has_value());
        const Result<Experiment> back = experimentFromJson(toJson(experiment));
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(back->queued(), (Places{2, 1, 3}));
    }

    // An owner may die, or the disk may be full, between reading a request and writing what it changes.
    void aRequestStaysUntilTheQueueIsOnTheDisk() {
        Experiment experiment = fourQueued();
        experiment.pausedBy = "the test";
        QVERIFY(writeExperiment(experiment).has_value());
        const ExperimentFolder folder = experimentFolder(experiment.id);
        Result<OwnedExperiment> owner = OwnedExperiment::own(experiment.id);
        QVERIFY(owner.has_value());
        QVERIFY(requestQueue(experiment.id, request(Kind::Move, 3, 0)).has_value());
        const auto pending = owner->requests();
        QCOMPARE(pending.size(), std::size_t(1));
        QCOMPARE(owner->requests().size(), std::size_t(1)); // reading it does not take it

        const QString json = QString::fromStdString(folder.json());
        QVERIFY(QFile::remove(json) && QDir().mkpath(json)); // nothing can be written there
        QVERIFY(!owner->carryOut(pending[0]).has_value());
        QCOMPARE(owner->experiment().queued(), (Places{0, 1, 2, 3}));
        QCOMPARE(owner->requests().size(), std::size_t(1));

        QVERIFY(QDir().rmdir(json));
        QVERIFY(owner->carryOut(pending[0]).has_value());
        QCOMPARE(read(experiment.id).queued(), (Places{3, 0, 1, 2}));
        QVERIFY(owner->requests().empty());
    }

    void aRequestThatCantBeReadJustNowStays() {
        const Experiment experiment = fourQueued();
        QVERIFY(writeExperiment(experiment).has_value());
        const ExperimentFolder folder = experimentFolder(experiment.id);
        QVERIFY(realFileSystem().makeFolders(folder.requests()).has_value());
        const std::string path = folder.requests() + "/1.json";
        QCOMPARE(::symlink("/proc/self/mem", path.c_str()), 0); // a file whose disk answers EIO
        QVERIFY(pendingRequests(folder).empty());
        QVERIFY(isThere(path));
        QVERIFY(QFile::remove(QString::fromStdString(path)));
        QVERIFY(realFileSystem().writeAtomically(path, toJson(request(Kind::Skip, 3))).has_value());
        QCOMPARE(pendingRequests(folder).size(), std::size_t(1));
        QVERIFY(realFileSystem().writeAtomically(path, "no request").has_value());
        QVERIFY(pendingRequests(folder).empty());
        QVERIFY(!isThere(path));
    }

    void aRequestIsCarriedOutOnceAlthoughItsOwnerDiedBeforeRemovingIt() {
        Experiment experiment = fourQueued();
        experiment.pausedBy = "the test";
        experiment.taken = {"00001-1.json"};
        const ExperimentFolder folder = experimentFolder(experiment.id);
        QVERIFY(writeExperiment(experiment).has_value());
        QVERIFY(realFileSystem().makeFolders(folder.requests()).has_value());
        const std::string left = folder.requests() + "/00001-1.json";
        QVERIFY(realFileSystem().writeAtomically(left, toJson(request(Kind::Skip, 3))).has_value());
        Result<OwnedExperiment> owner = OwnedExperiment::own(experiment.id);
        QVERIFY(owner.has_value());
        QVERIFY(owner->experiment().entries[3].state == EntryState::Queued); // somebody queued it again since
        QVERIFY(owner->requests().empty());
        QVERIFY(!QFile::exists(QString::fromStdString(left)));
    }

    void aStopThatItsOwnerDidNotTakeIsCarriedOutByTheNextOne() {
        const Experiment experiment = fourQueued();
        stopUntaken(experiment);
        QVERIFY(!read(experiment.id).over());
        const Result<OwnedExperiment> next = OwnedExperiment::own(experiment.id);
        QVERIFY(next.has_value());
        QVERIFY(next->experiment().over());
        QVERIFY(read(experiment.id).over());
        QVERIFY(pendingRequests(experimentFolder(experiment.id)).empty());
    }

    void aStopThatWasNotTakenDropsNothingThatIsQueuedAfterIt() {
        Experiment experiment = fourQueued();
        experiment.entries[1].state = EntryState::Failed;
        stopUntaken(experiment);
        QVERIFY(requestQueue(experiment.id, request(Kind::Retry, 1)).has_value()); // nobody owns the queue
        QCOMPARE(read(experiment.id).queued(), (Places{1}));
        const Result<OwnedExperiment> next = OwnedExperiment::own(experiment.id);
        QVERIFY(next.has_value());
        QCOMPARE(next->experiment().queued(), (Places{1}));
    }

    void aStopIsNoSuccessWhileTheOwnerIsSuspendedAndTheNextOwnerStartsNothing() {
        qputenv("FAKE_RANK", "epochs=1000;step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        QCOMPARE(::kill(started.owner, SIGSTOP), 0);
        const Answer stopped = ctl({QStringLiteral("stop"), idOf(started)});
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QCOMPARE(stopped.code, 1);
        QVERIFY2(stopped.err.contains("the queue's process does not answer") &&
                     stopped.err.contains(QByteArray::number(started.owner)),
                 stopped.err.constData());
        QTRY_VERIFY(!isOwned(started.experiment) && runsAreOver(started.experiment)); // the run was asked itself
        QVERIFY(stateOf(started, 1) == EntryState::Queued);

        const Answer next = ctl({QStringLiteral("run"), QStringLiteral("--experiment"), idOf(started)});
        QVERIFY2(next.code == 130, next.err.constData());
        const Experiment after = read(started.experiment);
        QVERIFY(after.over());
        QVERIFY(after.entries[0].state == EntryState::Stopped);
        QVERIFY(after.entries[1].state == EntryState::Stopped && after.entries[1].run.empty());
    }

    void whatIsQueuedWhileAStoppedRunStillEndsRunsAfterIt_data() {
        QTest::addColumn<QString>("command");
        QTest::addColumn<int>("argument");
        QTest::newRow("a retry") << "retry" << 2;
        QTest::newRow("a round") << "repeat" << 1;
    }
    void whatIsQueuedWhileAStoppedRunStillEndsRunsAfterIt() {
        QFETCH(QString, command);
        QFETCH(int, argument);
        const HeldRun held;
        const Detached started = startRecipe(R"({"name":"mine","order_seed":0,"repeats":1,"runs":[)" + held.json() +
                                             R"(,{"name":"again","method":"baseline","devices":1,"command":["true"]},
                            {"name":"dropped","method":"baseline","devices":1,"command":["sleep","0"]}]})");
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        QCOMPARE(ctl({QStringLiteral("stop"), idOf(started)}).code, 0);
        const Answer asked = ctl({command, idOf(started), number(argument)});
        QVERIFY2(asked.code == 0, asked.err.constData());
        QVERIFY2(stateOf(started, 0) == EntryState::Running, "the stopped run must still be ending");
        held.release();
        QTRY_VERIFY(std::ranges::any_of(read(started.experiment).entries, [](const ExperimentEntry &entry) {
            return entry.planned.name == "again" && entry.state == EntryState::Done;
        }));
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const ExperimentEntry dropped = read(started.experiment).entries[2];
        QVERIFY(dropped.state == EntryState::Stopped && dropped.run.empty()); // it waited before the stop
    }

    void whatIsOverRunsAgainAndItsEarlierRunIsKept() {
        Experiment experiment = fourQueued();
        experiment.entries[1].state = EntryState::Failed;
        experiment.entries[1].run = "20260101T000000Z-00000001";
        experiment.entries[1].reason = "rank 0 died";
        QVERIFY(!apply(request(Kind::Retry, 0), experiment).has_value()); // it waits already
        QVERIFY(apply(request(Kind::Retry, 1), experiment).has_value());
        QVERIFY(experiment.entries[1].state == EntryState::Queued);
        QVERIFY(experiment.entries[1].run.empty() && experiment.entries[1].reason.empty());
        QCOMPARE(experiment.entries[1].earlierRuns, std::vector<std::string>{"20260101T000000Z-00000001"});
        experiment.entries[2].state = EntryState::NotRun;
        experiment.entries[2].planned.notRunReason = "not run: needs 8, has 2";
        const auto impossible = apply(request(Kind::Retry, 2), experiment);
        QVERIFY(!impossible.has_value());
        QVERIFY(impossible.error().message().find("needs 8, has 2") != std::string::npos);
    }

    void repeatsThatWereDisturbedRunAgainAndIfAskedAlone() {
        Experiment experiment = fourQueued();
        experiment.sideBySide.runs = 2;
        for (int i = 0; i < 3; ++i) {
            experiment.entries[std::size_t(i)].state = EntryState::Done;
            experiment.entries[std::size_t(i)].run = "run" + std::to_string(i);
        }
        const auto requests = retriesOf(experiment, {"run0", "run2", "of another experiment"}, true);
        QCOMPARE(requests.size(), std::size_t(2));
        QVERIFY(requests[0].entry == 0 && requests[1].entry == 2 && requests[1].kind == Kind::Retry);
        for (const QueueRequest &one : requests) {
            QVERIFY(queueRequestFromJson(toJson(one)) == one);
            QVERIFY(apply(one, experiment).has_value());
        }
        QCOMPARE(experiment.queued(), (Places{0, 2, 3}));
        QVERIFY(experiment.entries[0].alone && !experiment.entries[1].alone && experiment.entries[2].alone);
        QCOMPARE(experiment.sideBySide.runs, 2); // the others go as they were planned
        QVERIFY(retriesOf(experiment, {"run0", "run2"}, true).empty());
        QCOMPARE(retriesOf(experiment, {"run1"}, false).size(), std::size_t(1));
    }

    void aMissingControlIsAddedAtTheQueuesEndUnderANameOfItsOwn() {
        Experiment experiment = fourQueued();
        for (ExperimentEntry &entry : experiment.entries)
            entry.planned.config.seed = 7;
        experiment.entries[0].state = EntryState::Done;
        QueueRequest wanted = request(Kind::Add);
        QVERIFY(!apply(wanted, experiment).has_value()); // nothing is named
        wanted.added.emplace();
        wanted.added->name = "a";
        wanted.added->config.workers = 1;
        wanted.added->repeats = 2;
        QVERIFY(apply(wanted, experiment).has_value());
        QCOMPARE(experiment.entries.size(), std::size_t(6));
        QCOMPARE(experiment.queued(), (Places{1, 2, 3, 4, 5}));
        QCOMPARE(experiment.entries[4].planned.name, std::string("a (2)")); // "a" is another config's
        QCOMPARE(experiment.entries[5].planned.repeat, 2);
        const auto again = apply(wanted, experiment);
        QVERIFY(!again.has_value());
        QVERIFY2(again.error().message().find("already the same run") != std::string::npos,
                 again.error().message().c_str());
        wanted.added->config.epochs = 0;
        QVERIFY(!apply(wanted, experiment).has_value()); // refused before it is queued
        QCOMPARE(experiment.entries.size(), std::size_t(6));
    }

    void aRunAddedToAnExperimentThatIsOverRunsByItself() {
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const std::size_t before = read(started.experiment).entries.size();
        const Answer refused = ctl({QStringLiteral("add"), idOf(started), QStringLiteral("workrs=1")});
        QVERIFY(refused.code != 0);
        QVERIFY2(refused.err.contains("workers"), refused.err.constData());
        const Answer added = ctl({QStringLiteral("add"), idOf(started), QStringLiteral("seed=99"),
                                  QStringLiteral("--repeats"), QStringLiteral("1")});
        QVERIFY2(added.code == 0, added.err.constData());
        QTRY_VERIFY(stateOf(started, int(before)) == EntryState::Done);
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries.size(), before + 1);
        QCOMPARE(after.entries.back().planned.config.seed, std::int64_t(99));
        QVERIFY(after.entries.back().planned.name.find("seed=99") != std::string::npos);
    }

    void aPausedQueueFinishesItsRunAndWaits() {
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        QCOMPARE(ctl({QStringLiteral("pause"), idOf(started)}).code, 0);
        QTRY_VERIFY(read(started.experiment).paused());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Done);
        QTest::qWait(600); // three of the owner's polls
        QVERIFY(stateOf(started, 1) == EntryState::Queued);
        QVERIFY(isOwned(started.experiment));
        const Answer shown = ctl({QStringLiteral("queue"), idOf(started)});
        QVERIFY2(shown.out.contains("paused by lockstepctl on "), shown.out.constData());
        QCOMPARE(ctl({QStringLiteral("resume"), idOf(started)}).code, 0);
        QTRY_VERIFY(stateOf(started, 1) == EntryState::Done);
        QTRY_VERIFY(read(started.experiment).over());
    }

    void theRunningOneIsSkippedTheNextStartsAndTheMovedOneComesFirst() {
        qputenv("FAKE_RANK", "step_ms=100");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        QCOMPARE(ctl({QStringLiteral("move"), idOf(started), number(3), number(1)}).code, 0);
        QCOMPARE(ctl({QStringLiteral("skip"), idOf(started), number(1)}).code, 0);
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Stopped);
        QVERIFY(read(started.experiment).entries[0].reason.starts_with("skipped by lockstepctl on "));
        QTRY_VERIFY(stateOf(started, 2) == EntryState::Running);
        QVERIFY(stateOf(started, 1) == EntryState::Queued);
        const Answer impossible = ctl({QStringLiteral("move"), idOf(started), number(1), number(1)});
        QCOMPARE(impossible.code, 2);
        QVERIFY2(impossible.err.contains("baseline can't be moved: it is stopped"), impossible.err.constData());
    }

    void aFailedRunOfAQueueThatIsOverRunsAgain() {
        qputenv("FAKE_RANK", "step_ms=5;kill_at=3");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const std::string first = read(started.experiment).entries[0].run;
        QVERIFY(stateOf(started, 0) == EntryState::Failed);

        ExperimentFollower viewer;
        QVERIFY(viewer.open(started.experiment).has_value());
        QCOMPARE(viewer.store(0)->runId().toStdString(), first);
        qputenv("FAKE_RANK", "step_ms=5");
        const Answer again = ctl({QStringLiteral("retry"), idOf(started), number(1), number(99)});
        QVERIFY2(again.code == 2 && again.err.contains("no run number 99"), again.err.constData());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Done);
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries[0].earlierRuns, std::vector<std::string>{first});
        QVERIFY(after.entries[0].run != first);
        QVERIFY(stateOf(started, 1) == EntryState::Failed); // only what was asked for
        QTRY_VERIFY(viewer.store(0) && viewer.store(0)->runId().toStdString() == after.entries[0].run);
    }

    void whatAPowerCutInterruptedIsMadeAgainWhenTheQueueIsResumed() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        const std::string torso = read(started.experiment).entries[0].run;
        const pid_t agent = std::atoi(realFileSystem().readAll(runFolder(torso).lock(0))->c_str());
        QVERIFY(agent > 1);
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QCOMPARE(::kill(agent, SIGKILL), 0);
        QTRY_VERIFY(!isOwned(started.experiment) && runsAreOver(started.experiment));
        Experiment retried = read(started.experiment);
        retried.entries[0].earlierRuns = {makeRunId(), makeRunId(), makeRunId()}; // by hand, which are no interruptions
        QVERIFY(writeExperiment(retried).has_value());

        qputenv("FAKE_RANK", "step_ms=5");
        const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("--experiment"), idOf(started)});
        QVERIFY2(answer.code == 0, answer.err.constData());
        const Experiment after = read(started.experiment);
        QVERIFY(after.entries[0].state == EntryState::Done);
        QCOMPARE(after.entries[0].earlierRuns.size(), std::size_t(4));
        QCOMPARE(after.entries[0].earlierRuns.back(), torso);
        QCOMPARE(after.entries[0].interruptions, 1);
        QVERIFY(QFile::exists(QString::fromStdString(runFolder(torso).path))); // history
    }

    void aStopOfAQueueThatNobodyOwnsSaysOfARunOnlyWhatIsTrue() {
        Experiment experiment = fourQueued();
        for (int i : {0, 1}) {
            ExperimentEntry &entry = experiment.entries[std::size_t(i)];
            entry.state = EntryState::Running;
            entry.run = makeRunId(SystemClock(), std::uint32_t(i));
            QVERIFY(realFileSystem().makeFolders(runFolder(entry.run).path).has_value());
        }
        QVERIFY(writeExperiment(experiment).has_value());
        RunResult result; // the first has ended by itself
        result.run = experiment.entries[0].run;
        result.state = RunState::Done;
        QVERIFY(realFileSystem().writeAtomically(runFolder(result.run).result(), toJson(result)).has_value());
        auto alive =
            FileLock::acquire(runFolder(experiment.entries[1].run).lock(0)); // the second's agent does not answer
        QVERIFY(alive.has_value());
        QVERIFY(!requestQueue(experiment.id, request(Kind::Stop)).has_value());
        Experiment after = read(experiment.id);
        QVERIFY(after.entries[0].state == EntryState::Done);
        QVERIFY(after.entries[1].state == EntryState::Running);
        QVERIFY(after.entries[2].state == EntryState::Stopped);
        QVERIFY(!after.over());
        { const FileLock released = std::move(*alive); } // it has died
        (void)requestQueue(experiment.id, request(Kind::Stop));
        after = read(experiment.id);
        QVERIFY(after.entries[0].state == EntryState::Done);
        QVERIFY(after.entries[1].state == EntryState::Stopped);
    }

    void aQueueThatNobodyOwnsShowsTheEndOfARunThatHasEndedSince() {
        const std::string id = withAnEndedRun(1);
        const auto queue = nlohmann::json::parse(
            ctl({QStringLiteral("queue"), QString::fromStdString(id), QStringLiteral("--json")}).out.toStdString(),
            nullptr, false);
        QCOMPARE(queue["entries"][0].value("state", ""), std::string("done"));
        const auto listed = nlohmann::json::parse(
            ctl({QStringLiteral("list"), QStringLiteral("--json")}).out.toStdString(), nullptr, false);
        QCOMPARE(listed["experiments"][0].value("over", 0), 1);
        const Answer shown = ctl({QStringLiteral("show"), QString::fromStdString(id)});
        QVERIFY2(shown.code == 0 && !shown.out.contains("running"), shown.out.constData());
        QVERIFY(read(id).entries[0].state == EntryState::Running); // its next owner writes it down
    }

    void aListReadsNoRecordAgainForTheExperimentsThatNameItsRun() {
        const std::string id = withAnEndedRun(4);
        Experiment other = fourQueued();
        other.entries[0].run = read(id).entries[0].run;
        other.entries[0].state = EntryState::Running;
        QVERIFY(writeExperiment(other).has_value());
        const QStringList list = {QStringLiteral("list"), QStringLiteral("--json")};
        QCOMPARE(ctl(list).code, 0); // which makes the index
        OpenCount opens(runFolder(other.entries[0].run).config());
        const auto listed = nlohmann::json::parse(ctl(list).out.toStdString(), nullptr, false);
        QCOMPARE(opens.soFar(), 0);
        QCOMPARE(listed["experiments"].size(), std::size_t(2));
        for (const auto &one : listed["experiments"])
            QCOMPARE(one.value("over", -1), one.value("experiment", "") == id ? 1 : 0);
    }

    void aRunThatHasEndedIsNotAskedWhereNobodyOwnsItsQueue() {
        for (const QueueRequest &one : {request(Kind::Stop), request(Kind::Skip, 0)}) {
            const std::string id = withAnEndedRun(one.kind == Kind::Stop ? 2 : 3);
            const Result<void> asked = requestQueue(id, one);
            QCOMPARE(asked.has_value(), one.kind == Kind::Stop);
            QVERIFY2(asked || asked.error().what.find("it is done") != std::string::npos, asked.error().what.c_str());
            QVERIFY(read(id).entries[0].state == EntryState::Done);
            QCOMPARE(read(id).over(), one.kind == Kind::Stop);
        }
    }

    void aRunIsStoppedAlthoughItsQueueCannotBeTold() {
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        const std::string requests = experimentFolder(started.experiment).requests();
        QVERIFY(QDir(QString::fromStdString(requests)).removeRecursively());
        QVERIFY(realFileSystem().writeAtomically(requests, "no folder").has_value()); // as if the disk were full
        const Answer stopped = ctl({QStringLiteral("stop"), idOf(started)});
        QCOMPARE(stopped.code, 1);
        QVERIFY2(stopped.err.contains("its queue can't be reached: "), stopped.err.constData());
        QVERIFY2(stopped.err.contains("was asked to stop"), stopped.err.constData());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Stopped);
        QVERIFY(QFile::remove(QString::fromStdString(requests)));
        QTRY_VERIFY(ctl({QStringLiteral("stop"), idOf(started)}).code == 0 || read(started.experiment).over());
        QTRY_VERIFY(read(started.experiment).over());
    }

    void anOwnerWhoseLockIsRemovedOwnsNothingAnyMore() {
        const Experiment experiment = fourQueued();
        QVERIFY(writeExperiment(experiment).has_value());
        auto owned = OwnedExperiment::own(experiment.id);
        QVERIFY(owned.has_value());
        QVERIFY(!owned->gone() && owned->save().has_value());
        QVERIFY(QFile::remove(QString::fromStdString(experimentFolder(experiment.id).lock())));
        QVERIFY(owned->gone());
        QVERIFY2(owned->goneSentence().find("experiment.lock was removed, so that another process may own it, too: its "
                                            "queue has ended") != std::string::npos,
                 owned->goneSentence().c_str());
        QVERIFY(!owned->save().has_value());
        QVERIFY(OwnedExperiment::own(experiment.id).has_value());
    }

    void twoEntriesOfOneRunAreRefused() {
        Experiment experiment = fourQueued();
        for (ExperimentEntry &entry : experiment.entries)
            entry.run = "20260102T030405Z-89abcdef";
        const auto twice = experimentFromJson(toJson(experiment));
        QVERIFY(!twice && twice.error().message().find("several entries have the run 20260102T") != std::string::npos);
    }

    void theSecondViewerIsReadOnlyUntilItTakesOver() {
        const Experiment experiment = fourQueued();
        QVERIFY(writeExperiment(experiment).has_value());
        const QString id = QString::fromStdString(experiment.id);
        // Another viewer: a process of its own that sits down and stays.
        QProcess other;
        other.start(QStringLiteral("/bin/sleep"), {QStringLiteral("30")});
        QVERIFY(other.waitForStarted());
        ExperimentFollower here;
        QVERIFY(here.open(experiment.id).has_value());
        QVERIFY(here.claim(QStringLiteral("here")).has_value());
        QVERIFY(!here.readOnly());
        QCOMPARE(here.holder()->generation, std::uint64_t(1));

        const QString seat = QString::fromStdString(experimentFolder(experiment.id).path + "/control.json");
        nlohmann::json json = nlohmann::json::parse(realFileSystem().readAll(seat.toStdString()).value());
        json["generation"] = 2; // it took over
        json["by"] = "lockstep elsewhere";
        json["pid"] = other.processId();
        json["started"] = startedAs(other.processId(), json["started"]);
        QVERIFY(realFileSystem().writeAtomically(seat.toStdString(), json.dump()).has_value());
        const auto refused = here.ask(request(Kind::Pause));
        QVERIFY(!refused.has_value());
        QVERIFY2(refused.error().message().find("lockstep elsewhere (pid ") != std::string::npos,
                 refused.error().message().c_str());
        QVERIFY(here.readOnly());
        QVERIFY(here.claim(QStringLiteral("here")).has_value()); // asking politely changes nothing
        QVERIFY(here.readOnly());
        QVERIFY(here.takeOver(QStringLiteral("here")).has_value());
        QVERIFY(!here.readOnly());
        QCOMPARE(here.holder()->generation, std::uint64_t(3));
        QVERIFY(here.ask(request(Kind::Pause)).has_value());
        QVERIFY(read(experiment.id).paused());
        other.kill();
        other.waitForFinished();
    }

    void aHolderThatDiedLeavesTheSeatFree() {
        const Experiment experiment = fourQueued();
        QVERIFY(writeExperiment(experiment).has_value());
        const ControlHolder dead{7, "lockstep gone", QSysInfo::machineHostName().toStdString(), 1 << 22, "boot/1"};
        QVERIFY(!dead.alive());
        nlohmann::json json = {
            {"generation", 7}, {"by", dead.by}, {"host", dead.host}, {"pid", dead.pid}, {"started", dead.started}};
        QVERIFY(realFileSystem()
                    .writeAtomically(experimentFolder(experiment.id).path + "/control.json", json.dump())
                    .has_value());
        const auto claimed = claimControl(experiment.id, "here");
        QVERIFY(claimed.has_value() && claimed->isMe());
        QCOMPARE(claimed->generation, std::uint64_t(8));
        releaseControl(experiment.id);
        QVERIFY(!controlHolder(experiment.id)->alive());
    }

    void aRequestOfAnEarlierHolderIsRefusedByTheOwner() {
        qputenv("FAKE_RANK", "step_ms=40");
        const Detached started = startDetached();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Running);
        QVERIFY(claimControl(started.experiment, "here").has_value());
        QueueRequest old = request(Kind::Pause);
        old.generation = 0;
        QVERIFY(requestQueue(started.experiment, old).has_value());
        QTRY_VERIFY(QDir(QString::fromStdString(experimentFolder(started.experiment).requests()))
                        .isEmpty(QDir::Files)); // it was taken
        QTest::qWait(300);
        QVERIFY(!read(started.experiment).paused());
    }

private:
    /// An experiment of four runs. The first has ended since its owner died.
    static std::string withAnEndedRun(std::uint32_t number) {
        Experiment experiment = fourQueued();
        RunRecord record = ddpRecord({});
        record.experiment = experiment.id;
        experiment.entries[0].run = finishedRun(number, &record);
        experiment.entries[0].state = EntryState::Running;
        [&] { QVERIFY(writeExperiment(experiment).has_value()); }();
        return experiment.id;
    }

    /// Writes the experiment, whose owner ends with a request to stop that it has not taken.
    static void stopUntaken(const Experiment &experiment) {
        QVERIFY(writeExperiment(experiment).has_value());
        const Result<OwnedExperiment> owner = OwnedExperiment::own(experiment.id);
        QVERIFY(owner.has_value());
        QVERIFY(askQueue(experiment.id, request(Kind::Stop)).has_value());
    }

    /// Boot and start time of a process, in the form of `mine`.
    static std::string startedAs(qint64 pid, const std::string &mine) {
        return mine.substr(0, mine.find('/') + 1) +
               std::to_string(processStatOf(pid_t(pid)).value_or(ProcessStat()).startTicks);
    }
};

QTEST_GUILESS_MAIN(CoreQueueTest)
#include "queue_test.moc"
