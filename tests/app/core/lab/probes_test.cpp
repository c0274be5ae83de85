// SPDX-License-Identifier: MIT
// The short runs that a forecast needs: which, how long, and what is read from them.
#include <cmath>

#include "core_support.h"
#include "lab/probe_job.h"
#include "simple_model.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreProbesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aProbeIsItsEpochsAfterTheFirst() {
        const auto text = [](double epochS, double backwardS) {
            std::string out;
            for (int epoch = 1; epoch <= 3; ++epoch) {
                EpochFrame frame;
                frame.epoch = epoch;
                frame.durationS = epoch == 1 ? 100 : epochS; // warm-up
                frame.steps = 200;
                frame.phases["backward"] = {backwardS, {}};
                out += encode(test::frame(frame, 0, epoch)) + "\n";
            }
            return out;
        };
        const ProbeRequest request{{}, 2, 32};
        const auto probe = probeFromFrames(request, {text(0.4, 0.2), text(0.6, 0.3)});
        QVERIFY(probe);
        QCOMPARE(probe->stepS, 2.5e-3);
        QCOMPARE(probe->slowestS, 3e-3);
        QCOMPARE(probe->backwardS, 1.25e-3);
        QCOMPARE(probe->copiesS, (std::vector<double>{2e-3, 3e-3}));
        QVERIFY(!probe->strayS); // too few windows to say
        QVERIFY(!probeFromFrames(request, {text(0.4, 0.2), ""}));
    }

    void aProbesLastBucketIsFullWhenBackwardEndsHoweverManyPartsThatHas() {
        std::string text;
        for (int epoch = 1; epoch <= 2; ++epoch) {
            EpochFrame ended;
            ended.epoch = epoch;
            ended.durationS = 2;
            ended.steps = 10;
            ended.phases["backward"] = {1.6, {}};
            CommFrame comm; // counts from the last part's backward
            comm.epoch = epoch;
            comm.buckets = {{0, 4000, 10, 0.01, 0.01, 0.02}, {1, 2000, 10, 0.04, 0.04, 0.05}};
            text +=
                encode(test::frame(comm, 0, 2 * epoch)) + "\n" + encode(test::frame(ended, 0, 2 * epoch + 1)) + "\n";
        }
        const auto probe = probeFromFrames({{}, 2, 32, false, true}, {text, text});
        QVERIFY(probe);
        QCOMPARE(probe->buckets.size(), std::size_t(2));
        QVERIFY(std::abs(probe->buckets[0].readyS - 0.13) < 1e-9);
        QVERIFY(std::abs(probe->buckets[1].readyS - probe->backwardS) < 1e-9);
        QCOMPARE(probe->buckets[0].bytes, 4000.0);
    }

    void whatAModelCostsIsReadFromTheTrainersAnswer() {
        const auto costs = modelCostsFrom(
            R"({"type":"model","train_samples":520,"parameter_bytes":[12,8],"buffer_bytes":[40],"batches":[16,64],)"
            R"("layers":[{"forward_s":[0.5,1.5],"backward_s":[1,3],"output_bytes_per_sample":20,"parameter_bytes":20}]})");
        QVERIFY(costs.has_value());
        QCOMPARE(costs->trainSamples, 520);
        QCOMPARE(costs->parameterBytes, (std::vector<double>{12, 8}));
        QCOMPARE(costs->bufferBytes, (std::vector<double>{40}));
        QCOMPARE(costs->layers, (std::vector<LayerCost>{{{{16, {0.5, 1}}, {64, {1.5, 3}}}, 20, 20}}));
        QVERIFY(!modelCostsFrom("welcome to this node"));
        QVERIFY(!modelCostsFrom(R"({"type":"model","parameter_bytes":"many"})"));
        QVERIFY(!modelCostsFrom(
            R"({"type":"model","train_samples":0,"parameter_bytes":[12],"buffer_bytes":[],"batches":[],"layers":[]})"));
        QVERIFY(!modelCostsFrom(
            R"({"type":"model","train_samples":520,"parameter_bytes":[12],"buffer_bytes":[],"batches":[16,64],)"
            R"("layers":[{"forward_s":[0.5],"backward_s":[1],"output_bytes_per_sample":20,"parameter_bytes":12}]})"));
    }

    void probesAreOneDeviceAloneAndRanksThatHandGradientsOverSideBySide() {
        ForecastInput input = simpleInput();
        input.runs = runsOf({{Method::Ddp}}, {2, 3, 4});
        const auto probes = probesFor(input);
        QCOMPARE(probes.size(), std::size_t(2)); // 3 does not share out, 4 are not here
        QCOMPARE(probes[0].copies, 1);
        QCOMPARE(probes[0].batch, 64);
        QCOMPARE(probes[1].copies, 2);
        QCOMPARE(probes[1].batch, 32);
        QVERIFY(!probes[0].handsOver && probes[1].handsOver);
        input.runs.insert({{Method::Pipeline}, 2});
        const auto micro = probesFor(input);
        QCOMPARE(micro.size(), std::size_t(3));
        QCOMPARE(micro[2].copies, 2);
        QCOMPARE(micro[2].batch, 16);
        QVERIFY(micro[2].ofStages && !micro[2].handsOver);
        input.runs.insert({{Method::Pipeline, {{"micro_batches", "2"}}}, 2}); // as many samples as a rank of DDP takes
        const auto both = probesFor(input);
        QCOMPARE(both.size(), std::size_t(3));
        QVERIFY(both[1].ofStages && both[1].handsOver);
        input.config.accumulate = 4; // which a pipeline does not know
        const auto apart = probesFor(input);
        QCOMPARE(apart.size(), std::size_t(4));
        QVERIFY(apart[1].handsOver && !apart[1].ofStages && apart[1].config.accumulate == 4);
        for (const ProbeRequest &stages : {apart[2], apart[3]})
            QVERIFY(stages.ofStages && !stages.handsOver && stages.config.accumulate == 1);
        QCOMPARE(apart[3].batch, 32);
    }

    void aProbesEpochIsItsShareOfTheRunsAndNoMoreThanTheDataHold() {
        ModelCosts costs;
        costs.trainSamples = 60'000;
        const ProbeRequest few{{}, 1, 64}, many{{}, 1, 512};
        QCOMPARE(samplesOf(few, costs), 200 * 64);
        QCOMPARE(samplesOf(many, costs), 60'000);
        costs.trainSamples = 521;
        ProbeRequest two{{}, 2, 256, false, true};
        QCOMPARE(samplesOf(two, costs), 261); // 256 and 5, as a rank of the run
        two.handsOver = false;                // a pipeline's stages see all of them
        QCOMPARE(samplesOf(two, costs), 521);
    }
};

QTEST_GUILESS_MAIN(CoreProbesTest)
#include "probes_test.moc"
