// SPDX-License-Identifier: MIT
// Whether the causes that are planted into runs are the causes that are found.
#include <random>

#include "analysis/causes/attribution.h"
#include "analysis/causes/phase_parts.h"
#include "analysis/fairness/measured_groups.h"
#include "analysis/fairness/setting_factors.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// Seconds of a run's parts, as they are planted.
struct Planted {
    double load = 2, compute = 6, communication = 0, wait = 0, startUp = 1.5, rest = 0.1;
    [[nodiscard]] double training() const { return load + compute + communication + wait + rest; }
};

struct Noise {
    std::mt19937 engine;
    double spread = 0.005;
    double operator()(double seconds) { return seconds * (1 + spread * std::normal_distribution<>()(engine)); }
};

using Phases = std::map<std::string, double, std::less<>>;

/// Rank 1 of two waits; with one rank nobody does. As ranks report it.
RunOutcome runOf(const Planted &mean, int devices, Noise &noise, const std::string &name) {
    Planted own = mean;
    for (double *part : {&own.load, &own.compute, &own.communication, &own.wait, &own.startUp})
        *part = noise(*part);
    RunOutcome out;
    out.run = name;
    out.name = name;
    out.state = RunState::Done;
    out.processes = devices;
    RunConfig config;
    config.method = devices > 1 ? Method::Ddp : Method::Baseline;
    config.devices.clear();
    for (int i = 0; i < devices; ++i)
        config.devices.push_back(std::to_string(i));
    out.config = config;
    const Phases waiting = {{"load", own.load},
                            {"forward", own.compute * 0.3},
                            {"backward", own.compute * 0.6},
                            {"optimizer", own.compute * 0.1},
                            {"exposed", own.communication + own.wait},
                            {"wait", own.wait},
                            {"other", own.rest}};
    Phases slow = waiting; // works all the time that the other waits
    slow["backward"] += own.wait;
    slow["exposed"] -= own.wait;
    slow["wait"] = 0;
    if (devices == 1) {
        Phases alone = waiting;
        alone.erase("exposed");
        alone.erase("wait");
        out.phasesS = alone;
        out.rankPhasesS[0] = alone;
    } else {
        out.phasesS = slow; // the slowest rank's
        out.rankPhasesS = {{0, slow}, {1, waiting}};
    }
    out.totalTrainingTimeS = own.training();
    out.runTimeS = own.training() + own.startUp;
    return out;
}

RepeatGroup groupOf(const std::string &name, const Planted &planted, int devices, Noise &noise, int repeats = 5) {
    RepeatGroup out{name, {}, false};
    for (int i = 0; i < repeats; ++i)
        out.runs.push_back(runOf(planted, devices, noise, name));
    return out;
}

/// A group of one exact time by its config: what the factors are computed from.
RepeatGroup control(const std::string &name, const RunConfig &config, double seconds) {
    Noise none{std::mt19937(1), 0};
    Planted planted;
    planted.compute += seconds - planted.training() - planted.startUp;
    RepeatGroup out = groupOf(name, planted, 1, none, 3);
    for (RunOutcome &run : out.runs)
        run.config = config;
    return out;
}

const FactorEffect &effect(const Attribution &attribution, const std::string &key) {
    for (const FactorEffect &one : attribution.factors)
        if (one.key == key)
            return one;
    qFatal("no factor %s", key.c_str());
}

QString textOf(const Attribution &attribution) {
    QString out;
    for (const AttributionBar &bar : attribution.bars)
        out +=
            QStringLiteral("%1 %2 s; ").arg(QString::fromStdString(std::string(toString(bar.cause)))).arg(bar.seconds);
    return out;
}

} // namespace

class CoreAttributionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void plantedCausesAreRecovered_data() {
        QTest::addColumn<int>("devices");
        QTest::addColumn<QList<double>>("change"); // of load, compute, communication, wait, start-up
        using List = QList<double>;
        QTest::newRow("no difference") << 1 << List{0, 0, 0, 0, 0};
        QTest::newRow("no difference, two ranks") << 2 << List{0, 0, 0, 0, 0};
        QTest::newRow("loading gone") << 1 << List{-1.9, 0, 0, 0, 0};
        QTest::newRow("loading doubled") << 1 << List{2, 0, 0, 0, 0};
        QTest::newRow("computing halved") << 1 << List{0, -3, 0, 0, 0};
        QTest::newRow("computing half as long again") << 1 << List{0, 3, 0, 0, 0};
        QTest::newRow("start-up only") << 1 << List{0, 0, 0, 0, 2};
        QTest::newRow("loading and computing") << 1 << List{-1.5, -2, 0, 0, 0};
        QTest::newRow("loading saved, start-up lost") << 1 << List{-1.5, 0, 0, 0, 1.5};
        QTest::newRow("they cancel out") << 1 << List{-1.5, 1.5, 0, 0, 0};
        QTest::newRow("two ranks that share all") << 2 << List{-1, -3, 0, 0, 0};
        QTest::newRow("two ranks that pay for it") << 2 << List{-1, -3, 1, 0, 0.5};
        QTest::newRow("a straggler") << 2 << List{0, 0, 0, 2, 0};
        QTest::newRow("a straggler and communication") << 2 << List{0, 0, 1, 1.5, 0};
        QTest::newRow("communication only") << 2 << List{0, 0, 2, 0, 0};
        QTest::newRow("everything a little") << 2 << List{-0.5, -0.5, 0.5, 0.5, 0.5};
        QTest::newRow("everything worse") << 2 << List{1, 2, 1, 1, 1};
        QTest::newRow("the published case") << 2 << List{-1.8, -0.2, 0.1, 0, 0.4};
        QTest::newRow("loading eats the gain") << 2 << List{3, -3, 0.5, 0, 0};
        QTest::newRow("slower by a straggler although less work") << 2 << List{-1, -2, 0, 4, 0};
    }
    void plantedCausesAreRecovered() {
        QFETCH(int, devices);
        QFETCH(QList<double>, change);
        double worst = 0;
        for (unsigned seed = 1; seed <= 20; ++seed) {
            Noise noise{std::mt19937(seed), 0.005};
            const Planted before;
            Planted after = before;
            double *parts[] = {&after.load, &after.compute, &after.communication, &after.wait, &after.startUp};
            double moved = 0;
            for (int i = 0; i < 5; ++i) {
                *parts[i] += change[i];
                moved += std::fabs(change[i]);
            }
            const auto found =
                attribute(groupOf("reference", before, 1, noise), groupOf("run", after, devices, noise), {});
            QVERIFY(found);
            // Where nothing changed, 1 % of the run's time is the measure.
            const double whole = moved > 0 ? moved : 0.2 * (before.training() + before.startUp);
            for (int i = 0; i < 6; ++i)
                worst =
                    std::max(worst, std::fabs(found->bars[std::size_t(i)].seconds - (i < 5 ? change[i] : 0)) / whole);
            QVERIFY2(worst <= 0.05, qPrintable(QStringLiteral("seed %1: ").arg(seed) + textOf(*found)));
        }
        qInfo("worst error %.1f %% of the change", worst * 100);
    }

    void barsAddUpAndSwappingNegatesThem() {
        for (unsigned seed = 1; seed <= 200; ++seed) {
            Noise noise{std::mt19937(seed), 0.2};
            Planted after;
            after.load = noise(1);
            after.communication = noise(0.5);
            after.wait = seed % 3 ? noise(0.4) : 0;
            const RepeatGroup reference = groupOf("a", {}, 1, noise, 1 + int(seed) % 5);
            RepeatGroup run = groupOf("b", after, 2, noise, 1 + int(seed / 5) % 5);
            const auto there = attribute(reference, run, {}), back = attribute(run, reference, {});
            double sum = 0;
            for (std::size_t i = 0; i < there->bars.size(); ++i) {
                sum += there->bars[i].seconds;
                QCOMPARE(int(there->bars[i].cause), int(i));
                QVERIFY(std::fabs(there->bars[i].seconds + back->bars[i].seconds) < 1e-12);
            }
            QVERIFY(std::fabs(sum - (there->runS - there->referenceS)) < 1e-12);
            std::ranges::reverse(run.runs);
            QVERIFY2(attribute(reference, run, {})->bars == there->bars, "the order of repeats does not matter");
        }
    }

    void aSlowRankIsImbalanceAndNotComputing() {
        Noise none{std::mt19937(1), 0};
        Planted even, late;
        late.wait = 3;
        const auto found = attribute(groupOf("even", even, 2, none), groupOf("late", late, 2, none), {});
        QVERIFY(std::fabs(found->secondsOf(Cause::Imbalance) - 3) < 1e-9);
        QVERIFY(std::fabs(found->secondsOf(Cause::Compute)) < 1e-9);
    }

    void dataParallelsCopiesAreCommunication() {
        Noise none{std::mt19937(1), 0};
        const RepeatGroup alone = groupOf("baseline", {}, 1, none);
        RepeatGroup dp = alone;
        dp.name = "DP on 2 devices";
        for (RunOutcome &run : dp.runs) {
            Phases &phases = run.rankPhasesS[0];
            phases["forward"] += 0.6; // scatter, replicate and gather are nested in it
            phases["scatter"] = 0.1;
            phases["replicate"] = 0.3;
            phases["gather"] = 0.2;
            phases["exposed"] = phases["reduce"] = 0.4;
            *run.totalTrainingTimeS += 1;
            *run.runTimeS += 1;
        }
        const auto found = attribute(alone, dp, {});
        QVERIFY(std::fabs(found->secondsOf(Cause::Communication) - 1) < 1e-9);
        QVERIFY(std::fabs(found->secondsOf(Cause::Compute)) < 1e-9);
        QVERIFY(found->notes.empty());
    }

    void whatAScriptDoesNotReportIsUnattributedAndSaid() {
        Noise none{std::mt19937(1), 0};
        Planted after;
        after.load = 1;
        const RepeatGroup reference = groupOf("reference", {}, 1, none);
        RepeatGroup script = groupOf("script", after, 1, none);
        for (RunOutcome &run : script.runs)
            for (const char *phase : {"forward", "backward", "optimizer"})
                run.rankPhasesS[0].erase(phase);
        const auto found = attribute(reference, script, {});
        QVERIFY(std::fabs(found->secondsOf(Cause::DataLoading) + 1) < 1e-9);
        QCOMPARE(found->secondsOf(Cause::Compute), 0.0);
        QVERIFY(std::fabs(found->secondsOf(Cause::Unattributed)) < 1e-9);
        QVERIFY(!found->notes.empty());
        QCOMPARE(found->notes.front(), std::string("script reports no computing: that time of both is unattributed."));

        RepeatGroup dumb = script;
        for (RunOutcome &run : dumb.runs) {
            run.rankPhasesS.clear();
            run.phasesS.clear();
        }
        QVERIFY2(!attribute(reference, dumb, {}), "without phases nothing is attributed");
    }

    void waitingThatRanksOfDdpDoNotReportFollowsFromTheirSums() {
        Noise none{std::mt19937(1), 0};
        Planted two;
        two.communication = 1;
        two.wait = 0.5;
        RepeatGroup without = groupOf("on GPUs", two, 2, none);
        for (RunOutcome &run : without.runs)
            for (auto &[rank, phases] : run.rankPhasesS)
                phases.erase("wait");
        for (RunOutcome &run : without.runs)
            run.about = {{"method", "dp"}}; // as a rank may say; the configuration outweighs it
        const auto found = attribute(groupOf("reference", {}, 1, none), without, {});
        QVERIFY(std::fabs(found->secondsOf(Cause::Imbalance) - 0.5) < 1e-9);
        QVERIFY(std::fabs(found->secondsOf(Cause::Communication) - 1) < 1e-9);
        QVERIFY(found->notes.front().find("waiting for each other in turn as communication") != std::string::npos);
    }

    void waitingThatOneSideDoesNotReportStaysInCommunication() {
        Noise none{std::mt19937(1), 0};
        Planted two;
        two.communication = 1;
        two.wait = 0.5;
        RepeatGroup without = groupOf("on GPUs", two, 2, none);
        for (RunOutcome &run : without.runs) {
            for (auto &[rank, phases] : run.rankPhasesS)
                phases.erase("wait");
            run.rankPhasesS[1].erase("exposed"); // so nothing follows from the other's
        }
        const auto found = attribute(groupOf("reference", {}, 1, none), without, {});
        QCOMPARE(found->secondsOf(Cause::Imbalance), 0.0);
        QVERIFY(found->secondsOf(Cause::Communication) > 0.99);
        QVERIFY(found->notes.front().find("waiting for slower ranks as communication") != std::string::npos);
    }

    void settingsAreToldApartByControlsOverAllOrders() {
        RunConfig plain, workers, ddp, both;
        workers.workers = both.workers = 4;
        ddp.method = both.method = Method::Ddp;
        ddp.devices = both.devices = {"0", "1"};
        const RepeatGroup reference = control("baseline", plain, 100), run = control("DDP on 2 devices", both, 30);
        const RepeatGroup onlyWorkers = control("baseline, 4 workers", workers, 50),
                          onlyDdp = control("DDP on 2 devices, 0 workers", ddp, 70);

        const auto found = attribute(reference, run, {reference, onlyWorkers, onlyDdp, run});
        QCOMPARE(found->factors.size(), std::size_t(2));
        const FactorEffect &loading = effect(*found, "workers");
        // Workers first: 50 - 100; workers last: 30 - 70.
        QVERIFY(std::fabs(loading.seconds + 45) < 1e-9);
        QVERIFY(std::fabs(loading.low + 50) < 1e-9);
        QVERIFY(std::fabs(loading.high + 40) < 1e-9);
        QCOMPARE(loading.label, std::string("4 loading workers instead of 0"));
        QCOMPARE(loading.controls, (std::vector<std::string>{"DDP on 2 devices, 0 workers", "baseline, 4 workers"}));
        QVERIFY(std::fabs(effect(*found, "method").seconds + 25) < 1e-9);
        QVERIFY(found->missing.empty());

        const auto half = attribute(reference, run, {onlyWorkers});
        QVERIFY2(std::fabs(effect(*half, "workers").seconds + 50) < 1e-9, "one order is left");
        QCOMPARE(effect(*half, "workers").low, effect(*half, "workers").high);
        QCOMPARE(half->missing.size(), std::size_t(1));
        QCOMPARE(half->missing.front().name, std::string("DDP on 2 devices, 0 workers"));

        const auto none = attribute(reference, run, {});
        QVERIFY(none->factors.empty());
        QCOMPARE(none->missing.size(), std::size_t(2));
        for (const SuggestedRun &missing : none->missing) {
            QVERIFY(validate(missing.config).empty());
            QVERIFY(missing.config == (missing.name == "baseline, 4 workers" ? workers : ddp));
            QVERIFY(!missing.why.empty());
        }
    }

    void controlsAreFoundAmongHundredsOfGroups() {
        RunConfig plain, workers, ddp, both;
        workers.workers = both.workers = 4;
        ddp.method = both.method = Method::Ddp;
        ddp.devices = both.devices = {"0", "1"};
        RunConfig otherSeed = workers;
        otherSeed.seed = 7;
        const RepeatGroup reference = control("baseline", plain, 100), run = control("DDP on 2 devices", both, 30),
                          onlyWorkers = control("another seed", otherSeed, 50), onlyDdp = control("ddp", ddp, 70);
        RepeatGroup mixed = control("its first repeat has another setting", both, 5);
        mixed.runs.back().config = workers;

        std::vector<RepeatGroup> groups = {reference, control("the same earlier", workers, 999), onlyWorkers, mixed};
        for (int i = 0; i < 300; ++i) {
            RunConfig other = i % 2 ? workers : ddp;
            other.batchSize += i + 1;
            groups.push_back(control("other " + std::to_string(i), other, 10));
        }
        groups.push_back(onlyDdp);
        groups.push_back(run);
        const MeasuredGroups measured(groups);
        const std::vector<const RepeatGroup *> looked = measured.withRepeatOf(workers);
        QVERIFY2(looked == (std::vector<const RepeatGroup *>{&groups[1], &groups[2], &groups[3]}),
                 "of 306 only these are looked at");
        QVERIFY(*attribute(reference, run, measured) == *attribute(reference, run, {reference, onlyWorkers, onlyDdp}));
    }

    void twoConfigsAreTheSameSettingIfTheirKeysAreEqual() {
        std::vector<RunConfig> configs(1);
        for (const auto &[key, value] : std::vector<std::pair<std::string, std::string>>{{"seed", "3"},
                                                                                         {"workers", "4"},
                                                                                         {"batch_size", "128"},
                                                                                         {"batch_per_device", "64"},
                                                                                         {"lr", "0.5"},
                                                                                         {"micro_batches", "8"},
                                                                                         {"backend", "gloo"},
                                                                                         {"optimizer", "adam"},
                                                                                         {"momentum", "0.5"}})
            for (std::size_t i = configs.size(); i-- > 0;) {
                configs.push_back(configs[i]);
                QVERIFY2(findField(key)->set(configs.back(), value), key.c_str());
            }
        int same = 0;
        for (const RunConfig &one : configs) {
            QCOMPARE(settingKey(one) == settingKey(configs.front()), isSameSetting(one, configs.front()));
            same += isSameSetting(one, configs.front()) ? 1 : 0;
        }
        QVERIFY(same > 1 && same < int(configs.size()));
    }

    void effectsAddUpWhateverControlsThereAre() {
        std::mt19937 engine(7);
        for (int round = 0; round < 50; ++round) {
            RunConfig plain, all;
            all.workers = 4;
            all.loader = "item";
            all.augment = "affine";
            all.method = Method::Ddp;
            all.devices = {"0", "1"};
            std::vector<RepeatGroup> groups;
            for (unsigned mask = 0; mask < 16; ++mask) {
                RunConfig config;
                config.workers = mask & 1 ? 4 : 0;
                config.loader = mask & 2 ? "item" : "batch";
                config.augment = mask & 4 ? "affine" : "none";
                config.method = mask & 8 ? Method::Ddp : Method::Baseline;
                if (mask & 8)
                    config.devices = {"0", "1"};
                const bool end = mask == 0 || mask == 15;
                if (end || engine() % 4)
                    groups.push_back(control("group " + std::to_string(mask), config,
                                             20 + std::uniform_real_distribution<>(0, 50)(engine)));
            }
            const auto found = attribute(groups.front(), groups.back(), groups);
            double sum = 0;
            for (const FactorEffect &one : found->factors) {
                sum += one.seconds;
                QVERIFY(one.low <= one.seconds + 1e-9 && one.seconds <= one.high + 1e-9);
            }
            if (!found->factors.empty())
                QVERIFY(std::fabs(sum - (found->runS - found->referenceS)) < 1e-9);
        }
    }

    void aScriptsControlIsItsCommandWithTheOtherValue() {
        RunConfig plain, workers;
        workers.workers = 4;
        workers.augment = "affine";
        RepeatGroup reference = control("Python", plain, 100), run = control("Python, 4 workers", workers, 40);
        reference.command = run.command = {"{python}", "train.py", "--workers", "{workers}"};
        const auto found = attribute(reference, run, {});
        QVERIFY2(found->missing.size() == 1 && found->missing.front().config.workers == 4,
                 "the command does not ask for the augmentation: it can't be changed alone");
        reference.command = run.command = {"{python}", "train.py", "{workers}", "{augment}"};
        const auto asked = attribute(reference, run, {});
        QCOMPARE(asked->missing.size(), std::size_t(2));
        QCOMPARE(asked->missing.front().command, reference.command);
    }
};

QTEST_GUILESS_MAIN(CoreAttributionTest)
#include "attribution_test.moc"
