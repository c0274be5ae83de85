// SPDX-License-Identifier: MIT
// Runs of which a part is elsewhere: in an earlier attempt, before a checkpoint, on another machine.
#include <cstdio>
#include <unistd.h>

#include <QSignalSpy>

#include "analysis/causes/phase_parts.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/fairness/fairness.h"
#include "analysis/history/run_filter.h"
#include "core_support.h"
#include "follow/run_follower.h"
#include "ipc/alerts.h"
#include "store/load_run.h"
#include "store/recent_data.h"
#include "store/run_index.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// A script's frames, as resources/python/lockstep/run.py sends them.
class Script {
public:
    Script(RunStore &store, int ranks) : m_store(store), m_ranks(ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            StateFrame init;
            init.worldSize = ranks;
            init.about = {{"epochs", "5"}};
            take(init, rank);
        }
    }
    /// All its ranks start again; they count their steps from 0.
    void startOver() {
        m_store.take(frame(makeAlert(ranksRestarted, "all ranks are started again"), std::nullopt, m_ms));
        m_step = 0;
    }
    void begin(int epoch, std::optional<std::int64_t> told) {
        StateFrame training;
        training.state = RunState::Training;
        training.epoch = epoch;
        training.stepsPerEpoch = told;
        for (int rank = 0; rank < m_ranks; ++rank)
            take(training, rank);
        m_epoch = epoch;
        m_first = m_step;
    }
    /// In windows of at most five.
    void steps(std::int64_t count, double loss) {
        for (std::int64_t done = 0; done < count; m_ms += 100) {
            StepsFrame window;
            window.epoch = m_epoch;
            window.count = std::min<std::int64_t>(5, count - done);
            window.firstStep = m_step;
            window.lastStep = m_step + window.count - 1;
            window.samples = window.count;
            window.loss = LossWindow{loss, loss, loss, loss};
            window.scalars["chairs"] = ScalarWindow{loss, 1, loss, loss, loss};
            for (int rank = 0; rank < m_ranks; ++rank)
                take(window, rank);
            m_step += window.count;
            done += window.count;
        }
    }
    void end() {
        EpochFrame done;
        done.epoch = m_epoch;
        done.steps = m_step - m_first;
        done.durationS = 1;
        for (int rank = 0; rank < m_ranks; ++rank)
            take(done, rank);
    }

private:
    void take(FrameBody body, int rank) { m_store.take(frame(std::move(body), rank, m_ms++)); }
    RunStore &m_store;
    int m_ranks, m_epoch = 1;
    std::int64_t m_ms = 0, m_step = 0, m_first = 0;
};

double epochAt(const LossSeries &series, std::int64_t step) {
    for (const LossPoint &point : series.points())
        if (point.step == step)
            return point.epoch;
    return -1;
}

/// Epochs 3 and 4 of four, as lockstep-trainer reports them that goes on from a checkpoint. The first two took 5 s each.
RunOutcome resumed() {
    RunStore store(QStringLiteral("r"));
    RunRecord record = ddpRecord("r");
    record.config->epochs = 4;
    record.config->resume = true;
    store.setRecord(record);
    for (Frame one : ddpRecording()) {
        if (auto *state = std::get_if<StateFrame>(&one.body); state && state->totalSteps) {
            state->totalSteps = 80;
            state->epochs = 4;
        }
        if (auto *steps = std::get_if<StepsFrame>(&one.body)) {
            steps->epoch += 2;
            steps->firstStep += 40;
            steps->lastStep += 40;
        }
        if (auto *epoch = std::get_if<EpochFrame>(&one.body))
            epoch->epoch += 2;
        if (auto *eval = std::get_if<EvalFrame>(&one.body))
            eval->epoch += 2;
        store.take(one);
    }
    RunResult result = doneResult("r", 1);
    result.summary.emplace().epochs = {{1, 0.9, 5, 640}, {2, 0.8, 5, 640}, {3, 0.7, 0.45, 640}, {4, 0.6, 0.45, 640}};
    result.summary->totalTrainingTimeS = 10.9;
    result.summary->phasesS = {{"forward", 4}, {"backward", 6.5}}; // of all four epochs
    result.summary->stageLayers = "2,3";
    store.setResult(result);
    return outcomeOf(store);
}

std::string textOf(const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines)
        text += line + "\n";
    return text;
}

RunOutcome loaded(const std::string &run) {
    RunStore store(QString::fromStdString(run));
    return loadRun(store, runFolder(run)) ? outcomeOf(store) : RunOutcome();
}

bool says(const RunOutcome &run, const std::string &words) {
    return std::ranges::any_of(run.warnings, [&](const std::string &one) { return one.find(words) != one.npos; });
}

/// A run without a result whose lock nobody here holds.
std::string withoutResult(std::uint32_t number, const std::string &host) {
    const std::string run = finishedRun(number);
    std::remove(runFolder(run).result().c_str());
    std::vector<std::string> lines = sealed(run, ddpRecording(), host);
    lines.pop_back(); // as long as it trains
    write(runFolder(run).log(0), textOf(lines));
    return run;
}

} // namespace

class CoreRunPartsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aCommandThatTrainsSeveralTimesInTurnHasNoTrainingTime() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        StateFrame done;
        done.state = RunState::Done;
        for (int training = 0; training < 2; ++training) {
            for (Frame one : ddpRecording())
                if (one.rank) {
                    one.rseq.reset();
                    store.take(one);
                }
            for (int rank = 0; rank < 2; ++rank)
                store.take(frame(done, rank, 2250));
        }
        QVERIFY(store.epochs().repeated());
        QCOMPARE(store.epochs().merged().size(), std::size_t(2)); // the first training's are not forgotten
        QVERIFY(!outcomeOf(store).totalTrainingTimeS);
    }

    void anEpochIsOneWideHoweverManyStepsItHas() {
        RunStore store(QStringLiteral("r"));
        Script script(store, 1);
        const LossSeries &all = store.losses().all();
        script.begin(1, 40);
        script.steps(20, 3);
        QCOMPARE(epochAt(all, 19), 0.5);
        script.steps(20, 3);
        script.end();
        script.begin(2, 10);
        script.steps(5, 2);
        QCOMPARE(epochAt(all, 44), 1.5);
        QCOMPARE(*progressOf(store).totalSteps,
                 std::int64_t(40 + 10 + 3 * 10)); // the three to come are like the newest
        script.steps(5, 2);
        script.end();
        script.begin(3, 10);
        script.steps(10, 1);
        QCOMPARE(epochAt(all, 19), 0.5);
        QCOMPARE(epochAt(all, 39), 1.0);
        QCOMPARE(epochAt(all, 54), 2.5);
        QCOMPARE(all.points().back().epoch, 3.0);
        QCOMPARE(all.generation(), 0); // nothing was placed wrongly
    }

    void anEpochThatIsOverHasItsOwnLengthAndOneThatRunsTheNewestKnown() {
        RunStore store(QStringLiteral("r"));
        Script script(store, 2);
        const LossSeries &all = store.losses().all();
        script.begin(1, std::nullopt);
        script.steps(20, 3);
        QCOMPARE(epochAt(all, 4), 1.0); // its length is unknown
        script.end();
        QCOMPARE(epochAt(all, 4), 0.25);
        QCOMPARE(epochAt(*store.losses().ofRank(1), 4), 0.25);
        QCOMPARE(epochAt(*store.metrics().series("chairs"), 4), 0.25);
        QVERIFY(all.generation() > 0);
        script.begin(2, std::nullopt);
        script.steps(10, 2);
        QCOMPARE(epochAt(all, 29), 1.5);
        script.end(); // left early
        QCOMPARE(epochAt(all, 24), 1.5);
        QCOMPARE(epochAt(all, 29), 2.0);
        script.begin(3, std::nullopt);
        script.steps(15, 1); // longer than the one before
        QCOMPARE(epochAt(all, 44), 3.0);
        script.end();
        QCOMPARE(epochAt(all, 34), 2 + 1 / 3.0);
        QCOMPARE(epochAt(all, 4), 0.25);
    }

    void aScriptThatGoesOnFromItsCheckpointReplacesWhatItMakesAgainAndNoMore() {
        for (const int ranks : {1, 2}) {
            RunStore store(QStringLiteral("r"));
            Script script(store, ranks);
            for (int epoch = 1; epoch <= 2; ++epoch) {
                script.begin(epoch, 10);
                script.steps(10, 1);
                script.end();
            }
            script.begin(3, 10);
            script.steps(7, 1);
            script.startOver();
            for (int epoch = 3; epoch <= 5; ++epoch) {
                script.begin(epoch, 10);
                script.steps(10, 2);
                script.end();
            }
            for (const LossSeries *series :
                 {&store.losses().all(), store.losses().ofRank(0), store.metrics().series("chairs"),
                  store.metrics().rankSeries("chairs", 0)}) {
                QCOMPARE(series->points().size(), std::size_t(10));
                for (std::size_t i = 0; i < 10; ++i) {
                    const LossPoint &point = series->points()[i];
                    QCOMPARE(point.step, std::int64_t(5 * i + 4));
                    QCOMPARE(point.epoch, 0.5 * double(i + 1));
                    QCOMPARE(point.loss, i < 4 ? 1.0 : 2.0);
                }
            }
            QCOMPARE(store.epochs().merged().size(), std::size_t(5));
            const Progress progress = progressOf(store);
            QCOMPARE(*progress.doneSteps, std::int64_t(50));
            QCOMPARE(*progress.totalSteps, std::int64_t(50));
        }
    }

    void stepsThatCountTheWholeRunAreTakenAsTheyAre() {
        RunStore store(QStringLiteral("r"));
        for (int attempt = 0; attempt < 2; ++attempt) // the second time from the second epoch, as lockstep-trainer does
            for (Frame one : ddpRecording()) {
                one.rseq.reset();
                const auto *steps = std::get_if<StepsFrame>(&one.body);
                const auto *state = std::get_if<StateFrame>(&one.body);
                if ((steps && steps->epoch > attempt) || (state && state->totalSteps))
                    store.take(one);
            }
        const auto &points = store.losses().all().points();
        QCOMPARE(points.size(), std::size_t(8));
        QCOMPARE(points.front().step, std::int64_t(4));
        QCOMPARE(points.back().step, std::int64_t(39));
        QCOMPARE(points.back().epoch, 2.0);
    }

    void aResumedRunsCausesAreThoseOfTheEpochsThatItMadeItself() {
        const RunOutcome run = resumed();
        QCOMPARE(run.firstEpoch, 3);
        QVERIFY2(run.warnings.empty(), "more training than the run lasted is no contradiction here");
        QCOMPARE(*run.totalTrainingTimeS, 10.9);
        QVERIFY(std::abs(*trainedHereS(run) - 0.9) < 1e-12);
        const auto parts = partsOf(run);
        QVERIFY(parts);
        QVERIFY(std::abs(parts->trainingS - 0.9) < 1e-12);
        QVERIFY(std::abs(parts->startUpS - 1.6) < 1e-12);
        QVERIFY2(parts->restS > -1e-12 && parts->restS < 0.2, qPrintable(QString::number(parts->restS)));
    }

    void aResumedRunsPhasesAreThoseOfItsOwnStepsAsThatsWhatTheyAreDividedBy() {
        const RunOutcome run = resumed();
        QVERIFY(run.phasesS == run.rankPhasesS.at(0) || run.phasesS == run.rankPhasesS.at(1));
        QVERIFY2(additiveSum(run.phasesS) <= *trainedHereS(run) + 1e-9,
                 qPrintable(QString::number(additiveSum(run.phasesS))));
    }

    void howAPipelineCutItsModelIsOneOfItsConditions() {
        QCOMPARE(resumed().conditions.stageLayers, std::string("2,3"));
    }

    void aResumedRunsOwnEpochsAreInTheTable() {
        const ResultTable table = resultTable({resumed()});
        const std::vector<MergedEpoch> &epochs = table.rows.front().epochs;
        QCOMPARE(epochs.size(), std::size_t(2));
        QCOMPARE(epochs.front().epoch, 3);
        QCOMPARE(epochs.back().epoch, 4);
        QVERIFY(epochs.front().loss && epochs.front().durationS > 0);
    }

    void aResumedRunIsNotTimedFromLaunchToExitAgainstOneFromScratch() {
        const RunOutcome last = resumed();
        RunOutcome scratch = last;
        scratch.run = "s";
        scratch.config->resume = false;
        scratch.firstEpoch = 1;
        scratch.earlierS = 0;
        const RepeatGroup one{"scratch", {scratch}, true}, other{"resumed", {last}, false};
        QVERIFY(!beginAlike(commonFirstEpoch(one.runs), commonFirstEpoch(other.runs)));
        QVERIFY(beginAlike(commonFirstEpoch(one.runs), commonFirstEpoch(one.runs)));
        QVERIFY2(!commonFirstEpoch(std::vector{scratch, last}), "repeats that begin apart are like no others");
        const auto found = fairnessOf(one, other, {}, {});
        const auto resume = std::ranges::find(found, "resume", &FairnessFinding::key);
        QVERIFY(resume != found.end());
        QVERIFY2(resume->sentence.find("launch to exit") != std::string::npos, resume->sentence.c_str());
    }

    void aRunWhoseCheckpointHasAllEpochsMeasuredNone() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        record.config->resume = true;
        store.setRecord(record);
        for (const Frame &one : ddpRecording()) // it starts, and tests what it has loaded
            if (std::holds_alternative<StateFrame>(one.body) || std::holds_alternative<EvalFrame>(one.body))
                store.take(one);
        RunResult result = doneResult("r", 1);
        result.summary.emplace().epochs = {{1, 0.9, 5, 640}, {2, 0.8, 4, 640}};
        result.summary->totalTrainingTimeS = 9;
        result.summary->phasesS = {{"forward", 4}, {"backward", 5}};
        store.setResult(result);
        const RunOutcome run = outcomeOf(store);
        QCOMPARE(run.firstEpoch, 3);
        QCOMPARE(run.earlierS, 9.0);
        QVERIFY2(!run.totalTrainingTimeS && run.phasesS.empty(), "another run's");
        QVERIFY(says(run, "no epoch was made here"));
        const RepeatGroup group{"resumed", {run}, true};
        QVERIFY(!whyOtherEpochs(group, group).empty());
        store.setGaps({{3, 5}}, 0); // whether it made some is unknown
        QCOMPARE(outcomeOf(store).firstEpoch, 1);
    }

    void aLogOfAnotherRunCountsForNothing() {
        const Home home;
        const std::string one = finishedRun(1), other = finishedRun(2);
        QCOMPARE(loaded(other).epochs.size(), std::size_t(2));
        QVERIFY(loaded(other).warnings.empty());
        QVERIFY(!areOneMeasurement(loaded(one), loaded(other)));
        write(runFolder(other).log(0), *realFileSystem().readAll(runFolder(one).log(0)));
        RunStore followed(QString::fromStdString(other));
        RunFollower follower(&followed, QString::fromStdString(other));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(test::hangLimitMs));
        for (const RunOutcome &run : {loaded(other), outcomeOf(followed)}) {
            QVERIFY(run.epochs.empty() && run.phasesS.empty() && !run.steps && !run.finalLoss);
            QVERIFY(!run.totalTrainingTimeS);
            QVERIFY(says(run, "the log of node 0 is that of run " + one));
            QVERIFY(run.state == RunState::Done); // as its own result says
        }
        QCOMPARE(followed.messages().alerts().front().alert.kind, std::string("other_log"));
    }

    void aCopyOfARunUnderAnotherIdIsTheSameMeasurement() {
        const Home home;
        const std::string one = finishedRun(1), copy = finishedRun(2);
        std::string text = *realFileSystem().readAll(runFolder(one).log(0));
        for (std::size_t at = text.find(one); at != text.npos; at = text.find(one))
            text.replace(at, one.size(), copy); // which the header's checksum shows
        write(runFolder(copy).log(0), text);
        QCOMPARE(loaded(copy).epochs.size(), std::size_t(2));
        QVERIFY(areOneMeasurement(loaded(one), loaded(copy)));
    }

    void aLogThatLostItsHeaderIsStillOneMeasurementWithTheOneItWasCopiedFrom() {
        const Home home;
        const std::string one = finishedRun(1), other = finishedRun(2);
        const std::string text = *realFileSystem().readAll(runFolder(one).log(0));
        for (const std::string &log : {text.substr(text.find('\n') + 1), "\n" + text.substr(9)}) {
            write(runFolder(other).log(0), log);
            QCOMPARE(loaded(other).epochs.size(), std::size_t(2));
            QVERIFY(areOneMeasurement(loaded(one), loaded(other)));
        }
    }

    void aDoneRunWithoutItsWholeLogSaysSoWhateverItsResultCounts() {
        const Home home;
        for (const bool script : {false, true}) {
            RunRecord record = ddpRecord("");
            if (script)
                record.command = {"python3", "train.py"};
            const std::string run = finishedRun(script ? 2 : 1, &record);
            RunResult result = doneResult(run, 0);
            result.summary.emplace().epochs = {{1, 1.0, 0.45, 1280}, {2, 0.25, 0.45, 1280}};
            result.summary->totalTrainingTimeS = 0.9;
            write(runFolder(run).result(), toJson(result));
            QVERIFY2(!says(loaded(run), "its log lacks"), "it has all epochs");
            std::vector<std::string> lines = sealed(run, ddpRecording());
            lines.resize(4);
            for (const std::string &log : {textOf(lines), std::string()}) {
                write(runFolder(run).log(0), log);
                QCOMPARE(
                    says(loaded(run), "its log lacks frames: its loss, accuracy and phases are those of its summary"),
                    !script);
            }
            ::unlink(runFolder(run).log(0).c_str());
            QCOMPARE(says(loaded(run), "its log lacks frames"), !script);
        }
    }

    void aResultThatContradictsItselfOrTheLogIsNotBelieved() {
        const Home home;
        const std::string run = finishedRun(1);
        const std::uint64_t lines = sealed(run, ddpRecording()).size();
        const double logged = *loaded(run).testAccuracy;
        RunResult result = doneResult(run, lines);
        result.summary.emplace().testAccuracy = 0.99;
        write(runFolder(run).result(), toJson(result));
        QCOMPARE(*loaded(run).testAccuracy, logged);
        QVERIFY(loaded(run).warnings.empty());
        result.summary->epochs = {{1, 1.0, 10, 1280}, {2, 0.25, 10, 1280}};
        result.summary->totalTrainingTimeS = 0.5;
        write(runFolder(run).result(), toJson(result));
        write(runFolder(run).log(0), "");
        const RunOutcome found = loaded(run);
        QVERIFY(!found.totalTrainingTimeS && says(found, "how long it trained is unknown"));
        QCOMPARE(*found.testAccuracy, 0.99); // there is no other
        RunOutcome phases;
        phases.runTimeS = 20;
        phases.phasesS = {{"forward", 9.0}};
        phases.totalTrainingTimeS = 10;
        QVERIFY(partsOf(phases));
        phases.totalTrainingTimeS = 1;
        QVERIFY2(!partsOf(phases), "900 % of the training");
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        QVERIFY(!index->run(run)->totalTrainingTimeS);
    }

    void oneDamagedLineTakesNoFigureOfWholeEpochs() {
        const Home home;
        for (const bool failed : {false, true}) {
            const std::string run = finishedRun(failed ? 2 : 1);
            RunResult result = doneResult(run, 0);
            if (failed)
                result.state = RunState::Failed;
            else
                result.summary.emplace(); // without phases, as that of a script's very many epochs
            write(runFolder(run).result(), toJson(result));
            std::vector<std::string> lines = sealed(run, ddpRecording());
            const auto window = std::ranges::find_if(
                lines, [](const std::string &line) { return line.find("\"type\":\"steps\"") != line.npos; });
            *window = window->substr(0, window->size() / 2);
            write(runFolder(run).log(0), textOf(lines));
            const RunOutcome damaged = loaded(run);
            QVERIFY(damaged.epochs.size() == 2 && damaged.finalLoss && !damaged.phasesS.empty());
            QVERIFY(!says(damaged, "its log lacks"));
        }
    }

    void aLogThatLostItsEndLeavesTheFiguresToTheSummary() {
        const Home home;
        for (const bool summed : {true, false}) {
            const std::string run = finishedRun(summed ? 1 : 2);
            std::vector<std::string> lines = sealed(run, ddpRecording());
            RunResult result = doneResult(run, lines.size());
            if (summed) {
                result.summary.emplace().epochs = {{1, 1.0, 0.45, 1280}, {2, 0.25, 0.45, 1280}};
                result.summary->totalTrainingTimeS = 0.9;
                result.summary->phasesS = {{"forward", 0.5}};
            }
            write(runFolder(run).result(), toJson(result));
            while (lines.back().find("\"type\":\"epoch\",\"rank\":1") == std::string::npos)
                lines.pop_back();
            lines.pop_back(); // within the second epoch
            write(runFolder(run).log(0), textOf(lines));
            const RunOutcome cut = loaded(run);
            QVERIFY(cut.epochs.size() == 2 && cut.epochs.front().complete && !cut.epochs.back().complete);
            QVERIFY2(cut.rankPhasesS.empty() && !cut.testAccuracy, "those of the first epoch alone");
            if (summed) {
                QCOMPARE(*cut.finalLoss, 0.25);
                QCOMPARE(*cut.totalTrainingTimeS, 0.9);
            } else
                QVERIFY(!cut.finalLoss && !cut.totalTrainingTimeS);
            QCOMPARE(cut.phasesS.size(), std::size_t(summed ? 1 : 0));
            QVERIFY(says(cut, summed ? "frames: its loss, accuracy and phases are those of its summary"
                                     : "frames: its loss, accuracy and phases are unknown"));
        }
    }

    void theIndexKeepsTheTrainingTimeOfAResumedRun() {
        const Home home;
        for (const bool resumes : {true, false}) {
            RunRecord record = ddpRecord("");
            record.config->resume = resumes;
            RunResult result = doneResult(finishedRun(resumes ? 1 : 2, &record), 0);
            result.summary.emplace().totalTrainingTimeS = 10.9; // of 2.5 s from launch to exit
            write(runFolder(result.run).result(), toJson(result));
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            QCOMPARE(index->run(result.run)->totalTrainingTimeS.has_value(), resumes);
        }
    }

    void whatAFurtherNodeSaysWithoutItsRanksChangesNothingOfTheRun() {
        RunStore told(QStringLiteral("r")), untold(QStringLiteral("r"));
        for (RunStore *store : {&told, &untold}) {
            store->setRecord(ddpRecord("r"));
            for (const Frame &one : ddpRecording())
                store->take(one);
        }
        const auto tell = [&](FrameBody body, std::optional<int> rank = {}) {
            Frame one = frame(std::move(body), rank, 2400);
            one.node = 1;
            told.take(one);
        };
        StepsFrame window;
        window.epoch = 3;
        window.firstStep = window.lastStep = 40;
        window.count = 1;
        window.loss = LossWindow{9, 9, 9, 9};
        tell(window);
        EpochFrame epoch;
        epoch.epoch = 3;
        epoch.durationS = 9;
        tell(epoch);
        EvalFrame eval;
        eval.epoch = 2;
        eval.accuracy = 0.01;
        tell(eval);
        CommFrame comm;
        comm.staleness = {1};
        tell(comm);
        tell(ExitFrame{});
        LinkFrame link;
        link.ofNode = 2;
        link.link = "lost";
        tell(link);
        tell(makeAlert(ranksRestarted, "all ranks are started again"));
        DeviceFrame sample;
        sample.processes = {ProcessSample{0, 7, 9.0, {}}};
        tell(sample, 1); // no rank samples devices
        QVERIFY(told.losses().all().points().size() == untold.losses().all().points().size());
        QVERIFY(told.ranks().doneSteps() == untold.ranks().doneSteps());
        QCOMPARE(told.epochs().merged().size(), std::size_t(2));
        QVERIFY(told.epochs().merged().back().eval == untold.epochs().merged().back().eval);
        QVERIFY(told.updates().byStaleness().empty() && told.links().all().empty());
        QCOMPARE(told.messages().console().size(), untold.messages().console().size());
        QCOMPARE(told.messages().alertsOf(ranksRestarted), std::uint64_t(0));
        QVERIFY(!told.ranks().all().at(0).cpuCores);
    }

    void aCopyFromAnotherMachineIsShownAsLastSeenThere() {
        const Home home;
        const std::string run = withoutResult(1, "hostA");
        const QString sentence = QStringLiteral("as last seen on hostA; whether it still runs there is unknown");
        RunStore loaded(QString::fromStdString(run)), followed(QString::fromStdString(run));
        QVERIFY(loadRun(loaded, runFolder(run)).has_value());
        RunFollower follower(&followed, QString::fromStdString(run));
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QVERIFY(ended.wait(test::hangLimitMs));
        for (const RunStore *store : {&loaded, &followed}) {
            QCOMPARE(store->lifecycle().sentence(), QStringLiteral("training, ") + sentence);
            QCOMPARE(whyNoRecentData(*store), sentence);
            QVERIFY(!store->over());
            const RunOutcome outcome = outcomeOf(*store);
            QVERIFY(outcome.unknown && !outcome.agentDied);
            QCOMPARE(outcome.reason, sentence.toStdString());
            QCOMPARE(resultTable({outcome}).rows.front().state, std::string("unknown"));
        }
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        const IndexedRun row = index->runs().front();
        QCOMPARE(row.state, std::string("unknown"));
        QCOMPARE(row.reason, sentence.toStdString());
        QVERIFY(RunFilter::parse(QStringLiteral("state=unknown"))->accepts(row));
        QVERIFY(!RunFilter::parse(QStringLiteral("state=failed"))->accepts(row));
        write(runFolder(run).result(), toJson(doneResult(run, 0))); // copied later
        QVERIFY(index->refresh().has_value());
        QCOMPARE(index->runs().front().state, std::string("done"));
    }
};

QTEST_GUILESS_MAIN(CoreRunPartsTest)
#include "run_parts_test.moc"
