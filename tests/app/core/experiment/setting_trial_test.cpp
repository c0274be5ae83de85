// SPDX-License-Identifier: MIT
// A few values of one setting as a recipe, and what is said of it afterwards.
#include "analysis/compare/setting_matters.h"
#include "experiment/plan.h"
#include "experiment/setting_trial.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

RunConfig ddp() {
    RunConfig config;
    config.method = Method::Ddp;
    config.devices = {"0", "1"};
    config.checkpointDir = "/checkpoints";
    config.onNonfinite = "rollback";
    return config;
}

PairJudgement pairOf(const char *run, double low, double high, bool different) {
    PairJudgement pair;
    pair.reference = "DDP on 2 devices";
    pair.run = run;
    pair.training.emplace();
    pair.training->factor = std::sqrt(low * high);
    pair.training->low = low;
    pair.training->high = high;
    pair.training->different = different;
    return pair;
}

} // namespace

class CoreSettingTrialTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theSettingsThatCanBeTriedAreThoseOfWhichARecipeCanBeMade() {
        std::vector<std::string_view> keys;
        for (const FieldSpec *field : triableSettings(ddp())) {
            keys.push_back(field->key);
            SettingTrial trial;
            trial.key = field->key;
            const auto recipe = recipeOf(trial, ddp(), "DP against DDP"); // which lacks values only
            QVERIFY(!recipe && recipe.error().what.starts_with("no other value of "));
        }
        for (const std::string_view key : {"bucket_mb", "workers", "precision"})
            QVERIFY2(std::ranges::find(keys, key) != keys.end(), key.data());
        for (const std::string_view key : {"epochs", "seed", "model", "method", "checkpoint_dir", "stages"})
            QVERIFY2(std::ranges::find(keys, key) == keys.end(), key.data());
    }

    void theRunAsItIsComesFirstThenEachOtherValueAllForAsManySteps() {
        const auto trial = settingTrialFrom("bucket-mb=1,25,100");
        QVERIFY(trial.has_value());
        const auto recipe = recipeOf(*trial, ddp(), "DP against DDP");
        QVERIFY2(recipe.has_value(), recipe ? "" : recipe.error().message().c_str());
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const auto plan = expand(*recipe, facts);
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        std::vector<std::string> names;
        for (const PlannedRun &run : plan->runs)
            if (run.repeat == 1)
                names.push_back(run.name);
        std::ranges::sort(names);
        QCOMPARE(names, (std::vector<std::string>{"DDP on 2 devices", "DDP on 2 devices, bucket mb 1",
                                                  "DDP on 2 devices, bucket mb 100"}));
        QCOMPARE(plan->reference, std::string("DDP on 2 devices"));
        for (const PlannedRun &run : plan->runs) {
            QCOMPARE(run.config.trainSamples, 100 * 64);
            QCOMPARE(run.config.testSamples, 200);
            QVERIFY(run.config.checkpointDir.empty() && run.repeats == 3);
        }
    }

    void aSettingThatChangesNothingIsRefusedWithTheWayOut() {
        const auto refused = [](const char *text, const RunConfig &like) {
            const auto trial = settingTrialFrom(text);
            const auto recipe = trial ? recipeOf(*trial, like, "x") : Result<Recipe>(fail(trial.error()));
            return recipe ? std::string() : recipe.error().message();
        };
        const auto says = [](const std::string &message, const char *what) {
            return QString::fromStdString(message).contains(QLatin1String(what));
        };
        QVERIFY(says(refused("bucket_mb=1,4", RunConfig()), "bucket_mb changes nothing in a run by baseline"));
        QVERIFY(says(refused("buket_mb=1,4", ddp()), "did you mean bucket_mb?"));
        QVERIFY(says(refused("bucket_mb=25", ddp()), "no other value of bucket_mb than 25 is given"));
        QVERIFY(says(refused("bucket_mb=0", ddp()), "bucket_mb"));
        QVERIFY(says(refused("bucket_mb", ddp()), "a value is missing"));
        QVERIFY(says(refused("nothing=a,b", ddp()), "there is no setting nothing"));
        for (const char *other : {"frames=a,b", "epochs=1,2", "model=mlp", "seed=2,3", "train_samples=100"})
            QVERIFY2(says(refused(other, ddp()), "changes what a run does"), other);
        QVERIFY(says(refused("accumulate=33", ddp()), "can't be cut into 33 parts"));
    }

    void whetherItMattersIsSaidByWhatIsToldApart() {
        const auto said = [](const std::vector<PairJudgement> &pairs) { return whetherItMatters("bucket_mb", pairs); };
        QCOMPARE(said({pairOf("a", 0.99, 1.01, false), pairOf("b", 0.98, 1.02, false)}),
                 std::string("bucket_mb doesn't matter here: every value is equal to what is set within ±3 %."));
        QCOMPARE(said({pairOf("a", 1.05, 1.11, true), pairOf("b", 1.2, 1.3, true), pairOf("c", 0.8, 0.9, true)}),
                 std::string("bucket_mb matters: \"b\" is 1.25 (1.20-1.30) times as fast as \"DDP on 2 devices\"."));
        QVERIFY(
            said({pairOf("a", 0.8, 0.9, true), pairOf("b", 0.9, 1.2, false)})
                .starts_with("bucket_mb matters, and whether any value beats what is set, these repeats can't tell"));
        QVERIFY(said({pairOf("a", 0.8, 0.9, true), pairOf("b", 0.99, 1.01, false)})
                    .starts_with("bucket_mb matters, and nothing that was tried beats what is set: \"a\" is 0.849"));
        QVERIFY(said({pairOf("a", 0.9, 1.2, false)}).starts_with("bucket_mb: these repeats can't tell"));
        PairJudgement single;
        single.training.emplace();
        QCOMPARE(said({single}), std::string());
        QVERIFY(said({pairOf("a", 0.99, 1.01, false), single}).starts_with("bucket_mb: these repeats can't tell"));
        QVERIFY(said({pairOf("a", 0.8, 0.9, true), single})
                    .starts_with("bucket_mb matters, and whether any value beats what is set, these repeats can't"));
    }
};

QTEST_GUILESS_MAIN(CoreSettingTrialTest)
#include "setting_trial_test.moc"
