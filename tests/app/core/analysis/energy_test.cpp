// SPDX-License-Identifier: MIT
// Energy of runs in the result table, in the time to a target and in exports; unknown with its reason.
#include <QtTest>

#include <nlohmann/json.hpp>

#include "analysis/compare/energy.h"
#include "analysis/compare/time_to_target.h"
#include "core_support.h"
#include "export/export.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// Two ranks with a GPU each (or two CPU devices), two epochs of 50 s and 1,000 samples, 90 % at the end of the second.
RunOutcome runOf(const std::string &device, int repeat) {
    RunOutcome run;
    run.run = std::to_string(repeat);
    run.name = "DDP on 2 devices";
    run.experiment = "the experiment";
    run.repeat = repeat;
    run.state = RunState::Done;
    run.processes = 2;
    run.deviceNames = {device + "0", device + "1"};
    RunConfig config;
    config.method = Method::Ddp;
    config.devices = {"0", "1"};
    run.config = config;
    for (int epoch = 1; epoch <= 2; ++epoch) {
        MergedEpoch one;
        one.epoch = epoch;
        one.complete = true;
        one.durationS = 50;
        one.samples = 1000;
        one.eval = EvalFrame{epoch, 0.8 + 0.05 * epoch, {}, 100, {}, 1};
        run.epochs.push_back(one);
    }
    run.totalTrainingTimeS = 100;
    run.runTimeS = 120;
    run.rankPhasesS = {{0, {{"load", 4}, {"forward", 80}, {"exposed", 14}}}, {1, {{"load", 2}, {"exposed", 16}}}};
    Energy energy;
    energy.gpusJ = 36'000; // 300 W
    energy.gpusS = 120;
    energy.gpusFrom = "NVML's energy counter";
    energy.packagesUnknown = "the kernel shows no energy of the processor (RAPL), as in most virtual machines";
    run.conditions.energy = energy;
    return run;
}

} // namespace

class CoreEnergyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aGpuRunHasJoulesASampleAndWattHoursToItsTarget() {
        const RunOutcome run = runOf("GPU-", 1);
        QCOMPARE(*devicesEnergyOf(run), 36'000.0);
        QCOMPARE(*devicesPowerOf(run), 300.0);
        QCOMPARE(*energyPerSampleOf(run), 18.0);
        QVERIFY(whyEnergyUnknown(run).empty());
        QCOMPARE(*hitOf(run, {Target::Kind::Accuracy, 0.9}).wattHours, 300.0 * 100 / 3600);
        QVERIFY(!hitOf(run, {Target::Kind::Accuracy, 0.95}).wattHours);
    }

    void itsJoulesASampleAreOfTheEpochsThatItMade() {
        RunOutcome run = runOf("GPU-", 1);
        run.epochs[0].complete = false;
        run.epochs[0].samples = 0;
        QVERIFY2(!energyPerSampleOf(run), "an epoch that it made, whose samples are unknown");
        run.firstEpoch = 2; // it went on from a checkpoint
        QCOMPARE(*energyPerSampleOf(run), 36.0);
    }

    void theWaitOfGpusIsTheSumOverRanks() {
        QCOMPARE(*gpuHoursWaitingOf(runOf("GPU-", 1)), 36.0 / 3600);
        QVERIFY(!gpuHoursWaitingOf(runOf("cpu:", 1)));
        RunOutcome dp = runOf("GPU-", 1);
        dp.processes = 1;
        QVERIFY(!gpuHoursWaitingOf(dp)); // one rank with two GPUs
    }

    void energyThatIsUnknownIsSaidAsSuch() {
        const RunOutcome onCpu = runOf("cpu:", 1);
        QVERIFY(!devicesEnergyOf(onCpu) && !energyPerSampleOf(onCpu));
        QCOMPARE(whyEnergyUnknown(onCpu), onCpu.conditions.energy->packagesUnknown);
        RunOutcome nodes = runOf("GPU-", 1);
        nodes.nodes = 2;
        QVERIFY2(!gpusEnergyOf(nodes), "of one node only");
        QCOMPARE(whyEnergyUnknown(nodes), std::string("an older agent measured energy on 1 of the run's 2 nodes"));
        nodes.conditions.energy->nodes = 2;
        QCOMPARE(*devicesEnergyOf(nodes), 36'000.0);
        nodes.conditions.energy->gpusJ.reset();
        nodes.conditions.energy->gpusUnknown = "on hostB: NVML reports neither energy nor power of GPU-b";
        QCOMPARE(whyEnergyUnknown(nodes), nodes.conditions.energy->gpusUnknown);
        RunOutcome old = runOf("GPU-", 1);
        old.conditions.energy.reset();
        QCOMPARE(whyEnergyUnknown(old), std::string("the run's agent did not measure energy"));
    }

    void packagesSpeakForCpuDevices() {
        RunOutcome run = runOf("cpu:", 1);
        run.conditions.energy->packagesJ = 6'000;
        run.conditions.energy->packagesS = 120;
        QCOMPARE(*energyPerSampleOf(run), 3.0);
        QCOMPARE(*devicesPowerOf(run), 50.0);
    }

    void exportsCarryIt() {
        std::vector<RunOutcome> runs;
        for (int repeat = 1; repeat <= 3; ++repeat)
            runs.push_back(runOf("GPU-", repeat));
        runs[2].conditions.energy->gpusJ = 38'000;
        const Report report = reportOf(resultTable(runs), runs, {});
        const auto row = nlohmann::json::parse(exportResults(report, ExportFormat::Json))["rows"][0];
        QCOMPARE(row["gpu_energy_j"].get<double>(), 36'000.0);
        QCOMPARE(row["energy_per_sample_j"].get<double>(), 18.0);
        QCOMPARE(row["gpu_hours_waiting"].get<double>(), 0.01);
        QVERIFY(row["machine_energy_j"].is_null());
        std::vector<RunOutcome> onCpu = {runOf("cpu:", 1)};
        const auto unknown =
            nlohmann::json::parse(exportResults(reportOf(resultTable(onCpu), onCpu, {}), ExportFormat::Json));
        QVERIFY(unknown["rows"][0]["energy_per_sample_j"].is_null());
        QCOMPARE(unknown["rows"][0]["energy_unknown"].get<std::string>(), onCpu[0].conditions.energy->packagesUnknown);
    }

    void aResultsEnergyComesBackFromDisk() {
        RunResult result = test::doneResult("20260102T030405Z-00000001", 1);
        result.energy = runOf("GPU-", 1).conditions.energy;
        const auto read = runResultFromJson(toJson(result));
        QVERIFY(read.has_value());
        QVERIFY(read->energy == result.energy);
    }
};

QTEST_GUILESS_MAIN(CoreEnergyTest)
#include "energy_test.moc"
