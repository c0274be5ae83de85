// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>

#include "experiment/plan.h"
#include "experiment/round_order.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// Position of each run in each round, positions[round][run]; empty when a round lacks a run.
std::vector<std::vector<int>> positions(int runs, int rounds, std::uint64_t seed) {
    const std::vector<int> order = drawRounds(runs, rounds, seed);
    std::vector<std::vector<int>> out(std::size_t(rounds), std::vector<int>(std::size_t(runs), -1));
    if (order.size() != std::size_t(runs * rounds))
        return {};
    for (int place = 0; place < runs * rounds; ++place) {
        const int round = place / runs, index = order[std::size_t(place)] - round * runs;
        if (index < 0 || index >= runs || out[std::size_t(round)][std::size_t(index)] >= 0)
            return {};
        out[std::size_t(round)][std::size_t(index)] = place % runs;
    }
    return out;
}

double meanPosition(const std::vector<std::vector<int>> &rounds, int run) {
    double sum = 0;
    for (const auto &round : rounds)
        sum += round[std::size_t(run)];
    return sum / double(rounds.size());
}

} // namespace

class CoreRoundOrderTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyRunHasTheSameMeanPosition() {
        for (int runs = 2; runs <= 15; ++runs)
            for (int rounds = 2; rounds <= 10; ++rounds)
                for (std::uint64_t seed = 1; seed <= 20; ++seed) {
                    const auto drawn = positions(runs, rounds, seed);
                    QVERIFY2(!drawn.empty(), "a round lacks a run");
                    double least = runs, most = 0;
                    for (int run = 0; run < runs; ++run) {
                        least = std::min(least, meanPosition(drawn, run));
                        most = std::max(most, meanPosition(drawn, run));
                    }
                    // As a share of a round: at most 1 ÷ (2 × runs), and equal wherever the numbers allow it.
                    const bool canBeEqual = rounds % 2 == 0 || runs % 2 != 0;
                    QVERIFY((most - least) / runs <= 1.0 / (2 * runs));
                    QVERIFY(most - least <= (canBeEqual ? 0 : 1.0 / rounds) + 1e-9);
                }
    }

    void aSteadySlowDownFavoursNoRun() {
        constexpr int runs = 2, rounds = 3, seeds = 2000; // where a single experiment can't be balanced
        double ratio = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto drawn = positions(runs, rounds, seed);
            double logs[runs] = {};
            for (int round = 0; round < rounds; ++round)
                for (int run = 0; run < runs; ++run) {
                    const int place = round * runs + drawn[std::size_t(round)][std::size_t(run)];
                    logs[run] += std::log(1 + 0.15 * place / (runs * rounds - 1)) / rounds;
                }
            ratio += (logs[1] - logs[0]) / seeds;
        }
        QVERIFY2(std::fabs(ratio) < 0.002, qPrintable(QString::number(ratio)));
    }

    void everyRunComesFirstAboutAsOftenOverSeeds() {
        std::vector<int> first(5);
        for (std::uint64_t seed = 1; seed <= 2000; ++seed)
            ++first[std::size_t(drawRounds(5, 3, seed).front())];
        for (const int count : first)
            QVERIFY2(count > 320 && count < 480, qPrintable(QString::number(count))); // 400 ± 4.5 standard deviations
    }

    void theSameSeedGivesTheSameOrderAndZeroTheListedOne() {
        QCOMPARE(drawRounds(4, 5, 7), drawRounds(4, 5, 7));
        QVERIFY(drawRounds(4, 5, 7) != drawRounds(4, 5, 8));
        QCOMPARE(drawRounds(2, 3, 1),
                 (std::vector<int>{0, 1, 3, 2, 5, 4})); // kept: seeds in old files mean what they meant
        for (const auto &listed : {drawRounds(4, 3, 0), drawRounds(4, 1, 7)})
            QVERIFY(std::is_sorted(listed.begin(), listed.end()));
    }

    void anExperimentHasASeedOfItsOwnUnlessTheRecipeOrThePersonNamesOne() {
        const QByteArray text = R"({"name":"mine","title":"two","repeats":3,"base":{"device":"cpu"},
            "runs":[{"method":"baseline","devices":1},{"method":"baseline","devices":1,"workers":1}]})";
        const auto free = recipeFromJson(text.toStdString(), "mine.json");
        QVERIFY(free && !free->orderSeed);
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        std::set<std::uint64_t> seeds;
        for (int i = 0; i < 20; ++i)
            seeds.insert(expand(*free, facts)->orderSeed);
        QVERIFY(seeds.size() >= 19 && !seeds.contains(0));
        Recipe fixed = *free;
        fixed.orderSeed = 7;
        QCOMPARE(expand(fixed, facts)->orderSeed, std::uint64_t(7));
        PlanOptions asked;
        asked.orderSeed = 0;
        QCOMPARE(expand(fixed, facts, asked)->orderSeed, std::uint64_t(0));
        QCOMPARE(recipeFromJson(toJson(fixed), "mine.json")->orderSeed, std::optional<std::uint64_t>(7));
    }
};

QTEST_GUILESS_MAIN(CoreRoundOrderTest)
#include "round_order_test.moc"
