// SPDX-License-Identifier: MIT
// Speed-ups and their intervals: by hand, by property, and by 5,000 simulated experiments.
#include <cmath>
#include <functional>
#include <random>

#include "analysis/compare/statistics.h"
#include "analysis/compare/student.h"
#include "tests/qt_test.h"

using namespace lockstep::core;

namespace {

constexpr double planted = 1.7;
constexpr int experiments = 5'000;

/// What the machine does to the logarithm of a time, by the moment at which a run is made.
using Drift = std::vector<double>;
/// One draw of a run's own scatter, with a standard deviation of 1.
using Noise = std::function<double(std::mt19937_64 &)>;

double normal(std::mt19937_64 &random) {
    return std::normal_distribution<>()(random);
}

/// One time in ten has ten times the variance: the stalls of a busy machine.
double heavyTailed(std::mt19937_64 &random) {
    const double scale = std::uniform_real_distribution<>()(random) < 0.1 ? std::sqrt(10.0) : 1.0;
    return normal(random) * scale / std::sqrt(1.9);
}

Drift linearDrift(int moments, std::mt19937_64 &random) {
    const double whole = 0.15 * std::uniform_real_distribution<>(-1, 1)(random); // up to 15 % over the experiment
    Drift out;
    for (int i = 0; i < moments; ++i)
        out.push_back(whole * i / (moments - 1));
    return out;
}

Drift randomWalk(int moments, std::mt19937_64 &random) {
    Drift out;
    double at = 0;
    for (int i = 0; i < moments; ++i)
        out.push_back(at += 0.02 * normal(random));
    return out;
}

/// Shocks that both runs of a round meet alike, 10 %.
Drift sharedShocks(int moments, std::mt19937_64 &random) {
    Drift out;
    for (int i = 0; i < moments; i += 2)
        out.resize(std::size_t(i) + 2, 0.1 * normal(random));
    return out;
}

Drift none(int moments, std::mt19937_64 & /*random*/) {
    return Drift(std::size_t(moments), 0.0);
}

struct Simulated {
    double covered = 0; ///< share of experiments whose interval holds the planted speed-up
    double width = 0;   ///< mean of high ÷ low
};

/// Times of repeats that were made in no round.
std::vector<Repeat> timesOf(const std::vector<double> &seconds) {
    std::vector<Repeat> out;
    for (const double each : seconds)
        out.push_back({each});
    return out;
}

std::optional<SpeedUp> withoutRounds(const std::vector<double> &reference, const std::vector<double> &run) {
    return lockstep::core::speedUpOf(timesOf(reference), timesOf(run));
}

/// Of each number of seconds, the repeat in the round of its place.
std::vector<Repeat> inRounds(const std::vector<double> &seconds) {
    std::vector<Repeat> out;
    for (const double each : seconds)
        out.push_back({each, std::to_string(out.size())});
    return out;
}

/// Two groups of n repeats; they take turns in rounds of one run each, in random order within a round.
Simulated simulate(int n, Drift (*drift)(int, std::mt19937_64 &), const Noise &noise, double spreadOfRun = 0.03) {
    std::mt19937_64 random(20'260 + std::uint64_t(n));
    Simulated out;
    for (int i = 0; i < experiments; ++i) {
        const Drift machine = drift(2 * n, random);
        std::vector<Repeat> reference, run;
        for (int block = 0; block < n; ++block) {
            const bool swapped = (random() & 1) != 0;
            const double first = machine[std::size_t(2 * block)], second = machine[std::size_t(2 * block + 1)];
            const std::string round = std::to_string(block);
            reference.push_back({10 * std::exp((swapped ? second : first) + 0.03 * noise(random)), round,
                                 2 * block + (swapped ? 1.0 : 0.0)});
            run.push_back({10 / planted * std::exp((swapped ? first : second) + spreadOfRun * noise(random)), round,
                           2 * block + (swapped ? 0.0 : 1.0)});
        }
        const auto got = lockstep::core::speedUpOf(reference, run);
        out.covered += (*got->low <= planted && planted <= *got->high) / double(experiments);
        out.width += *got->high / *got->low / experiments;
    }
    return out;
}

std::vector<double> someTimes(std::mt19937_64 &random, int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i)
        out.push_back(std::exp(normal(random)));
    return out;
}

bool near(double a, double b, double tolerance = 1e-9) {
    return std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

} // namespace

class CoreStatisticsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void withoutRoundsAnIntervalIsWelchsOnLogTimes() {
        // By hand: difference of mean logs 0.61276, standard error 0.11058, 3.0798 degrees of freedom, t = 3.1363.
        const auto got = withoutRounds({10, 11, 12}, {5, 6, 7});
        QVERIFY(got && got->hasInterval());
        QVERIFY(got->method == IntervalMethod::Welch);
        QVERIFY(near(got->factor, std::sqrt(*got->low * *got->high))); // of geometric means: the interval's centre
        QVERIFY(near(got->factor, std::cbrt(10.0 * 11 * 12 / (5 * 6 * 7))));
        QVERIFY2(std::abs(*got->low - 1.30465) < 1e-4, qPrintable(QString::number(*got->low, 'g', 9)));
        QVERIFY2(std::abs(*got->high - 2.61061) < 1e-4, qPrintable(QString::number(*got->high, 'g', 9)));
        QVERIFY(got->isDifferent());
        QVERIFY(!withoutRounds({10, 11, 12}, {10.5, 11.5, 11})->isDifferent());
    }

    void belowThreeRepeatsThereIsAFactorAndNoInterval() {
        for (const std::vector<double> &few : {std::vector<double>{10}, std::vector<double>{10, 11}}) {
            const auto got = withoutRounds(few, {5, 5, 5});
            QVERIFY(got && !got->hasInterval());
            QVERIFY2(!got->isDifferent(), "without an interval nothing is told apart, however large the factor");
            QCOMPARE(got->referenceRepeats, int(few.size()));
            QCOMPARE(got->runRepeats, 3);
            QVERIFY(!withoutRounds({5, 5, 5}, few)->hasInterval());
        }
    }

    void withoutATimeThatIsOneThereIsNoSpeedUp() {
        QVERIFY(!withoutRounds({}, {5, 6, 7}));
        QVERIFY(!withoutRounds({5, 6, 7}, {}));
        for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
            QVERIFY(!withoutRounds({10, bad, 11}, {5, 6, 7}) && !withoutRounds({5, 6, 7}, {10, bad, 11}));
    }

    void timesThatDoNotScatterGiveAPoint() {
        const auto got = withoutRounds({10, 10, 10}, {5, 5, 5});
        QVERIFY(near(*got->low, 2) && near(*got->high, 2) && got->isDifferent());
        QVERIFY(!withoutRounds({10, 10, 10}, {10, 10, 10})->isDifferent());
    }

    void studentsTableIsMet() {
        struct Row {
            double confidence, degrees, t;
        };
        for (const Row &row : {Row{0.95, 1, 12.706204736}, Row{0.95, 2, 4.302652730}, Row{0.95, 4, 2.776445105},
                               Row{0.95, 8, 2.306004135}, Row{0.95, 18, 2.100922040}, Row{0.95, 1e7, 1.959964},
                               Row{0.99, 4, 4.604094871}, Row{0.9, 10, 1.812461123}, Row{0.5, 3, 0.764892328}})
            QVERIFY2(near(studentQuantile(row.confidence, row.degrees), row.t, 2e-7),
                     qPrintable(QString::number(studentQuantile(row.confidence, row.degrees), 'g', 12)));
    }

    void whateverTheTimesTheIntervalKeepsItsProperties() {
        std::mt19937_64 random(7);
        for (int i = 0; i < 2'000; ++i) {
            const auto a = someTimes(random, 3 + int(random() % 10)), b = someTimes(random, 3 + int(random() % 10));
            const auto got = withoutRounds(a, b), swapped = withoutRounds(b, a);
            QVERIFY2(*got->low <= got->factor && got->factor <= *got->high, "the factor lies in its interval");
            QVERIFY2(near(*got->low, 1 / *swapped->high) && near(got->factor, 1 / swapped->factor),
                     "swapping sides inverts it");
            auto minutes = a, minutesOfRun = b;
            for (double &time : minutes)
                time /= 60;
            for (double &time : minutesOfRun)
                time /= 60;
            const auto scaled = withoutRounds(minutes, minutesOfRun);
            QVERIFY2(near(*got->low, *scaled->low) && near(*got->high, *scaled->high), "the unit does not matter");
            auto shuffled = a;
            std::shuffle(shuffled.begin(), shuffled.end(), random);
            QVERIFY2(near(*got->high, *withoutRounds(shuffled, b)->high), "nor the order");
        }
    }

    void whatTheMachineDoesToAWholeRoundCancels() {
        // By hand: differences of logarithms ln 2.00, ln 2.02, ln 1.98; mean 0.693114, standard error 0.0057738; t = 4.848732 at 96 %.
        const std::vector<double> reference = {10, 15.15, 19.8}, run = {5, 7.5, 10};
        const auto got = lockstep::core::speedUpOf(inRounds(reference), inRounds(run));
        QVERIFY(got->method == IntervalMethod::Paired && got->isDifferent());
        QVERIFY2(near(*got->low, 1.94472, 1e-5), qPrintable(QString::number(*got->low, 'g', 9)));
        QVERIFY2(near(*got->high, 2.05671, 1e-5), qPrintable(QString::number(*got->high, 'g', 9)));
        QVERIFY2(*withoutRounds(reference, run)->low < 1, "the same times in no rounds tell nothing");
        auto lacking = inRounds(run);
        lacking.back().round = "elsewhere";
        QVERIFY2(lockstep::core::speedUpOf(inRounds(reference), lacking)->method == IntervalMethod::Welch,
                 "a repeat without a partner leaves Welch's");
    }

    void aSteadyDriftIsTakenOut() {
        // By hand: both slow down by about 10 % a place. Slope 0.0993039 a place, the run lies a third of a place earlier; standard error
        // 0.00520887, 1.739017 degrees of freedom, t = 6.761758 at 97 %.
        std::vector<Repeat> reference = inRounds({10, 13.6, 14.8}), run = inRounds({5.5, 6.1, 8.2});
        const std::vector<double> ofReference = {0, 3, 4}, ofRun = {1, 2, 5};
        for (std::size_t i = 0; i < 3; ++i) {
            reference[i].moment = ofReference[i];
            run[i].moment = ofRun[i];
        }
        const auto got = lockstep::core::speedUpOf(reference, run);
        QVERIFY(got->method == IntervalMethod::WithoutDrift);
        QVERIFY2(near(got->factor, std::cbrt(10.0 * 13.6 * 14.8 / (5.5 * 6.1 * 8.2))),
                 "the factor is that of the plain means");
        QVERIFY2(near(*got->low, 1.849723, 1e-6), qPrintable(QString::number(*got->low, 'g', 9)));
        QVERIFY2(near(*got->high, 2.037462, 1e-6), qPrintable(QString::number(*got->high, 'g', 9)));
        run.front().moment.reset();
        QVERIFY2(lockstep::core::speedUpOf(reference, run)->method != IntervalMethod::WithoutDrift,
                 "a moment is unknown");
    }

    void aRepeatThatNoScatterExplainsIsLeftOut() {
        // By hand: t = 62.757 with 7 degrees of freedom; then s from 4 + 5 repeats, t = 2.7146 at 97 %.
        const std::vector<double> reference = {10, 10.1, 9.95, 10.05, 15}, run = {5, 5.05, 4.98, 5.02, 5.01};
        const auto got = lockstep::core::speedUpOf(inRounds(reference), inRounds(run));
        QVERIFY(got->leftOut && got->leftOut->ofFirst && got->leftOut->index == 4);
        QVERIFY(near(got->leftOut->chance, 6.850761e-10, 1e-6));
        QVERIFY2(near(std::exp(got->leftOut->above), 1.4962826, 1e-7), "as long as its others");
        QVERIFY(got->method == IntervalMethod::LeftOut && got->isDifferent());
        QVERIFY2(near(got->factor, 2.0001897, 1e-7), qPrintable(QString::number(got->factor, 'g', 9)));
        QVERIFY(near(*got->low, 1.9793794, 1e-7) && near(*got->high, 2.0212189, 1e-7));
        QCOMPARE(*meanFactorOf(inRounds(reference), inRounds(run)), got->factor);
        const auto back = lockstep::core::speedUpOf(inRounds(run), inRounds(reference));
        QVERIFY2(!back->leftOut->ofFirst && near(back->factor, 1 / got->factor), "whichever side it is of");
        QVERIFY(!withoutRounds({10, 10, 10}, {5, 5, 6})->leftOut);
        QVERIFY2(!withoutRounds({10, 10}, {5, 5.1, 9})->leftOut, "two repeats are too few");
        QVERIFY2(!withoutRounds({10, 10.3, 11}, {5, 5.1, 5.6})->leftOut, "an ordinary scatter");
        QVERIFY2(!withoutRounds({10, 10.001, 10.002, 10.001, 10.2}, {5, 5.001, 5.002, 5, 5.001})->leftOut,
                 "by 2 % only");
    }

    void amongManyComparisonsARepeatMustStandOutMore() {
        SpeedUp open;
        open.low = 0.9;
        open.high = 1.1;
        const auto with = [](double chanceToStandOut) {
            SpeedUp out;
            out.low = 1.01;
            out.high = 1.2;
            out.chance = 0.0001;
            out.chanceOfAll = 0.4;
            out.leftOut = StandingOut{true, 0, 0.5, chanceToStandOut};
            return out;
        };
        SpeedUp alone = with(0.0008), among = alone, clear = with(0.0002);
        decideTogether({&alone});
        QVERIFY(alone.isDifferent());
        SpeedUp others[] = {open, open, open};
        decideTogether({&among, &others[0], &others[1], &others[2]});
        QVERIFY2(!among.isDifferent() && among.leavesOutOne(), "judged with all its repeats; the plain interval stays");
        decideTogether({&clear, &others[0], &others[1], &others[2]});
        QVERIFY(clear.isDifferent());
    }

    void roundsThatShareNothingLeaveWelchs() {
        const auto got = lockstep::core::speedUpOf(inRounds({10, 11, 12}), inRounds({7, 6, 5}));
        QVERIFY(got->method == IntervalMethod::Welch);
        QVERIFY2(*got->high / *got->low > 2.61061 / 1.30465, "at 97 %, since the shortest of several was taken");
    }

    void manyRunsAgainstOneReferenceClaimFewFalseDifferences() {
        constexpr int runs = 14, families = 2'000;
        std::mt19937_64 random(15);
        int plain = 0, together = 0;
        for (int i = 0; i < families; ++i) {
            const auto times = [&] {
                std::vector<double> out;
                for (int repeat = 0; repeat < 3; ++repeat)
                    out.push_back(std::exp(0.03 * normal(random)));
                return inRounds(out);
            };
            const std::vector<Repeat> reference = times();
            std::vector<SpeedUp> found;
            for (int run = 0; run < runs; ++run)
                found.push_back(*lockstep::core::speedUpOf(reference, times()));
            std::vector<SpeedUp *> family;
            for (SpeedUp &one : found)
                family.push_back(&one);
            decideTogether(family);
            plain += std::ranges::any_of(found, &SpeedUp::leavesOutOne);
            together += std::ranges::any_of(found, &SpeedUp::isDifferent);
        }
        qInfo("of %d families without a difference: %d have an interval that leaves out 1, %d claim one", families,
              plain, together);
        QVERIFY(plain > families / 4);
        QVERIFY(together <= families * 0.06);
    }

    void aFamilyIsJudgedFromItsSmallestChanceOn() {
        const auto with = [](double chance) {
            SpeedUp out;
            out.low = 1.01;
            out.high = 1.2;
            out.chance = chance;
            out.different = true;
            return out;
        };
        std::vector<SpeedUp> all = {with(0.03), with(0.001), with(0.012), with(0.04)};
        SpeedUp without; // no interval: it doesn't count
        decideTogether({&all[0], &all[1], &all[2], &all[3], &without, nullptr});
        QVERIFY(!all[0].isDifferent() && all[1].isDifferent() && all[2].isDifferent() && !all[3].isDifferent());
        QCOMPARE(all[0].comparisons, 4);
        QVERIFY2(all[0].leavesOutOne(), "the plain interval stays");
    }

    void equalIsSaidOnlyOfAnIntervalWithinThreePercent() {
        QVERIFY(withoutRounds({10, 10.05, 9.95}, {10.02, 9.98, 10})->isEqual());
        QVERIFY(!withoutRounds({10, 11, 12}, {10.5, 11.5, 11})->isEqual());
        QVERIFY2(!withoutRounds({10, 10.001, 10.002}, {9.9, 9.901, 9.902})->isEqual(), "1 % faster is told apart");
        QVERIFY(!withoutRounds({10}, {10})->isEqual());
    }

    void intervalsCoverThePlantedSpeedUpAsOftenAsTheySay() {
        for (const int n : {3, 5, 10}) {
            const Simulated same = simulate(n, none, normal), unlike = simulate(n, none, normal, 0.09);
            qInfo("n = %d: %.2f %% covered (width %.3f); the run's spread threefold: %.2f %%", n, 100 * same.covered,
                  same.width, 100 * unlike.covered);
            QVERIFY(same.covered >= 0.93 && same.covered <= 0.99);
            QVERIFY(unlike.covered >= 0.93 && unlike.covered <= 0.99);
        }
    }

    void aMachineThatDriftsDoesNotUndoThem() {
        for (const int n : {3, 5, 10}) {
            const Simulated line = simulate(n, linearDrift, normal), walk = simulate(n, randomWalk, normal);
            qInfo("n = %d: linear drift %.2f %% covered (width %.3f), random walk %.2f %% (width %.3f)", n,
                  100 * line.covered, line.width, 100 * walk.covered, walk.width);
            QVERIFY(line.covered >= 0.93 && line.covered <= 0.99);
            QVERIFY(walk.covered >= 0.93 && walk.covered <= 0.99);
        }
    }

    void shocksThatARoundSharesDoNotWidenThem() {
        for (const int n : {3, 5, 10}) {
            const Simulated calm = simulate(n, none, normal), shocks = simulate(n, sharedShocks, normal);
            qInfo("n = %d: shared shocks %.2f %% covered (width %.3f, without shocks %.3f)", n, 100 * shocks.covered,
                  shocks.width, calm.width);
            QVERIFY(shocks.covered >= 0.93 && shocks.covered <= 0.99);
            QVERIFY(std::log(shocks.width) < 1.6 * std::log(calm.width)); // Welch's: 3 to 4 times
        }
    }

    void stallsWidenThemRatherThanUndoThem() {
        for (const int n : {3, 5, 10}) {
            const Simulated stalls = simulate(n, none, heavyTailed);
            qInfo("n = %d: heavy-tailed %.2f %% covered (width %.3f)", n, 100 * stalls.covered, stalls.width);
            QVERIFY(stalls.covered >= 0.93);
        }
    }
};

QTEST_GUILESS_MAIN(CoreStatisticsTest)
#include "statistics_test.moc"
