// SPDX-License-Identifier: MIT
// Runs that go at once on devices of their own: where they find room, and a real owner with real agents and fake ranks.
#include <csignal>

#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "experiment/experiment_time.h"
#include "experiment/side_by_side.h"
#include "models/experiment_model.h"
#include "queue/experiment_follower.h"
#include "queue/taking_turns.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

RunConfig onCpu(std::vector<std::string> devices, const std::string &workerCores = {}) {
    RunConfig config;
    config.devices = std::move(devices);
    config.method = config.devices.size() > 1 ? Method::Ddp : Method::Baseline;
    config.workers = workerCores.empty() ? 0 : 1;
    config.workerCores = workerCores;
    return config;
}

using Devices = std::vector<std::string>;

/// Two baselines and what needs both cores.
const QByteArray three = R"({"name":"mine","title":"three","repeats":2,"order_seed":0,"base":{"epochs":2},"runs":[
    {"name":"one","method":"baseline","devices":1,"seed":1},
    {"name":"two","method":"baseline","devices":1,"seed":2},
    {"name":"both","method":"ddp","devices":2}]})";

Detached startTwoAtOnce(const QByteArray &recipe = three) {
    return startRecipe(recipe, {QStringLiteral("--side-by-side"), QStringLiteral("2")});
}

EntryState stateOf(const Detached &started, int entry) {
    const Experiment experiment = read(started.experiment);
    return entry < int(experiment.entries.size()) ? experiment.entries[std::size_t(entry)].state : EntryState::Queued;
}

bool bothRun(const Detached &started) {
    return stateOf(started, 0) == EntryState::Running && stateOf(started, 1) == EntryState::Running;
}

struct Span {
    double fromS = 0, toS = 0;
    Devices devices;
    [[nodiscard]] bool meets(const Span &other) const { return fromS < other.toS && other.fromS < toS; }
};

Span spanOf(const std::string &run) {
    RunStore store(QString::fromStdString(run));
    if (!loadRun(store, runFolder(run)) || !store.result())
        return {};
    const double from = double(store.record()->startWallUs) * 1e-6;
    return {from, from + store.result()->runTimeS, store.record()->deviceNames};
}

} // namespace

class CoreSideBySideTest : public QObject {
    Q_OBJECT
    std::unique_ptr<FakeRankHome> m_home;

private Q_SLOTS:
    void initTestCase() {
        if (!useFakeRanks())
            QSKIP(withoutFakeRanks().constData());
        if (localMachineFacts().allowedCores.size() < 2)
            QSKIP("side by side needs two cores");
    }
    void init() { m_home = std::make_unique<FakeRankHome>("step_ms=20;steps=50"); }
    void cleanup() { m_home.reset(); }

    void aRunIsMovedToFreeDevicesOrWaits() {
        const SideBySide four{4, {4, 5, 6, 7}, {"GPU-a", "GPU-b"}};
        QCOMPARE(placeBeside(onCpu({"0"}), {}, four)->devices, Devices{"0"});
        QCOMPARE(placeBeside(onCpu({"0"}), {onCpu({"0"})}, four)->devices, Devices{"1"});
        QCOMPARE(placeBeside(onCpu({"2"}), {onCpu({"0"})}, four)->devices, Devices{"2"}); // free as it stands
        QCOMPARE(placeBeside(onCpu({"0", "1"}), {onCpu({"1"})}, four)->devices, (Devices{"0", "2"}));
        QVERIFY(!placeBeside(onCpu({"0", "1", "2", "3"}), {onCpu({"3"})}, four)); // needs all
        RunConfig wide = onCpu({"0"});
        wide.coresPerDevice = 2;
        QCOMPARE(placeBeside(wide, {onCpu({"1"})}, four)->devices, Devices{"1"}); // cores 6 and 7
        // Cores of loading workers are nobody else's either, and move with their run.
        QVERIFY(!placeBeside(onCpu({"0"}, "5-6"), {onCpu({"0"}, "5-6")}, four));
        const auto loading = placeBeside(onCpu({"0"}, "5"), {onCpu({"0"}, "5")}, four);
        QVERIFY(loading);
        QCOMPARE(loading->devices, Devices{"2"});
        QCOMPARE(loading->workerCores, std::string("7"));
        RunConfig gpu = onCpu({"0"});
        gpu.device = "cuda";
        RunConfig named = gpu;
        named.devices = {"GPU-a"};
        QCOMPARE(placeBeside(gpu, {named}, four)->devices, Devices{"1"}); // 0 is GPU-a
        QCOMPARE(placeBeside(gpu, {onCpu({"0"})}, four)->devices, Devices{"0"});
        QVERIFY(!placeBeside({onCpu({"0"}), true}, {onCpu({"1"})}, four)); // free, but it wants nobody beside it
        QVERIFY(!placeBeside(onCpu({"0"}), {{onCpu({"1"}), true}}, four));
        QVERIFY(placeBeside({onCpu({"0"}), true}, {}, four));
        RunConfig sharing = onCpu({"0"});
        sharing.oversubscribe = true;
        QVERIFY(!placeBeside(sharing, {onCpu({"3"})}, four));
        SideBySide turns = four; // on the same cores
        turns.inTurns = true;
        QCOMPARE(placeBeside(onCpu({"0"}), {onCpu({"0"})}, turns)->devices, Devices{"0"});
    }

    void thatRunsTakeTurnsIsKeptAndGoesToTheirAgents() {
        Experiment experiment;
        experiment.id = makeRunId();
        experiment.sideBySide = {2, {0, 1}, {}, true};
        experiment.entries.resize(1);
        experiment.recipe.name = experiment.entries.front().planned.name = "mine";
        experiment.recipe.runs.emplace_back().name = "one";
        const auto read = experimentFromJson(toJson(experiment));
        QVERIFY2(read, read ? "" : read.error().message().c_str());
        QCOMPARE(read->sideBySide, experiment.sideBySide);
        const auto request = launchRequestFromJson(toJson(requestFor(*read, read->entries.front())));
        QVERIFY2(request, request ? "" : request.error().message().c_str());
        QVERIFY(request->record.inTurns);
        experiment.sideBySide.inTurns = false;
        QVERIFY(!requestFor(experiment, experiment.entries.front()).record.inTurns);
    }

    void runsWhoseTimesMayHaveAnothersTurnInThemCannotTakeTurns_data() {
        QTest::addColumn<bool>("counted");
        QTest::addColumn<bool>("lost");
        QTest::addColumn<QByteArray>("why");
        QTest::newRow("says that pauses are left out") << false << false << QByteArray();
        QTest::newRow("doesn't say so") << true << false << QByteArray("has not said leaves_pauses_out");
        QTest::newRow("lost its turns") << false << true
                                        << QByteArray("the file that says whose turn it is was removed");
    }
    void runsWhoseTimesMayHaveAnothersTurnInThemCannotTakeTurns() {
        QFETCH(bool, counted);
        QFETCH(bool, lost);
        QFETCH(QByteArray, why);
        Experiment experiment;
        experiment.id = makeRunId();
        experiment.sideBySide.inTurns = true;
        experiment.entries.resize(1);
        ExperimentEntry &entry = experiment.entries.front();
        entry.planned.name = "base";
        entry.state = EntryState::Done;
        entry.run = finishedRun(1);
        RunResult result = doneResult(entry.run, 0);
        result.turns = TurnsTaken{0.5, 0, 0, counted, lost}; // it has reported epochs only, or one window of steps
        write(runFolder(entry.run).result(), toJson(result));
        const QByteArray said = QByteArray::fromStdString(whyNotInTurns(experiment));
        QVERIFY2(why.isEmpty() ? said.isEmpty() : said.startsWith("base ") && said.contains(why), said.constData());
        experiment.sideBySide.inTurns = false;
        QCOMPARE(whyNotInTurns(experiment), std::string());
    }

    void theTimeLeftCountsWhatGoesAtOnce() {
        const SideBySide two{2, {0, 1}, {}};
        const std::vector<TimedRun> waiting{
            {onCpu({"0"}), 3}, {onCpu({"0"}), 5}, {onCpu({"0", "1"}), 4}, {onCpu({"0"}), 2}};
        const SideBySideTime time = timeSideBySide({}, waiting, two);
        QCOMPARE(time.seconds, 5.0 + 4 + 2); // the last one waits behind the one that needs both
        QCOMPARE(time.mostAtOnce, 2);
        QCOMPARE(timeSideBySide({}, waiting, {}).seconds, 14.0);
        SideBySide turns = two;
        turns.inTurns = true;
        QCOMPARE(timeSideBySide({}, waiting, turns).seconds, 14.0);
        QCOMPARE(timeSideBySide({{onCpu({"1"}), 1}}, {{onCpu({"1"}), 6}}, two).seconds, 6.0);
        const std::vector<TimedRun> oneAlone{{onCpu({"0"}), 3}, {{onCpu({"0"}), true}, 5}, {onCpu({"0"}), 4}};
        QCOMPARE(timeSideBySide({}, oneAlone, two).seconds, 3.0 + 5 + 4);
    }

    void twoRunsGoAtOnceOnCoresOfTheirOwnAndTheOneThatNeedsBothGoesAlone() {
        const Detached started = startTwoAtOnce();
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(bothRun(started));
        ExperimentFollower viewer;
        QVERIFY(viewer.open(started.experiment).has_value());
        ExperimentModel strip;
        strip.setFollower(&viewer);
        QTRY_COMPARE(viewer.currents().size(), std::size_t(2));
        QTRY_VERIFY(!viewer.currents()[0]->losses().all().points().empty() &&
                    !viewer.currents()[1]->losses().all().points().empty()); // both are followed while they run
        QCOMPARE(strip.strip().run, QStringLiteral("runs 1 and 2 of 6"));
        QCOMPARE(strip.strip().name, QStringLiteral("one | two"));
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const Experiment after = read(started.experiment);
        QCOMPARE(after.sideBySide.runs, 2);
        std::vector<Span> spans;
        for (const ExperimentEntry &entry : after.entries) {
            QVERIFY(entry.state == EntryState::Done);
            spans.push_back(spanOf(entry.run));
            QVERIFY(spans.back().toS > spans.back().fromS);
        }
        QVERIFY(spans[0].meets(spans[1]));
        QVERIFY(spans[3].meets(spans[4])); // the second round's
        QCOMPARE(spans[0].devices, Devices{"cpu:0"});
        QCOMPARE(spans[1].devices, Devices{"cpu:1"});
        QCOMPARE(after.entries[1].config().devices, Devices{"1"});
        QCOMPARE(after.entries[1].planned.config.devices, Devices{"0"});
        for (const int both : {2, 5})
            for (int other = 0; other < 6; ++other)
                QVERIFY2(other == both || !spans[std::size_t(both)].meets(spans[std::size_t(other)]),
                         "no core is shared");
        // Where it ran is no difference of the work: repeats on either core are one group.
        RunStore moved(QString::fromStdString(after.entries[1].run));
        QVERIFY(loadRun(moved, runFolder(after.entries[1].run)).has_value());
        QCOMPARE(outcomeOf(moved).config->devices, Devices{"0"});
        const Answer shown =
            ctl({QStringLiteral("compare"), QString::fromStdString(started.experiment), QStringLiteral("--json")});
        QVERIFY2(shown.out.contains("\"side_by_side\""), "DDP went alone, its reference did not");
    }

    void whatIsQueuedAgainAloneHasNoCompanyAndTheRestStillGoesSideBySide() {
        const Detached started = startTwoAtOnce();
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const QString id = QString::fromStdString(started.experiment);
        QCOMPARE(ctl({QStringLiteral("retry"), id, QStringLiteral("1"), QStringLiteral("--alone")}).code, 0);
        QCOMPARE(ctl({QStringLiteral("retry"), id, QStringLiteral("2"), QStringLiteral("4"), QStringLiteral("5")}).code,
                 0);
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const Experiment after = read(started.experiment);
        const auto span = [&](int entry) { return spanOf(after.entries[std::size_t(entry)].run); };
        QVERIFY(after.entries[0].alone && !after.entries[3].alone);
        for (const int other : {1, 3, 4})
            QVERIFY(!span(0).meets(span(other)));
        QVERIFY(span(1).meets(span(3)) || span(1).meets(span(4)) || span(3).meets(span(4)));
    }

    void oneOfTwoIsSkippedTheOtherGoesOnAndAPauseStartsNoThird() {
        qputenv("FAKE_RANK", "step_ms=20;steps=400");
        const Detached started = startTwoAtOnce();
        const QString id = QString::fromStdString(started.experiment);
        QTRY_VERIFY(bothRun(started));
        QCOMPARE(ctl({QStringLiteral("pause"), id}).code, 0);
        QTRY_VERIFY(read(started.experiment).paused());
        QCOMPARE(ctl({QStringLiteral("skip"), id, QStringLiteral("2")}).code, 0);
        QTRY_VERIFY(stateOf(started, 1) == EntryState::Stopped);
        QVERIFY(read(started.experiment).entries[1].reason.starts_with("skipped by "));
        QVERIFY(stateOf(started, 0) == EntryState::Running);
        QCOMPARE(ctl({QStringLiteral("move"), id, QStringLiteral("4"), QStringLiteral("1")}).code, 0);
        QCOMPARE(ctl({QStringLiteral("retry"), id, QStringLiteral("2")}).code, 0);
        QTest::qWait(600); // three of the owner's polls
        QCOMPARE(read(started.experiment).currents(), std::vector<int>{0});
        QCOMPARE(ctl({QStringLiteral("resume"), id}).code, 0);
        QTRY_VERIFY(stateOf(started, 3) == EntryState::Running); // moved before the one that needs both
        QVERIFY(stateOf(started, 2) == EntryState::Queued);
        QCOMPARE(ctl({QStringLiteral("stop"), id}).code, 0);
        QTRY_VERIFY(read(started.experiment).over());
        for (const ExperimentEntry &entry : read(started.experiment).entries)
            QVERIFY(entry.state == EntryState::Stopped || entry.state == EntryState::Done);
    }

    void theOwnerKilledBothAreResumedAndWhatAPowerCutEndedIsMadeAgain() {
        qputenv("FAKE_RANK", "step_ms=20;steps=150");
        const Detached started = startTwoAtOnce();
        QTRY_VERIFY(bothRun(started));
        const Experiment before = read(started.experiment);
        const std::string goesOn = before.entries[0].run, torso = before.entries[1].run;
        const pid_t agent = std::atoi(realFileSystem().readAll(runFolder(torso).lock(0))->c_str());
        QVERIFY(agent > 1);
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QCOMPARE(::kill(agent, SIGKILL), 0);
        QTRY_VERIFY(!isOwned(started.experiment) && !FileLock::isHeld(runFolder(torso).lock(0)));
        qputenv("FAKE_RANK", "step_ms=5");
        const Answer answer =
            ctl({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(started.experiment)});
        QVERIFY2(answer.code == 0, answer.err.constData());
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries[0].run, goesOn); // attached to
        QCOMPARE(after.entries[1].earlierRuns, std::vector<std::string>{torso});
        for (const ExperimentEntry &entry : after.entries)
            QVERIFY(entry.state == EntryState::Done);
    }

    void aRankKilledFailsItsRunAlone() {
        qputenv("FAKE_RANK", "step_ms=20;steps=150");
        const Detached started = startTwoAtOnce();
        QTRY_VERIFY(bothRun(started));
        ExperimentFollower viewer;
        QVERIFY(viewer.open(started.experiment).has_value());
        QTRY_VERIFY(viewer.store(1) && viewer.store(1)->ranks().all().contains(0) &&
                    viewer.store(1)->ranks().all().at(0).pid);
        QCOMPARE(::kill(pid_t(*viewer.store(1)->ranks().all().at(0).pid), SIGKILL), 0);
        QTRY_VERIFY(stateOf(started, 1) == EntryState::Failed);
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Done);
    }

    void whatIsQueuedAgainAfterARefusalRunsBesideTheRunThatGoesOn() {
        qputenv("FAKE_RANK", "exit_at=0;exit=2");
        const HeldRun held;
        const Detached started = startTwoAtOnce(R"({"name":"mine","order_seed":0,"repeats":1,"runs":[)" + held.json() +
                                                R"(,{"name":"refused","method":"baseline","devices":1,"epochs":1},
                               {"name":"dropped","method":"baseline","devices":1,"command":["true"]}]})");
        QTRY_VERIFY(stateOf(started, 1) == EntryState::Failed);
        QVERIFY(stateOf(started, 0) == EntryState::Running && stateOf(started, 2) == EntryState::Stopped);
        const QString id = QString::fromStdString(started.experiment);
        QCOMPARE(ctl({QStringLiteral("retry"), id, QStringLiteral("3")}).code, 0);
        QTRY_VERIFY(stateOf(started, 2) == EntryState::Done);
        QVERIFY(stateOf(started, 0) == EntryState::Running);
        held.release();
        QTRY_VERIFY(stateOf(started, 0) == EntryState::Done && !isOwned(started.experiment));
        QVERIFY(read(started.experiment).over());
    }

    void aNumberThatCantBeIsRefused() {
        const Answer none = ctl(quickRun + QStringList{QStringLiteral("--side-by-side"), QStringLiteral("0")});
        QCOMPARE(none.code, 2);
        QVERIFY(listExperiments().empty());
    }
};

QTEST_GUILESS_MAIN(CoreSideBySideTest)
#include "side_by_side_test.moc"
