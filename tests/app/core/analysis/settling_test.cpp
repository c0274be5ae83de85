// SPDX-License-Identifier: MIT
// How many repeats would settle a comparison, and how many it took.
#include <cmath>
#include <random>

#include "analysis/compare/settling.h"
#include "tests/qt_test.h"

using namespace lockstep::core;

namespace {

double normal(std::mt19937_64 &random) {
    return std::normal_distribution<>()(random);
}

/// One more round of a reference and of a run that is `factor` times as fast.
void addRound(std::vector<Repeat> &reference, std::vector<Repeat> &run, double factor, double spread,
              std::mt19937_64 &random) {
    const std::string round = std::to_string(reference.size());
    reference.push_back({10 * std::exp(spread * normal(random)), round});
    run.push_back({10 / factor * std::exp(spread * normal(random)), round});
}

double reachOf(const SpeedUp &speedUp) {
    return std::log(*speedUp.high / *speedUp.low) / 2;
}

} // namespace

class CoreSettlingTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatIsDecidedNeedsNoRepeats() {
        SpeedUp speedUp;
        QVERIFY2(!settlingOf(speedUp, 1), "no interval");
        speedUp.low = 1.1;
        speedUp.high = 1.3;
        speedUp.factor = 1.2;
        speedUp.referenceRepeats = speedUp.runRepeats = 3;
        speedUp.method = IntervalMethod::Welch;
        speedUp.different = true;
        QVERIFY2(!settlingOf(speedUp, 1), "told apart");
        speedUp.different = false;
        speedUp.low = 0.99;
        speedUp.high = 1.01;
        speedUp.factor = 1;
        QVERIFY2(!settlingOf(speedUp, 1), "equal");
    }

    void asManyRoundsAreSuggestedAsTheSlowestComparisonNeedsQuietOnesIncluded() {
        Settling wide, disturbed;
        wide.repeats = disturbed.repeats = 3;
        wide.forFivePercent = 4;
        disturbed.quietLacking = 2;
        QCOMPARE(roundsToSettle({wide})->rounds, 1);
        QVERIFY(roundsToSettle({wide, disturbed})->rounds == 2 && roundsToSettle({wide, disturbed})->forQuiet);
        wide.forFivePercent = 20;
        QVERIFY(roundsToSettle({wide, disturbed})->rounds == 17 && roundsToSettle({wide, disturbed})->forWidth);
    }

    void repeatsThatNarrowAnIntervalNeedNotTellTheDifferenceSeen() {
        Settling open;
        open.repeats = 3;
        open.forFivePercent = 5;
        open.forDifference = 24;
        QVERIFY(whatRepeatsDo(open, 1).empty());
        QCOMPARE(std::string(whatRepeatsDo(open, 2)), std::string("would narrow it to ±5 %"));
        QCOMPARE(std::string(whatRepeatsDo(open, 21)), std::string("would tell"));
        open.forFivePercent = 3; // it is as narrow already
        QVERIFY(whatRepeatsDo(open, 2).empty());
        open.quietLacking = 2;
        QVERIFY(whatRepeatsDo(open, 1).empty());
        QCOMPARE(std::string(whatRepeatsDo(open, 2)), std::string("would give an interval"));
    }

    void theNumberIsTheOneAtWhichTheIntervalReachesNoFurther() {
        SpeedUp speedUp;
        speedUp.factor = 1.1;
        speedUp.low = 1.1 / 1.25;
        speedUp.high = 1.1 * 1.25;
        speedUp.referenceRepeats = speedUp.runRepeats = 4;
        speedUp.method = IntervalMethod::Welch;
        // By hand: spread ln 1.25 · √4 / t(6) = 0.182388; t(2n - 2) · 0.182388 / √n first falls below ln 1.1 at n = 16, below ln 1.05
        // at n = 55.
        const auto found = settlingOf(speedUp, 30);
        QCOMPARE(*found->forDifference, 16);
        QCOMPARE(*found->forFivePercent, 55);
        QCOMPARE(settlingText(*found),
                 std::string("Repeats needed to tell the difference seen: about 16 (12 more, 6 min 00 s); for an "
                             "interval within ±5 %: about 55 (51 more, 25 min 30 s)."));
        speedUp.comparisons = 14;
        QVERIFY2(*settlingOf(speedUp, 30)->forDifference > 16, "among many runs it takes more");
        speedUp.factor = 1.001;
        const auto hopeless = settlingOf(speedUp, std::nullopt);
        QVERIFY(!hopeless->forDifference);
        QVERIFY(settlingText(*hopeless).starts_with("Repeats needed to tell the difference seen: more than 100; "));
        Settling far = *hopeless;
        far.forFivePercent.reset();
        QVERIFY(settlingText(far).ends_with("make the machine quieter first."));
    }

    void theEstimateIsMostlyWithinTwiceOfWhatItTook() {
        std::mt19937_64 random(20);
        int within = 0, trials = 0;
        while (trials < 400) {
            std::vector<Repeat> reference, run;
            for (int i = 0; i < 5; ++i)
                addRound(reference, run, 1, 0.08, random);
            const auto estimate = settlingOf(*speedUpOf(reference, run), std::nullopt);
            if (!estimate || !estimate->forFivePercent || *estimate->forFivePercent <= 5)
                continue;
            ++trials;
            while (reachOf(*speedUpOf(reference, run)) > std::log(1.05))
                addRound(reference, run, 1, 0.08, random);
            const double ratio = double(*estimate->forFivePercent) / double(reference.size());
            within += ratio >= 0.5 && ratio <= 2;
        }
        qInfo("from 5 repeats on, %.0f %% of the estimates for ±5 %% lie within a factor of 2 of what it took",
              100.0 * within / trials);
        QVERIFY(within >= trials * 0.8);
    }
};

QTEST_GUILESS_MAIN(CoreSettlingTest)
#include "settling_test.moc"
