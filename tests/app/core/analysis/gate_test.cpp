// SPDX-License-Identifier: MIT
// The gate for continuous integration: what passes, what fails, and what can't be said.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "analysis/compare/gate.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// Repeats whose times scatter around `seconds`; `first`: 0 or 1, the side that begins a round.
std::vector<RunOutcome> repeats(int count, double seconds, double spread, std::uint64_t seed, int first) {
    std::mt19937_64 random(seed);
    std::normal_distribution<> normal;
    std::vector<RunOutcome> out;
    for (int i = 0; i < count; ++i) {
        RunOutcome run;
        run.run = "20260102T030405Z-" + std::to_string(10000000 + first + 2 * i);
        run.name = "train.py";
        run.experiment = "20260102T030405Z-00000000";
        run.repeat = i + 1;
        run.config = RunConfig();
        run.script = true;
        run.state = RunState::Done;
        run.startWallUs = 1'000'000 * (1 + 2 * i + first);
        run.totalTrainingTimeS = seconds * std::exp(spread * normal(random));
        run.conditions.machines = {MachineRecord()};
        run.conditions.machines.front().host = "box";
        run.conditions.machines.front().cpuModel = "a processor";
        out.push_back(std::move(run));
    }
    return out;
}

GateCase gate(double slower, int count = 5, double spread = 0.01, std::uint64_t seed = 1) {
    return gateOf("train.py", repeats(count, 10, spread, seed, 0),
                  repeats(count, 10 * (1 + slower), spread, seed + 1, 1), 0.05);
}

} // namespace

class CoreGateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatTakesAsLongPasses() {
        const GateCase one = gate(0);
        QVERIFY2(one.outcome == GateOutcome::Passed, one.reason.c_str());
        QVERIFY(*one.low < 0 && *one.high > 0 && *one.high <= 0.05);
    }

    void whatTakesLongerByMoreThanIsAllowedFails() {
        const GateCase one = gate(0.12);
        QVERIFY2(one.outcome == GateOutcome::Slower, one.reason.c_str());
        QVERIFY2(one.reason.starts_with("takes 1") && one.reason.ends_with("; 5.0 % more is allowed"),
                 one.reason.c_str());
        QVERIFY(*one.low > 0.05);
    }

    void aWideIntervalIsNoPass() {
        const GateCase one = gate(0.06, 3, 0.08);
        QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
        QVERIFY2(one.reason.find("too wide to say") != std::string::npos, one.reason.c_str());
        QVERIFY(gate(0, 2).outcome == GateOutcome::Undecided);
        QVERIFY2(gate(0, 2).reason.find("three repeats of each are the least") != std::string::npos, "two repeats");
        QVERIFY(gateOf("train.py", {}, repeats(3, 10, 0, 1, 0), 0.05).outcome == GateOutcome::Undecided);
    }

    void anUnlikeMachineIsNeitherAPassNorAFailure() {
        for (const double slower : {0.0, 0.5}) {
            auto next = repeats(5, 10 * (1 + slower), 0.01, 2, 1);
            for (RunOutcome &run : next) {
                run.conditions.machines.front().host = "another";
                run.conditions.machines.front().cpuModel = "another processor";
            }
            const GateCase one = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(next), 0.05);
            QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
            QVERIFY2(one.reason.find("which says nothing: another machine: ") != std::string::npos, one.reason.c_str());
        }
    }

    void otherWorkIsUndecidedToo() {
        auto next = repeats(5, 10, 0.01, 2, 1);
        for (RunOutcome &run : next)
            run.config->epochs = 7;
        const GateCase one = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(next), 0.05);
        QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
        QVERIFY2(one.reason.find("Epochs 7 instead of") != std::string::npos, one.reason.c_str());
    }

    void theBaseIsTheReferenceWhateverMethodTheTwoHave() {
        for (const Method method : {Method::Baseline, Method::Ddp}) {
            auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 20, 0.01, 2, 1);
            for (RunOutcome &run : base)
                run.config->method = method == Method::Baseline ? Method::Ddp : Method::Baseline;
            for (RunOutcome &run : next)
                run.config->method = method;
            const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
            QVERIFY2(*one.slower > 0.9 && *one.low > 0.9, one.reason.c_str());
        }
    }

    void aNewRepeatThatFailedIsNoPassAndHidesNoneThatIsSlower() {
        for (const double slower : {0.0, 0.5}) {
            auto next = repeats(6, 10 * (1 + slower), 0.01, 2, 1);
            next.back().state = RunState::Failed;
            next.back().totalTrainingTimeS.reset();
            next.back().config->lr = 7; // as of a script that said nothing of itself before it died
            const GateCase one = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(next), 0.05);
            QVERIFY2(one.outcome == (slower > 0 ? GateOutcome::Slower : GateOutcome::Undecided), one.reason.c_str());
            QCOMPARE(one.reason.ends_with(", but 1 new repeat failed"), slower == 0);
            QCOMPARE(one.newRepeats, 5);
        }
    }

    void aNewRepeatThatDidNotTrainToItsEndIsNoPassAndHidesNoneThatIsSlower() {
        struct Planted {
            std::function<void(RunOutcome &)> plant;
            const char *said;
            int counting;
        };
        const auto ends = [](std::optional<RunState> state) {
            return [state](RunOutcome &run) {
                run.state = state;
                run.totalTrainingTimeS.reset();
            };
        };
        const std::vector<Planted> all = {
            {ends(RunState::Stopped), "was stopped", 5},
            {ends(RunState::Training), "has not finished", 5},
            {ends(std::nullopt), "has not finished", 5},
            {ends(RunState::Done), "ended without a training time", 5},
            {[](RunOutcome &run) {
                 run.missing = true;
                 run.state.reset();
                 run.totalTrainingTimeS.reset();
             },
             "is not here", 5},
            {[](RunOutcome &run) { run.restarts = 2; }, "lost ranks, which were started again", 6}};
        for (const Planted &planted : all)
            for (const double slower : {0.0, 0.5}) {
                auto next = repeats(6, 10 * (1 + slower), 0.01, 2, 1);
                planted.plant(next.back());
                const GateCase one = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(next), 0.05);
                QVERIFY2(one.outcome == (slower > 0 ? GateOutcome::Slower : GateOutcome::Undecided),
                         one.reason.c_str());
                QVERIFY2(one.reason.ends_with(std::string(", but 1 new repeat ") + planted.said) == (slower == 0),
                         one.reason.c_str());
                QCOMPARE(one.newRepeats, planted.counting);
            }
        auto several = repeats(7, 10, 0.01, 2, 1);
        ends(RunState::Stopped)(several[5]);
        ends(RunState::Stopped)(several[6]);
        several[0].restarts = 1;
        const GateCase both = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(several), 0.05);
        QVERIFY2(both.reason.ends_with(
                     ", but 2 new repeats were stopped and 1 new repeat lost ranks, which were started again"),
                 both.reason.c_str());
    }

    void lessWorkInOneRepeatIsNoPassThoughItsStepsAloneAreKnown() {
        for (const std::size_t fewer : {std::size_t(1), std::size_t(5)})
            for (const bool samples : {false, true}) {
                auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, fewer == 5 ? 5 : 10, 0.01, 2, 1);
                const auto does = [&](RunOutcome &run, int work) {
                    MergedEpoch epoch;
                    epoch.complete = samples;
                    epoch.samples = 10 * work;
                    run.epochs = {epoch};
                    if (!samples)
                        run.steps = work;
                };
                for (std::size_t i = 0; i < base.size(); ++i) {
                    does(base[i], 200);
                    does(next[i], i < fewer ? 100 : 200);
                }
                const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
                QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
                const char *less = samples ? "Samples seen 1000 instead of 2000" : "Steps made 100 instead of 200";
                QVERIFY2(one.reason.find(less) != std::string::npos, one.reason.c_str());
            }
    }

    /// Whatever is done less takes no time, so that a slowdown as small would pass.
    void alsoALittleLessWorkIsNoPassAndSaysTheWayOut() {
        for (const int fewer : {1, 20}) {
            auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 10, 0.01, 2, 1);
            for (std::size_t i = 0; i < base.size(); ++i) {
                base[i].steps = 500;
                next[i].steps = 500 - fewer;
            }
            const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
            QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
            const std::string said =
                "which says nothing: Steps made " + std::to_string(500 - fewer) + " instead of 500";
            QVERIFY2(one.reason.find(said) != std::string::npos, one.reason.c_str());
            QVERIFY2(one.reason.ends_with("With --against, --max-steps gives both as much to do"), one.reason.c_str());
        }
    }

    void workThatIsKnownOfSomeRepeatsAloneIsNoPass() {
        const auto tells = [](RunOutcome &run) {
            MergedEpoch epoch;
            epoch.complete = true;
            epoch.durationS = 10;
            epoch.samples = 640;
            run.epochs = {epoch};
        };
        for (const std::size_t telling : {std::size_t(0), std::size_t(4), std::size_t(5)})
            for (const bool ofBase : {false, true}) {
                auto all = repeats(5, 10, 0.01, 1, 0), some = repeats(5, 10, 0.01, 2, 1);
                std::ranges::for_each(all, tells);
                std::for_each_n(some.begin(), telling, tells);
                for (auto *runs : {&all, &some})
                    for (RunOutcome &run : *runs)
                        run.steps = 40; // may be of another batch
                const GateCase one = ofBase ? gateOf("train.py", std::move(some), std::move(all), 0.05)
                                            : gateOf("train.py", std::move(all), std::move(some), 0.05);
                QVERIFY2((one.outcome == GateOutcome::Passed) == (telling == 5), one.reason.c_str());
                const std::string said = "how many samples it has seen is unknown for " + std::to_string(5 - telling) +
                                         " of 5 repeats of " + (ofBase ? "the base" : "the new run");
                QCOMPARE(one.reason.find(said) != std::string::npos, telling < 5);
            }
    }

    /// As of a copy without the log, or with the first part of it.
    void workThatALogLacksIsTheSummarys() {
        for (const std::size_t logged : {std::size_t(0), std::size_t(1), std::size_t(2)})
            for (const bool samples : {true, false})
                for (const int less : {0, 12}) {
                    auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 10, 0.01, 2, 1);
                    const auto does = [&](RunOutcome &run, int steps, std::size_t epochs) {
                        for (int epoch = 1; epoch <= 2; ++epoch)
                            run.summedEpochs.push_back({epoch, {}, 5, samples ? 32 * steps : 0});
                        run.summedSteps = 2 * steps;
                        for (int epoch = 1; epoch <= int(epochs); ++epoch) {
                            MergedEpoch one;
                            one.epoch = epoch;
                            one.complete = true;
                            one.durationS = 5;
                            one.samples = samples ? 32 * steps : 0;
                            run.epochs.push_back(one);
                            run.steps = epoch * steps;
                        }
                    };
                    for (std::size_t i = 0; i < base.size(); ++i) {
                        does(base[i], 25, 2);
                        does(next[i], 25 - less, logged);
                    }
                    const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
                    QVERIFY2(one.outcome == (less ? GateOutcome::Undecided : GateOutcome::Passed), one.reason.c_str());
                    const char *said = samples ? "Samples seen 832 instead of 1600" : "Steps made 26 instead of 50";
                    QCOMPARE(one.reason.find(said) != std::string::npos, less > 0);
                }
    }

    void twoWaysToTrainAreNoBeforeAndAfter() {
        struct Changed {
            std::function<void(RunOutcome &)> change;
            const char *said;
        };
        const std::vector<Changed> all = {
            {[](RunOutcome &run) { run.config->method = Method::Dp; }, "Method dp instead of baseline: "},
            {[](RunOutcome &run) { run.about["method"] = "ddp"; }, "Method ddp instead of fsdp: "},
            {[](RunOutcome &run) {
                 run.deviceNames = {"cpu:0", "cpu:1"};
             },
             "Devices 2 instead of 1: "},
            {[](RunOutcome &run) { run.processes = 2; }, "Processes 2 instead of 1: "},
            {[](RunOutcome &run) { run.config->model = "mlp"; }, "Model mlp instead of lenet: "}};
        for (const Changed &changed : all) {
            auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 10, 0.01, 2, 1);
            for (auto *runs : {&base, &next})
                for (RunOutcome &run : *runs) {
                    run.deviceNames = {"cpu:0"};
                    run.about["method"] = "fsdp";
                }
            std::ranges::for_each(next, changed.change);
            const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
            QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
            QVERIFY2(one.reason.find("which says nothing: " + std::string(changed.said)) != std::string::npos,
                     one.reason.c_str());
        }
    }

    void aMethodThatOneSideAloneTellsAndAnotherDeviceAreNoOtherRun() {
        auto base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 10, 0.01, 2, 1);
        for (auto *runs : {&base, &next})
            for (RunOutcome &run : *runs)
                run.config.reset(); // a script that was followed
        for (std::size_t i = 0; i < base.size(); ++i) {
            base[i].deviceNames = {"cpu:0"};
            next[i].deviceNames = {"cpu:1"};
            next[i].about["method"] = "baseline";
        }
        const GateCase one = gateOf("train.py", std::move(base), std::move(next), 0.05);
        QVERIFY2(one.outcome == GateOutcome::Passed, one.reason.c_str());
    }

    void repeatsOfOneSideOnTwoMachinesOrByTwoCommandsAreUndecided() {
        for (const bool machine : {true, false}) {
            auto next = repeats(5, 10, 0.01, 2, 1);
            next[3].experiment.clear();
            if (machine)
                next[3].conditions.machines.front().host = "another";
            else
                next[3].command = {"python3", "train.py", "--fast"};
            const GateCase one = gateOf("train.py", repeats(5, 10, 0.01, 1, 0), std::move(next), 0.05);
            QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
            QVERIFY2(one.reason.find("not all made by the same command") != std::string::npos, one.reason.c_str());
        }
    }

    void aMeasurementThatWasRecordedThriceIsOneRepeat() {
        std::vector<RunOutcome> next = repeats(3, 10, 0.01, 2, 1);
        for (RunOutcome &run : next)
            run.recorded = RecordedFiles{"rank 0 on box, at 1 us", 100};
        const GateCase one = gateOf("train.py", repeats(3, 10, 0.01, 1, 0), next, 0.05);
        QCOMPARE(one.newRepeats, 1);
        QVERIFY2(one.outcome == GateOutcome::Undecided, one.reason.c_str());
    }

    void runsThatBeginAlikeAndReportDifferentTimesAreUndecidedAndNamed() {
        for (const bool inBase : {true, false}) {
            std::vector<RunOutcome> base = repeats(5, 10, 0.01, 1, 0), next = repeats(5, 10, 0.01, 2, 1);
            std::vector<RunOutcome> &side = inBase ? base : next;
            side[0].begin = "rank 0 at 1 us, 1 ns";
            RunOutcome other = side[0];
            other.run = "other";
            other.totalTrainingTimeS = 2;
            side.push_back(other);
            const GateCase one = gateOf("train.py", base, next, 0.05);
            QVERIFY(one.outcome == GateOutcome::Undecided);
            QVERIFY2(one.reason.find(side[0].run) != std::string::npos && one.reason.find("other") != std::string::npos,
                     one.reason.c_str());
            side.back().totalTrainingTimeS = side[0].totalTrainingTimeS; // a copy
            QVERIFY(gateOf("train.py", base, next, 0.05).outcome == GateOutcome::Passed);
        }
    }

    void theWorstOfSeveralRunsCounts() {
        const GateCase passed = gate(0), slower = gate(0.2), undecided = gate(0, 2);
        QVERIFY(worstOf({passed}) == GateOutcome::Passed);
        QVERIFY(worstOf({passed, undecided}) == GateOutcome::Undecided);
        QVERIFY(worstOf({undecided, slower, passed}) == GateOutcome::Slower);
        QVERIFY2(worstOf({}) == GateOutcome::Undecided, "nothing was compared");
    }

    void reportsAreWhatContinuousIntegrationReads() {
        GateCase odd = gate(0.2);
        odd.name = "a <b> | c";
        GateCase control = gate(0);
        control.name = "a\x01z\uFFFE!";
        QVERIFY(toJUnit({control}).find("name=\"a z !\"") != std::string::npos);
        GateCase heading = gate(0);
        heading.name = "x\n\n# Approved\n[click](http://there)";
        const std::string junit = toJUnit({gate(0), odd, gate(0, 2)});
        QVERIFY2(junit.find("tests=\"3\" failures=\"1\" errors=\"1\"") != std::string::npos, junit.c_str());
        QVERIFY2(junit.find("name=\"a &lt;b&gt; | c\"") != std::string::npos, junit.c_str());
        const std::string page = toMarkdown({odd}, 0.05);
        QVERIFY2(page.starts_with("**Training time: slower**") &&
                     page.find("| a \\<b\\> \\| c | 19.9 % | 19.1 % to 20.7 % | 5, 5 | slower |") != std::string::npos,
                 page.c_str());
        const std::string calm = toMarkdown({heading}, 0.05);
        QVERIFY2(calm.find("\n#") == std::string::npos && calm.find("[click]") == std::string::npos, calm.c_str());
        QVERIFY(toJson({gate(0)}, 0.05).find("\"outcome\": \"passed\"") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(CoreGateTest)
#include "gate_test.moc"
