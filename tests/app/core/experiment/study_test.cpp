// SPDX-License-Identifier: MIT
// A study of somebody's own script as a recipe, without running it.
#include "experiment/plan.h"
#include "experiment/script_flags.h"
#include "experiment/study.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

Study studyOf(std::vector<VariedFlag> varied) {
    Study study;
    study.script = "/home/me/{mine}/train.py";
    study.arguments = {"--epochs", "2"};
    study.varied = std::move(varied);
    study.device = "cpu";
    return study;
}

MachineFacts machine() {
    MachineFacts facts;
    facts.allowedCores = {0, 1, 2, 3};
    return facts;
}

std::vector<std::string> namesOf(const Plan &plan) {
    std::vector<std::string> names;
    for (const PlannedRun &run : plan.runs)
        if (run.repeat == 1)
            names.push_back(run.name);
    return names;
}

} // namespace

class CoreStudyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFlagIsReadWithItsValues();
    void mistakesNameTheirText();
    void eachCombinationIsARunNamedByWhatVaries();
    void whatIsVariedOnPurposeIsNoUnfairness();
    void theScriptsWordsStandForThemselves();
    void stepsBecomeSamplesOnceTheyAreKnown();
    void strongAndWeakScalingAreToldFromTheSamples();
    void trialsTryEachNumberOfProcessesAndEachValueOnce();
    void aStudyIsARecipeThatCanBeSaved();
    void ownFlagsAreAMatrixToo();
    void flagsOfACommandCanBeExchanged();
    void whatIsTooLargeIsOneSentence();
};

void CoreStudyTest::aFlagIsReadWithItsValues() {
    QCOMPARE(*variedFlagFrom("--amp=off,on"), (VariedFlag{"amp", {"off", "on"}}));
    QCOMPARE(*variedFlagFrom("lr=1e-3"), (VariedFlag{"lr", {"1e-3"}}));
    QCOMPARE(*processCountsFrom("1,2,8"), (std::vector<int>{1, 2, 8}));
}

void CoreStudyTest::mistakesNameTheirText() {
    for (const char *text : {"amp", "amp=", "amp=on,", "=1,2", "amp=on,on"})
        QVERIFY2(!variedFlagFrom(text), text);
    QCOMPARE(variedFlagFrom("amp=on,on").error().what, std::string("the value on is there twice in \"amp=on,on\""));
    Study study;
    QVERIFY(addVaried(study, "amp=off,on") && addVaried(study, "lr=1,2"));
    QCOMPARE(addVaried(study, "--amp=on").error().what, std::string("amp is varied twice"));
    for (const char *text : {"", "0", "1,1", "1,x", "5000", "1,2,"})
        QVERIFY2(!processCountsFrom(text), text);
}

void CoreStudyTest::eachCombinationIsARunNamedByWhatVaries() {
    const Recipe recipe = recipeOf(studyOf({{"num-workers", {"0", "2"}}, {"amp", {"off", "on"}}}), {});
    QCOMPARE(recipe.title, std::string("train.py"));
    QCOMPARE(recipe.repeats, 3);
    const auto plan = expand(recipe, machine());
    QVERIFY2(plan, plan ? "" : joinErrors(plan.error()).c_str());
    QCOMPARE(namesOf(*plan), (std::vector<std::string>{
                                 "baseline, amp off", "baseline, amp on", "baseline, 2 workers, amp off",
                                 "baseline, 2 workers, amp on", "DDP on 2 devices, amp off", "DDP on 2 devices, amp on",
                                 "DDP on 2 devices, 2 workers, amp off", "DDP on 2 devices, 2 workers, amp on"}));
    QCOMPARE(plan->reference, std::string("baseline, amp off"));
}

void CoreStudyTest::whatIsVariedOnPurposeIsNoUnfairness() {
    const Recipe recipe = recipeOf(
        studyOf({{"batch-size", {"32", "64"}}, {"num_workers", {"0", "2"}}, {"amp", {"off", "on"}}, {"lr", {"1"}}}),
        {});
    QCOMPARE(recipe.varies, (std::vector<std::string>{"batch_size", "workers"}));
    const Recipe library = recipeOf(studyOf({{"dataloader_num_workers", {"0", "2"}}}), {});
    QCOMPARE(library.varies, std::vector<std::string>{"workers"});
}

void CoreStudyTest::theScriptsWordsStandForThemselves() {
    const Recipe recipe = recipeOf(studyOf({{"num-workers", {"2"}}, {"amp", {"on"}}, {"hidden", {"64"}}}), {});
    QCOMPARE(recipe.runs.front().command,
             (std::vector<std::string>{"{python}", "-m", "lockstep", "/home/me/{{mine}}/train.py", "--epochs", "2",
                                       "--num-workers", "{workers}", "--amp", "--hidden", "64"}));
    QCOMPARE(recipe.runs.front().config.workers, 2);
    QVERIFY(recipe.runs.front().claims.knows("workers"));
    QVERIFY(!recipe.runs.front().claims.knows("model"));
    QCOMPARE(recipe.runs.front().claims.flags, (Flags{{"amp", "on"}, {"hidden", "64"}}));
}

void CoreStudyTest::stepsBecomeSamplesOnceTheyAreKnown() {
    Study study = studyOf({});
    study.maxSteps = 300;
    const auto limit = [&](const StudyTrials &trials) {
        const std::vector<std::string> words = recipeOf(study, trials).runs.back().command;
        return words[3] + " " + words[4];
    };
    QCOMPARE(limit({{1, {64}}, {2, {64}}}), std::string("--max-samples 19200"));
    QCOMPARE(limit({}), std::string("--max-steps 300"));
}

void CoreStudyTest::strongAndWeakScalingAreToldFromTheSamples() {
    const Study study = studyOf({});
    const auto note = [&](std::int64_t one, std::int64_t each) {
        const auto notes = scalingNotes(study, {{1, {one}}, {2, {each}}});
        return notes.empty() ? std::string() : notes.front();
    };
    QVERIFY(note(64, 64).starts_with("Weak scaling: each of 2 processes takes 64 samples a step"));
    QCOMPARE(note(64, 32), std::string("Strong scaling: 2 processes share a step's 64 samples."));
    QCOMPARE(note(64, 48), std::string("2 processes take 96 samples a step, the first run 64."));
    QCOMPARE(note(64, 0), std::string());
}

void CoreStudyTest::trialsTryEachNumberOfProcessesAndEachValueOnce() {
    const std::vector<RunSpec> trials = trialsOf(studyOf({{"amp", {"off", "on"}}, {"hidden", {"1", "2", "3"}}}), false);
    std::vector<std::string> names;
    for (const RunSpec &trial : trials) {
        names.push_back(trial.name);
        QCOMPARE(trial.command[3] + trial.command[4], std::string("--max-steps1"));
    }
    QCOMPARE(names, (std::vector<std::string>{"baseline, amp off, hidden 1", "DDP on 2 devices, amp off, hidden 1",
                                              "baseline, amp on, hidden 1", "baseline, amp off, hidden 2",
                                              "baseline, amp off, hidden 3"}));
    QVERIFY(trialsOf(studyOf({}), true).front().config.method == Method::Ddp);
}

void CoreStudyTest::aStudyIsARecipeThatCanBeSaved() {
    Study study = studyOf({{"num-workers", {"0", "2"}}, {"amp", {"off", "on"}}});
    study.processes = {1, 3};
    const Recipe recipe = recipeOf(study, {{1, {64, true}}, {3, {64}}});
    const auto read = recipeFromJson(toJson(recipe));
    QVERIFY2(read, read ? "" : joinErrors(read.error()).c_str());
    QCOMPARE(*read, recipe);
}

void CoreStudyTest::ownFlagsAreAMatrixToo() {
    const char *text = R"({"name": "mine", "base": {"command": ["{python}", "train.py"], "device": "cpu", "devices": 1,
                           "method": "baseline", "known": ["method", "devices"]},
                           "matrix": {"--amp": ["off", "on"], "--hidden": [64, 128]}})";
    const auto recipe = recipeFromJson(text);
    QVERIFY2(recipe, recipe ? "" : joinErrors(recipe.error()).c_str());
    const auto plan = expand(*recipe, machine());
    QCOMPARE(namesOf(*plan), (std::vector<std::string>{"train.py, amp off, hidden 64", "train.py, amp off, hidden 128",
                                                       "train.py, amp on, hidden 64", "train.py, amp on, hidden 128"}));
    QCOMPARE(plan->runs[3].command, (std::vector<std::string>{"{python}", "train.py", "--amp", "--hidden", "128"}));
    const auto wrong = recipeFromJson(R"({"name": "ours", "base": {}, "matrix": {"--amp": ["off", "on"]}})");
    QVERIFY(!wrong &&
            joinErrors(wrong.error()).find("is a script's own flag, and there is no command") != std::string::npos);
}

void CoreStudyTest::flagsOfACommandCanBeExchanged() {
    RunSpec spec;
    spec.command = {"{python}", "train.py"};
    addFlag(spec, "amp", "on");
    addFlag(spec, "hidden", "64");
    QCOMPARE(*withFlags(spec.command, spec.claims.flags, {{"amp", "off"}, {"hidden", "128"}}),
             (std::vector<std::string>{"{python}", "train.py", "--hidden", "128"}));
    QVERIFY(!withFlags({"{python}", "train.py"}, {{"hidden", "64"}}, {{"hidden", "128"}}));
    QCOMPARE(flagsApart({{"a", "1"}, {"b", "1"}, {"d", "1"}, {"e", "1"}}, {{"b", "1"}, {"c", "1"}, {"d", "2"}}),
             (std::vector<std::string>{"a", "c", "d", "e"}));
}

void CoreStudyTest::whatIsTooLargeIsOneSentence() {
    Study study = studyOf({{"amp", {"off", "on"}}});
    QVERIFY(checkStudy(study).has_value());
    study.processes = {4093, 4091, 4079, 4073, 4057, 4051};
    QVERIFY2(checkStudy(study).error().what.starts_with("no batch of up to 1,000,000,000 samples can be shared"),
             checkStudy(study).error().what.c_str());
    study.processes = {1, 2, 3, 4, 5, 6, 7, 8, 4096};
    QVERIFY(checkStudy(study).has_value());
    study.processes = {1};
    for (int flag = 0; flag < 8; ++flag) {
        study.varied.push_back({"f" + std::to_string(flag), {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}});
        QCOMPARE(checkStudy(study).has_value(), flag < 2); // 2 × 10 × 10
    }
    QVERIFY(checkStudy(study).error().what.starts_with("the study spans more than the 1000 runs"));
}

QTEST_GUILESS_MAIN(CoreStudyTest)
#include "study_test.moc"
