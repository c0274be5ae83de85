// SPDX-License-Identifier: MIT
// How much each of two had to do, where samples don't say it; and epochs that another run made before a checkpoint.
#include <algorithm>

#include "analysis/compare/gate.h"
#include "analysis/compare/judgement.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// A script that reports its steps, but not its samples.
struct Script {
    const char *name, *method;
    int ranks;
    int epochs, stepsAnEpoch; ///< of each rank
    double seconds;
    const char *batch = "";
};

MergedEpoch epochOf(int number, double durationS) {
    MergedEpoch out;
    out.epoch = number;
    out.complete = true;
    out.durationS = durationS;
    return out;
}

std::vector<RunOutcome> repeatsOf(const Script &script) {
    std::vector<RunOutcome> out;
    for (int repeat = 1; repeat <= 3; ++repeat) {
        RunOutcome run;
        run.run = std::string(script.name) + std::to_string(repeat);
        run.name = script.name;
        run.repeat = repeat;
        run.script = true;
        run.about = {{"method", script.method}};
        if (*script.batch)
            run.about["batch_size"] = script.batch;
        run.processes = script.ranks;
        run.state = RunState::Done;
        run.totalTrainingTimeS = script.seconds * (1 + 0.005 * repeat);
        run.runTimeS = *run.totalTrainingTimeS + 1;
        run.steps = script.epochs * script.stepsAnEpoch;
        for (int epoch = 1; epoch <= script.epochs; ++epoch)
            run.epochs.push_back(epochOf(epoch, *run.totalTrainingTimeS / script.epochs));
        out.push_back(std::move(run));
    }
    return out;
}

std::vector<RunOutcome> together(std::vector<RunOutcome> one, const std::vector<RunOutcome> &other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

VerdictLine lineOf(const Script &reference, const Script &run) {
    const auto runs = together(repeatsOf(reference), repeatsOf(run));
    return judge(resultTable(runs, reference.name), runs, {}).lines.front();
}

/// Findings of unlike work, "KEY WEIGHT" each.
std::string foundBetween(const Script &reference, const Script &run, const std::vector<std::string> &varies = {}) {
    std::string out;
    const RepeatGroup a{reference.name, repeatsOf(reference), true}, b{run.name, repeatsOf(run), false};
    for (const FairnessFinding &one : fairnessOf(a, b, varies, {}))
        if (one.key == "work" || one.key == "epochs" || one.key == "steps" || one.key == "samples")
            out += one.key + " " + std::string(toString(one.weight)) + " ";
    return out;
}

const Script baseline = {"baseline", "baseline", 1, 3, 100, 30};

/// Five epochs, of which the first ones may be of a checkpoint.
std::vector<RunOutcome> trained(const char *name, double epochS, int firstEpoch, double earlierS) {
    std::vector<RunOutcome> out;
    for (int repeat = 1; repeat <= 3; ++repeat) {
        const double ownS = epochS * (1 + 0.005 * repeat);
        RunOutcome run;
        run.run = std::string(name) + std::to_string(repeat);
        run.name = name;
        run.repeat = repeat;
        run.config = RunConfig();
        run.config->resume = firstEpoch > 1;
        run.state = RunState::Done;
        run.firstEpoch = firstEpoch;
        run.earlierS = earlierS;
        for (int epoch = 1; epoch <= 5; ++epoch) {
            run.epochs.push_back(epoch < firstEpoch ? MergedEpoch() : epochOf(epoch, ownS));
            run.epochs.back().epoch = epoch;
            run.epochs.back().samples = epoch < firstEpoch ? 0 : 640;
        }
        const double madeS = ownS * (6 - firstEpoch);
        run.totalTrainingTimeS = earlierS + madeS;
        run.runTimeS = madeS + 1;
        run.rankPhasesS = {{0, {{"load", 0.4 * madeS}, {"forward", 0.2 * madeS}, {"backward", 0.4 * madeS}}}};
        out.push_back(std::move(run));
    }
    return out;
}

} // namespace

class CoreUnlikeWorkTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void missingStepsAreNoGainThoughSamplesAreUnknown() {
        const Script less = {"ddp", "ddp", 2, 3, 10, 6};
        const VerdictLine line = lineOf(baseline, less);
        QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
        QCOMPARE(line.reason, std::string("unfair: Work 30 steps by each of 2 ranks instead of 300 steps"));
        QVERIFY2(!line.efficiency, "250 % of work that is unknown");
        const GateCase gate = gateOf("train.py", repeatsOf(baseline), repeatsOf(less), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided, gate.reason.c_str());
        QVERIFY2(gate.reason.find("how many samples each has seen is unknown") != std::string::npos &&
                     gate.reason.find("run.step(loss, samples)") != std::string::npos,
                 gate.reason.c_str());
    }

    void missingEpochsAreNoGainEither() {
        const Script three = {"baseline", "baseline", 1, 3, 10, 15}, one = {"ddp", "ddp", 2, 1, 10, 5};
        const VerdictLine line = lineOf(three, one);
        QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
        QCOMPARE(line.reason, std::string("unfair: Epochs 1 instead of 3"));
        const GateCase gate = gateOf("train.py", repeatsOf(three), repeatsOf(one), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided, gate.reason.c_str());
    }

    /// Its training time is of what it made here alone.
    void epochsBeforeAScriptsCheckpointAreNoWorkOfItsOwn() {
        const Script whole = {"baseline", "baseline", 1, 4, 100, 40}, half = {"ddp", "ddp", 2, 4, 100, 20};
        for (const bool samplesKnown : {false, true}) {
            auto base = repeatsOf(whole),
                 next = repeatsOf(samplesKnown ? Script{"new", "baseline", 1, 4, 100, 20} : half);
            for (auto *runs : {&base, &next})
                for (RunOutcome &run : *runs)
                    for (MergedEpoch &epoch : run.epochs)
                        epoch.samples = samplesKnown ? 640 : 0;
            for (RunOutcome &run : next) {
                run.firstEpoch = 3;
                run.steps = 200;
                if (samplesKnown)
                    run.steps.reset();
                for (int epoch = 1; epoch < 3; ++epoch)
                    run.epochs[std::size_t(epoch) - 1] = MergedEpoch{epoch};
            }
            const auto runs = together(base, next);
            const VerdictLine line = judge(resultTable(runs, "baseline"), runs, {}).lines.front();
            QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
            QCOMPARE(line.reason, std::string("unfair: Epochs 2 instead of 4"));
        }
    }

    void epochsWhoseStepsAreUnknownDontSayTheWork() {
        auto base = repeatsOf(baseline), next = repeatsOf({"ddp", "ddp", 2, 3, 10, 6});
        for (auto *runs : {&base, &next})
            for (RunOutcome &run : *runs)
                run.steps.reset();
        const GateCase gate = gateOf("train.py", std::move(base), std::move(next), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided &&
                     gate.reason.find("3 epochs of unknown steps by each of 2 ranks") != std::string::npos,
                 gate.reason.c_str());
    }

    void asManyStepsOrAsManyOfAllRanksAreTheSameWork() {
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 100, 20}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 50, 16}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 34, 11}),
                 std::string()); // the last step has a rank's batch less
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 33, 11}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 30, 11}), std::string("work decisive "));
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 49, 16}), std::string("work notable "));
        const VerdictLine line = lineOf(baseline, {"ddp", "ddp", 2, 3, 50, 16});
        QVERIFY2(line.outcome == Outcome::WorthIt, line.reason.c_str());
    }

    void stepsOfAnotherBatchAreTheSameWorkIfTheirSamplesAre() {
        const Script small = {"64", "baseline", 1, 3, 101, 30, "64"};
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 51, 20, "128"}, {"batch_size"}), std::string());
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 40, 20, "128"}, {"batch_size"}),
                 std::string("work decisive "));
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 40, 20, "128"}),
                 std::string()); // the batch is named as such
    }

    void aCheckpointsEpochsHaveNoCauseAndPassNoGate() {
        const auto base = trained("base", 0.56, 1, 0), resumed = trained("resumed", 0.45, 5, 1.1);
        const auto runs = together(base, resumed);
        const Judgement judgement = judge(resultTable(runs, "base"), runs, {});
        const PairJudgement &pair = judgement.pairs.front();
        QVERIFY(pair.training && pair.training->factor > 1.7);
        QVERIFY2(!pair.attribution, "bars of one epoch beside a factor of five");
        QVERIFY2(judgement.sentence.find("data loading") == std::string::npos, judgement.sentence.c_str());
        QVERIFY2(judgement.lines.front().reason.empty(), judgement.lines.front().reason.c_str());
        const std::string said =
            "resumed: First epoch made here 5 instead of 1: one that goes on from a checkpoint has not "
            "made all of its epochs here. Train from the first epoch to compare. No cause is named.";
        for (const auto *reservations : {&judgement.reservations, &judgement.otherReservations})
            QVERIFY(std::ranges::find(*reservations, said) != reservations->end());
        const GateCase gate = gateOf("train.py", base, resumed, 0.4);
        QVERIFY2(gate.outcome == GateOutcome::Undecided &&
                     gate.reason.find("First epoch made here 5 instead of 1") != std::string::npos,
                 gate.reason.c_str());
        const GateCase both = gateOf("train.py", resumed, trained("later", 0.8, 5, 1.1), 0.4);
        QVERIFY2(both.outcome == GateOutcome::Undecided &&
                     both.reason.find("First epoch made here 5 in both") != std::string::npos,
                 both.reason.c_str());
    }

    void epochsThatBothMadeThemselvesHaveTheirCauses() {
        const auto base = trained("base", 0.56, 1, 0), faster = trained("faster", 0.3, 1, 0);
        auto runs = together(base, faster);
        for (std::size_t i = base.size(); i < runs.size(); ++i)
            runs[i].config->augment = "affine"; // else they were repeats of one
        QVERIFY(judge(resultTable(runs, "base"), runs, {}).pairs.front().attribution);
        QVERIFY(gateOf("train.py", base, faster, 0.4).outcome == GateOutcome::Passed);
    }
};

QTEST_GUILESS_MAIN(CoreUnlikeWorkTest)
#include "unlike_work_test.moc"
