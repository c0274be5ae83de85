// SPDX-License-Identifier: MIT
// The verdict's head: is a run worth it, by how much, why, and what would settle it where that can't be told.
#include <nlohmann/json.hpp>

#include "analysis/compare/judgement.h"
#include "analysis/compare/verdict.h"
#include "analysis/fairness/setting_factors.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

struct Measured {
    const char *name;
    Method method;
    int devices, workers;
    double load, compute, exposed; ///< seconds of training
    double spread = 0.004;         ///< of the three repeats, each side
    double othersCores = 0;        ///< taken by other programs
    const char *twice = nullptr;   ///< a script's flag; null: lockstep-trainer
};

RunConfig configOf(const Measured &run) {
    RunConfig out;
    out.method = run.method;
    out.devices.clear();
    for (int i = 0; i < run.devices; ++i)
        out.devices.push_back(std::to_string(i));
    out.workers = run.workers;
    return out;
}

RunOutcome repeatOf(const Measured &run, int repeat) {
    const double factor = 1 + run.spread * (repeat == 1 ? -1 : repeat == 2 ? 0.2 : 1);
    RunOutcome out;
    out.run = std::string(run.name) + " " + std::to_string(repeat);
    out.name = run.name;
    out.repeat = repeat;
    out.config = configOf(run);
    out.processes = processCount(*out.config);
    out.state = RunState::Done;
    std::map<std::string, double, std::less<>> phases = {
        {"load", run.load * factor}, {"forward", run.compute * factor / 2}, {"backward", run.compute * factor / 2}};
    if (out.processes > 1)
        phases["exposed"] = run.exposed * factor;
    for (int rank = 0; rank < out.processes; ++rank)
        out.rankPhasesS[rank] = phases;
    out.phasesS = phases;
    out.totalTrainingTimeS = (run.load + run.compute + run.exposed) * factor;
    out.runTimeS = *out.totalTrainingTimeS + 1;
    if (run.twice) {
        out.script = true;
        out.claims = {{{"twice", run.twice}}, std::vector<std::string>{"method", "devices", "workers"}};
    }
    out.conditions.freeCores = 0;
    out.conditions.surroundings.emplace();
    out.conditions.surroundings->measuredS = *out.runTimeS;
    out.conditions.surroundings->otherCpuS = run.othersCores * *out.runTimeS;
    return out;
}

std::vector<RunOutcome> measured(const std::vector<Measured> &all, int repeats = 3) {
    std::vector<RunOutcome> out;
    for (const Measured &run : all)
        for (int repeat = 1; repeat <= repeats; ++repeat)
            out.push_back(repeatOf(run, repeat));
    return out;
}

const Measured baseline = {"baseline", Method::Baseline, 1, 0, 1, 9, 0};

std::vector<VerdictLine> linesOf(const std::vector<RunOutcome> &runs) {
    return judge(resultTable(runs), runs, {}).lines;
}

} // namespace

class CoreVerdictLinesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anIntervalThatTellsNothingApartHasOneWording() {
        SpeedUp found;
        QVERIFY2(undecidedText(found, "baseline").empty(), "no interval");
        found.low = 0.99;
        found.high = 1.02;
        QCOMPARE(undecidedText(found, "baseline"), std::string("equal to baseline within ±3 %"));
        found.high = 1.2;
        QCOMPARE(undecidedText(found, "baseline"), std::string("can't tell yet whether it differs from baseline"));
        found.different = true;
        QVERIFY(undecidedText(found, "baseline").empty());
    }

    void aFasterRunIsWorthItAndASlowerOneIsNotEachWithItsCause() {
        const auto lines = linesOf(measured({baseline,
                                             {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                                             {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 1}}));
        QCOMPARE(lines.size(), std::size_t(3));
        const VerdictLine &dp = lines[0], &ddp = lines[1];
        QCOMPARE(dp.run, std::string("DP on 2 devices"));
        QVERIFY(dp.outcome == Outcome::NotWorthIt && !dp.settles);
        QCOMPARE(dp.reason, std::string("100 % of the extra time is device compute"));
        QVERIFY(ddp.outcome == Outcome::WorthIt);
        QCOMPARE(sentenceOf(ddp).substr(0, 37), std::string("DDP on 2 devices: worth it, 1.54× (1"));
        QVERIFY2(figuresText(ddp).ends_with("), 77 % efficient"), figuresText(ddp).c_str());
        QCOMPARE(ddp.reason, std::string("saves 4.50 s in device compute and spends 1.00 s more on "
                                         "communication"));
    }

    void causesThatAreMoreThanTheChangeTogetherAreGivenInSeconds() {
        const auto lines = linesOf(measured(
            {{"baseline", Method::Baseline, 1, 0, 2, 8, 0}, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 9.5, 1}}));
        QCOMPARE(lines[0].reason, std::string("spends 1.50 s more on device compute and 1.00 s on communication and "
                                              "saves 1.00 s in data loading"));
    }

    void aCauseThatIsLittleBesideTheOthersIsNotNamed() {
        const auto lines = linesOf(measured(
            {{"baseline", Method::Baseline, 1, 0, 2, 8, 0}, {"DDP on 2 devices", Method::Ddp, 2, 0, 1.8, 5, 2.9}}));
        QCOMPARE(lines[0].reason,
                 std::string("saves 3.00 s in device compute and spends 2.90 s more on communication"));
    }

    void ddpIsContrastedWithDpOnAsManyDevices() {
        const auto lines = linesOf(measured({baseline,
                                             {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                                             {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 1}}));
        const VerdictLine &contrast = lines.back();
        QCOMPARE(contrast.run, std::string("DDP on 2 devices"));
        QCOMPARE(contrast.against, std::string("DP on 2 devices"));
        QVERIFY(contrast.outcome == Outcome::Faster);
        QVERIFY2(sentenceOf(contrast).starts_with("DDP against DP: faster, 2.31× ("), sentenceOf(contrast).c_str());
        VerdictLine named = contrast; // by a person, at length
        named.run = "distributed, two devices, four loading workers";
        QCOMPARE(nameOf(named), std::string("DDP against DP"));
    }

    void aContrastOfUnlikeWorkIsNoAnswer() {
        auto runs = measured({baseline,
                              {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                              {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 1}});
        for (RunOutcome &run : runs) {
            MergedEpoch epoch;
            epoch.complete = true;
            epoch.durationS = *run.totalTrainingTimeS;
            epoch.samples = run.name == "DDP on 2 devices" ? 640 : 1280;
            run.epochs = {epoch};
        }
        const Judgement found = judge(resultTable(runs), runs, {});
        const VerdictLine &ddp = found.lines.at(1), &contrast = found.lines.back();
        QVERIFY(contrast.contrast && contrast.outcome == Outcome::CantTell);
        QCOMPARE(contrast.reason, std::string("unfair: Samples seen 640 instead of 1280"));
        QVERIFY2(!ddp.speedUp && !ddp.efficiency && !contrast.speedUp, "times of unlike work give no factor");
        QVERIFY2(found.sentence.find("DDP on 2 devices: can't tell yet; unfair: Samples seen 640 instead of 1280.") !=
                     std::string::npos,
                 found.sentence.c_str());
    }

    void whatTheRecipeVariesIsNamedBesideAContrastAndKeepsItFromNothing() {
        const auto runs = measured({baseline,
                                    {"DP on 2 devices", Method::Dp, 2, 0, 6, 9, 0},
                                    {"DDP on 2 devices, 4 workers", Method::Ddp, 2, 4, 1, 4.5, 1}});
        const VerdictLine meant = judge(resultTable(runs), runs, {"workers"}).lines.back();
        QVERIFY2(meant.contrast && meant.outcome == Outcome::Faster, meant.reason.c_str());
        QCOMPARE(meant.reason, std::string("with 4 loading workers instead of 0"));
        const VerdictLine unmeant = linesOf(runs).back();
        QVERIFY2(unmeant.contrast && unmeant.outcome == Outcome::CantTell, unmeant.reason.c_str());
        QVERIFY2(unmeant.reason.starts_with("unfair: ") && unmeant.reason.ends_with(" 4 instead of 0"),
                 unmeant.reason.c_str());
    }

    void aContrastThatCantBeToldStillNamesBothRuns() {
        const auto lines = linesOf(measured({baseline,
                                             {"DP on 2 devices", Method::Dp, 2, 0, 1, 5, 0, 0.2},
                                             {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 0.4, 0.2}}));
        QVERIFY(lines.back().outcome == Outcome::CantTell);
        QVERIFY2(sentenceOf(lines.back()).starts_with("DDP against DP: can't tell yet, "),
                 sentenceOf(lines.back()).c_str());
    }

    void aContrastThatCantBeToldSaysWhatMoreRepeatsDoAndOffersThem() {
        const auto contrastOf = [](double scatter, double exposed, int repeats = 3) {
            const auto runs = measured({baseline,
                                        {"DP on 2 devices", Method::Dp, 2, 0, 1, 5, 0, scatter},
                                        {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4, exposed, scatter}},
                                       repeats);
            ResultTable table = resultTable(runs);
            table.extendable = true;
            return judge(table, runs, {}).lines.back();
        };
        const VerdictLine little = contrastOf(0.05, 0.9), much = contrastOf(0.2, 0.9);
        QVERIFY(little.contrast && little.outcome == Outcome::CantTell);
        QVERIFY(little.settles && little.settles->rounds > 0);
        QVERIFY2(little.reason.ends_with(" more repeats would narrow it to ±5 %"), little.reason.c_str());
        const VerdictLine clear = contrastOf(0.05, 0.4), single = contrastOf(0.05, 0.4, 1);
        QVERIFY2(clear.reason.ends_with(" more repeats would tell"), clear.reason.c_str());
        QCOMPARE(single.reason, std::string("about 2 more repeats would give an interval"));
        QVERIFY(much.outcome == Outcome::CantTell && !much.settles);
        QVERIFY2(much.reason.starts_with("repeats scatter too much"), much.reason.c_str());
    }

    void equalRunsAreNotWorthTheirDevices() {
        const auto lines = linesOf(measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 8, 1}}));
        QCOMPARE(lines.size(), std::size_t(1));
        QVERIFY(lines[0].outcome == Outcome::NotWorthIt);
        QCOMPARE(lines[0].reason, std::string("as fast as baseline within ±3 %"));
    }

    void scatterLeavesItOpen() {
        const auto lines = linesOf(measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 7, 1, 0.2}}));
        QVERIFY(lines[0].outcome == Outcome::CantTell);
        QCOMPARE(lines[0].reason, std::string("3 repeats each are too few")); // of no experiment: none can be added
    }

    void roundsThatWouldSettleAnotherComparisonAreNotOfferedToOneThatTheyLeaveOpen() {
        const auto runs = measured({baseline,
                                    {"DP on 2 devices", Method::Dp, 2, 0, 1, 8, 1, 0.4},
                                    {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 7.8, 1, 0.05}});
        ResultTable table = resultTable(runs);
        table.extendable = true;
        const Judgement found = judge(table, runs, {});
        QVERIFY(found.settling && found.lines.at(0).outcome == Outcome::CantTell);
        QVERIFY2(found.lines[0].reason.starts_with("repeats scatter too much") && !found.lines[0].settles,
                 found.lines[0].reason.c_str());
        QVERIFY2(found.lines.at(1).reason.ends_with(" would narrow it to ±5 %") && found.lines[1].settles,
                 found.lines[1].reason.c_str());
    }

    void addingRepeatsIsNoWayOutOfDecisiveLoad() {
        const auto runs = measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 7, 1, 0.25, 1.2}});
        ResultTable table = resultTable(runs);
        table.extendable = true;
        const Judgement found = judge(table, runs, {});
        QVERIFY2(found.settling, "by its scatter alone, rounds would settle it");
        QCOMPARE(found.lines.at(0).reason, std::string("other programs took 1.2 cores; repeat on a quiet machine"));
    }

    void otherProgramsAreNamedWithARepeatOfTheRunTheyDisturbed() {
        const auto lines = linesOf(measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 7, 1, 0.25, 1.2}}));
        QVERIFY(lines[0].outcome == Outcome::CantTell);
        QCOMPARE(lines[0].reason, std::string("other programs took 1.2 cores; repeat on a quiet machine"));
        QVERIFY(lines[0].settles.has_value());
        QCOMPARE(lines[0].settles->name, std::string("DDP on 2 devices (close other programs first)"));
        QCOMPARE(toText(*lines[0].settles), std::string("repeat DDP on 2 devices (close other programs first)"));
    }

    void methodsThatLoadKeepsFromTheReferenceAreNotToldApartFromEachOther() {
        const Measured dp = {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                       ddp = {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 12, 4};
        const auto contrastUnder = [&](double cores) {
            Measured busyDp = dp, busyDdp = ddp;
            busyDp.othersCores = busyDdp.othersCores = cores;
            return linesOf(measured({baseline, busyDp, busyDdp})).back();
        };
        const VerdictLine quiet = contrastUnder(0), busy = contrastUnder(1.4);
        QVERIFY(quiet.contrast && quiet.outcome == Outcome::Slower);
        QVERIFY(busy.contrast && busy.outcome == Outcome::CantTell);
        QCOMPARE(busy.reason, std::string("other programs took 1.4 cores; repeat on a quiet machine"));
    }

    void fewerThanThreeRepeatsGiveNoAnswer() {
        const auto lines = linesOf(measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4, 1}}, 1));
        QVERIFY(lines[0].outcome == Outcome::CantTell && lines[0].speedUp);
        QCOMPARE(lines[0].reason, std::string("1 repeat each: an interval takes 3"));
        std::vector<RunOutcome> uneven = measured({baseline}, 1);
        const auto more = measured({{"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4, 1}});
        uneven.insert(uneven.end(), more.begin(), more.end());
        QCOMPARE(linesOf(uneven).at(0).reason,
                 std::string("1 repeat of baseline and 3 of DDP on 2 devices: an interval takes 3"));
    }

    void otherWorkIsNoGainThoughNothingElseDiffers() {
        struct Change {
            const char *key;
            void (*make)(RunConfig &);
        };
        const std::array<Change, 3> changes = {
            {{"epochs", [](RunConfig &config) { config.epochs = 1; }},
             {"model", [](RunConfig &config) { config.model = "mlp"; }},
             {"train_samples", [](RunConfig &config) { config.trainSamples = 640; }}}};
        for (const Change &change : changes)
            for (const double spread : {0.004, 0.3}) // told apart by its times, or not
                for (const bool meant : {false, true}) {
                    auto runs = measured({baseline, {"another", Method::Baseline, 1, 0, 0.3, 6, 0, spread}});
                    for (RunOutcome &run : runs)
                        if (run.name == "another")
                            change.make(*run.config);
                    const std::vector<std::string> varies(meant ? 1 : 0, change.key);
                    const Judgement found = judge(resultTable(runs), runs, varies);
                    const VerdictLine &line = found.lines.at(0);
                    QVERIFY2(line.outcome == Outcome::CantTell && line.reason.starts_with("unfair: ") && !line.speedUp,
                             sentenceOf(line).c_str());
                    QVERIFY2(found.matters.empty(), found.matters.c_str());
                    const PairJudgement &pair = found.pairs.at(0);
                    QVERIFY2(pair.otherWork && !pair.settling, "no repeat changes that");
                    QVERIFY(!pair.epoch && !pair.wholeRun && !pair.adjusted);
                    const auto json = nlohmann::json::parse(toJson(found))["pairs"][0];
                    QVERIFY(json["other_work"].get<bool>() && json["speed_up_training"].is_null());
                    const ResultRow row = judged(resultTable(runs), found).rows.at(1);
                    QVERIFY(row.otherWork && !row.speedUpTraining && !row.speedUpRun && !row.trainingInterval);
                }
    }

    void aSettingThatTheRecipeVariesKeepsItsFactorWhereTheWorkIsTheSame() {
        auto runs = measured({baseline, {"another", Method::Baseline, 1, 0, 0.3, 6, 0}});
        for (RunOutcome &run : runs)
            if (run.name == "another")
                run.config->batchSize *= 2;
        const Judgement found = judge(resultTable(runs), runs, {"batch_size"});
        QVERIFY2(found.lines.at(0).outcome == Outcome::WorthIt && found.lines[0].speedUp,
                 sentenceOf(found.lines[0]).c_str());
        const PairJudgement &pair = found.pairs.at(0);
        QVERIFY(!pair.otherWork && pair.wholeRun);
        const auto json = nlohmann::json::parse(toJson(found))["pairs"][0];
        QVERIFY(!json["other_work"].get<bool>());
        QCOMPARE(json["speed_up_training"]["factor"].get<double>(), pair.training->factor);
    }

    void methodsOfOtherWorkAreNotToldApartThoughTheRecipeVariesIt() {
        auto runs = measured({baseline,
                              {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                              {"DDP on 2 devices, 1 epoch", Method::Ddp, 2, 0, 0.3, 1.4, 0.3}});
        for (RunOutcome &run : runs)
            if (run.name.ends_with("1 epoch"))
                run.config->epochs = 1;
        const VerdictLine contrast = judge(resultTable(runs), runs, {"epochs"}).lines.back();
        QVERIFY2(contrast.contrast && contrast.outcome == Outcome::CantTell && !contrast.speedUp,
                 sentenceOf(contrast).c_str());
        QVERIFY2(contrast.reason.starts_with("unfair: Epochs 1 instead of "), contrast.reason.c_str());
    }

    void aRunOfLessWorkIsComparedWithTheOneProcessThatDidAsMuch() {
        auto runs = measured({baseline,
                              {"DDP on 2 devices, 1 epoch", Method::Ddp, 2, 0, 0.3, 1.4, 0.3},
                              {"baseline, 1 epoch", Method::Baseline, 1, 0, 0.3, 3, 0}});
        for (RunOutcome &run : runs)
            if (run.name.ends_with("1 epoch"))
                run.config->epochs = 1;
        const auto lines = linesOf(runs);
        QCOMPARE(lines.at(0).against, std::string("baseline, 1 epoch"));
        QVERIFY2(lines[0].outcome == Outcome::WorthIt && lines[0].speedUp, sentenceOf(lines[0]).c_str());
        QVERIFY2(lines.at(1).outcome == Outcome::CantTell &&
                     lines[1].reason.starts_with("unfair: Epochs 1 instead of "),
                 sentenceOf(lines[1]).c_str());
        // Nor does it matter how well the reference was measured, whose work was another.
        std::erase_if(runs, [](const RunOutcome &run) { return run.name == "baseline" && run.repeat > 1; });
        const VerdictLine again = linesOf(runs).at(0);
        QVERIFY2(again.against == "baseline, 1 epoch" && again.outcome == Outcome::Faster, sentenceOf(again).c_str());
    }

    void aGainThatIsItsLoadingWorkersIsNotTheMethods() {
        const Measured slow = {"baseline", Method::Baseline, 1, 0, 6, 4, 0};
        const Measured ddp = {"DDP on 2 devices", Method::Ddp, 2, 4, 1, 3.5, 0.5};
        const auto without = linesOf(measured({slow, ddp}));
        QVERIFY(without[0].outcome == Outcome::CantTell);
        QVERIFY2(without[0].reason.starts_with("unfair: "), without[0].reason.c_str());
        QVERIFY2(without[0].settles && without[0].settles->again.empty(), "the control that is missing");
        const auto with = linesOf(measured({slow, ddp, {"baseline, 4 workers", Method::Baseline, 1, 4, 1, 4, 0}}));
        QVERIFY(with[0].outcome == Outcome::NotWorthIt);
        QCOMPARE(with[0].reason, std::string("baseline, 4 workers reaches 2.00× by itself"));
        QVERIFY(with[1].outcome == Outcome::WorthIt); // the workers are
        const auto more = linesOf(measured({slow,
                                            {"DDP on 2 devices", Method::Ddp, 2, 4, 1, 2, 0.5},
                                            {"baseline, 4 workers", Method::Baseline, 1, 4, 1, 4, 0}}));
        QVERIFY(more[0].outcome == Outcome::WorthIt);
        QVERIFY2(more[0].reason.starts_with("1.43× (1.4") && more[0].reason.ends_with(" against baseline, 4 workers"),
                 more[0].reason.c_str());
    }

    void beyondAFastControlAGainOverAReferenceThatOtherProgramsSlowedCantBeTold() {
        const VerdictLine line = linesOf(measured({{"baseline", Method::Baseline, 1, 0, 6, 4, 0, 0.004, 1.2},
                                                   {"DDP on 2 devices", Method::Ddp, 2, 4, 1, 2, 0.5},
                                                   {"baseline, 4 workers", Method::Baseline, 1, 4, 1, 4, 0}}))
                                     .at(0);
        QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
        QVERIFY2(line.reason.starts_with("other programs took 1.2 cores; repeat on a quiet machine"),
                 line.reason.c_str());
    }

    void aSlowControlMakesNoRunWorthItThatIsNotFasterThanTheReference() {
        const auto lineWith = [](double load, double compute, double exposed, double spread) {
            return linesOf(measured({baseline,
                                     {"DDP on 2 devices", Method::Ddp, 2, 2, load, compute, exposed, spread},
                                     {"baseline, 2 workers", Method::Baseline, 1, 2, 5, 9, 0}}))
                .at(0);
        };
        const VerdictLine slower = lineWith(4, 7, 1, 0.004), between = lineWith(2, 7, 0.9, 0.05),
                          faster = lineWith(1.5, 6, 0.5, 0.004);
        for (const VerdictLine *line : {&slower, &between, &faster}) {
            QCOMPARE(line->against, std::string("baseline"));
            QVERIFY2(line->reason.find(") against baseline, 2 workers, which reaches 0.714× by itself") !=
                         std::string::npos,
                     line->reason.c_str());
        }
        QVERIFY(slower.outcome == Outcome::NotWorthIt);
        QVERIFY2(figuresText(slower).starts_with("0.833× (0.8"), figuresText(slower).c_str());
        QVERIFY2(slower.reason.starts_with("1.17× (1.1"), slower.reason.c_str());
        QVERIFY(between.outcome == Outcome::CantTell);
        QVERIFY2(between.reason.ends_with("; whether DDP on 2 devices is faster than baseline can't be told yet"),
                 between.reason.c_str());
        QVERIFY(faster.outcome == Outcome::WorthIt);
        QVERIFY2(figuresText(faster).starts_with("1.25× ("), figuresText(faster).c_str());
    }

    void aTrainingThatIsFasterWhileTheWholeRunIsSlowerSaysSo() {
        auto runs = measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 0.5}});
        const auto endsOpposite = [&] {
            const std::string reason = linesOf(runs).at(0).reason;
            return reason.find("launch to exit 0.68") != std::string::npos;
        };
        QVERIFY(!endsOpposite());
        for (RunOutcome &run : runs)
            if (run.name == "DDP on 2 devices")
                run.runTimeS = *run.totalTrainingTimeS + 10;
        QVERIFY2(endsOpposite(), linesOf(runs).at(0).reason.c_str());
    }

    void aRunWithAnotherFlagIsComparedWithTheOneProcessThatHasItToo() {
        const Measured off = {"baseline, twice off", Method::Baseline, 1, 0, 1, 4, 0, 0.004, 0, "off"};
        const Measured ddp = {"DDP on 2 devices, twice on", Method::Ddp, 2, 0, 1, 5, 0.5, 0.004, 0, "on"};
        const auto without = linesOf(measured({off, ddp}));
        QVERIFY(without[0].outcome == Outcome::CantTell);
        QCOMPARE(without[0].reason, std::string("unfair: --twice on instead of off"));
        const auto with =
            linesOf(measured({off, ddp, {"baseline, twice on", Method::Baseline, 1, 0, 1, 8, 0, 0.004, 0, "on"}}));
        QVERIFY2(with[0].outcome == Outcome::Faster, "than its control, and slower than the reference");
        QCOMPARE(with[0].against, std::string("baseline, twice on"));
        QVERIFY2(sentenceOf(with[0]).starts_with("DDP on 2 devices, twice on: faster, 1.38× (") &&
                     sentenceOf(with[0]).find(", 69 % efficient; against baseline, twice on: ") != std::string::npos,
                 sentenceOf(with[0]).c_str());
        QVERIFY(with[1].outcome == Outcome::NotWorthIt && with[1].against == "baseline, twice off");
    }

    void ofManyFlagsTwentyAreNamedAndTheOthersCounted() {
        RepeatGroup off{"baseline", measured({baseline}), true},
            on{"DDP on 2 devices", measured({{"DDP on 2 devices", Method::Ddp, 2, 4, 1, 4.5, 1}})};
        const auto flagsBetween = [&] {
            std::vector<std::string> out;
            for (const FairnessFinding &finding : fairnessOf(off, on, {}, {}))
                if (finding.key.starts_with("--"))
                    out.push_back(finding.sentence);
            return out;
        };
        for (const std::size_t count : {20, 101}) {
            for (RunOutcome &run : on.runs)
                for (std::size_t i = 0; i < count; ++i)
                    run.claims.flags["f" + std::to_string(i)] = "1";
            const std::vector<std::string> named = flagsBetween();
            QCOMPARE(named.size(), std::size_t(20));
            QVERIFY(named.front().starts_with("--f0 1 instead of not given"));
            QCOMPARE(std::ranges::count(named, "82 further flags differ: a gain may come from them."),
                     std::ptrdiff_t(count > 20));
            QCOMPARE(countOfFactors(off, on), factorsBetween(off, on).size());
            QVERIFY(countOfFactors(off, on) > count);
        }
        std::vector<RunOutcome> runs = off.runs;
        runs.insert(runs.end(), on.runs.begin(), on.runs.end());
        const ResultTable table = resultTable(runs);
        const std::vector<std::string> notes = judged(table, judge(table, runs, {})).rows.at(1).notes;
        QCOMPARE(std::ranges::count(notes, "unfair against baseline (decisive): 82 further flags differ"),
                 std::ptrdiff_t(1));
    }

    void aRunThatFailedSaysSoWithTheRunWhoseConsoleSaysMore() {
        auto runs = measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4, 1}});
        for (RunOutcome &run : runs)
            if (run.name == "DDP on 2 devices") {
                run.state = RunState::Failed;
                run.reason = "rank 1 on box1 was killed by SIGKILL";
                run.totalTrainingTimeS.reset();
            }
        const auto lines = linesOf(runs);
        QVERIFY(lines[0].outcome == Outcome::Failed && !lines[0].speedUp);
        QCOMPARE(sentenceOf(lines[0]), std::string("DDP on 2 devices: failed; rank 1 on box1 was killed by SIGKILL."));
        QCOMPARE(lines[0].failed.size(), std::size_t(3));
        QCOMPARE(lines[0].failed.front().run, std::string("DDP on 2 devices 1"));
        QVERIFY(!lines[0].settles); // as long as the experiment goes on
        ResultTable over = resultTable(runs);
        over.extendable = true;
        const VerdictLine failed = judge(over, runs, {}).lines.at(0);
        QVERIFY(failed.settles && failed.settles->again.size() == 3);
        QCOMPARE(failed.settles->why, std::string("Its 3 failed repeats run again in their place."));
        const Judgement judgement = judge(resultTable(runs), runs, {});
        const auto json = nlohmann::json::parse(toJson(judgement));
        QCOMPARE(json["lines"][0]["outcome"].get<std::string>(), std::string("failed"));
        QVERIFY(json["lines"][0]["speed_up_training"].is_null());
    }

    void aRunThatHasATimeIsNotBlamedForItsReferencesFailure() {
        auto runs = measured({baseline, {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4, 1}});
        for (RunOutcome &run : runs)
            if (run.name == baseline.name) {
                run.state = RunState::Failed;
                run.reason = "rank 0 on box1 exited with code 1";
                run.totalTrainingTimeS.reset();
            }
        const auto lines = linesOf(runs);
        QCOMPARE(lines.size(), std::size_t(2));
        QVERIFY(lines[0].run == baseline.name && lines[0].outcome == Outcome::Failed);
        QCOMPARE(sentenceOf(lines[1]),
                 std::string("DDP on 2 devices: not compared; its reference baseline has no training time."));
    }

    void onlyWhatIsQueuedOrRunningIsToCome() {
        const char *ddp = "DDP on 2 devices";
        auto runs = measured({baseline, {ddp, Method::Ddp, 2, 0, 1, 4, 1}});
        const auto end = [&](std::string_view name, RunState state, int firstRepeat) {
            for (RunOutcome &run : runs)
                if (run.name == name && run.repeat >= firstRepeat) {
                    run.state = state;
                    run.totalTrainingTimeS.reset();
                }
        };
        end(baseline.name, RunState::Training, 1);
        QCOMPARE(sentenceOf(linesOf(runs).at(0)),
                 std::string("DDP on 2 devices: to come; its reference baseline has no training time yet."));
        end(baseline.name, RunState::Stopped, 1);
        end(ddp, RunState::Stopped, 2);
        QCOMPARE(sentenceOf(linesOf(runs).at(0)), std::string("DDP on 2 devices: not compared; 1 of 3 done, 5.98 s; "
                                                              "its reference baseline was stopped."));
        end(ddp, RunState::Stopped, 1);
        QCOMPARE(sentenceOf(linesOf(runs).at(0)), std::string("DDP on 2 devices: not compared; stopped."));
        end(ddp, RunState::Training, 3);
        QVERIFY(linesOf(runs).at(0).outcome == Outcome::Pending);
        end(ddp, RunState::Training, 1);
        for (RunOutcome &run : runs)
            run.unknown = run.name == ddp; // copies that were last seen training
        QCOMPARE(sentenceOf(linesOf(runs).at(0)),
                 std::string("DDP on 2 devices: to come; whether it still runs is unknown."));
    }

    void ofManyRunsEachWithFailedRepeatsKeepsItsLine() {
        std::vector<Measured> all = {baseline};
        const std::array<const char *, 12> names = {"DDP, a", "DDP, b", "DDP, c", "DDP, d", "DDP, e", "DDP, f",
                                                    "DDP, g", "DDP, h", "DDP, i", "DDP, j", "DDP, k", "DDP, l"};
        for (std::size_t i = 0; i < names.size(); ++i)
            all.push_back({names[i], Method::Ddp, 2, int(i), 1, 4 + double(i) / 10, 1});
        const auto judgedWith = [&](const std::vector<std::string> &failing) {
            auto runs = measured(all);
            for (RunOutcome &run : runs)
                if (std::ranges::find(failing, run.name) != failing.end()) {
                    run.state = RunState::Failed;
                    run.reason = "its loss is NaN";
                    run.totalTrainingTimeS.reset();
                }
            return judge(resultTable(runs), runs, {"workers"});
        };
        const Judgement two = judgedWith({"DDP, c", "DDP, f"});
        QCOMPARE(two.lines.size(), std::size_t(3));
        QVERIFY(two.lines[1].run == "DDP, c" && two.lines[1].outcome == Outcome::Failed);
        QVERIFY(two.lines[2].run == "DDP, f" && two.lines[2].failed.size() == 3);
        QCOMPARE(two.moreRuns, std::size_t(9));
        QVERIFY2(two.sentence.find(" DDP, c: failed. DDP, f: failed. 9 more in the table.") != std::string::npos,
                 two.sentence.c_str());
        const Judgement most = judgedWith({names.begin() + 1, names.end()});
        QCOMPARE(most.lines.size(), std::size_t(9)); // a head that can be read
        QCOMPARE(most.moreRuns, std::size_t(3));
    }

    void ofManyRunsTheFastestOfEachMethodIsNamed() {
        std::vector<Measured> all = {baseline};
        const std::array<const char *, 5> names = {"DDP on 2 devices", "DDP on 4 devices", "DDP on 8 devices",
                                                   "DP on 2 devices", "DP on 4 devices"};
        for (std::size_t i = 0; i < names.size(); ++i)
            all.push_back(
                {names[i], i < 3 ? Method::Ddp : Method::Dp, i < 3 ? 2 << i : 2 << (i - 3), 0, 1, 4 + double(i), 1});
        const auto lines = linesOf(measured(all));
        QCOMPARE(lines.size(), std::size_t(3)); // and DDP against DP
        QCOMPARE(lines[0].run, std::string("DDP on 2 devices"));
        QCOMPARE(lines[1].run, std::string("DP on 2 devices"));
        QCOMPARE(lines[2].against, std::string("DP on 2 devices"));
    }

    void theFastestOfAMethodIsOfThoseWithTheReferencesWork() {
        std::vector<RunOutcome> runs = measured({baseline,
                                                 {"DDP on 2 devices, few epochs", Method::Ddp, 2, 0, 0.3, 1.4, 0.3},
                                                 {"DDP on 2 devices", Method::Ddp, 2, 0, 1, 4.5, 1},
                                                 {"DP on 2 devices", Method::Dp, 2, 0, 1, 14, 0},
                                                 {"DP on 4 devices", Method::Dp, 4, 0, 1, 16, 0},
                                                 {"DP on 8 devices", Method::Dp, 8, 0, 1, 18, 0}});
        for (RunOutcome &run : runs)
            if (run.name == "DDP on 2 devices, few epochs")
                run.config->epochs = 1;
        const Judgement found = judge(resultTable(runs), runs, {});
        QCOMPARE(found.lines.at(0).run, std::string("DDP on 2 devices"));
        QVERIFY(found.lines.at(0).speedUp);
        const ExplainedPairs explained = explainedPairs(found.pairs);
        QVERIFY(explained.gain);
        QCOMPARE(explained.gain->run, std::string("DDP on 2 devices"));
    }
};

QTEST_GUILESS_MAIN(CoreVerdictLinesTest)
#include "verdict_lines_test.moc"
