// SPDX-License-Identifier: MIT
// The forecast, on costs that are known because they were made up.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core_support.h"
#include "lab/forecast.h"
#include "lab/forecast_record.h"
#include "lab/probe_job.h"
#include "simple_model.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr double mib = 1024.0 * 1024;

LayerTime third(double seconds) {
    return {.forwardS = seconds / 3, .backwardS = seconds * 2 / 3};
}

LayerCost layer(double seconds) {
    return {{{16, third(seconds)}}, 400, 100};
}

std::vector<std::string> forecastIds() {
    std::vector<std::string> out;
    eachForecast([&](const ForecastRecord &record) {
        out.push_back(record.id);
        return false;
    });
    return out;
}

} // namespace

class CoreForecastTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void overASlowLinkWhatWaitsForItHidesAndWhatIsWorkDoesNot() {
        ForecastInput input = simpleInput();
        input.parameterBytes = {1000, 20 * mib}; // the large one is ready first
        input.probes = {{1, 64, 80e-3, 40e-3, 80e-3, {}}, {2, 32, 80e-3, 40e-3, 80e-3, {}}};
        CommunicationModel model = simpleModel(50e-6, 1e9);
        const double unknown = forecast(input, model)->rows.front().exposedS;
        model.add(workInTraining, 2, modelOf([](double bytes) { return (50e-6 + bytes / 1e9) / 10; }));
        const ForecastRow row = forecast(input, model)->rows.front();
        input.config.device = "cuda";
        const double hidden = forecast(input, model)->rows.front().exposedS;
        QVERIFY(std::abs(unknown - row.communicationS) < 1e-9); // all of it counts as work
        QVERIFY(std::abs(row.exposedS - (hidden + (row.communicationS - hidden) / 10)) < 1e-6);
    }

    void unlikeNodesGoAtTheSlowestOnesPace() {
        ForecastInput input = simpleInput();
        input.config.nodes = *nodesFromText("one%eth0:0,1;two%eth0:0,1");
        input.probes[1].slowestS = 3.6e-3; // the mean is 2.4
        const auto out = forecast(input, simpleModel(1e-6, 1e12));
        QVERIFY(out->rows.front().stepS.value > 3.6e-3);
        input.runs = runsOf({{Method::Ddp}}, {2, 4});
        const auto four = forecast(input, simpleModel());
        QVERIFY(four->rows[1].whyUnknown.find("these nodes have 2") != std::string::npos);
        // Shares in proportion to the speed make both equally fast.
        input.probes[1].copiesS = {1.2e-3, 3.6e-3};
        input.config.shards = "measured";
        const ForecastRow shared = forecast(input, simpleModel(1e-6, 1e12))->rows.front();
        QVERIFY(std::abs(shared.computeS - 1.8e-3) < 1e-9);
        QVERIFY(shared.stepS.low < 1.8e-3 && shared.stepS.high < 3.6e-3);
    }

    void bucketsAreClosedAsPyTorchClosesThem() {
        QCOMPARE(bucketsOf({100, 200}, 25), (std::vector<double>{300}));
        // Reverse order: the last parameters are ready first. 1 MiB closes the first bucket, 25 MiB the next.
        const std::vector<double> sizes = {26 * mib, 4 * mib, 0.6 * mib, 0.6 * mib};
        QCOMPARE(bucketsOf(sizes, 25), (std::vector<double>{1.2 * mib, 30 * mib}));
        double sum = 0;
        for (const double bucket : bucketsOf(sizes, 1))
            sum += bucket;
        QCOMPARE(sum, 31.2 * mib);
    }

    void aStepIsComputeAndWhatDoesNotHide() {
        const ForecastInput input = simpleInput();
        const auto out = forecast(input, simpleModel(50e-6, 1e9));
        QVERIFY(out);
        QCOMPARE(out->oneDeviceEpochS, 0.4);
        const ForecastRow &ddp = out->rows.front();
        QCOMPARE(ddp.devices, 2);
        QVERIFY(ddp.computeMeasured && ddp.ranksMeasured);
        const double talk = 50e-6 + 246'824 / 1e9;
        QVERIFY(std::abs(ddp.stepS.value - (2.4e-3 + talk)) < 1e-6);
        QVERIFY(std::abs(ddp.speedUp.value - 4e-3 / (2.4e-3 + talk)) < 1e-3);
        QVERIFY(ddp.stepS.low < ddp.stepS.value && ddp.stepS.value < ddp.stepS.high);
        QVERIFY(ddp.speedUp.low < ddp.speedUp.value && ddp.speedUp.value < ddp.speedUp.high);
        QCOMPARE(*bestDevices(*out, {Method::Ddp}), 2);
    }

    void anAsynchronousServerTakesAllGradientsAtOnceAndNobodyWaits() {
        ForecastInput input = simpleInput();
        input.parameterBytes = {3 * mib, 1 * mib}; // two buckets of DDP's
        input.probes[1].strayS = 1e-3;
        input.devicesHere = 4;
        input.probes.push_back({4, 16, 1.6e-3, 0.8e-3, 1.6e-3, {}});
        input.runs = runsOf({{Method::PsAsync}, {Method::Dp}}, {2, 4}); // in one process nothing is sent
        const auto out = forecast(input, simpleModel(50e-6, 1e9));
        QCOMPARE(out->rows.size(), std::size_t(2));
        const ForecastRow &two = out->rows.front(), &four = out->rows.back();
        QVERIFY(two.way.method == Method::PsAsync && four.devices == 4);
        const double exchange = 50e-6 + 4 * mib / 1e9;
        QVERIFY(std::abs(two.exposedS - exchange) < 1e-3 * exchange);
        QVERIFY(std::abs(four.exposedS - 3 * exchange) < 1e-2 * exchange); // rank 0 serves three ranks a step
        QVERIFY(four.stepS.low < 1.6e-3 + 1.1 * exchange);                 // and may be free when a rank comes
        QCOMPARE(two.waitS, 0.0);
        QVERIFY(!bestDevices(*out, {Method::Ddp}) && bestDevices(*out, {Method::PsAsync}));
    }

    void devicesThatOnlyServeTrainNothingAndHaveTheirCoresToThemselves() {
        ForecastInput input = simpleInput();
        input.devicesHere = 3;
        input.runs = runsOf({{Method::PsAsync, {{"server_devices", "1"}}}}, {2, 3});
        QCOMPARE(probesFor(input).size(), std::size_t(2)); // two train 32 samples each, one all 64
        const auto out = forecast(input, simpleModel(50e-6, 1e9));
        const double exchange = 50e-6 + 246'824 / 1e9;
        const ForecastRow &one = out->rows.front(), &two = out->rows.back();
        QCOMPARE(one.computeS, 4e-3); // of the whole batch
        QVERIFY(std::abs(one.exposedS - exchange) < 1e-2 * exchange);
        QCOMPARE(two.computeS, 2.4e-3);
        QVERIFY(std::abs(two.exposedS - 2 * exchange) < 1e-2 * exchange); // the server has two to serve
        QVERIFY(two.stepS.high < 2.4e-3 * 1.06 + 2 * exchange * 1.6);     // and nothing else to do
        QCOMPARE(nameOf(input.config, two.way, two.devices), std::string("async server on 3 devices, 1 server device"));
        input.runs = {{{Method::PsAsync, {{"servers", "2"}}}, 4}};
        input.devicesHere = 4;
        const ForecastRow halved = forecast(input, simpleModel(50e-6, 1e9))->rows.back();
        QVERIFY(std::abs(halved.exposedS - 1.5 * exchange) <
                1e-2 * exchange); // each takes half of what three ranks send
    }

    void aPipelinesStepIsPlayed() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Pipeline}, {Method::Pipeline, {{"micro_batches", "1"}}}}, {2});
        input.layers.assign(4, layer(1e-3));
        ComputeProbe whole{1, 64, 4e-3, 2.4e-3, 4e-3, {}}, micro{2, 16, 1e-3, 0.6e-3, 1e-3, {}};
        whole.forwardS = 1.2e-3;
        whole.optimizerS = micro.optimizerS = 0.05e-3;
        micro.forwardS = 0.3e-3;
        input.probes = {whole, micro};
        const auto out = forecast(input, simpleModel(1e-9, 1e15));
        QCOMPARE(out->rows.size(), std::size_t(2));
        const ForecastRow &four = out->rows.front(), &one = out->rows.back();
        QVERIFY(four.computeMeasured && !one.computeMeasured);
        // Five turns of half a micro-batch's 0.9 ms; then the first stage updates half of the parameters and loads.
        QVERIFY(std::abs(four.stepS.value - (5 * 0.45e-3 + 0.025e-3 + 0.35e-3)) < 1e-7);
        QVERIFY(std::abs(four.computeS - 4 * 0.45e-3) < 1e-9);
        QVERIFY(std::abs(four.waitS - (four.stepS.value - four.computeS)) < 1e-7);
        QVERIFY(four.stepS.low < four.stepS.value && four.stepS.value < four.stepS.high);
        QCOMPARE(nameOf(input.config, one.way, one.devices), std::string("pipeline on 2 devices, 1 micro-batch"));
        // A layer that takes as long as all others is a stage of its own.
        input.layers = {layer(3e-3), layer(1e-3), layer(1e-3), layer(1e-3)};
        QVERIFY(std::abs(forecast(input, simpleModel(1e-9, 1e15))->rows.front().computeS - 4 * 0.45e-3) < 1e-9);
        input.layers.resize(2);
        QVERIFY(std::abs(forecast(input, simpleModel(1e-9, 1e15))->rows.front().computeS - 4 * 0.675e-3) < 1e-9);
        // 6,400 bytes a micro-batch, there and back, are both stages' work.
        const ForecastRow talks = forecast(input, simpleModel(100e-6, 1e9))->rows.front();
        QVERIFY(talks.exposedS > 8 * 100e-6 && talks.exposedS < 12 * 107e-6);
        // Where the lab knows what messages take after work, that counts.
        CommunicationModel both = simpleModel(1, 1e9);
        both.add(messageInTraining, 2, modelOf([](double bytes) { return 100e-6 + bytes / 1e9; }));
        QCOMPARE(forecast(input, both)->rows.front().exposedS, talks.exposedS);
        input.layers.resize(1); // as a folder's model may have, which nobody knows before
        QVERIFY(forecast(input, simpleModel())->rows.front().whyUnknown.find("1 layer for 2 devices") !=
                std::string::npos);
        input.layers.clear();
        QVERIFY(forecast(input, simpleModel())->rows.front().whyUnknown.find("layers") != std::string::npos);
        CommunicationModel noMessages;
        input.layers.assign(4, layer(1e-3));
        QVERIFY(forecast(input, noMessages)->rows.front().whyUnknown.find("messages") != std::string::npos);
    }

    void aPipelineIsCutByItsMicroBatchsLayerTimesAndMessages() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Pipeline}, {Method::Pipeline, {{"micro_batches", "1"}}}}, {2});
        ComputeProbe whole{1, 64, 4e-3, 2e-3, 4e-3, {}}, micro{2, 16, 1e-3, 0.5e-3, 1e-3, {}},
            half{2, 64, 4e-3, 2e-3, 4e-3, {}};
        whole.forwardS = half.forwardS = 2e-3;
        micro.forwardS = 0.5e-3;
        input.probes = {whole, micro, half};
        // Of small batches the first layer takes half, of large ones the last.
        input.layers = {{{{16, third(2e-3)}, {64, third(2e-3)}}, 400, 100},
                        {{{16, third(1e-3)}, {64, third(2e-3)}}, 400, 100},
                        {{{16, third(1e-3)}, {64, third(4e-3)}}, 400, 100}};
        const auto slowest = [&](double alpha, double rate) {
            const auto out = forecast(input, simpleModel(alpha, rate));
            return std::pair(out->rows.front().computeS, out->rows.back().computeS);
        };
        const auto [four, one] = slowest(1e-9, 1e15);
        QVERIFY(std::abs(four - 4 * 0.5e-3) < 1e-9);
        QVERIFY(std::abs(one - 2e-3) < 1e-9);
        input.layers.front().outputBytesPerSample = 1e6; // a message that takes longer than a layer
        const auto [evaded, same] = slowest(1e-9, 1e9);
        QVERIFY(std::abs(evaded - 4 * 0.75e-3) < 1e-9);
        QVERIFY(std::abs(same - 2e-3) < 1e-9);
    }

    void aPipelineBesideAccumulateIsForecastFromMicroBatchesThatAreNotCut() {
        ForecastInput input = simpleInput();
        input.config.accumulate = 4;
        input.runs = runsOf({{Method::Ddp}, {Method::Pipeline, {{"micro_batches", "2"}}}}, {2});
        input.layers.assign(4, layer(1e-3));
        ComputeProbe stages{2, 32, 2e-3, 1.2e-3, 2e-3, {}};
        stages.forwardS = 0.6e-3;
        for (ComputeProbe &probe : input.probes)
            probe.accumulate = 4;
        input.probes.push_back(stages);
        const auto out = forecast(input, simpleModel(1e-9, 1e15));
        const ForecastRow &ddp = out->rows.front(), &pipeline = out->rows.back();
        QCOMPARE(ddp.computeS, 2.4e-3);
        QVERIFY(pipeline.computeMeasured);
        QVERIFY(std::abs(pipeline.computeS - 2 * 0.9e-3) < 1e-9); // half of the layers for each micro-batch
        input.probes.pop_back();
        const auto cut = forecast(input, simpleModel(1e-9, 1e15));
        QCOMPARE(cut->rows.back().whyUnknown,
                 std::string("can't tell: no step was measured of a batch that is not cut"));
        QVERIFY(cut->rows.front().whyUnknown.empty());
        // A smaller batch in one part, beside a whole one in four: the two are not points of one line.
        input.probes.push_back({1, 16, 1e-3, 0.6e-3, 1e-3, {}});
        const auto micro = deviceTime(input.probes, 2, 32, 1, Shares::Alike);
        QVERIFY(micro.has_value());
        QVERIFY(std::abs(micro->stepS.low - 1e-3) < 1e-9 && std::abs(micro->stepS.high - 2e-3) < 1e-9);
    }

    void buffersAreBroadcastBeforeEachStepAndNothingHidesThat() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Ddp}, {Method::PsAsync}}, {2});
        const auto without = forecast(input, simpleModel(50e-6, 1e9));
        input.bufferBytes = {40'000, 160};
        const auto with = forecast(input, simpleModel(50e-6, 1e9));
        const double took = 2 * 50e-6 + 40'160 / 1e9;
        const ForecastRow &ddp = with->rows.front(), &plain = without->rows.front();
        QVERIFY(std::abs(ddp.exposedS - plain.exposedS - took) < 1e-6);
        QVERIFY(std::abs(ddp.communicationS - plain.communicationS - took) < 1e-6);
        QVERIFY(std::abs(ddp.stepS.value - plain.stepS.value - took) < 1e-6);
        QCOMPARE(with->rows.back().exposedS, without->rows.back().exposedS); // each rank keeps its own
        CommunicationModel lacking;
        lacking.add("all_reduce", 2, modelOf([](double bytes) { return 50e-6 + bytes / 1e9; }));
        QVERIFY(forecast(input, lacking)->rows.front().whyUnknown.find("did not measure broadcasts") !=
                std::string::npos);
    }

    void bucketsFillAsMuchLaterAsTheSlowestDeviceTakesLonger() {
        ForecastInput input = simpleInput();
        input.config.device = "cuda";
        input.runs = runsOf({{Method::Ddp}}, {2});
        input.parameterBytes = {1000, 20 * mib};
        // The slowest takes twice as long as the mean.
        input.probes = {{1, 64, 80e-3, 40e-3, 80e-3, {}},
                        {2, 32, 80e-3, 40e-3, 160e-3, {}, {{20 * mib, 30e-3}, {1000, 40e-3}}}};
        const double all = 2 * 50e-6 + (20 * mib + 1000) / 1e9;
        const double exposed = forecast(input, simpleModel(50e-6, 1e9))->rows.front().exposedS;
        QVERIFY(std::abs(exposed - (60e-3 + all - 80e-3)) < 1e-5);
    }

    void gradientsAreExchangedDuringTheLastPartsBackward() {
        ForecastInput input = simpleInput();
        input.config.device = "cuda";
        input.runs = runsOf({{Method::Ddp}}, {2});
        input.parameterBytes = {10 * mib, 10 * mib}; // two buckets
        input.probes = {{1, 64, 80e-3, 40e-3, 80e-3, {}}, {2, 32, 80e-3, 40e-3, 80e-3, {}}};
        const auto exposed = [&] { return forecast(input, simpleModel(50e-6, 1e9))->rows.front().exposedS; };
        const double each = 50e-6 + 10 * mib / 1e9;
        QVERIFY(std::abs(exposed() - each) < 1e-5); // the first one hides behind the other half of backward
        input.config.accumulate = 4;
        for (ComputeProbe &probe : input.probes)
            probe.accumulate = 4;
        QVERIFY(std::abs(exposed() - (35e-3 + 2 * each - 40e-3)) < 1e-5);
    }

    void aForecastSaysThatMessagesAreLargerThanTheLabMeasured() {
        const auto says = [](double bytes) {
            ForecastInput input = simpleInput();
            input.parameterBytes = {bytes};
            const auto out = forecast(input, simpleModel());
            const auto &all = out->reservations;
            return std::ranges::any_of(
                       all, [](const std::string &one) { return one.starts_with("Beyond the lab's sizes"); }) &&
                   !out->rows.front().bytesMeasured;
        };
        QVERIFY(says(90 * mib));
        QVERIFY(!says(60 * mib));
    }

    void aPipelinesMessagesToAnotherNodeTakeWhatTheLabMeasuredBetweenNodes() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Pipeline}}, {2});
        input.layers.assign(4, layer(1e-3));
        ComputeProbe whole{1, 64, 4e-3, 2.4e-3, 4e-3, {}}, micro{2, 16, 1e-3, 0.6e-3, 1e-3, {}};
        whole.forwardS = 1.2e-3;
        micro.forwardS = 0.3e-3;
        input.probes = {whole, micro};
        CommunicationModel model = simpleModel(1e-9, 1e15);
        const auto on = [&](const char *nodes) {
            input.config.nodes = *nodesFromText(nodes);
            return forecast(input, model)->rows.front();
        };
        const char *within = "one%eth0:0,1;two%eth0:0,1", *across = "one%eth0:0;two%eth0:0";
        QVERIFY(on(within).whyUnknown.empty() && on(within).exposedS < 1e-6);
        QVERIFY(on(across).whyUnknown.find("messages between ranks of different nodes") != std::string::npos);
        model.add(pairBetweenNodes, 4, modelOf([](double bytes) { return 1e-3 + bytes / 1e12; }));
        QVERIFY(on(within).exposedS < 1e-6);
        QVERIFY(on(across).whyUnknown.empty() && on(across).exposedS > 1e-3);
        QVERIFY(on(across).ranksMeasured); // a message is between two ranks, of however many
    }

    void waysThatDifferInSettingsAreRowsOfTheirOwn() {
        RunConfig base, run;
        base.method = Method::Ddp;
        run.method = Method::Pipeline;
        run.microBatches = 8;
        run.accumulate = 2; // what a single device computes is no way of a method's own
        const ForecastWay way = wayOf(run, base);
        QCOMPARE(way, (ForecastWay{Method::Pipeline, {{"micro_batches", "8"}}}));
        QCOMPARE(configOf(base, way, 3).microBatches, 8);
        QCOMPARE(deviceCount(configOf(base, way, 3)), 3);
        ForecastRecord record;
        record.id = "20260102T030405Z-00000001";
        record.input = simpleInput();
        record.input.runs = runsOf({way, {Method::Ddp}}, {2});
        record.input.layers = {{{{8, {1e-3, 2e-3}}, {32, {3e-3, 5e-3}}}, 400, 100}, {{{8, {2e-3, 1e-3}}}, 40, 50}};
        record.input.bufferBytes = {40, 8};
        record.forecast = *forecast(record.input, simpleModel());
        record.input.probes.front().accumulate = 2;
        const auto read = forecastRecordFromJson(toJson(record));
        QVERIFY(read.has_value());
        QCOMPARE(read->forecast.rows, record.forecast.rows);
        QCOMPARE(read->input.probes, record.input.probes);
        QCOMPARE(read->input.bufferBytes, record.input.bufferBytes);
        QCOMPARE(read->input.layers, record.input.layers);
        QVERIFY(read->input.runs == record.input.runs);
    }

    void aRecordWhoseNumbersAreNoMeasurementsIsRefused() {
        ForecastRecord record;
        record.id = "20260102T030405Z-00000001";
        record.input = simpleInput();
        record.input.runs = {{{Method::Pipeline, {{"micro_batches", "8"}}}, 2}};
        record.forecast = *forecast(record.input, simpleModel());
        record.forecast.rows.front() = forecast(simpleInput(), simpleModel())->rows.front();
        record.forecast.rows.front().way = {Method::Pipeline, {{"micro_batches", "8"}}};
        const auto refused = [&](const std::function<void(ForecastRow &)> &change) {
            ForecastRecord changed = record;
            change(changed.forecast.rows.front());
            return !forecastRecordFromJson(toJson(changed)).has_value();
        };
        QVERIFY(!refused([](ForecastRow &) {}));
        QVERIFY(refused([](ForecastRow &row) { row.way.settings = {{"no_such_key", "1"}}; }));
        QVERIFY(refused([](ForecastRow &row) { row.way.settings = {{"micro_batches", "many"}}; }));
        QVERIFY(refused([](ForecastRow &row) { row.way.settings = {{"lr", "1"}}; })); // not one of its own
        QVERIFY(refused([](ForecastRow &row) { row.devices = 1'000'000'000; }));
        QVERIFY(refused([](ForecastRow &row) { row.devices = -1; }));
        QVERIFY(refused([](ForecastRow &row) { row.stepS.high = row.stepS.low / 2; }));
        QVERIFY(refused([](ForecastRow &row) { row.speedUp = {-3, -4, -2}; }));
        QVERIFY(refused([](ForecastRow &row) { row.waitS = 1e300; }));
    }

    void aRecordUnderAnothersNameIsPassedOverAndTheNewest500AreRead() {
        const Home home;
        ForecastRecord record;
        record.recipe = "r";
        record.input = simpleInput();
        record.forecast = *forecast(record.input, simpleModel());
        for (int i = 100; i < 602; ++i) {
            record.id = "20260102T030405Z-00000" + std::to_string(i);
            QVERIFY(writeForecast(record).has_value());
        }
        QCOMPARE(forecastIds().size(), std::size_t(500));
        QCOMPARE(forecastIds().back(), std::string("20260102T030405Z-00000102"));
        const std::string newer = "20260102T030406Z-00000000";
        QCOMPARE(::link((forecastsFolder() + "/" + record.id + ".json").c_str(),
                        (forecastsFolder() + "/" + newer + ".json").c_str()),
                 0);
        QCOMPARE(newestForecastOf("r")->id, record.id);
        QCOMPARE(forecastIds().size(), std::size_t(499));
        const std::string newest = "20260102T030407Z-00000000";
        test::write(forecastsFolder() + "/" + newest + ".json",
                    "{\"x\":[\"" + newest + "\"]," + toJson(record).substr(1));
        QCOMPARE(forecastIds().size(), std::size_t(498));
    }

    void aForecastMadeHereComesFirstThenTheLatestStartWhateverTheFilesName() {
        const Home home;
        const MachineName machine = thisMachine();
        const auto write = [&](const char *id, const std::string &host, std::int64_t startWallUs) {
            ForecastRecord record;
            record.id = id;
            record.recipe = "r";
            record.host = host;
            record.cpuModel = machine.cpuModel;
            record.startWallUs = startWallUs;
            record.input = simpleInput();
            record.forecast = *forecast(record.input, simpleModel());
            QVERIFY(writeForecast(record).has_value());
        };
        const auto isFirst = [](const char *id) {
            return newestForecast()->id == id && newestForecastOf("r")->id == id &&
                   newestForecastsFor({}).size() == 1 && newestForecastsFor({}).front().id == id;
        };
        write("20270101T000000Z-00000001", "elsewhere", 1'700'000'002'000'000);
        write("20260101T000000Z-00000002", "elsewhere", 1'700'000'003'000'000);
        QVERIFY(isFirst("20260101T000000Z-00000002"));
        QCOMPARE(elsewhereSentence(*newestForecast(), {"box", "Xeon"}),
                 "This forecast was made on elsewhere" +
                     (machine.cpuModel.empty() ? "" : " (" + machine.cpuModel + ")") + ", not on this machine.");
        write("20270101T000000Z-00000003", machine.host, 1'700'000'000'000'000);
        QVERIFY(isFirst("20270101T000000Z-00000003"));
        QCOMPARE(elsewhereSentence(*newestForecast(), machine), std::string());
        write("20260101T000000Z-00000004", machine.host, 1'700'000'001'000'000);
        QVERIFY(isFirst("20260101T000000Z-00000004"));
        write("20270101T000000Z-00000005", machine.host, 32'503'680'000'000'000); // the year 3000
        QVERIFY(isFirst("20260101T000000Z-00000004"));
    }

    void aRecordOfMoreThanAnyForecastHasIsRefused() {
        ForecastRecord record;
        record.id = "20260102T030405Z-00000001";
        record.input = simpleInput();
        record.input.layers = {layer(1e-3)};
        record.forecast = *forecast(record.input, simpleModel());
        const auto refused = [&](const std::function<void(ForecastRecord &)> &change) {
            ForecastRecord changed = record;
            change(changed);
            const auto read = forecastRecordFromJson(toJson(changed));
            return read ? std::string() : read.error().message();
        };
        const auto says = [&](const std::string &words, const std::function<void(ForecastRecord &)> &change) {
            return refused(change).find(words) != std::string::npos;
        };
        QCOMPARE(refused([](ForecastRecord &changed) {
                     changed.forecast.reservations.assign(1000, std::string(2000, 'r'));
                     changed.input.parameterBytes.assign(65'536, 4);
                     changed.forecast.bucketsBytes.assign(65'536, 4);
                     changed.input.layers.assign(1000, layer(1e-3));
                 }),
                 std::string());
        QVERIFY(says("reservations may have 1000 entries and has 1001",
                     [](ForecastRecord &changed) { changed.forecast.reservations.assign(1001, ""); }));
        QVERIFY(says("a reservation may have 64 KiB and has, in bytes, 65537", [](ForecastRecord &changed) {
            changed.forecast.reservations = {std::string((64 << 10) + 1, 'r')};
        }));
        QVERIFY(
            says("title may have 64 KiB", [](ForecastRecord &changed) { changed.title.assign((64 << 10) + 1, 't'); }));
        QVERIFY(says("parameter_bytes may have 65536 entries",
                     [](ForecastRecord &changed) { changed.input.parameterBytes.assign(65'537, 4); }));
        QVERIFY(says("buckets_bytes may have 65536 entries",
                     [](ForecastRecord &changed) { changed.forecast.bucketsBytes.assign(65'537, 4); }));
        QVERIFY(says("probes may have 1000 entries",
                     [](ForecastRecord &changed) { changed.input.probes.resize(1001, changed.input.probes.front()); }));
        QVERIFY(says("copies_s may have 4096 entries",
                     [](ForecastRecord &changed) { changed.input.probes.front().copiesS.assign(4097, 1e-3); }));
        QVERIFY(says("buckets may have 65536 entries",
                     [](ForecastRecord &changed) { changed.input.probes.front().buckets.resize(65'537); }));
        QVERIFY(says("layers may have 65536 entries",
                     [](ForecastRecord &changed) { changed.input.layers.resize(65'537); }));
        QVERIFY(says("times may have 1000 entries", [](ForecastRecord &changed) {
            for (int samples = 1; samples <= 1001; ++samples)
                changed.input.layers.front().timesAt[samples] = third(1e-3);
        }));
        QVERIFY(says("more than 500000 values",
                     [](ForecastRecord &changed) { changed.input.parameterBytes.assign(500'000, 4); }));
    }

    void slowCommunicationSaysThatOneDeviceIsBest() {
        const auto out = forecast(simpleInput(), simpleModel(20e-3, 1e8));
        QCOMPARE(*bestDevices(*out, {Method::Ddp}), 1);
        QCOMPARE(bestDevicesSentences({}, *out).front(), std::string("DDP: best on one device, more are slower."));
        QVERIFY(out->rows.front().speedUp.value < 1);
    }

    void onAGpuBucketsHideBehindBackward() {
        ForecastInput input = simpleInput();
        input.config.device = "cuda";
        input.parameterBytes = {1000, 20 * mib}; // the large one is ready first
        input.probes = {{1, 64, 80e-3, 40e-3, 80e-3, {}}, {2, 32, 80e-3, 40e-3, 80e-3, {}}};
        const auto out = forecast(input, simpleModel(50e-6, 1e9));
        const ForecastRow &ddp = out->rows.front();
        QVERIFY(out->bucketsBytes.size() == 2);
        QVERIFY(ddp.exposedS < ddp.communicationS);
        input.config.device = "cpu";
        QVERIFY(forecast(input, simpleModel(50e-6, 1e9))->rows.front().exposedS >= ddp.communicationS * 0.999);
    }

    void withOneBatchAloneTheIntervalReachesFromFixedToProportional() {
        ForecastInput input = simpleInput();
        input.probes = {{1, 64, 4e-3, 2e-3, 4e-3, {}}};
        const auto out = forecast(input, simpleModel(1e-6, 1e12));
        const ForecastRow &ddp = out->rows.front();
        QVERIFY(!ddp.computeMeasured);
        QVERIFY(ddp.stepS.low < 2.01e-3);
        QVERIFY(ddp.stepS.high > 3.99e-3);
        QVERIFY(!out->reservations.empty());
    }

    void whereDevicesShareCoresItCannotTell() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Ddp}}, {2, 4});
        const auto out = forecast(input, simpleModel());
        const ForecastRow &four = out->rows[1];
        QCOMPARE(four.devices, 4);
        QVERIFY(QString::fromStdString(four.whyUnknown).startsWith("can't tell: 4 devices"));
        QVERIFY(!gradeForecast(four, 1e-3));
    }

    void anUnmeasuredWayOrNoProbeIsNoFigure() {
        CommunicationModel none;
        const auto out = forecast(simpleInput(), none);
        QVERIFY(out);
        QVERIFY(!out->rows.front().whyUnknown.empty());
        QVERIFY(bestDevicesSentences({}, *out).empty());
        ForecastInput empty = simpleInput();
        empty.probes.clear();
        QVERIFY(!forecast(empty, simpleModel()));
    }

    void waitingForTheSlowestIsTheMostOfSoManyDraws() {
        QCOMPARE(expectedMost(1), 0.0);
        QVERIFY(std::abs(expectedMost(2) - 1 / std::sqrt(M_PI)) < 1e-3);
        QVERIFY(std::abs(expectedMost(16) - 1.766) < 0.03);
        ForecastInput input = simpleInput();
        input.probes[1].strayS = 1e-3;
        const auto out = forecast(input, simpleModel());
        QVERIFY(std::abs(out->rows.front().waitS - 0.5642e-3) < 1e-6);
    }

    void aForecastIsGradedAgainstWhatCameOut() {
        const auto out = forecast(simpleInput(), simpleModel());
        const ForecastRow &row = out->rows.front();
        const auto exact = gradeForecast(row, row.stepS.value), off = gradeForecast(row, row.stepS.value * 2);
        QCOMPARE(exact->error, 0.0);
        QVERIFY(exact->within);
        QCOMPARE(off->error, -0.5);
        QVERIFY(!off->within);
        QVERIFY(!gradeForecast(row, 0));
    }
};

QTEST_GUILESS_MAIN(CoreForecastTest)
#include "forecast_test.moc"
