// SPDX-License-Identifier: MIT
// What all runs had to bear alike, a factor adjusted for load, and effects of the order of repeats.
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/causes/watching.h"
#include "analysis/compare/judgement.h"
#include "analysis/fairness/fairness.h"
#include "analysis/fairness/order_effects.h"
#include "analysis/fairness/runs_beside.h"
#include "analysis/fairness/shared_load.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

constexpr double measuredS = 100;

/// A repeat that lasted so long while others used so many cores; no core was free.
RunOutcome repeatOf(const std::string &name, int repeat, int place, double trainingS, double otherCores,
                    double stolenCores = 0, int freeCores = 0) {
    RunOutcome run;
    run.run = name + std::to_string(repeat);
    run.name = name;
    run.experiment = "the experiment";
    run.repeat = repeat;
    RunConfig config;
    config.method = name == "baseline" ? Method::Baseline : Method::Ddp;
    if (name != "baseline")
        config.devices = {"0", "1"};
    run.config = config;
    run.state = RunState::Done;
    run.startWallUs = 1'700'000'000'000'000 + std::int64_t(repeat) * 1'000'000'000 + std::int64_t(place) * 10'000'000;
    run.totalTrainingTimeS = trainingS;
    run.runTimeS = trainingS + 1;
    run.hosts = {"box"};
    run.conditions.freeCores = freeCores;
    run.conditions.surroundings = Surroundings{measuredS, otherCores * measuredS, stolenCores * measuredS, {}, {}};
    return run;
}

RepeatGroup groupOf(const std::string &name, std::vector<RunOutcome> runs) {
    return {name, std::move(runs), name == "baseline"};
}

Judgement judgementOf(const std::vector<RepeatGroup> &groups) {
    std::vector<RunOutcome> outcomes;
    for (const RepeatGroup &group : groups)
        outcomes.insert(outcomes.end(), group.runs.begin(), group.runs.end());
    return judge(resultTable(outcomes), outcomes, {});
}

/// Two runs of so many repeats; `load` says how many cores others had in a repeat.
template <class Load> std::vector<RepeatGroup> twoGroups(int repeats, double slope, Load load, double speedUp = 1.6) {
    std::mt19937_64 random(5);
    std::normal_distribution<> noise(0, 0.01);
    std::vector<RunOutcome> before, after;
    for (int repeat = 1; repeat <= repeats; ++repeat) {
        const double a = load(0, repeat), b = load(1, repeat);
        before.push_back(repeatOf("baseline", repeat, 0, 10 * std::exp(slope * a + noise(random)), a));
        after.push_back(repeatOf("DDP on 2 devices", repeat, 1, 10 / speedUp * std::exp(slope * b + noise(random)), b));
    }
    return {groupOf("baseline", before), groupOf("DDP on 2 devices", after)};
}

bool says(const Judgement &judgement, const std::string &text) {
    return std::ranges::any_of(judgement.reservations,
                               [&](const std::string &one) { return one.find(text) != std::string::npos; });
}

} // namespace

class DisturbanceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aWholeCoreOfOthersInEveryRunIsSaidWithItsFigures() {
        const Judgement found = judgementOf(twoGroups(3, 0, [](int, int) { return 1.0; }));
        QVERIFY(found.pairs.at(0).fairness.empty()); // no difference, which is why nothing was said
        QCOMPARE(found.sharedLoads.size(), std::size_t{1});
        QCOMPARE(found.sharedLoads[0].low, 1.0);
        QVERIFY2(says(found, "All runs: other programs took 1.0 cores in every run, 1.0 cores more than were free."),
                 found.reservations.empty() ? "nothing" : found.reservations.front().c_str());
    }

    void halfTheTimeStolenInEveryRunIsSaid() {
        std::vector<RepeatGroup> groups = {groupOf("baseline", {}), groupOf("DDP on 2 devices", {})};
        for (int repeat = 1; repeat <= 3; ++repeat)
            for (std::size_t group = 0; group < 2; ++group)
                groups[group].runs.push_back(
                    repeatOf(groups[group].name, repeat, int(group), 10, 0.02, group == 0 ? 0.9 : 1.1));
        const Judgement found = judgementOf(groups);
        QVERIFY(says(found, "All runs: the hypervisor's other guests took 0.90 to 1.1 cores in every run."));
    }

    void loadOnFreeCoresIsSaidAsSharedCachesOnly() {
        std::vector<RepeatGroup> groups = {groupOf("baseline", {}), groupOf("DDP on 2 devices", {})};
        for (int repeat = 1; repeat <= 3; ++repeat)
            for (std::size_t group = 0; group < 2; ++group)
                groups[group].runs.push_back(repeatOf(groups[group].name, repeat, int(group), 10, 0.9, 0, 1));
        const Judgement found = judgementOf(groups);
        QVERIFY(says(found, "took 0.90 cores in every run, at most 0 cores more than were free. It shared caches"));
    }

    void ofSeveralNodesLoadIsInTheWayBeyondTheFreeCoresOfTheNodeThatHadIt() {
        RunOutcome run = repeatOf("DDP on 2 devices", 1, 0, 10, 3, 0, 8);
        QCOMPARE(excessCores(run).value_or(-1), 0.0);
        run.conditions.surroundings->loadedNode = "hostB";
        run.conditions.surroundings->freeCores = 2;
        QCOMPARE(excessCores(run).value_or(-1), 1.0);
        QCOMPARE(freeCores(run), 8.0); // the first node's, where viewers are
    }

    void whatWentOnAroundSeveralNodesSaysWhichNodeItIsOf() {
        Surroundings around{20, 16.74, 0.0, 2.0, {"CPU quota"}};
        QCOMPARE(surroundingsText(around), QStringLiteral("other programs took 0.84 cores; clocks or quota held it "
                                                          "down for 10.0 % of the time (CPU quota)"));
        around.nodes = 2;
        around.loadedNode = "hostB";
        around.heldNode = "hostA";
        QCOMPARE(surroundingsText(around),
                 QStringLiteral("on hostB, the most loaded of 2 nodes: other programs took 0.84 cores; clocks or "
                                "quota held hostA down for 10.0 % of the time (CPU quota)"));
        around.nodesUnknown = 1;
        QVERIFY(surroundingsText(around).startsWith(
            QStringLiteral("on hostB, the most loaded of 2 nodes that reported it, of 3 in all: ")));
        around.nodes = 1;
        QVERIFY(surroundingsText(around).startsWith(
            QStringLiteral("on hostB, the only one of 2 nodes that reported it: ")));
        Watching watching{0, {}, {}, 0.2, 25.3};
        watching.nodes = 2;
        QCOMPARE(watchingText(watching, 0, 20),
                 QStringLiteral("on the run's first node: nobody watched there; the agent took 0.010 cores; the ranks' "
                                "threads on all 2 nodes waited 25.3 s for a core, for whatever ran there"));
    }

    void aQuietMachineAndOneThatIsNotMeasuredAreNotSaid() {
        QVERIFY(judgementOf(twoGroups(3, 0, [](int, int) { return 0.05; })).sharedLoads.empty());
        std::vector<RepeatGroup> groups = twoGroups(3, 0, [](int, int) { return 1.0; });
        groups[1].runs[0].conditions.surroundings.reset();
        QVERIFY(judgementOf(groups).sharedLoads.empty());
    }

    void roundsInWhichOtherProgramsWereBusyAreLeftOut() {
        // A busy loop stops half-way. DDP has no core to spare and loses a third to it, the baseline nothing.
        const auto load = [](int group, int repeat) { return group == 1 && repeat <= 3 ? 0.6 : 0.02; };
        const Judgement found = judgementOf(twoGroups(6, 0.5, load));
        const SpeedUp &speedUp = *found.pairs.at(0).training;
        QVERIFY2(*speedUp.low < 1.6 && *speedUp.high > 1.6 && *speedUp.high / *speedUp.low < 1.1,
                 qPrintable(QString::number(speedUp.factor)));
        QCOMPARE(speedUp.runRepeats, 3);
        QVERIFY(speedUp.disturbance && speedUp.disturbance->isLeftOut() && speedUp.isDifferent());
        QCOMPARE(speedUp.disturbance->rounds, (std::vector{1, 2, 3}));
        QVERIFY(std::fabs(found.pairs[0].wholeRun->factor - (10 + 1) / (10 / 1.6 + 1)) < 0.03);
        QVERIFY2(std::ranges::none_of(found.pairs[0].fairness, [](const auto &one) { return one.key == "load"; }),
                 "what counts was measured under the same load");
        QVERIFY2(says(found, "DDP on 2 devices: other programs were busy in rounds 1-3 (0.58 cores more than in the "
                             "quietest): speed-ups and causes are of the other rounds, times in tables are of all."),
                 found.reservations.empty() ? "nothing" : found.reservations.front().c_str());
        QVERIFY2(!found.pairs[0].adjusted, "it would be fitted to rounds that do not count");
        QVERIFY(found.lines.at(0).outcome == Outcome::WorthIt);
        QVERIFY2(found.orderEffects.empty() || found.orderEffects[0].sentence.empty(), "it is told already");
    }

    void withFewerThanThreeQuietRoundsNothingIsSettled() {
        const auto load = [](int group, int repeat) { return group == 1 && repeat != 2 && repeat < 4 ? 0.6 : 0.02; };
        const Judgement found = judgementOf(twoGroups(4, 0.5, load));
        const SpeedUp &speedUp = *found.pairs.at(0).training;
        QVERIFY(speedUp.isUnsettled() && !speedUp.isDifferent() && !speedUp.isEqual());
        QCOMPARE(speedUp.runRepeats, 4);
        const std::string busy = "other programs were busy in rounds 1 and 3";
        QVERIFY(found.lines.at(0).outcome == Outcome::CantTell);
        QCOMPARE(found.lines[0].reason, busy + "; add 1 repeat on a quiet machine");
        QVERIFY2(found.sentence.find("can't tell yet whether it differs from baseline (") != std::string::npos &&
                     found.sentence.find("): " + busy + ".") != std::string::npos,
                 found.sentence.c_str());
        QVERIFY(says(found, ": fewer than three other rounds are left, so all count, and nothing is settled."));
        QVERIFY(says(found, "1 more repeat of each on a quiet machine"));
        QCOMPARE(found.pairs[0].settling->quietLacking, 1);
    }

    void aLineThatNamesSoManyRepeatsOffersAsManyWhateverOtherLinesTake() {
        std::vector<RepeatGroup> groups =
            twoGroups(4, 0.5, [](int group, int repeat) { return group == 1 && repeat < 3 ? 0.6 : 0.02; });
        std::vector<RunOutcome> further; // busy in one round more
        for (int repeat = 1; repeat <= 4; ++repeat) {
            RunOutcome run = repeatOf("DDP on 4 devices", repeat, 2, 5 + 0.02 * repeat, repeat < 4 ? 0.6 : 0.02);
            run.config->devices = {"0", "1", "2", "3"};
            further.push_back(run);
        }
        groups.push_back(groupOf("DDP on 4 devices", further));
        std::vector<RunOutcome> outcomes;
        for (std::size_t place = 0; place < groups.size(); ++place)
            for (RunOutcome &run : groups[place].runs) {
                run.startWallUs += std::int64_t(place) * 100'000'000; // none beside another
                outcomes.push_back(run);
            }
        ResultTable table = resultTable(outcomes);
        table.experiment = "E";
        table.extendable = true;
        const Judgement found = judge(table, outcomes, {});
        QVERIFY(found.settling && found.settling->rounds == 2);
        for (const auto &[line, repeats] : {std::pair(found.lines.at(0), 1), std::pair(found.lines.at(1), 2)}) {
            const std::string number = std::to_string(repeats);
            QVERIFY2(line.reason.find("; add " + number + " repeat") != std::string::npos, line.reason.c_str());
            QVERIFY(line.settles && line.settles->rounds == repeats);
            QVERIFY2(says(found, line.run + ": lockstepctl repeat E " + number + " adds " + number + " repeat"),
                     line.run.c_str());
        }
    }

    void aSwitchThatDiffersIsOnOrOff() {
        std::vector<RepeatGroup> groups = twoGroups(3, 0, [](int, int) { return 0.0; });
        for (RunOutcome &run : groups[1].runs)
            run.config->oversubscribe = true;
        const auto findings = fairnessOf(groups[0], groups[1], {}, groups);
        const auto found = std::ranges::find(findings, "oversubscribe", &FairnessFinding::key);
        QVERIFY(found != findings.end());
        QVERIFY2(found->sentence.starts_with("Share cores on instead of off: "), found->sentence.c_str());
    }

    void loadThatAllRoundsBearAlikeOrThatIsUnknownLeavesNothingOut() {
        const auto even = [](int group, int repeat) { return group * 0.6 + 0.02 * repeat; };
        QVERIFY(!judgementOf(twoGroups(6, 0.5, even)).pairs.at(0).training->disturbance);
        std::vector<RepeatGroup> groups = twoGroups(6, 0.5, [](int, int repeat) { return repeat <= 3 ? 0.6 : 0; });
        groups[0].runs[5].conditions.surroundings.reset();
        groups[1].runs[5].conditions.surroundings.reset();
        QVERIFY(!judgementOf(groups).pairs.at(0).training->disturbance);
    }

    void loadLeavesNoRoundOutWhereRunsTookTurnsAndBoreItAlike() {
        std::vector<RepeatGroup> groups = twoGroups(6, 0.5, [](int, int repeat) { return repeat <= 3 ? 0.6 : 0; });
        QVERIFY(judgementOf(groups).pairs.at(0).training->disturbance);
        for (RepeatGroup &group : groups)
            for (RunOutcome &run : group.runs)
                run.conditions.inTurns = true;
        QVERIFY(!judgementOf(groups).pairs.at(0).training->disturbance);
    }

    void repeatsOfAPipelineThatCutTheModelOtherwiseAreADifference() {
        std::vector<RepeatGroup> groups = twoGroups(3, 0, [](int, int) { return 0.0; });
        const auto said = [&] {
            for (const FairnessFinding &finding : fairnessOf(groups[0], groups[1], {}, groups))
                if (finding.key == "stage_layers")
                    return finding.sentence;
            return std::string();
        };
        for (RunOutcome &run : groups[1].runs) {
            run.config->method = Method::Pipeline;
            run.conditions.stageLayers = "2,3";
        }
        QCOMPARE(said(), std::string());
        groups[1].runs.back().conditions.stageLayers = "3,2";
        QVERIFY(said().starts_with("Layers of each stage 2,3 or 3,2 instead of none: "));
        for (RunOutcome &run : groups[1].runs)
            run.config->stageLayers = run.conditions.stageLayers; // meant
        QCOMPARE(said(), std::string());
    }

    void runsThatTookTurnsHadNoOtherBesideThem() {
        std::vector<RepeatGroup> groups = twoGroups(3, 0, [](int, int) { return 0.0; });
        groups.push_back(groupOf("DDP on 4 devices", groups[1].runs)); // at the same times as those on 2
        for (RunOutcome &run : groups[2].runs)
            run.run += " too";
        const auto beside = [&] {
            const auto findings = fairnessOf(groups[0], groups[1], {}, groups);
            return std::ranges::find(findings, "side_by_side", &FairnessFinding::key) != findings.end();
        };
        QVERIFY(beside());
        for (RepeatGroup &group : groups)
            for (RunOutcome &run : group.runs)
                run.conditions.inTurns = true;
        QVERIFY(!beside());
    }

    void aRunOfThePairIsBesideAnotherOnceThoughTheListOfAllNamesItToo() {
        std::vector<RepeatGroup> groups = twoGroups(3, 0, [](int, int) { return 0.0; });
        for (RunOutcome &run : groups[1].runs) // its repeats went side by side
            run.startWallUs = groups[1].runs.front().startWallUs;
        const auto besideIt = [&](const std::vector<RepeatGroup> &others) {
            const auto findings = fairnessOf(groups[0], groups[1], {}, others);
            const auto found = std::ranges::find(findings, "side_by_side", &FairnessFinding::key);
            return found == findings.end() ? std::string() : found->run;
        };
        QVERIFY(besideIt({}).starts_with("2"));
        QCOMPARE(besideIt(groups), besideIt({}));
    }

    void theAdjustedFactorTakesLoadOut() {
        // The runs of DDP had more load by chance: raw it reads slower than it is.
        const auto load = [](int group, int repeat) { return 0.3 * (repeat % 3) + (group == 1 ? 0.4 : 0); };
        const std::vector<RepeatGroup> groups = twoGroups(6, 0.5, load);
        const Judgement found = judgementOf(groups);
        const PairJudgement &pair = found.pairs.at(0);
        QVERIFY(std::fabs(pair.training->factor - 1.6 * std::exp(-0.5 * 0.4)) < 0.03); // 1.31
        QVERIFY(pair.adjusted.has_value());
        QVERIFY2(std::fabs(pair.adjusted->factor - 1.6) < 0.03, qPrintable(QString::number(pair.adjusted->factor)));
        QVERIFY(std::fabs(pair.adjusted->perCore - 0.5) < 0.05);
        QVERIFY(pair.adjusted->low < 1.6 && pair.adjusted->high > 1.6);
        QCOMPARE(pair.adjusted->degrees, 9);
        QVERIFY(says(found, "DDP on 2 devices: adjusted for measured load: 1.6"));
        QVERIFY(says(found, "; a sensitivity check, not the result."));
    }

    void theAdjustedIntervalHoldsTheTruth() {
        std::mt19937_64 random(11);
        std::normal_distribution<> noise(0, 0.03);
        std::uniform_real_distribution<> load(0, 1);
        int held = 0, found = 0;
        while (found < 1000) {
            std::vector<RepeatGroup> groups = {groupOf("baseline", {}), groupOf("DDP on 2 devices", {})};
            for (int repeat = 1; repeat <= 4; ++repeat)
                for (std::size_t group = 0; group < 2; ++group) {
                    const double x = load(random);
                    groups[group].runs.push_back(repeatOf(groups[group].name, repeat, int(group),
                                                          (group == 0 ? 16 : 10) * std::exp(0.4 * x + noise(random)),
                                                          x));
                }
            const auto adjusted = adjustedFactorOf(groups[0], groups[1], groups);
            found += adjusted.has_value();
            held += adjusted && adjusted->low <= 1.6 && adjusted->high >= 1.6 ? 1 : 0;
        }
        QVERIFY2(held >= 930 && held <= 970, qPrintable(QString::number(held))); // 95 %, three standard errors
    }

    void otherRunsDoNotMoveTheAdjustedFactorOfAPairWithEnoughRepeats() {
        const auto uneven = [](int group, int repeat) { return 0.3 * (repeat % 3) + (group == 1 ? 0.4 : 0); };
        std::vector<RepeatGroup> groups = twoGroups(4, 0.5, uneven);
        const auto alone = adjustedFactorOf(groups[0], groups[1], groups);
        std::vector<RunOutcome> slow;
        for (int repeat = 1; repeat <= 3; ++repeat)
            slow.push_back(repeatOf("another", repeat, 2, 10 * std::exp(4.0 * repeat), 2.0 * repeat));
        groups.push_back(groupOf("another", slow));
        QVERIFY(alone.has_value());
        QVERIFY(adjustedFactorOf(groups[0], groups[1], groups) == alone);
    }

    void aPairOfFewRepeatsIsAdjustedByTheRunsOfItsExperimentsAlone() {
        const auto uneven = [](int group, int repeat) { return 0.3 * repeat + (group == 1 ? 0.1 : 0); };
        std::vector<RepeatGroup> groups = twoGroups(3, 0.5, uneven);
        QVERIFY(!adjustedFactorOf(groups[0], groups[1], groups));
        std::vector<RunOutcome> more;
        for (int repeat = 1; repeat <= 3; ++repeat)
            more.push_back(repeatOf("another", repeat, 2, 10 * std::exp(0.15 * repeat), 0.3 * repeat));
        groups.push_back(groupOf("another", more));
        QCOMPARE(adjustedFactorOf(groups[0], groups[1], groups).value_or(AdjustedFactor{}).repeats, 9);
        for (RunOutcome &run : groups.back().runs)
            run.experiment = "a stranger's";
        QVERIFY(!adjustedFactorOf(groups[0], groups[1], groups));
    }

    void itIsUnknownWithFewRepeatsOrEvenLoad() {
        const auto uneven = [](int, int repeat) { return 0.3 * repeat; };
        QVERIFY(!judgementOf(twoGroups(3, 0.5, uneven)).pairs.at(0).adjusted); // three degrees of freedom
        QVERIFY(judgementOf(twoGroups(4, 0.5, uneven)).pairs.at(0).adjusted);
        QVERIFY(!judgementOf(twoGroups(6, 0.5, [](int, int) { return 1.0; })).pairs.at(0).adjusted);
        const auto apart = [](int group, int repeat) { return group * 0.5 + 0.02 * repeat; };
        QVERIFY2(!judgementOf(twoGroups(6, 0.5, apart)).pairs.at(0).adjusted, "far beyond what was measured");
    }

    void runsBesideEachOtherAreTheSameAsIfEachWereComparedWithAllOthers() {
        std::mt19937_64 random(1);
        const auto below = [&](unsigned end) { return random() % end; };
        std::vector<RunOutcome> runs;
        std::vector<RepeatGroup> groups;
        for (int i = 0; i < 300; ++i) {
            RunOutcome run = repeatOf("DDP on 2 devices", i, 0, 1 + double(below(100)), 0);
            run.startWallUs = 1'700'000'000'000'000 + std::int64_t(below(3'000)) * 1'000'000;
            run.hosts = {"host" + std::to_string(below(3)), "host" + std::to_string(3 + below(3)), "own" + run.run};
            if (below(10) == 0)
                run.runTimeS.reset();
            groups.push_back(groupOf(run.name, {run}));
            runs.push_back(std::move(run));
        }
        groups.push_back(groupOf("all of them again", runs));
        const auto shareOne = [](const RunOutcome &a, const RunOutcome &b) {
            return std::ranges::find_first_of(a.hosts.list(), b.hosts.list()) != a.hosts.list().end();
        };
        const RunsBeside beside(groups);
        for (const RunOutcome &run : runs) {
            const double begin = double(run.startWallUs) * 1e-6;
            double togetherS = 0;
            for (const RunOutcome &other : runs)
                if (const double from = double(other.startWallUs) * 1e-6;
                    run.runTimeS && other.runTimeS && other.run != run.run && shareOne(run, other))
                    togetherS +=
                        std::max(0.0, std::min(begin + *run.runTimeS, from + *other.runTimeS) - std::max(begin, from));
            QCOMPARE(beside.of(run).has_value(), run.runTimeS.has_value());
            if (run.runTimeS)
                QVERIFY(std::abs(*beside.of(run) - togetherS / *run.runTimeS) < 1e-9);
        }
    }

    void runsOfThousandsOfMachinesAreBesideEachOtherOnlyWhereTheyShareOne() {
        RunOutcome even = repeatOf("baseline", 1, 0, 9, 0), odd = even, both = even;
        odd.run = "odd";
        both.run = "both";
        even.hosts = odd.hosts = both.hosts = {};
        for (int i = 0; i < 4000; i += 2) {
            even.hosts.add("node" + std::to_string(i));
            odd.hosts.add("node" + std::to_string(i + 1));
        }
        both.hosts = {"node3998", "node3", "node3", "elsewhere"}; // two nodes of one machine
        const std::vector<RepeatGroup> two = {groupOf("baseline", {even, odd})};
        QCOMPARE(RunsBeside(two).of(even), std::optional(0.0));
        const std::vector<RepeatGroup> three = {groupOf("baseline", {even, odd, both})};
        const RunsBeside beside(three);
        QCOMPARE(beside.of(even), std::optional(1.0));
        QCOMPARE(beside.of(odd), std::optional(1.0));
        QCOMPARE(beside.of(both), std::optional(2.0));
    }

    void aRunHasNoneBesideItWhileTheOthersStandStillAndAnUnknownNumberWithoutItsPlaceOrStart() {
        RunOutcome inTurns = repeatOf("DDP on 2 devices", 1, 0, 10, 0), other = repeatOf("baseline", 1, 0, 10, 0);
        RunOutcome nowhere = other, sometime = other;
        inTurns.conditions.inTurns = true;
        nowhere.run = "nowhere";
        nowhere.hosts = {};
        sometime.run = "sometime";
        sometime.startWallUs = 0;
        const std::vector<RepeatGroup> groups = {groupOf("baseline", {other, nowhere, sometime}),
                                                 groupOf("DDP on 2 devices", {inTurns})};
        const RunsBeside beside(groups);
        QCOMPARE(beside.of(inTurns), std::optional(0.0));
        QCOMPARE(beside.of(other), std::optional(1.0));
        QVERIFY(!beside.of(nowhere) && !beside.of(sometime) && !beside.of(repeatOf("baseline", 2, 0, 10, 0)));
    }

    void theChanceOfATrendIsExact() {
        QCOMPARE(chanceOfTrend({3}, 3), 2.0 / 6); // one order of six, and its reverse
        QCOMPARE(chanceOfTrend({3, 3}, 6), 2.0 / 36);
        QCOMPARE(chanceOfTrend({4}, 4), 8.0 / 24); // at most one inversion, both ways: 1 + 3 of 24 each
        QCOMPARE(chanceOfTrend({3, 3, 2}, 0), 1.0);
        QVERIFY(chanceOfTrend({10, 10, 10}, 135) < 1e-15);
    }

    void theChanceOfATrendIsExactUpTo10000PairsAndLessThanAHundredThousandthOffAboveThem() {
        const auto blocks = [](std::size_t count, int size, std::size_t pairs) { // and then blocks of two
            std::vector<int> out(count, size);
            out.insert(out.end(), pairs, 2);
            return out;
        };
        QVERIFY(std::abs(chanceOfTrend(blocks(12, 40, 640), 620) - 0.0379932408680891) < 1e-12); // 10,000 pairs
        const auto isNear = [](double chance, double exact) { return std::abs(chance - exact) < 1e-5; };
        QVERIFY(isNear(chanceOfTrend(blocks(12, 40, 641), 621), 0.037684191445131)); // convolved exactly elsewhere
        QVERIFY(isNear(chanceOfTrend(blocks(13, 40, 0), 0), 1));
        QVERIFY(isNear(chanceOfTrend(blocks(13, 40, 0), -2), 0.997423031292470));
        QVERIFY(isNear(chanceOfTrend(blocks(13, 40, 0), 310), 0.318199037631595));
        QVERIFY(isNear(chanceOfTrend(blocks(13, 40, 0), -1000), 0.001227870025041));
        QVERIFY(isNear(chanceOfTrend(blocks(0, 0, 10'001), 101), 0.317334704652335));
        QVERIFY(isNear(chanceOfTrend(blocks(0, 0, 10'001), 331), 0.000966479641666));
        const double least = chanceOfTrend(blocks(13, 40, 0), 10'140);
        QVERIFY(least >= 0 && least < 1e-15);
    }

    void theChanceOfATrendOverThousandsOfRunsWithManyRepeatsIsKnown() {
        const std::vector<int> blocks(2'000, 40); // 1,560,000 pairs
        QCOMPARE(chanceOfTrend(blocks, 0), 1.0);
        QVERIFY(std::abs(chanceOfTrend(blocks, 7'524) - 0.05) < 1e-5); // 1.96 standard deviations
    }

    void aDriftOverTheRoundsIsSaid() {
        std::vector<RepeatGroup> groups;
        for (const char *name : {"baseline", "DDP on 2 devices", "DDP on 4 devices"}) {
            groups.push_back(groupOf(name, {}));
            for (int repeat = 1; repeat <= 3; ++repeat)
                groups.back().runs.push_back(repeatOf(name, repeat, int(groups.size()), 10 * (1 + 0.1 * repeat), 0));
        }
        const auto effects = orderEffectsOf(groups);
        QCOMPARE(effects.at(0).key, std::string("round"));
        QCOMPARE(effects[0].p, 2.0 / 216);
        QVERIFY2(
            effects[0].sentence.starts_with("times changed over the rounds: each run's last repeat took 18 % longer "
                                            "than its first (rank test, p = 0.0093)"),
            effects[0].sentence.c_str());
    }

    void aPlaceWithinTheRoundThatCostsTimeIsSaid() {
        std::vector<RepeatGroup> groups = {groupOf("baseline", {}), groupOf("DDP on 2 devices", {}),
                                           groupOf("DDP on 4 devices", {})};
        for (int repeat = 1; repeat <= 6; ++repeat)
            for (std::size_t group = 0; group < 3; ++group) {
                const int place = int(group + std::size_t(repeat)) % 3; // each run is as often at each place
                groups[group].runs.push_back(repeatOf(groups[group].name, repeat, place, 10 * (1 + 0.1 * place), 0));
            }
        const auto effects = orderEffectsOf(groups);
        QCOMPARE(effects.at(1).key, std::string("position"));
        QVERIFY(effects[1].p < 0.001);
        QVERIFY(effects[1].sentence.find("the last run of a round took 20 % longer than the first") !=
                std::string::npos);
        QVERIFY(effects[0].sentence.empty());
    }

    void honestNoiseClaimsAnOrderEffectInAtMostFivePercent() {
        std::mt19937_64 random(3);
        std::normal_distribution<> noise(0, 0.05);
        int claimed[2] = {0, 0};
        constexpr int all = 2000;
        for (int experiment = 0; experiment < all; ++experiment) {
            std::vector<RepeatGroup> groups;
            for (int group = 0; group < 3; ++group) {
                const std::string name = "run " + std::to_string(group);
                groups.push_back(groupOf(name, {}));
                for (int repeat = 1; repeat <= 4; ++repeat)
                    groups.back().runs.push_back(
                        repeatOf(name, repeat, (group + repeat) % 3, 10 * std::exp(noise(random)), 0));
            }
            const auto effects = orderEffectsOf(groups);
            for (std::size_t i = 0; i < 2; ++i)
                claimed[i] += effects.at(i).p < 0.05 ? 1 : 0;
        }
        QVERIFY2(claimed[0] <= 130 && claimed[1] <= 130,
                 qPrintable(QStringLiteral("%1 rounds, %2 positions").arg(claimed[0]).arg(claimed[1])));
    }
};

QTEST_GUILESS_MAIN(DisturbanceTest)
#include "disturbance_test.moc"
