// SPDX-License-Identifier: MIT
// What sets the ways of a forecast apart: their own settings, their names, and the number of devices that is best for each.
#include <algorithm>
#include <cmath>

#include "core_support.h"
#include "simple_model.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr double mib = 1024.0 * 1024;

} // namespace

class CoreWaysTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aWaysBucketsAreItsOwnAndThoseOfProbesCountOnlyForTheirSize() {
        ForecastInput input = simpleInput();
        input.config.device = "cuda";
        input.runs = runsOf({{Method::Ddp}, {Method::Ddp, {{"bucket_mb", "4"}}}}, {2});
        input.parameterBytes.assign(4, 4 * mib);
        input.probes = {{1, 64, 80e-3, 40e-3, 80e-3, {}},
                        {2, 32, 80e-3, 40e-3, 80e-3, {}, {{4 * mib, 5e-3}, {12 * mib, 40e-3}}}};
        const auto out = forecast(input, simpleModel(50e-6, 1e9));
        const double three = 50e-6 + 12 * mib / 1e9, one = 50e-6 + 4 * mib / 1e9; // the last bucket alone does not hide
        QVERIFY(std::abs(out->rows[0].exposedS - three) < 1e-4);
        QVERIFY(std::abs(out->rows[1].exposedS - one) < 1e-4);
        input.config.bucketMb = 4;
        input.runs = runsOf({{Method::Ddp}, {Method::Ddp, {{"bucket_mb", "25"}}}}, {2});
        input.probes[1].buckets.assign(4, {4 * mib, 40e-3});
        const auto turned = forecast(input, simpleModel(50e-6, 1e9));
        QVERIFY(std::abs(turned->rows[0].exposedS - 4 * one) < 1e-4); // as measured
        QVERIFY(std::abs(turned->rows[1].exposedS - three) < 1e-4);
    }

    void withAStalenessOf0AnAsynchronousServerWaitsAsAServerDoes() {
        ForecastInput input = simpleInput();
        input.probes[1].strayS = 1e-3;
        const ForecastWay none{Method::PsAsync, {{"max_staleness", "0"}}},
            four{Method::PsAsync, {{"max_staleness", "4"}}};
        input.runs = runsOf({{Method::PsSync}, {Method::PsAsync}, none, four}, {2});
        const auto out = forecast(input, simpleModel());
        const auto row = [&](const ForecastWay &way) { return *std::ranges::find(out->rows, way, &ForecastRow::way); };
        const ForecastRow unlimited = row({Method::PsAsync}), together = row(none), limited = row(four);
        const double wait = row({Method::PsSync}).waitS;
        QVERIFY(wait > 0.5e-3);
        QCOMPARE(together.waitS, wait);
        QVERIFY(std::abs(together.stepS.value - unlimited.stepS.value - wait) < 1e-9);
        QCOMPARE(limited.stepS.value, unlimited.stepS.value);
        QVERIFY(limited.stepS.high > unlimited.stepS.high + wait);
    }

    void rowsAreNamedByTheirOwnSettingsThatAreNoDefaultsAsRunsAre() {
        RunConfig base;
        base.method = Method::Ddp;
        base.bucketMb = 0.5;
        base.compressGradients = "bf16";
        QCOMPARE(nameOf(base, {Method::Ddp}, 2), std::string("DDP on 2 devices, bucket mb 0.5, bf16 gradients"));
        QCOMPARE(nameOf(base, {Method::Ddp, {{"bucket_mb", "25"}}}, 2),
                 std::string("DDP on 2 devices, bf16 gradients"));
        base.method = Method::Pipeline;
        base.microBatches = 2;
        QCOMPARE(nameOf(base, {Method::Pipeline}, 2), std::string("pipeline on 2 devices, 2 micro-batches"));
    }

    void whereIntervalsOverlapItCannotTellOnHowManyDevicesAWayIsBest() {
        const auto row = [](int devices, const Interval &epochS) {
            ForecastRow out;
            out.way = {Method::Ddp};
            out.devices = devices;
            out.epochS = epochS;
            out.speedUp = {2 / epochS.value, 2 / epochS.high, 2 / epochS.low};
            return out;
        };
        const auto best = [](std::vector<ForecastRow> rows) {
            Forecast out;
            out.oneDeviceEpochS = 2;
            out.rows = std::move(rows);
            return std::pair(bestDevices(out, {Method::Ddp}).value_or(0), bestDevicesSentences({}, out).front());
        };
        const std::string unsure = "DDP: can't tell on how many devices it is best, since intervals overlap.";
        QCOMPARE(best({row(2, {1.2, 1.1, 1.3}), row(4, {0.9, 0.8, 1.0})}),
                 std::pair(4, std::string("DDP: best on 4 devices.")));
        QCOMPARE(best({row(2, {1.0, 0.9, 1.1}), row(4, {0.9, 0.8, 1.0})}), std::pair(0, unsure));
        QCOMPARE(best({row(2, {1.9, 1.5, 2.1})}), std::pair(0, unsure)); // one device may be faster
        QCOMPARE(best({row(2, {4.5, 0.7, 7})}), std::pair(0, unsure));   // or it may be slower
        QCOMPARE(best({row(2, {4.5, 2.5, 7})}), std::pair(1, std::string("DDP: best on one device, more are slower.")));
    }
};

QTEST_GUILESS_MAIN(CoreWaysTest)
#include "ways_test.moc"
