// SPDX-License-Identifier: MIT
// Rounds of repeats that are added to an experiment: on request, and until its intervals are narrow enough. On values, and by real
// owners with fake ranks.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <random>

#include <QSignalSpy>

#include "analysis/compare/width_reached.h"
#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "experiment/more_rounds.h"
#include "queue/experiment_runner.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;
using Kind = QueueRequest::Kind;

namespace {

const std::string twoRuns = R"({"name":"mine","title":"two","repeats":1,
  "base":{"device":"cpu","devices":1,"epochs":1,"train_samples":640},
  "runs":[{"method":"baseline"},{"method":"baseline","seed":2}]})";

Plan planOf(const std::string &recipe, const PlanOptions &options = {}) {
    return expand(*recipeFromJson(recipe, "mine.json"), test::machine(2), options).value();
}

std::string refusal(const std::string &recipe, const PlanOptions &options = {}) {
    const auto read = recipeFromJson(recipe, "mine.json");
    if (!read)
        return joinErrors(read.error());
    const auto plan = expand(*read, test::machine(2), options);
    return plan ? std::string() : joinErrors(plan.error());
}

std::string idOf(std::size_t entry) {
    char id[40];
    std::snprintf(id, sizeof id, "20260102T030405Z-%08zx", entry);
    return id;
}

/// An experiment of so many rounds that are done, with a goal; run ids end in its entries' numbers.
Experiment doneRounds(int runs, int rounds, WidthGoal goal) {
    Experiment out;
    out.id = makeRunId();
    out.reference = "run 0";
    out.recipe = *recipeFromJson(twoRuns, "mine.json");
    out.orderSeed = 11;
    out.until = WidthProgress{goal, std::nullopt, false};
    for (int run = 0; run < runs; ++run) {
        ExperimentEntry &entry = out.entries.emplace_back();
        entry.planned.name = "run " + std::to_string(run);
        entry.planned.config.seed = run;
    }
    if (rounds > 1 && !addRounds(out, rounds - 1))
        out.entries.clear();
    return out;
}

void finish(Experiment &experiment) {
    for (std::size_t i = 0; i < experiment.entries.size(); ++i) {
        experiment.entries[i].state = EntryState::Done;
        experiment.entries[i].run = idOf(i);
    }
}

/// Training times around 10 s, by entry; each is drawn once.
class DrawnTimes {
public:
    DrawnTimes(unsigned seed, double spread) : m_random(seed), m_spread(spread) {}
    double of(const std::string &run) {
        const auto [found, isNew] = m_times.try_emplace(run, 0);
        if (isNew)
            found->second = 10 * std::exp(m_spread * std::normal_distribution<>()(m_random));
        return found->second;
    }
    TrainingTimeSource source() {
        return [this](const std::string &run) { return std::optional(Repeat{of(run)}); };
    }

private:
    std::mt19937_64 m_random;
    double m_spread;
    std::map<std::string, double> m_times;
};

/// As the queue's owner does it, without runs.
WidthReached repeatUntilSettled(Experiment &experiment, DrawnTimes &times) {
    for (;;) {
        finish(experiment);
        const WidthReached reached = widthReached(experiment, times.source());
        if (const int rounds = roundsToAdd(experiment.until->goal, reached);
            rounds == 0 || !addRounds(experiment, rounds))
            return reached;
    }
}

QString idOf(const Detached &started) {
    return QString::fromStdString(started.experiment);
}

Detached startTwoRuns(const QStringList &options) {
    const Answer answer = ctl(
        QStringList{QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--detach"), QStringLiteral("--json")} +
            options,
        60'000, QByteArray::fromStdString(twoRuns));
    const auto json = nlohmann::json::parse(answer.out.toStdString(), nullptr, false);
    if (answer.code != 0 || !json.is_object()) {
        qWarning("%s", answer.err.constData());
        return {};
    }
    return {json["experiment"], json["pid"].get<pid_t>()};
}

} // namespace

class CoreRoundsTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void initTestCase() {
        if (!useFakeRanks())
            QSKIP(qPrintable(QStringLiteral("lockstepctl, lockstep-agent or fake_rank is not built in ") + bin));
    }
    void init() {
        m_home = std::make_unique<Home>();
        qputenv("FAKE_RANK", "step_ms=2");
    }
    void cleanup() {
        endAll();
        m_home.reset();
    }

    void tryingASettingEndsInASentenceThatSaysWhetherItMatters() {
        const QStringList words{QStringLiteral("try"),     QStringLiteral("lenet-dp-vs-ddp"),
                                QStringLiteral("--vary"),  QStringLiteral("bucket_mb=1,100"),
                                QStringLiteral("--steps"), QStringLiteral("20"),
                                QStringLiteral("--set"),   QStringLiteral("oversubscribe=true")};
        const Answer answer = ctl(words);
        QVERIFY2(answer.code == 0, answer.err.constData());
        QVERIFY2(answer.out.trimmed().split('\n').back().startsWith("bucket_mb"), answer.out.constData());
        const auto experiments = listExperiments();
        QCOMPARE(experiments.size(), std::size_t(1));
        const Experiment done = read(experiments.front());
        QCOMPARE(done.entries.size(), std::size_t(9));
        for (const ExperimentEntry &entry : done.entries)
            QCOMPARE(entry.planned.config.trainSamples, 20 * globalBatch(entry.planned.config));

        const Answer wrong = ctl({QStringLiteral("try"), QStringLiteral("lenet-dp-vs-ddp"), QStringLiteral("--vary"),
                                  QStringLiteral("servers=1,2")});
        QCOMPARE(wrong.code, 2);
        QVERIFY2(wrong.err.contains("servers changes nothing in a run by ddp"), wrong.err.constData());
        QCOMPARE(listExperiments().size(), std::size_t(1));
    }

    void aModelsFileThatIsMissingIsRefusedBeforeAnyRunStarts() {
        const QByteArray recipe = R"({"name": "second", "title": "Second", "base": {"train_samples": 640},
            "runs": [{"method": "baseline"}, {"method": "baseline", "model": "/nowhere/net.pt"}]})";
        const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-")}, 60'000, recipe);
        QCOMPARE(answer.code, 2);
        QVERIFY2(answer.err.contains("/nowhere/net.pt"), answer.err.constData());
        QVERIFY(listExperiments().empty());
    }

    void roundsThatAreAddedHoldEveryRunOnceInABalancedOrder() {
        Experiment experiment = doneRounds(5, 3, {});
        finish(experiment);
        QueueRequest more;
        more.kind = Kind::Repeat;
        more.rounds = 4;
        more.by = "the test";
        QVERIFY(queueRequestFromJson(toJson(more)) == more);
        QVERIFY(apply(more, experiment).has_value());
        QCOMPARE(roundsOf(experiment), 7);
        const std::vector<int> waiting = experiment.queued();
        QCOMPARE(waiting.size(), std::size_t(20));
        std::map<std::string, int> places;
        for (int place = 0; place < 20; ++place) {
            const PlannedRun &planned = experiment.entries[std::size_t(waiting[std::size_t(place)])].planned;
            QCOMPARE(planned.repeat, 4 + place / 5); // a round is over before the next begins
            QCOMPARE(planned.repeats, 7);
            places[planned.name] += place % 5;
        }
        QCOMPARE(places.size(), std::size_t(5));
        for (const auto &[name, sum] : places)
            QCOMPARE(sum, 8); // 4 rounds of mean place 2
        QVERIFY(experimentFromJson(toJson(experiment))->queued() == waiting);
        std::vector<int> listed = waiting;
        std::ranges::sort(listed);
        QVERIFY2(listed != waiting, "drawn, not as listed");
    }

    void whatCanNotBeRepeatedIsRefusedInASentence() {
        Experiment experiment = doneRounds(2, 3, {});
        for (const int rounds : {0, -1, 101}) {
            const auto refused = addRounds(experiment, rounds);
            QVERIFY(!refused.has_value());
            QVERIFY2(refused.error().message().find("ask for 1 to 100") != std::string::npos,
                     refused.error().message().c_str());
        }
        experiment.entries[0].planned.notRunReason = "not run: needs 8, has 2";
        for (ExperimentEntry &entry : experiment.entries)
            entry.state = EntryState::NotRun;
        QVERIFY(addRounds(experiment, 1).error().message().find("no run that can be repeated") != std::string::npos);
    }

    void aRunThatWasSkippedThroughoutIsNotRepeatedAndOneThatWasOnceIs() {
        Experiment experiment = doneRounds(3, 2, {});
        finish(experiment);
        for (ExperimentEntry &entry : experiment.entries)
            if (entry.planned.name == "run 1" || (entry.planned.name == "run 2" && entry.planned.repeat == 1))
                entry.state = EntryState::NotRun;
        QVERIFY(addRounds(experiment, 1).has_value());
        std::vector<std::string> names;
        for (const int entry : experiment.queued())
            names.push_back(experiment.entries[std::size_t(entry)].planned.name);
        std::ranges::sort(names);
        QCOMPARE(names, (std::vector<std::string>{"run 0", "run 2"}));
    }

    void theGoalIsPartOfRecipeAndPlanAndOfTheExperimentsDocument() {
        const std::string withGoal = R"({"name":"mine","until_width":"7.5%","at_most":12,)" + twoRuns.substr(15);
        const Plan plan = planOf(withGoal);
        QVERIFY(plan.untilWidth && std::abs(plan.untilWidth->width - 0.075) < 1e-12);
        QCOMPARE(plan.untilWidth->mostRounds, 12);
        QCOMPARE(plan.runs.size(), std::size_t(6)); // 3 rounds: fewer give no interval
        const Recipe recipe = *recipeFromJson(withGoal, "mine.json");
        QVERIFY(recipeFromJson(toJson(recipe), "again")->untilWidth == recipe.untilWidth);
        PlanOptions fixed;
        fixed.repeats = 2;
        QVERIFY2(!planOf(withGoal, fixed).untilWidth, "who asks for 2 repeats gets 2");
        PlanOptions narrower;
        narrower.untilWidth = 0.02;
        narrower.repeats = 4;
        QCOMPARE(planOf(withGoal, narrower).runs.size(), std::size_t(8));
        QCOMPARE(planOf(withGoal, narrower).untilWidth->width, 0.02);

        Experiment experiment = makeExperiment(plan, recipe, false, {});
        experiment.until->reached = WidthReached{3, 0.091, "run 1", 9, false};
        QVERIFY(experimentFromJson(toJson(experiment))->until == experiment.until);
        experiment.until->reached = WidthReached{3, std::nullopt, "run 1", std::nullopt, false};
        experiment.until->settled = true;
        QVERIFY(experimentFromJson(toJson(experiment))->until == experiment.until);
    }

    void aGoalThatMeansNothingIsRefusedInASentence_data() {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("no percentage") << QStringLiteral(R"("until_width":"0.05")")
                                       << QStringLiteral("\"0.05\" is not a width; give a percentage");
        QTest::newRow("nothing") << QStringLiteral(R"("until_width":"%")") << QStringLiteral("\"%\" is not a width");
        QTest::newRow("too narrow") << QStringLiteral(R"("until_width":"0.01%")")
                                    << QStringLiteral("from 0.1% to 100%");
        QTest::newRow("not finite") << QStringLiteral(R"("until_width":"nan%")")
                                    << QStringLiteral("\"nan%\" is not a width");
        QTest::newRow("a number") << QStringLiteral(R"("until_width":5)") << QStringLiteral("until_width");
        QTest::newRow("a limit alone") << QStringLiteral(R"("at_most":5)") << QStringLiteral("there is no until_width");
        QTest::newRow("too few") << QStringLiteral(R"("until_width":"5%","at_most":2)") << QStringLiteral("at_most");
    }
    void aGoalThatMeansNothingIsRefusedInASentence() {
        QFETCH(QString, keys);
        QFETCH(QString, sentence);
        const std::string reported = refusal(R"({"name":"mine",)" + keys.toStdString() + "," + twoRuns.substr(15));
        QVERIFY2(reported.find(sentence.toStdString()) != std::string::npos, reported.c_str());
        QCOMPARE(std::ranges::count(reported, '\n'), 0);
    }

    void aGoalThatDoesNotFitThePlanIsRefusedInASentence() {
        PlanOptions options;
        options.mostRounds = 9;
        QVERIFY(refusal(twoRuns, options).find("there is no until_width") != std::string::npos);
        options.untilWidth = 0.05;
        QCOMPARE(refusal(twoRuns, options), std::string());
        options.repeats = 10;
        QVERIFY2(refusal(twoRuns, options).find("at most 9 rounds can't be kept") != std::string::npos,
                 refusal(twoRuns, options).c_str());
        options.repeats = 2;
        QVERIFY(refusal(twoRuns, options).find("an interval takes 3 rounds") != std::string::npos);
        options.repeats.reset();
        QVERIFY(refusal(R"({"name":"one","runs":[{"method":"baseline","devices":1}]})", options)
                    .find("it has no speed-up") != std::string::npos);
    }

    void roundsEndWhenTheIntervalsWereNarrowTwiceAndNeverForADifference() {
        Experiment experiment = doneRounds(3, 3, {0.05, 30});
        DrawnTimes times(3, 0.05);
        const WidthReached reached = repeatUntilSettled(experiment, times);
        QVERIFY(reached.narrow && *reached.width <= 0.05 && reached.rounds >= 5 && reached.rounds < 30);
        Experiment shorter =
            experiment; // two rounds earlier they were narrow as well, or rounds would have ended later
        std::erase_if(shorter.entries,
                      [&](const ExperimentEntry &entry) { return entry.planned.repeat > reached.rounds - 2; });
        QVERIFY(*widthReached(shorter, times.source()).width <= 0.05);

        // A difference that three rounds tell apart is no reason to end.
        Experiment apart = doneRounds(2, 3, {0.002, 7});
        finish(apart);
        DrawnTimes noise(3, 0.01);
        const auto twice = [&](const std::string &run) {
            return std::optional(
                Repeat{noise.of(run) * (std::stoi(run.substr(run.size() - 8), nullptr, 16) % 2 ? 2 : 1)});
        };
        const WidthReached early = widthReached(apart, twice);
        QVERIFY(!early.narrow);
        QCOMPARE(roundsToAdd(apart.until->goal, early), 2);
    }

    void roundsEndAtTheMostThatAreAllowed() {
        Experiment experiment = doneRounds(2, 3, {0.001, 6});
        DrawnTimes times(5, 0.05);
        const WidthReached reached = repeatUntilSettled(experiment, times);
        QCOMPARE(reached.rounds, 6); // 3, 5, 6
        QVERIFY(!reached.narrow && !reached.expected);
        experiment.until->reached = reached;
        QVERIFY(progressText(*experiment.until, 1).ends_with("±0.1 % is not expected within 6 rounds."));
        experiment.until->settled = true;
        QVERIFY2(progressText(*experiment.until, 1).starts_with("Stopped after 6 rounds, of 6 at most: the widest"),
                 progressText(*experiment.until, 1).c_str());
    }

    void aWidthIsNotReachedWhileFewerThanThreeRoundsWereQuiet() {
        Experiment experiment = doneRounds(2, 5, {0.5, 30});
        finish(experiment);
        DrawnTimes times(1, 0.01);
        const auto reachedWith = [&](double loadOfTheFirst) {
            return widthReached(experiment, [&](const std::string &run) {
                Repeat made{times.of(run)};
                const auto entry = std::ranges::find(experiment.entries, run, &ExperimentEntry::run);
                made.load = entry->planned.repeat <= 3 ? loadOfTheFirst : 0.02;
                return std::optional(made);
            });
        };
        QVERIFY(reachedWith(0.02).narrow);
        const WidthReached disturbed = reachedWith(0.6); // rounds 4 and 5 are quiet
        QVERIFY(disturbed.width && !disturbed.narrow);
        QCOMPARE(disturbed.expected, std::optional(8)); // a third quiet round, and two more for the second check
    }

    void progressSaysTheWidthReachedAndWhatIsLeft() {
        WidthProgress progress{{0.05, 30}, std::nullopt, false};
        QCOMPARE(progressText(progress, 10),
                 std::string("Rounds are added until every 95 % interval is within ±5 %, 30 at most."));
        progress.reached = WidthReached{3, 0.0912, "DDP on 2 devices", 9, false};
        QCOMPARE(progressText(progress, 10),
                 std::string("After 3 rounds the widest interval reaches ±9.12 % (DDP on 2 devices); ±5 % is "
                             "expected after about 9 rounds, 1 min 00 s more."));
        progress.reached = WidthReached{9, 0.041, "DDP on 2 devices", std::nullopt, true};
        progress.settled = true;
        QCOMPARE(progressText(progress, 10),
                 std::string("After 9 rounds every 95 % interval lies within ±5 % of its factor: "
                             "the widest reaches ±4.1 % (DDP on 2 devices)."));
    }

    void fewerThanThreeRepeatsAreSaidToGiveNoInterval() {
        QVERIFY(roundsNote(1, {}).starts_with("One repeat gives no interval"));
        QVERIFY(roundsNote(2, {}).starts_with("2 repeats give no interval"));
        QCOMPARE(roundsNote(3, {}), std::string());
        const Answer answer =
            ctl({QStringLiteral("run"), QStringLiteral("-")}, 60'000, QByteArray::fromStdString(twoRuns));
        QVERIFY2(answer.code == 0 && answer.out.contains("One repeat gives no interval"), answer.out.constData());
        const Answer three =
            ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--repeats"), QStringLiteral("3")}, 60'000,
                QByteArray::fromStdString(twoRuns));
        QVERIFY2(three.code == 0 && !three.out.contains("no interval"), three.out.constData());
    }

    void anExperimentWithAGoalIsNotOverBeforeItIsSettledAFailureOrAStopEndsIt() {
        Experiment experiment = doneRounds(2, 3, {});
        finish(experiment);
        QVERIFY(!experiment.over());
        Experiment failed = experiment;
        failed.entries[1].state = EntryState::Failed;
        QVERIFY2(failed.over(), "rounds are not added beside a failed run");
        Experiment stopped = experiment;
        QueueRequest stop;
        stop.by = "the test";
        QVERIFY(apply(stop, stopped).has_value());
        QVERIFY(stopped.over());
        experiment.until->settled = true;
        QVERIFY(experiment.over());
    }

    void theEstimateOfRoundsIsMostlyWithinTwiceOfWhatItTook() {
        int within = 0, trials = 0, shortened = 0;
        for (unsigned seed = 1; trials < 200; ++seed) {
            Experiment experiment = doneRounds(2, 5, {0.05, 200});
            finish(experiment);
            DrawnTimes times(seed, 0.08);
            const std::optional<int> expected = widthReached(experiment, times.source()).expected;
            if (!expected) {
                ++shortened;
                continue;
            }
            const double took = repeatUntilSettled(experiment, times).rounds;
            ++trials;
            within += *expected >= took / 2 && *expected <= took * 2;
        }
        qInfo("from 5 rounds on, %.0f %% of the estimates lie within a factor of 2 of what it took (%d without one)",
              100.0 * within / trials, shortened);
        QVERIFY(within >= trials * 0.8 && shortened < trials / 10);
    }

    void anExperimentThatIsOverIsRepeatedByOneCommand() {
        const Detached started = startTwoRuns({});
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        QCOMPARE(ctl({QStringLiteral("repeat"), idOf(started), QStringLiteral("0")}).code, 2);
        const Answer answer = ctl({QStringLiteral("repeat"), idOf(started), QStringLiteral("2")});
        QVERIFY2(answer.code == 0, answer.err.constData());
        QVERIFY2(answer.out.startsWith("2 more rounds of the runs of "), answer.out.constData());
        QTRY_VERIFY(read(started.experiment).over() && !isOwned(started.experiment));
        const Experiment after = read(started.experiment);
        QCOMPARE(after.entries.size(), std::size_t(6));
        QVERIFY(std::ranges::all_of(after.entries, [](const auto &entry) { return entry.state == EntryState::Done; }));
        const auto shown = nlohmann::json::parse(
            ctl({QStringLiteral("show"), idOf(started), QStringLiteral("--json")}).out.toStdString());
        const auto &pair = shown["judgement"]["pairs"][0]["speed_up_training"];
        QVERIFY2(pair["low"].is_number() && pair["run_repeats"] == 3, pair.dump().c_str());
    }

    void theOwnerAddsRoundsUntilTheWidthIsReached() {
        Experiment experiment = makeExperiment(planOf(twoRuns), *recipeFromJson(twoRuns, "mine.json"), false, {});
        experiment.until = WidthProgress{{0.05, 30}, std::nullopt, false};
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentRunner runner;
        runner.setWidth([](const Experiment &now) {
            const int rounds = roundsOf(now);
            return WidthReached{rounds, 0.5 / rounds, "run", std::nullopt, rounds >= 5};
        });
        QVERIFY(runner.own(experiment.id).has_value());
        QSignalSpy finished(&runner, &ExperimentRunner::finished), measured(&runner, &ExperimentRunner::widthMeasured);
        runner.start();
        QVERIFY(finished.wait(test::hangLimitMs));
        QCOMPARE(runner.exitCode(), 0);
        QCOMPARE(measured.size(), 3); // after 1, 3 and 5 rounds
        const Experiment after = read(experiment.id);
        QCOMPARE(roundsOf(after), 5);
        QVERIFY(after.over() && after.until->settled && after.until->reached->narrow);
        QVERIFY(std::ranges::all_of(after.entries, [](const auto &entry) { return entry.state == EntryState::Done; }));
    }

    void theOwnerKilledBetweenTwoRoundsTheyGoOnWhenTheQueueIsResumed() {
        // The limit is the least number of rounds at which a width counts as reached: they are as many however the times fall.
        const Detached started = startTwoRuns({QStringLiteral("--until-width"), QStringLiteral("0.1%"),
                                               QStringLiteral("--at-most"), QStringLiteral("5")});
        QVERIFY(!started.experiment.empty());
        QTRY_VERIFY(read(started.experiment).entries.size() == 10); // 3 rounds are over, 2 were added
        QCOMPARE(::kill(started.owner, SIGKILL), 0);
        QTRY_VERIFY(!isOwned(started.experiment));
        const Experiment between = read(started.experiment);
        QVERIFY(!between.over() && between.until->reached->rounds == 3);
        const Answer shown = ctl({QStringLiteral("queue"), idOf(started)});
        QVERIFY2(shown.out.contains("After 3 rounds the widest interval reaches ±"), shown.out.constData());

        // Killed after the last run and before the decision: every run is over, and still there is a queue to resume.
        Experiment undecided = between;
        QTRY_VERIFY(runsAreOver(started.experiment));
        std::erase_if(undecided.entries, [](const ExperimentEntry &entry) { return entry.planned.repeat > 3; });
        undecided.order.clear();
        undecided.until->reached.reset();
        QVERIFY(writeExperiment(undecided).has_value());
        const Answer resumed = ctl({QStringLiteral("run"), QStringLiteral("--experiment"), idOf(started)});
        QVERIFY2(resumed.code == 0, resumed.err.constData());
        QVERIFY2(resumed.out.contains("After 3 rounds the widest interval reaches ±"), resumed.out.constData());
        const Experiment after = read(started.experiment);
        QCOMPARE(roundsOf(after), 5);
        QVERIFY(after.over() && after.until->settled);
        QCOMPARE(after.until->reached->rounds, 5);
        QVERIFY(std::ranges::all_of(after.entries, [](const auto &entry) { return entry.state == EntryState::Done; }));
    }

    void aWidthThatIsNoneIsRefusedByTheCommandLine() {
        const Answer answer =
            ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--until-width"), QStringLiteral("five")},
                60'000, QByteArray::fromStdString(twoRuns));
        QCOMPARE(answer.code, 2);
        QVERIFY2(answer.err.contains("--until-width: \"five\" is not a width"), answer.err.constData());
        QVERIFY(listExperiments().empty());
    }
};

QTEST_GUILESS_MAIN(CoreRoundsTest)
#include "rounds_test.moc"
