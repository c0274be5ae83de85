// SPDX-License-Identifier: MIT
// The lab's cost model, on regimes that are known because they were made up.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "base/machine_facts.h"
#include "base/other_load.h"
#include "core_support.h"
#include "lab/lab_record.h"
#include "lab/lab_report.h"
#include "simple_model.h"
#include "store/run_index.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr double kib = 1024, mib = 1024 * kib;

/// Sizes as the lab measures them.
std::vector<double> labSizes() {
    std::vector<double> out;
    for (double bytes = 4; bytes < 16 * kib; bytes *= 4)
        out.push_back(bytes);
    for (double bytes = 16 * kib; bytes <= 64 * mib; bytes *= 2) {
        out.push_back(bytes);
        for (const double part : {1.19, 1.41, 1.68})
            if (bytes >= 64 * kib && bytes < 16 * mib)
                out.push_back(bytes * part);
    }
    return out;
}
std::vector<double> heldOutSizes() {
    std::vector<double> out;
    for (double bytes = 80 * kib; bytes < 16 * mib; bytes *= 2)
        out.push_back(bytes);
    return out;
}

/// A machine of three regimes: small messages wait, middling ones stay in a cache, large ones don't.
double threeRegimes(double bytes) {
    const double inCache = 40e-6 + bytes / 8e9, beyond = 150e-6 + bytes / 2.5e9;
    return bytes < 8 * kib ? 40e-6 + bytes / 8e9 : bytes < mib ? inCache : beyond;
}

template <class Time> std::vector<TimePoint> points(const std::vector<double> &sizes, Time time) {
    std::vector<TimePoint> out;
    for (const double bytes : sizes)
        out.push_back({bytes, time(bytes)});
    return out;
}

double worst(const CostModel &model, const std::vector<TimePoint> &measured) {
    double most = 0;
    for (const TimePoint &point : measured)
        most = std::max(most, relativeError(model.seconds(point.bytes), point.seconds));
    return most;
}

LabRow labRow(const std::string &collective, int ranks, double bytes, double seconds, bool heldOut = false) {
    return {collective,    ranks,         bytes,           heldOut,         5,      10, seconds,
            seconds * 0.9, seconds * 1.2, bytes / seconds, bytes / seconds, seconds};
}

LabRecord labNamed(const std::string &id) {
    LabRecord record;
    record.id = id;
    return record;
}

} // namespace

class CoreLabTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aStraightLineIsFoundExactly() {
        const auto line = [](double bytes) { return 30e-6 + bytes / 4e9; };
        const auto model = CostModel::fit(points(labSizes(), line));
        QVERIFY(model);
        QCOMPARE(model->regimes().size(), std::size_t(1));
        QVERIFY(std::abs(model->regimes().front().alphaS / 30e-6 - 1) < 1e-6);
        QVERIFY(std::abs(model->regimes().front().betaSPerByte * 4e9 - 1) < 1e-6);
        QVERIFY(worst(*model, points(heldOutSizes(), line)) < 1e-6);
    }

    void oneLineMissesThreeRegimesAndPiecesDoNot() {
        const auto given = points(labSizes(), threeRegimes), held = points(heldOutSizes(), threeRegimes);
        const auto line = CostModel::fit(given, 1), pieces = CostModel::fit(given);
        QVERIFY(worst(*line, given) > 0.2);
        QVERIFY(pieces->regimes().size() > 1);
        QVERIFY(pieces->regimes().size() <= 6);
        QVERIFY(worst(*pieces, given) < 0.02);
        QVERIFY(worst(*pieces, held) < 0.15);
    }

    void noiseIsSmoothedAndDoesNotBreedPieces() {
        std::mt19937 random(7);
        int pieces = 0;
        std::vector<double> errors;
        for (int trial = 0; trial < 50; ++trial) {
            std::normal_distribution noise(0.0, 0.03);
            const auto given =
                points(labSizes(), [&](double bytes) { return threeRegimes(bytes) * std::exp(noise(random)); });
            const auto model = CostModel::fit(given);
            pieces += int(model->regimes().size());
            for (const double bytes : heldOutSizes())
                errors.push_back(relativeError(model->seconds(bytes), threeRegimes(bytes)));
        }
        std::sort(errors.begin(), errors.end());
        QVERIFY2(errors[errors.size() / 2] < 0.03, qPrintable(QString::number(errors[errors.size() / 2])));
        QVERIFY2(errors[errors.size() * 95 / 100] < 0.15,
                 qPrintable(QString::number(errors[errors.size() * 95 / 100])));
        QVERIFY2(pieces / 50.0 < 5, qPrintable(QString::number(pieces / 50.0)));
    }

    void predictionsAreContinuousAndAlmostMonotone() {
        std::mt19937 random(11);
        for (int trial = 0; trial < 30; ++trial) {
            std::normal_distribution noise(0.0, 0.05);
            const auto model = CostModel::fit(
                points(labSizes(), [&](double bytes) { return threeRegimes(bytes) * std::exp(noise(random)); }));
            double before = model->seconds(4);
            for (double bytes = 4; bytes < 128 * mib; bytes *= 1.01) {
                const double now = model->seconds(bytes);
                QVERIFY(std::isfinite(now) && now > 0);
                QVERIFY2(now > before * 0.85, qPrintable(QString::number(bytes))); // no more than the noise falls
                QVERIFY2(now < before * 1.2, qPrintable(QString::number(bytes)));  // and no jump
                before = now;
            }
        }
    }

    void everyRegimeHasTimesThatAreNoneNegative() {
        std::mt19937 random(3);
        std::uniform_real_distribution anything(1e-6, 1e-3);
        for (int trial = 0; trial < 100; ++trial) {
            const auto model = CostModel::fit(points(labSizes(), [&](double) { return anything(random); }));
            for (const Regime &regime : model->regimes()) {
                QVERIFY(regime.alphaS >= 0 && regime.betaSPerByte >= 0);
                QVERIFY(regime.fromBytes <= regime.toBytes && regime.points >= 2);
            }
        }
    }

    void whatIsNoTimeIsLeftOut() {
        QVERIFY(!CostModel::fit({}));
        QVERIFY(!CostModel::fit({{4, 1e-6}}));
        QVERIFY(!CostModel::fit({{4, 1e-6}, {8, std::nan("")}, {-1, 1}, {16, 0}}));
        const auto model = CostModel::fit({{4, 1e-6}, {4, 4e-6}, {8, 2e-6}});
        QVERIFY(model);
        QCOMPARE(model->seconds(4), 2e-6); // the same size twice: geometric mean
        QVERIFY(!model->crossErrorMedian());
    }

    void otherRanksFollowTheAlgorithmsFormula() {
        const CommunicationModel model = simpleModel(50e-6, 1e9);
        const double k = 8 * mib;
        const auto two = model.predict("ring_all_reduce", 2, k), four = model.predict("ring_all_reduce", 4, k);
        QVERIFY(two->ranksMeasured && !four->ranksMeasured);
        // 2(N-1)(a + b·K/N): alpha three times, bytes 2·3/4 against 2·1/2.
        QVERIFY(std::abs(four->seconds - (3 * 50e-6 + 1.5 * k / 1e9)) < 1e-3 * four->seconds);
        const auto server = model.predict("server_all_reduce", 4, k);
        QVERIFY(std::abs(server->seconds / model.predict("server_all_reduce", 2, k)->seconds - 3) < 1e-9);
        QVERIFY(four->high / four->low > two->high / two->low);
        QVERIFY(!model.predict("reduce_scatter", 2, k));
        QCOMPARE(model.predict("all_reduce", 1, k)->seconds, 0.0);
        QVERIFY(!model.predict("all_reduce", 2, 512 * mib)->bytesMeasured);
    }

    void thePublishedFormulasAreThese() {
        const auto pair = *CostModel::fit(points(labSizes(), [](double bytes) { return bytes / 1e9; }));
        const double k = 4 * mib, t = k / 1e9;
        for (const int n : {2, 4, 8}) {
            QVERIFY(std::abs(serverFormulaS(pair, n, k) - 2 * (n - 1) * t) < 1e-6 * t);
            QVERIFY(std::abs(ringFormulaS(pair, n, k) - 2 * (n - 1) * t / n) < 1e-6 * t);
        }
    }

    void heldOutSizesAreNeverShownToTheFit() {
        LabRecord record;
        for (const double bytes : labSizes())
            record.rows.push_back(labRow("all_reduce", 2, bytes, threeRegimes(bytes)));
        for (const double bytes : heldOutSizes())
            record.rows.push_back(labRow("all_reduce", 2, bytes, 1.0, true)); // absurd
        const auto model = fitLab(record);
        QVERIFY(std::abs(model.predict("all_reduce", 2, mib * 1.5)->seconds / threeRegimes(1.5 * mib) - 1) < 0.05);
        const auto fits = labFits(record, model);
        QCOMPARE(fits.size(), std::size_t(1));
        QCOMPARE(fits.front().heldOut, 8);
        QVERIFY(*fits.front().heldOutWorst > 0.9);
    }

    void aLabIsWhatItWasAfterDisk() {
        const Home home;
        LabRecord record;
        record.id = makeRunId();
        record.host = "box";
        record.backend = "gloo";
        record.device = "cpu";
        record.startWallUs = 1'700'000'000'000'000;
        record.cores = 2;
        record.notRun = {"nccl takes a GPU a rank"};
        record.rows = {labRow("all_reduce", 2, 4, 1e-5), labRow("send_recv", 2, 96 * kib, 1e-4, true)};
        record.rows.front().cpuS = 4e-6;
        record.nodes = *nodesFromText("hostA%eth0:0 agent=/opt/lockstep-agent;hostB%bond0:0,1");
        record.leftOut = {"all-reduce, 2 ranks: from 8.00 MiB on, since one would take about 0.7 s"};
        QVERIFY(writeLab(record).has_value());
        const auto read = readLab(record.id);
        QVERIFY(read.has_value());
        QVERIFY(*read == record);
        QCOMPARE(listLabs(), std::vector<std::string>{record.id});
        QVERIFY(newestLab().has_value());
        QVERIFY(!readLab("../../etc/passwd").has_value());
        QVERIFY(!labRecordFromJson("{\"lab\":1}").has_value());
    }

    void timesOfRanksThatTookNoPartInAMessageAreLeftOutOfEarlierLabs() {
        LabRecord record;
        record.id = "20260101T000000Z-00000001";
        record.rows = {labRow("send_recv_after_work", 2, 4, 3e-5), labRow("send_recv_after_work", 3, 4, 3e-5),
                       labRow("all_reduce", 4, 4, 1e-5)};
        LabRecord earlier = record;
        earlier.rows.push_back(labRow("send_recv_after_work", 4, 4, 2e-8));
        earlier.rows.push_back(labRow("send_recv_after_work", 4, 1024, 2e-8));
        const auto read = labRecordFromJson(toJson(earlier));
        QVERIFY(read.has_value());
        QVERIFY(read->rows == record.rows);
    }

    void aLabUnderAnothersNameIsNoLab() {
        const Home home;
        LabRecord record;
        record.id = "20260101T000000Z-00000001";
        QVERIFY(writeLab(record).has_value());
        const std::string other = "20260101T000001Z-00000002", path = labsFolder() + "/" + other + ".json";
        QCOMPARE(::link((labsFolder() + "/" + record.id + ".json").c_str(), path.c_str()), 0);
        const auto read = readLab(other);
        QVERIFY(!read && read.error().what.starts_with(path + " holds another record"));
        QCOMPARE(newestLab()->id, record.id);
    }

    void aLabIsNamedByItsFirstMemberNotByAnIdAnywhereInIt() {
        const Home home;
        const std::string id = "20260101T000000Z-00000001";
        const std::string whole = toJson(labNamed(id));
        QVERIFY(writeLab(labNamed(id)).has_value());
        const auto holdsAnother = [&](const std::string &text) {
            test::write(labsFolder() + "/" + id + ".json", text);
            const auto read = readLab(id);
            return !read && read.error().what.find(" holds another record") != std::string::npos;
        };
        QVERIFY(holdsAnother("{\"lab\":[\"" + id + "\",\"20260101T000000Z-00000002\"],\"rows\":[]}"));
        QVERIFY(holdsAnother("{\"host\":\"" + id + "\"," + whole.substr(1)));
        QVERIFY(holdsAnother("[" + whole + "]"));
        QVERIFY(holdsAnother(""));
        test::write(labsFolder() + "/" + id + ".json", "{\"lab\":\"" + id + "\",\"rows\":[]}"); // laid out otherwise
        QVERIFY(readLab(id).has_value());
        QCOMPARE(newestLab()->id, id);
    }

    void aLabOfMoreValuesOrBytesThanAnyHasIsRefused() {
        const Home home;
        const std::string id = "20260101T000000Z-00000001";
        std::string text = "{\"lab\":\"" + id + "\",\"rows\":[0";
        for (int i = 0; i < 500'000; ++i)
            text += ",0";
        const auto values = labRecordFromJson(text + "]}");
        QVERIFY(!values && values.error().message().find("more than 500000 values") != std::string::npos);
        QVERIFY(writeLab(labNamed(id)).has_value());
        test::write(labsFolder() + "/" + id + ".json", toJson(labNamed(id)) + std::string(16 << 20, ' '));
        const auto bytes = readLab(id);
        QVERIFY(!bytes && bytes.error().message().find("larger than 16 MiB") != std::string::npos);
    }

    void aSearchReadsLabsOfOtherPlacesNoFurtherThanTheirListsAndEndsAfterMuchInVain() {
        const Home home;
        const LabRecord here = labNamed("20260101T000000Z-00000000");
        QVERIFY(writeLab(here).has_value());
        const auto damage = [](const LabRecord &record) {
            QVERIFY(writeLab(record).has_value());
            test::write(labsFolder() + "/" + record.id + ".json", toJson(record) + std::string(9 << 20, ' ') + "x");
        };
        for (int i = 1; i <= 3; ++i) {
            LabRecord between = labNamed("20260101T000001Z-0000000" + std::to_string(i));
            between.nodes = *nodesFromText("hostA%eth0:0;hostB%bond0:0");
            damage(between);
        }
        damage(labNamed("20260101T000002Z-00000001"));
        QCOMPARE(newestLabOf({})->id, here.id);
        damage(labNamed("20260101T000002Z-00000002"));
        QVERIFY(!newestLabOf({}));
    }

    void theNewestHundredLabsAreSearched() {
        const Home home;
        LabRecord between;
        between.id = "20260101T000000Z-00000000";
        between.nodes = *nodesFromText("hostA%eth0:0;hostB%bond0:0");
        QVERIFY(writeLab(between).has_value());
        LabRecord here;
        for (int i = 1; i < 100; ++i) {
            here.id = "20260101T000000Z-000000" + std::to_string(100 + i).substr(1);
            QVERIFY(writeLab(here).has_value());
        }
        QVERIFY(newestLabOf(between.nodes).has_value());
        here.id = "20260101T000001Z-00000000";
        QVERIFY(writeLab(here).has_value());
        QVERIFY(!newestLabOf(between.nodes) && newestLabOf({}));
    }

    void linesOfTheTrainerAreTaken() {
        LabRecord record;
        const char *row = "{\"type\":\"row\",\"collective\":\"all_reduce\",\"ranks\":2,\"bytes\":4,\"held_out\":false,"
                          "\"sweeps\":5,\"repeats\":9,\"median_s\":1e-5,\"min_s\":9e-6,\"p90_s\":2e-5,"
                          "\"algbw_bytes_s\":4e5,\"busbw_bytes_s\":4e5}";
        const char *lacks =
            "{\"type\":\"not_offered\",\"collective\":\"reduce_scatter\",\"ranks\":2,\"reason\":\"why\"}";
        QVERIFY(takeLabLine(record, row).has_value());
        QVERIFY(takeLabLine(record, lacks).has_value());
        QVERIFY(!takeLabLine(record, "{\"type\":\"row\"}").has_value());
        QCOMPARE(record.rows.size(), std::size_t(1));
        QCOMPARE(record.notOffered.front(), std::string("reduce-scatter, 2 ranks: why"));
    }

    void linesBeyondWhatAnyLabHasAreRefused() {
        const auto notOffered = [](std::size_t letters) {
            return "{\"type\":\"not_offered\",\"collective\":\"x\",\"ranks\":2,\"reason\":\"" +
                   std::string(letters, 'R') + "\"}";
        };
        LabRecord record;
        QVERIFY(!takeLabLine(record, notOffered(1'000'000)).has_value());
        QVERIFY(!checkLabRoom(record, notOffered(1'000'000)).has_value());
        QVERIFY(!takeLabLine(record, notOffered(2000)).has_value());
        const std::string name(1000, 'x');
        QVERIFY(!takeLabLine(record, "{\"type\":\"left_out\",\"collective\":\"" + name +
                                         "\",\"ranks\":2,\"from_bytes\":8388608,\"estimate_s\":0.71}")
                     .has_value());
        QVERIFY(record.notOffered.empty() && record.leftOut.empty());
        for (int i = 0; i < 640; ++i)
            QVERIFY(takeLabLine(record, notOffered(100)).has_value());
        QVERIFY(!takeLabLine(record, notOffered(100)).has_value());
        QCOMPARE(record.notOffered.size(), std::size_t(640));
        record.notOffered.clear();
        record.rows.assign(32'767, labRow("all_reduce", 2, 4, 1e-5));
        QVERIFY(checkLabRoom(record, "{}").has_value());
        record.rows.push_back(record.rows.front());
        QVERIFY(!checkLabRoom(record, "{}").has_value());
    }

    void aLabWhoseNumbersAreNoMeasurementsIsRefused() {
        LabRecord record;
        record.rows = {labRow("all_reduce", 2, 4, 1e-5)};
        QVERIFY(labRecordFromJson(toJson(record)).has_value());
        for (const LabRow &row : {labRow("all_reduce", -5, 4, 1e-5), labRow("all_reduce", 2'000'000'000, 4, 1e-5),
                                  labRow("all_reduce", 2, -4, 1e-5), labRow("all_reduce", 2, 4, 1e300)}) {
            record.rows = {row};
            QVERIFY(!labRecordFromJson(toJson(record)).has_value());
        }
    }

    void aLabOfAnyNumberOfRowsIsRefused() {
        LabRecord record;
        for (int ranks = 2; ranks <= 64; ++ranks) // every operation on each number of ranks
            for (const char *name :
                 {"send_recv", "all_reduce", "ring_all_reduce", "server_all_reduce", "reduce_scatter", "all_gather",
                  "broadcast", "all_reduce_after_work", "send_recv_after_work"})
                for (int size = 1; size <= 51; ++size)
                    record.rows.push_back(labRow(name, ranks, size, 1e-5));
        QVERIFY(labRecordFromJson(toJson(record)).has_value());
        record.rows.clear();
        for (int size = 1; size <= 151; ++size)
            record.rows.push_back(labRow("all_reduce", 2, size, 1e-5));
        const auto many = labRecordFromJson(toJson(record));
        QVERIFY(!many && many.error().message().find("more than 150 sizes") != std::string::npos);
        record.rows.pop_back();
        QVERIFY(labRecordFromJson(toJson(record)).has_value());
        record.rows.clear();
        for (int ranks = 2; ranks <= 642; ++ranks)
            record.rows.push_back(labRow("all_reduce", ranks, 4, 1e-5));
        QVERIFY(!labRecordFromJson(toJson(record)).has_value());
    }

    void aLabOfAnotherProcessorOnAMachineOfTheSameNameWasMeasuredElsewhere() {
        LabRecord record;
        record.host = "box";
        record.cpuModel = "EPYC 9654";
        QCOMPARE(measuredElsewhere(record, {"box", "EPYC 9654"}), std::string());
        QCOMPARE(measuredElsewhere(record, {"box", ""}), std::string()); // unknown: the name decides
        QCOMPARE(measuredElsewhere(record, {"box", "Xeon 8592+"}),
                 std::string("The lab was measured on box (EPYC 9654), not here."));
        record.nodes = *nodesFromText("hostA%eth0:0;hostB%bond0:0");
        QCOMPARE(measuredElsewhere(record, {"box", "Xeon 8592+"}), std::string());
    }

    void aLabIsFoundByThePlacesItWasMeasuredBetween() {
        const Home home;
        LabRecord here, between;
        here.id = "20260101T000000Z-00000001";
        between.id = "20260101T000001Z-00000002";
        between.nodes = *nodesFromText("hostA%eth0:0 agent=/opt/lockstep-agent;hostB%bond0:0");
        QVERIFY(writeLab(here).has_value() && writeLab(between).has_value());
        QCOMPARE(newestLabOf({})->id, here.id);
        here.device = "cpu";
        LabRecord gpus = here;
        gpus.id = "20260101T000002Z-00000003";
        gpus.device = "cuda";
        RunConfig onCpu, onGpu;
        onGpu.device = "cuda";
        QVERIFY(writeLab(here).has_value() && !newestLabFor(onGpu));
        QVERIFY(writeLab(gpus).has_value());
        QCOMPARE(newestLabFor(onCpu)->id, here.id); // the newer one is of another kind of device
        QCOMPARE(newestLabFor(onGpu)->id, gpus.id);
        const auto of = [](const char *nodes) { return newestLabOf(*nodesFromText(nodes)); };
        QCOMPARE(of("hostA%eth0:0;hostB%bond0:0 data=/srv")->id,
                 between.id);                      // where the agent and the data lie is no matter
        QVERIFY(!of("hostA%eth0:0;hostB%eth0:0")); // another interface is
        QVERIFY(!of("hostA%eth0:0;hostC%bond0:0"));
        QVERIFY(!of("hostA%eth0:0;hostB%bond0:0,1"));
        QCOMPARE(whereMeasured(between), std::string("between hostA%eth0:0 and hostB%bond0:0"));
    }

    void ofSeveralLabsThatOfThisMachineAndOfDevicesLikeTheRunsIsUsed() {
        const Home home;
        RunConfig config;
        int second = 0;
        const auto wrote = [&](const MachineName &machine, bool oversubscribed, int cores) {
            LabRecord record = labNamed("20260101T00000" + std::to_string(second++) + "Z-00000001");
            record.host = machine.host;
            record.cpuModel = machine.cpuModel;
            record.device = "cpu";
            record.oversubscribed = oversubscribed;
            record.coresPerDevice = cores;
            return writeLab(record) ? record.id : std::string();
        };
        const MachineName here = thisMachine(), there{"bigbox.invalid", "EPYC 9654"};
        const std::string far = wrote(there, false, 1);
        QCOMPARE(newestLabFor(config)->id, far);
        const std::string shared = wrote(here, true, 1);
        const std::string later = wrote(there, false, 1);
        QCOMPARE(newestLabFor(config)->id, shared);
        QCOMPARE(newestLabOf({})->id, shared);
        const std::string wide = wrote(here, false, 2), sharedAgain = wrote(here, true, 1);
        QCOMPARE(newestLabFor(config)->id, wide);
        QCOMPARE(newestLabOf({})->id, sharedAgain); // the page shows the newest
        const std::string fitting = wrote(here, false, 1), wideAgain = wrote(here, false, 2);
        QCOMPARE(newestLabFor(config)->id, fitting);
        config.coresPerDevice = 2;
        QCOMPARE(newestLabFor(config)->id, wideAgain);
    }

    void aForecastSaysInWhatItsLabDiffersFromItsDevices() {
        LabRecord record;
        record.host = "bigbox";
        record.cpuModel = "EPYC 9654";
        record.device = "cpu";
        const MachineName box{"bigbox", "EPYC 9654"};
        RunConfig config;
        QVERIFY(labReservationsFor(config, record, box).empty());
        record.oversubscribed = true;
        record.coresPerDevice = 2;
        record.otherCores = 1.1;
        QCOMPARE(labReservationsFor(config, record, box),
                 (std::vector<std::string>{
                     "Each of the lab's ranks had 2 cores, a device of the forecast has 1 core.",
                     "The lab's ranks shared cores: its times say nothing about ranks with cores of their own.",
                     "While the lab measured, other programs used 1.1 cores of this machine: its times may be too "
                     "long."}));
        const auto elsewhere = labReservationsFor(config, record, {"small", "Xeon 8592+"});
        QCOMPARE(elsewhere.front(), std::string("The lab was measured on bigbox (EPYC 9654), not here."));
        QCOMPARE(elsewhere.back(), std::string("While the lab measured, other programs used 1.1 cores of bigbox: its "
                                               "times may be too long."));
        config.nodes = *nodesFromText("hostA%eth0:0;hostB%bond0:0");
        QCOMPARE(labReservationsFor(config, record, box).front(),
                 std::string("The lab was measured on bigbox, not between the places of the forecast."));
    }

    void overNodesFormulasTakeMessagesBetweenRanksOfDifferentNodes() {
        LabRecord record;
        record.nodes = *nodesFromText("hostA%eth0:0,1;hostB%eth0:0,1");
        const auto between = [](double bytes) { return 1e-3 + bytes / 1e8; };
        for (const double size : labSizes()) {
            const double bytes = std::floor(size);                                     // as they are kept
            record.rows.push_back(labRow("send_recv", 2, bytes, 1e-5 + bytes / 1e10)); // both on hostA
            for (const char *name : {"send_recv", "send_recv_after_work"}) {
                record.rows.push_back(labRow(name, 4, bytes, between(bytes)));
                record.rows.back().partner = 2;
            }
        }
        const CommunicationModel model = fitLab(record);
        const auto rows = ringVersusServer(record, model, {mib});
        QCOMPARE(rows.size(), std::size_t(2));
        for (const RingVersusServer &row : rows)
            QVERIFY(std::abs(*row.serverFormulaS / (2 * (row.ranks - 1) * between(mib)) - 1) < 1e-3);
        QVERIFY(std::abs(model.predict(messageBetweenNodes, 2, mib)->seconds / between(mib) - 1) < 1e-3);
        QVERIFY(!model.predict(messageInTraining, 2, mib));
        QVERIFY(model.predict(pairOfRanks, 2, mib)->seconds < between(mib) / 10); // within a node
        QCOMPARE(labFits(record, model).front().partner, 1);
        QCOMPARE(labFits(record, model).back().partner, 2);
        QVERIFY(*labRecordFromJson(toJson(record)) == record);
        for (LabRow &row : record.rows) // as an older version measured
            row.partner = 1;
        QVERIFY(!ringVersusServer(record, fitLab(record), {mib}).front().serverFormulaS);
        record.nodes = *nodesFromText("hostA%eth0:0;hostB%eth0:0"); // rank 1 is on the other one
        QVERIFY(ringVersusServer(record, fitLab(record), {mib}).front().serverFormulaS);
        record.rows.front().partner = 2; // of two ranks
        QVERIFY(!labRecordFromJson(toJson(record)));
    }

    void whatIsLeftOutIsASentence() {
        LabRecord record;
        QVERIFY(takeLabLine(record, "{\"type\":\"left_out\",\"collective\":\"all_reduce\",\"ranks\":2,"
                                    "\"from_bytes\":8388608,\"estimate_s\":0.71}")
                    .has_value());
        QCOMPARE(record.leftOut.front(),
                 std::string("all-reduce, 2 ranks: from 8 MiB on, since one would take about 710 ms"));
    }

    void sweepsAreReportedAsTheyWereMade() {
        LabRecord record;
        QCOMPARE(sweepsText(record), std::string("no rows"));
        record.rows.resize(2);
        record.rows[0].sweeps = record.rows[1].sweeps = 11;
        QCOMPARE(sweepsText(record), std::string("11 sweeps"));
        record.rows[1].sweeps = 22;
        QCOMPARE(sweepsText(record), std::string("11 to 22 sweeps"));
    }

    void otherProgramsAreReportedFromATenthOfACoreOn() {
        LabRecord record;
        QVERIFY(labReservations(record, {}).empty()); // unknown
        record.otherCores = 0.1;
        QVERIFY(labReservations(record, {}).empty());
        record.otherCores = 2.34;
        QCOMPARE(labReservations(record, {}),
                 std::vector<std::string>{"While the lab measured, other programs used 2.3 cores of this machine: its "
                                          "times may be too long."});
        const auto read = labRecordFromJson(toJson(record));
        QVERIFY(read && read->otherCores == record.otherCores);
        record.otherCores.reset();
        QVERIFY(!labRecordFromJson(toJson(record))->otherCores);
    }

    void whatThisProcessTakesIsNoOtherLoad() {
        const auto now = [] { return std::chrono::steady_clock::now(); };
        const auto ownS = [] {
            rusage used{};
            ::getrusage(RUSAGE_SELF, &used);
            return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   double(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
        };
        const auto cores = localMachineFacts().allowedCores.size();
        const double ownBefore = ownS();
        const auto begun = now();
        const OtherLoad load;
        std::vector<std::thread> busy;
        for (std::size_t i = 0; i < cores; ++i)
            busy.emplace_back([&] {
                while (now() - begun < std::chrono::milliseconds(500)) {
                }
            });
        for (std::thread &one : busy)
            one.join();
        const auto others = load.cores();
        const double tookS = std::chrono::duration<double>(now() - begun).count();
        const double left = double(cores) - (ownS() - ownBefore) / tookS; // others can't have had more than we left
        QVERIFY(others.has_value());
        QVERIFY2(*others <= left + 0.15 * double(cores), qPrintable(QString::number(*others)));
    }
};

QTEST_GUILESS_MAIN(CoreLabTest)
#include "lab_test.moc"
