// SPDX-License-Identifier: MIT
// The fairness guard: every kind of planted unfairness is found, fair pairs stay without a finding.
#include <chrono>
#include <functional>
#include <random>
#include <set>

#include "analysis/fairness/fairness.h"
#include "analysis/fairness/setting_factors.h"
#include "queue/queue_request.h"
#include "tests/figure.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

using Random = std::mt19937_64;
using Plant = std::function<void(RunOutcome &)>;

double between(Random &random, double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
}

MachineRecord machineOf() {
    MachineRecord machine;
    machine.host = "box";
    machine.kernel = "6.1.0";
    machine.cpuModel = "Xeon Gold 6226R";
    machine.allowedCores = "0-7";
    machine.torchVersion = "2.11.0";
    machine.gpuDriver = "580.1";
    DeviceRecord gpu;
    gpu.device = "GPU-1";
    gpu.kind = "cuda";
    gpu.name = "H100";
    machine.devices = {gpu};
    return machine;
}

/// A done run with the noise that honest runs have: 2 % of time, 0.3 points of accuracy, up to 4 % of a core for others.
RunOutcome runOf(const RunConfig &config, std::int64_t startWallUs, Random &random) {
    RunOutcome run;
    run.run = toString(config.method) == "baseline" ? "b" : "d";
    run.run += std::to_string(startWallUs);
    run.experiment = "the experiment";
    run.config = config;
    run.state = RunState::Done;
    run.startWallUs = startWallUs;
    const double time = 10.0 / deviceCount(config) * between(random, 0.98, 1.02);
    for (int epoch = 1; epoch <= config.epochs; ++epoch) {
        MergedEpoch one;
        one.epoch = epoch;
        one.complete = true;
        one.samples = 60'000;
        one.durationS = time / config.epochs;
        run.epochs.push_back(one);
    }
    run.totalTrainingTimeS = time;
    run.runTimeS = time + 2;
    run.testAccuracy = 0.98 + between(random, -0.003, 0.003);
    run.phasesS = {{"load", 0.3 * time}, {"forward", 0.3 * time}, {"backward", 0.4 * time}};
    run.hosts = {"box"};
    run.conditions.machines = {machineOf()};
    run.conditions.lockstepVersion = "0.6.0";
    run.conditions.program = "lockstep-trainer";
    run.conditions.files = {{"train-images", std::string(64, 'a')}, {"train-labels", "c"}, {"init/a", "a"}};
    run.conditions.freeCores = config.method == Method::Ddp ? 0 : 1;
    run.conditions.scheduling = config.scheduling;
    run.conditions.threads = 1;
    run.conditions.watching = Watching{*run.runTimeS, between(random, 0, 0.03) * *run.runTimeS, {}, {}, {}};
    Surroundings around;
    around.measuredS = time;
    around.otherCpuS = between(random, 0.005, 0.04) * time;
    around.stolenS = between(random, 0, 0.01) * time;
    around.throttledS = between(random, 0, 0.01) * time;
    run.conditions.surroundings = around;
    return run;
}

struct Pair {
    RepeatGroup reference, run;
};

/// Baseline and DDP on two devices, three repeats each that took turns; `set` on both configs.
Pair fairPair(Random &random, const std::function<void(RunConfig &)> &set = {}) {
    RunConfig baseline;
    baseline.model = "convnet"; // every setting of training means something for it
    if (set)
        set(baseline);
    RunConfig ddp = baseline;
    ddp.method = Method::Ddp;
    ddp.devices = {"0", "1"};
    Pair out{{"baseline", {}, true}, {"DDP on 2 devices", {}, false}};
    for (int repeat = 0; repeat < 3; ++repeat) {
        const bool swapped = (random() & 1) != 0;
        const std::int64_t at = 1'700'000'000'000'000 + repeat * 40'000'000LL;
        out.reference.runs.push_back(runOf(baseline, at + (swapped ? 20'000'000 : 0), random));
        out.run.runs.push_back(runOf(ddp, at + (swapped ? 0 : 20'000'000), random));
    }
    return out;
}

Plant inConfig(std::function<void(RunConfig &)> set) {
    return [set = std::move(set)](RunOutcome &run) { set(*run.config); };
}
Plant inMachine(std::function<void(MachineRecord &)> set) {
    return [set = std::move(set)](RunOutcome &run) { set(run.conditions.machines.front()); };
}

enum class Control { Offered, None };
struct Planted {
    const char *key;
    FairnessWeight weight;
    Control control;
    Plant plant;                           ///< on every repeat of the run
    std::vector<std::string> besides = {}; ///< what else is bound to follow
};

const std::vector<Planted> &allPlanted() {
    using enum FairnessWeight;
    using enum Control;
    using C = RunConfig;
    using M = MachineRecord;
    static const std::vector<Planted> all{
        {"batch_size", Decisive, Offered, inConfig([](C &c) { c.batchSize = 128; })},
        {"batch_size", Decisive, Offered, inConfig([](C &c) { c.batchPerDevice = 64; })}, // weak scaling: 128 together
        {"lr", Notable, Offered, inConfig([](C &c) { c.lr = 0.02; })},
        {"lr_rule", Notable, Offered, inConfig([](C &c) { c.lrRule = "linear"; })},
        {"workers", Decisive, Offered, inConfig([](C &c) { c.workers = 4; })},
        {"loader", Decisive, Offered, inConfig([](C &c) { c.loader = "item"; })},
        {"augment", Decisive, Offered, inConfig([](C &c) { c.augment = "affine"; })},
        {"precision", Decisive, Offered, inConfig([](C &c) { c.precision = "bf16"; })},
        {"seed", Minor, Offered, inConfig([](C &c) { c.seed = 2; })},
        {"train_samples", Decisive, Offered, inConfig([](C &c) { c.trainSamples = 12'800; })},
        {"epochs", Decisive, Offered, inConfig([](C &c) { c.epochs = 3; })},
        {"dataset", Decisive, Offered, inConfig([](C &c) { c.dataset = "mnist"; })},
        {"model", Decisive, Offered, inConfig([](C &c) { c.model = "lenet"; })},
        {"cores_per_device", Decisive, Offered, inConfig([](C &c) { c.coresPerDevice = 2; })},
        {"scheduling", Notable, Offered,
         [](RunOutcome &run) {
             run.config->scheduling = "batch";
             run.conditions.scheduling = "batch";
         }},
        {"scheduling", Notable, None, [](RunOutcome &run) { run.conditions.scheduling = "batch"; }}, // not granted
        {"optimizer", Notable, Offered, inConfig([](C &c) { c.optimizer = "adamw"; }), {"momentum"}},
        {"dropout", Notable, Offered, inConfig([](C &c) { c.dropout = 0.1; })},
        {"weight_decay", Minor, Offered, inConfig([](C &c) { c.weightDecay = 0.01; }), {"decay_biases"}},
        {"lr_schedule", Notable, Offered, inConfig([](C &c) { c.lrSchedule = "linear"; })},
        {"warmup_steps", Notable, Offered, inConfig([](C &c) { c.warmupSteps = 100; })},
        {"clip_grad_norm", Notable, Offered, inConfig([](C &c) { c.clipGradNorm = 1; })},
        {"accumulate", Notable, Offered, inConfig([](C &c) { c.accumulate = 4; })},
        {"channels_last", Notable, Offered, inConfig([](C &c) { c.channelsLast = true; })},
        {"init", Notable, Offered, inConfig([](C &c) { c.init = "/models/first.safetensors"; })},
        {"trace", Minor, Offered, inConfig([](C &c) { c.trace = 100; })},
        {"device", Decisive, None, inConfig([](C &c) { c.device = "cuda"; }), {"threads"}},
        {"oversubscribe", Decisive, None, inConfig([](C &c) { c.oversubscribe = true; })},
        {"threads", Decisive, Offered,
         [](RunOutcome &run) {
             run.config->threads = 2;
             run.conditions.threads = 2;
         }},
        {"samples", Notable, None,
         [](RunOutcome &run) {
             for (MergedEpoch &epoch : run.epochs)
                 epoch.samples = 59'000;
         }},
        {"samples", Minor, None, // a last, smaller batch is dropped
         [](RunOutcome &run) {
             for (MergedEpoch &epoch : run.epochs)
                 epoch.samples = 59'968;
         }},
        {"accuracy", Decisive, None, [](RunOutcome &run) { *run.testAccuracy -= 0.10; }},
        {"accuracy", Notable, None, [](RunOutcome &run) { *run.testAccuracy -= 0.02; }},
        {"throttling", Notable, Offered,
         [](RunOutcome &run) {
             run.conditions.surroundings->throttledS = 0.2 * run.conditions.surroundings->measuredS;
             run.conditions.surroundings->throttle = {"software power cap"};
         }},
        {"throttling", Notable, Offered,
         [](RunOutcome &run) { run.conditions.surroundings->throttle = {"processor too hot"}; }},
        {"load", Decisive, Offered,
         [](RunOutcome &run) {
             run.conditions.surroundings->otherCpuS = 0.8 * run.conditions.surroundings->measuredS;
         }},
        {"load", Notable, Offered,
         [](RunOutcome &run) {
             run.conditions.surroundings->otherCpuS = 0.2 * run.conditions.surroundings->measuredS;
         }},
        {"stolen", Notable, Offered,
         [](RunOutcome &run) { run.conditions.surroundings->stolenS = 0.3 * run.conditions.surroundings->measuredS; }},
        {"watching", Notable, Offered,
         [](RunOutcome &run) { run.conditions.watching->viewersCpuS = 0.3 * *run.runTimeS; }},
        {"cpu_model", Decisive, None, inMachine([](M &m) { m.cpuModel = "EPYC 7763"; })},
        {"gpu_model", Decisive, None, inMachine([](M &m) { m.devices.front().name = "A100"; })},
        {"data", Decisive, None, [](RunOutcome &run) { run.conditions.files["train-images"] = std::string(64, 'b'); }},
        {"data", Decisive, None,
         [](RunOutcome &r) { r.conditions.files.clear(), r.conditions.files["more.csv"] = "a"; }},
        {"start_files", Notable, None, [](RunOutcome &run) { run.conditions.files["init/a"] = "b"; }},
        {"host", Notable, None, inMachine([](M &m) { m.host = "other"; })},
        {"machine_cores", Notable, None, inMachine([](M &m) { m.allowedCores = "0-3"; })},
        {"torch_version", Notable, None, inMachine([](M &m) { m.torchVersion = "2.7.1"; })},
        {"kernel", Minor, None, inMachine([](M &m) { m.kernel = "6.18.0"; })},
        {"gpu_driver", Minor, None, inMachine([](M &m) { m.gpuDriver = "575.0"; })},
        {"lockstep_version", Minor, None, [](RunOutcome &run) { run.conditions.lockstepVersion = "0.5.0"; }},
        {"program", Decisive, None, [](RunOutcome &run) { run.conditions.program = "train.py"; }},
        {"program", Decisive, None, [](RunOutcome &run) { run.script = true, run.conditions.program.clear(); }},
        {"order", Notable, Offered, [](RunOutcome &run) { run.startWallUs += 3'600'000'000LL; }},
    };
    return all;
}

/// Settled by what was disturbed running again, and by no other setting.
bool isAgain(std::string_view key) {
    return std::set<std::string_view>{"load", "stolen", "watching", "throttling", "order"}.contains(key);
}

std::string listed(const std::vector<FairnessFinding> &findings) {
    std::string text;
    for (const FairnessFinding &finding : findings)
        text += finding.key + " (" + std::string(toString(finding.weight)) + "): " + finding.sentence + "\n";
    return text;
}

/// An experiment whose entries made these groups.
Experiment experimentOf(const std::vector<RepeatGroup> &groups) {
    Experiment experiment;
    experiment.id = "the experiment";
    experiment.sideBySide.runs = 2;
    for (const RepeatGroup &group : groups)
        for (const RunOutcome &run : group.runs) {
            ExperimentEntry &entry = experiment.entries.emplace_back();
            entry.planned.name = group.name;
            entry.planned.config = *run.config;
            entry.state = EntryState::Done;
            entry.run = run.run;
        }
    return experiment;
}

/// Presses the control of that kind: its entries are queued again, and undisturbed runs in their place settle it.
void verifyPress(const char *key, const Pair &pair, const std::vector<RepeatGroup> &besides, Random &random) {
    std::vector<RepeatGroup> groups = {pair.reference, pair.run};
    groups.insert(groups.end(), besides.begin(), besides.end());
    const auto findings = fairnessOf(groups[0], groups[1], {}, groups);
    const auto found = std::ranges::find(findings, key, &FairnessFinding::key);
    QVERIFY2(found != findings.end() && found->control, (std::string(key) + " in " + listed(findings)).c_str());
    const SuggestedRun &control = *found->control;
    QCOMPARE(control.experiment, std::string("the experiment"));
    QCOMPARE(control.alone, std::string_view(key) == "side_by_side");

    Experiment experiment = experimentOf(groups);
    const auto requests = retriesOf(experiment, control.again, control.alone);
    QVERIFY2(!requests.empty() && requests.size() == control.again.size(), key);
    std::int64_t at = 1'700'010'000'000'000; // later than all
    for (const QueueRequest &asked : requests) {
        const auto request = queueRequestFromJson(toJson(asked)); // as it reaches the owner
        QVERIFY2(request && *request == queueRequestFromJson(toJson(*request)), key);
        QVERIFY2(apply(*request, experiment).has_value(), key);
        QVERIFY(experiment.entries[std::size_t(asked.entry)].state == EntryState::Queued);
        QCOMPARE(experiment.entries[std::size_t(asked.entry)].alone, control.alone);
        QCOMPARE(experiment.entries[std::size_t(asked.entry)].earlierRuns.size(), std::size_t(1));
        for (RepeatGroup &group : groups)
            for (RunOutcome &run : group.runs)
                if (run.run == experiment.entries[std::size_t(asked.entry)].earlierRuns.front())
                    run = runOf(*run.config, at += 20'000'000, random);
    }
    QCOMPARE(experiment.sideBySide.runs, 2); // the others go on as they were planned
    QVERIFY2(retriesOf(experiment, control.again, false).empty(), "it is queued already");
    for (RepeatGroup &group : groups)
        std::ranges::stable_sort(group.runs, {}, &RunOutcome::startWallUs);
    const auto after = fairnessOf(groups[0], groups[1], {}, groups);
    QVERIFY2(std::ranges::find(after, key, &FairnessFinding::key) == after.end(),
             (std::string(key) + " pressed:\n" + listed(after)).c_str());
}

} // namespace

class CoreFairnessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPlantedUnfairnessIsFoundAndNothingElse() {
        for (const Planted &planted : allPlanted())
            for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                Random random(seed);
                Pair pair = fairPair(random);
                for (RunOutcome &run : pair.run.runs)
                    planted.plant(run);
                const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
                const std::string text = std::string(planted.key) + " planted, found:\n" + listed(findings);
                const auto found = std::ranges::find(findings, planted.key, &FairnessFinding::key);
                QVERIFY2(found != findings.end(), text.c_str());
                QVERIFY2(found->weight == planted.weight, text.c_str());
                QVERIFY2(!found->reference.empty() && !found->run.empty() && found->reference != found->run,
                         text.c_str());
                QVERIFY2(found->sentence.starts_with(found->label + " " + found->run + " instead of " +
                                                     found->reference + ": "),
                         text.c_str());
                QVERIFY2(found->control.has_value() == (planted.control == Control::Offered), text.c_str());
                for (const FairnessFinding &other : findings)
                    QVERIFY2(other.key == planted.key ||
                                 std::ranges::find(planted.besides, other.key) != planted.besides.end(),
                             text.c_str());
                QVERIFY2(std::ranges::is_sorted(findings, std::ranges::greater{}, &FairnessFinding::weight),
                         text.c_str());
            }
    }

    void unfairnessOfTheReferenceIsFoundAsWell() {
        for (const Planted &planted : allPlanted()) {
            if (std::string_view(planted.key) == "watching" || std::string_view(planted.key) == "load" ||
                std::string_view(planted.key) == "device" || std::string_view(planted.key) == "lr_rule")
                continue; // there a core is free for it; devices and the rule of one device change nothing
            Random random(3);
            Pair pair = fairPair(random);
            for (RunOutcome &run : pair.reference.runs)
                if (!(std::string_view(planted.key) == "batch_size" && run.config->batchPerDevice > 0))
                    planted.plant(run);
            if (pair.reference.runs.front().config && globalBatch(*pair.reference.runs.front().config) == 64 &&
                std::string_view(planted.key) == "batch_size")
                continue; // 64 a device, on one device
            const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
            QVERIFY2(std::ranges::find(findings, planted.key, &FairnessFinding::key) != findings.end(),
                     (std::string(planted.key) + " in the reference, found:\n" + listed(findings)).c_str());
        }
    }

    void twentyFairPairsHaveNoFinding() {
        const std::vector<std::function<void(RunConfig &)>> settings{
            {},
            [](RunConfig &c) { c.workers = 4; },
            [](RunConfig &c) { c.augment = "affine"; },
            [](RunConfig &c) { c.loader = "item"; },
            [](RunConfig &c) { c.precision = "bf16"; },
        };
        int pairs = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) { // ten times the twenty that are promised
            Random random(seed);
            const Pair pair = fairPair(random, settings[seed % settings.size()]);
            const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
            QVERIFY2(findings.empty(), ("seed " + std::to_string(seed) + "\n" + listed(findings)).c_str());
            ++pairs;
        }
        qInfo("%d fair pairs, 0 findings", pairs);
    }

    void runsSideBySideAreNamedWhereOnlyOneOfAPairWentSo() {
        Random random(1);
        Pair pair = fairPair(random);
        RepeatGroup other{"another method", {}, false};
        for (const RunOutcome &run : pair.run.runs) { // beside DDP's repeats, of nobody else's
            other.runs.push_back(runOf(*pair.reference.runs.front().config, run.startWallUs + 1, random));
            other.runs.back().runTimeS = *run.runTimeS - 0.001;
        }
        const std::vector<RepeatGroup> all{pair.reference, pair.run, other};
        const auto findings = fairnessOf(pair.reference, pair.run, {}, all);
        QCOMPARE(findings.size(), std::size_t(1));
        QCOMPARE(findings[0].key, std::string("side_by_side"));
        QVERIFY(findings[0].weight == FairnessWeight::Notable && findings[0].control);
        QCOMPARE(findings[0].reference, std::string("none"));
        QVERIFY2(findings[0].sentence.find("the memory's bandwidth") != std::string::npos,
                 findings[0].sentence.c_str());
        const auto alike = fairnessOf(pair.run, other, {}, all);
        QVERIFY2(std::ranges::find(alike, "side_by_side", &FairnessFinding::key) == alike.end(),
                 "they shared it alike");
        for (RunOutcome &run : other.runs)
            run.hosts = {"elsewhere"};
        QVERIFY(fairnessOf(pair.reference, pair.run, {}, {pair.reference, pair.run, other}).empty());
    }

    void aGroupAgainstItselfAndOfTwoNodesIsFair() {
        Random random(1);
        Pair pair = fairPair(random);
        QVERIFY(fairnessOf(pair.run, pair.run, {}, {}).empty());
        MachineRecord second = machineOf();
        second.host = "box2";
        for (RunOutcome &run : pair.run.runs)
            run.conditions.machines.push_back(second);
        QVERIFY2(fairnessOf(pair.reference, pair.run, {}, {}).empty(), "a second node is more devices, and meant");
    }

    void whatVariesOnPurposeIsNoFinding() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RunOutcome &run : pair.run.runs)
            run.config->workers = 4;
        const auto confounded = fairnessOf(pair.reference, pair.run, {"workers"}, {});
        QCOMPARE(confounded.size(), std::size_t(1)); // the method changed with them: who gained?
        QCOMPARE(confounded[0].key, std::string("workers"));
        for (RunOutcome &run : pair.run.runs) {
            run.config->method = pair.reference.runs.front().config->method;
            run.config->devices = pair.reference.runs.front().config->devices;
        }
        QVERIFY(fairnessOf(pair.reference, pair.run, {"workers"}, {}).empty());
    }

    void accuracyThatStillMovesOrIsMeantToDifferIsNoFinding() {
        Random random(1);
        Pair pair = fairPair(random);
        const auto evaluated = [](RepeatGroup &group, double before, double last) {
            for (RunOutcome &run : group.runs) {
                run.testAccuracy = last;
                for (MergedEpoch &epoch : run.epochs) {
                    epoch.eval.emplace();
                    epoch.eval->accuracy = &epoch == &run.epochs.back() ? last : before;
                }
            }
        };
        evaluated(pair.reference, 0.71, 0.757); // cut short: another 4 points to come
        evaluated(pair.run, 0.70, 0.738);
        QVERIFY2(fairnessOf(pair.reference, pair.run, {}, {}).empty(), "two points apart, while an epoch moves four");
        evaluated(pair.reference, 0.757, 0.757);
        evaluated(pair.run, 0.738, 0.738);
        QCOMPARE(fairnessOf(pair.reference, pair.run, {}, {}).size(), std::size_t(1)); // settled, and still apart
        for (RunOutcome &run : pair.run.runs) {
            run.config->augment = "affine";
            run.config->method = pair.reference.runs.front().config->method;
            run.config->devices = pair.reference.runs.front().config->devices;
        }
        QVERIFY2(fairnessOf(pair.reference, pair.run, {"augment"}, {}).empty(), "they learn unlike things on purpose");
    }

    void theControlSettlesItAndIsNotOfferedWhereItWasMade() {
        for (const Planted &planted : allPlanted()) {
            if (planted.control != Control::Offered || isAgain(planted.key))
                continue; // those are settled by runs made again: below
            Random random(2);
            Pair pair = fairPair(random);
            for (RunOutcome &run : pair.run.runs)
                planted.plant(run);
            const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
            const auto found = std::ranges::find(findings, planted.key, &FairnessFinding::key);
            QVERIFY2(found != findings.end() && found->control && validate(found->control->config).empty(),
                     planted.key);
            const RunConfig &control = found->control->config;
            QVERIFY2(found->control->again.empty(), planted.key);
            QVERIFY2(control != *pair.reference.runs.front().config && control != *pair.run.runs.front().config,
                     planted.key);
            RepeatGroup made{found->control->name, pair.reference.runs, false};
            const bool ofRun = control.method == Method::Ddp;
            if (ofRun)
                made.runs = pair.run.runs;
            for (RunOutcome &run : made.runs) {
                run.config = control;
                run.conditions.scheduling = control.scheduling;
                run.conditions.threads = control.threads > 0 ? control.threads : control.coresPerDevice;
                for (MergedEpoch &epoch : run.epochs)
                    epoch.samples = 60'000;
            }
            const auto after = ofRun ? fairnessOf(pair.reference, made, {}, {}) : fairnessOf(made, pair.run, {}, {});
            QVERIFY2(std::ranges::find(after, planted.key, &FairnessFinding::key) == after.end(),
                     (std::string(planted.key) + " after its control:\n" + listed(after)).c_str());
            const auto again = fairnessOf(pair.reference, pair.run, {}, {pair.reference, pair.run, made});
            const auto same = std::ranges::find(again, planted.key, &FairnessFinding::key);
            QVERIFY2(!same->control, planted.key);
            QVERIFY2(same->sentence.find(made.name + " is the one to compare with: ") != std::string::npos &&
                         same->sentence.find(") by training time.", same->sentence.find("× (")) != std::string::npos,
                     same->sentence.c_str());
        }
    }

    void whatWasDisturbedRunsAgainInItsPlaceByOnePress() {
        std::set<std::string> pressed;
        for (const Planted &planted : allPlanted()) {
            if (!isAgain(planted.key))
                continue;
            for (const bool onlyLast : {false, true}) {
                if (onlyLast && std::string_view(planted.key) == "order")
                    continue;
                Random random(4);
                Pair pair = fairPair(random);
                for (std::size_t i = onlyLast ? 2 : 0; i < 3; ++i)
                    planted.plant(pair.run.runs[i]);
                verifyPress(planted.key, pair, {}, random);
            }
            pressed.insert(planted.key);
        }
        QCOMPARE(pressed, (std::set<std::string>{"load", "order", "stolen", "throttling", "watching"}));
    }

    void whatWentSideBySideRunsAgainAlone() {
        Random random(1);
        Pair pair = fairPair(random);
        RepeatGroup other{"another method", {}, false};
        for (const RunOutcome &run : pair.run.runs) {
            other.runs.push_back(runOf(*pair.reference.runs.front().config, run.startWallUs + 1, random));
            other.runs.back().runTimeS = *run.runTimeS - 0.001;
        }
        verifyPress("side_by_side", pair, {other}, random);
    }

    void aPairOfOneMethodIsNotSentToItself() {
        Random random(1);
        Pair pair = fairPair(random);
        for (const bool script : {false, true}) {
            RepeatGroup one = pair.reference, two = pair.reference;
            one.name = "Python, 0 workers";
            two.name = "Python, 0 workers, 2 cores";
            for (RunOutcome &run : two.runs)
                run.config->coresPerDevice = 2;
            if (script)
                one.command = two.command = {"{python}", "train.py"};
            const auto found = fairnessOf(one, two, {}, {one, two});
            QVERIFY2(std::ranges::find(found, "cores_per_device", &FairnessFinding::key) != found.end(),
                     listed(found).c_str());
            for (const FairnessFinding &finding : found)
                QVERIFY2(!finding.control && finding.sentence.find("to compare with") == std::string::npos,
                         finding.sentence.c_str());
            QVERIFY(fairnessOf(two, one, {"cores_per_device"}, {one, two}).empty());
        }
    }

    void aScriptsControlRunsTheScriptAndOnlyWhereItTakesTheSetting() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RunOutcome &run : pair.run.runs)
            run.config->workers = 4;
        for (RepeatGroup *group : {&pair.reference, &pair.run})
            group->command = {"{python}", "train.py", "--workers", "{workers}"};
        const auto taken = fairnessOf(pair.reference, pair.run, {}, {});
        QVERIFY(taken.size() == 1 && taken[0].control);
        QCOMPARE(taken[0].control->command, pair.reference.command);
        for (RepeatGroup *group : {&pair.reference, &pair.run})
            group->command = {"{python}", "train.py"};
        const auto deaf = fairnessOf(pair.reference, pair.run, {}, {});
        QVERIFY2(deaf.size() == 1 && !deaf[0].control, "its command does not ask for workers");
    }

    void anAccuracyApartPointsToTheSettingThatLearnsOtherwise() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RunOutcome &run : pair.run.runs) {
            run.config->batchSize = 1024;
            *run.testAccuracy -= 0.1;
        }
        const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
        const auto found = std::ranges::find(findings, "accuracy", &FairnessFinding::key);
        QVERIFY2(found != findings.end() &&
                     found->sentence.ends_with(": what is learnt depends on what is named besides (" +
                                               std::string(findField("batch_size")->label) + ")."),
                 listed(findings).c_str());
    }

    void unlikeWorkersWeighWhatLoadingCosts() {
        const auto weightAt = [](double share) {
            Random random(1);
            Pair pair = fairPair(random);
            for (RepeatGroup *group : {&pair.reference, &pair.run})
                for (RunOutcome &run : group->runs)
                    run.phasesS = {{"load", share}, {"forward", 1 - share}};
            for (RunOutcome &run : pair.run.runs)
                run.config->workers = 4;
            return fairnessOf(pair.reference, pair.run, {}, {}).front().weight;
        };
        QVERIFY(weightAt(0.4) == FairnessWeight::Decisive);
        QVERIFY(weightAt(0.05) == FairnessWeight::Notable);
        QVERIFY2(weightAt(0.005) == FairnessWeight::Minor, "the batch loader on a CPU");
    }

    void severalSettingsShareOneControl() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RunOutcome &run : pair.run.runs) {
            run.config->workers = 4;
            run.config->augment = "affine";
        }
        const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
        QCOMPARE(findings.size(), std::size_t(2));
        QVERIFY(findings[0].control == findings[1].control);
        QCOMPARE(findings[0].control->name, std::string("baseline, 4 workers, affine"));
        QVERIFY(findings[0].control->config.method == Method::Baseline);
    }

    void whatWasNotRecordedIsNotFound() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RunOutcome &run : pair.run.runs)
            run.conditions = {};
        QVERIFY(fairnessOf(pair.reference, pair.run, {}, {}).empty());
        for (RunOutcome &run : pair.run.runs)
            run.config.reset();
        QVERIFY(fairnessOf(pair.reference, pair.run, {}, {}).empty());
        QVERIFY(fairnessOf(pair.reference, RepeatGroup{}, {}, {}).empty());
    }

    void whatAScriptSaysOfItselfIsCompared() {
        Random random(1);
        Pair pair = fairPair(random);
        for (RepeatGroup *group : {&pair.reference, &pair.run})
            for (RunOutcome &run : group->runs) {
                run.config.reset();
                run.about = {{"method", group->reference ? "baseline" : "ddp"},
                             {"workers", group->reference ? "0" : "4"}};
            }
        const auto findings = fairnessOf(pair.reference, pair.run, {}, {});
        QCOMPARE(findings.size(), std::size_t(1));
        QCOMPARE(findings.front().key, std::string("workers"));
        QVERIFY2(!findings.front().control, "a script can't be started by a config");
    }

    void aThousandGroupsAreComparedAmongAThousand() {
        Random random(1);
        Pair pair = fairPair(random);
        std::vector<RepeatGroup> groups(1000, pair.run);
        for (std::size_t i = 0; i < groups.size(); ++i)
            for (RunOutcome &run : groups[i].runs)
                run.config->seed = i + 2;
        const auto start = std::chrono::steady_clock::now();
        std::size_t found = 0;
        for (const RepeatGroup &group : groups)
            found += fairnessOf(pair.reference, group, {}, groups).size();
        test::printFigure("1,000 pairs of 3 + 3 runs compared among 1,000", start, 1);
        QCOMPARE(found, std::size_t(1000));
    }
};

QTEST_GUILESS_MAIN(CoreFairnessTest)
#include "fairness_test.moc"
