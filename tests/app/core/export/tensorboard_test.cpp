// SPDX-License-Identifier: MIT
// A run as TensorBoard event files, read by TensorBoard itself: after it is over, and while it goes on.
#include <cmath>

#include <nlohmann/json.hpp>
#include <QDir>
#include <QProcess>
#include <QSignalSpy>

#include "core_support.h"
#include "export/event_file.h"
#include "export/tensorboard_writer.h"
#include "ipc/alerts.h"
#include "store/load_run.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

using Json = nlohmann::json;
const QString bin = QStringLiteral(LOCKSTEP_BIN), peers = QStringLiteral(LOCKSTEP_PEERS);

/// TensorBoard, reading one folder as its server does; reload() sees what was written since.
class TensorBoard {
public:
    explicit TensorBoard(const QString &folder) {
        m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        m_process.start(peers, {QStringLiteral(LOCKSTEP_SOURCE "/tests/app/read_events.py"), folder});
    }
    ~TensorBoard() {
        m_process.closeWriteChannel();
        m_process.waitForFinished(test::hangLimitMs);
    }
    /// {run: {tag: [[wall time, step, value], …]}}
    Json reload() {
        m_process.write("\n");
        while (!m_process.canReadLine())
            if (!m_process.waitForReadyRead(60'000))
                return {};
        return Json::parse(m_process.readLine().toStdString(), nullptr, false);
    }

private:
    QProcess m_process;
};

Json point(std::int64_t wallUs, std::int64_t step, double value) {
    const float kept = float(value); // TensorBoard's scalars
    return {double(wallUs) * 1e-6, step, std::isnan(kept) ? Json("nan") : Json(double(kept))};
}

Json points(const LossSeries &series) {
    Json out = Json::array();
    for (const LossPoint &one : series.points())
        out.push_back(point(one.wallUs, one.step, one.loss));
    return out;
}

/// What the folder of ddpRecording() must hold, from the frames by themselves.
Json expected(const std::string &folder, const std::vector<Frame> &frames) {
    Json out;
    RunStore store;
    store.setRecord(ddpRecord("x"));
    std::int64_t lastStep = 0;
    std::map<int, std::int64_t> reported;
    for (const Frame &frame : frames) {
        store.take(frame);
        const std::string rank = folder + "/rank" + std::to_string(frame.rank.value_or(0)), run = folder + "/run";
        if (const auto *epoch = std::get_if<EpochFrame>(&frame.body)) {
            out[rank]["epoch/duration_s"].push_back(point(frame.wallUs, epoch->epoch, epoch->durationS));
            for (const auto &[name, time] : epoch->phases)
                out[rank]["phase/" + name + "_s"].push_back(point(frame.wallUs, epoch->epoch, time.sumS));
            reported[epoch->epoch] = std::max(reported[epoch->epoch], frame.wallUs);
            if (frame.rank == 0) { // the second to report
                out[run]["epoch/metric/samples_per_s"].push_back(
                    point(reported[epoch->epoch], epoch->epoch, 1280 / 0.45));
                if (epoch->steps > 0)
                    out[run]["epoch/metric/step_ms"].push_back(
                        point(reported[epoch->epoch], epoch->epoch, 450.0 / double(epoch->steps)));
                out[run]["epoch/loss"].push_back(point(reported[epoch->epoch], epoch->epoch, *epoch->loss));
                out[run]["epoch/duration_s"].push_back(point(reported[epoch->epoch], epoch->epoch, 0.45));
            }
        } else if (const auto *eval = std::get_if<EvalFrame>(&frame.body)) {
            out[run]["epoch/test_accuracy"].push_back(point(frame.wallUs, eval->epoch, eval->accuracy));
        } else if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
            out[rank]["loss"].push_back(point(frame.wallUs, steps->lastStep, steps->loss->mean));
            const double trainedS = steps->phases.at("forward").sumS + steps->phases.at("backward").sumS;
            out[rank]["metric/samples_per_s"].push_back(point(frame.wallUs, steps->lastStep, 160 / trainedS));
            out[rank]["metric/step_ms"].push_back(
                point(frame.wallUs, steps->lastStep, trainedS * 1e3 / double(steps->count)));
            lastStep = steps->lastStep;
        } else if (const auto *device = std::get_if<DeviceFrame>(&frame.body)) {
            for (const DeviceSample &sample : device->devices)
                out[run]["device/" + sample.device + "/utilisation"].push_back(
                    point(frame.wallUs, lastStep, *sample.utilization));
        }
    }
    out[folder + "/run"]["loss"] = points(store.losses().all());
    out[folder + "/run"]["metric/samples_per_s"] = points(*store.metrics().series("samples_per_s"));
    out[folder + "/run"]["metric/step_ms"] = points(*store.metrics().series("step_ms"));
    return out;
}

Json read(const QString &folder) {
    TensorBoard reader(folder);
    return reader.reload();
}

QByteArray bytesOf(const std::string &path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class CoreTensorBoardTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void init() { m_home = std::make_unique<Home>(); }

    void aRecordIsFramedAsTfRecordsAre() {
        // With tensorboard.compat's masked_crc32c: length, its CRC, the bytes, their CRC.
        QCOMPARE(QByteArray::fromStdString(tfRecord("lockstep")).toHex(),
                 QByteArray("0800000000000000ff86240f6c6f636b73746570d7adff72"));
    }

    void aFinishedRunReadsInTensorBoardAsItWas() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        const std::string run = finishedRun(7);
        QTemporaryDir folder;
        const auto files = exportTensorBoard(folder.path().toStdString(), run);
        QVERIFY2(files.has_value(), files ? "" : files.error().message().c_str());
        QCOMPARE(files->size(), std::size_t(3)); // run, rank0, rank1: one writer a folder
        const Json seen = read(folder.path()), wanted = expected("DDP-x2_" + run, ddpRecording());
        QCOMPARE(seen.dump(1), wanted.dump(1));
    }

    void deviceSamplesOfARunWithoutALossStandAtTheStepsOfItsMetrics() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        const std::string run = finishedRun(12);
        std::vector<Frame> frames = ddpRecording();
        for (Frame &one : frames)
            if (auto *steps = std::get_if<StepsFrame>(&one.body))
                steps->loss.reset();
        std::string log;
        for (const std::string &line : sealed(run, frames))
            log += line + "\n";
        write(runFolder(run).log(0), log);
        QTemporaryDir folder;
        QVERIFY(exportTensorBoard(folder.path().toStdString(), run).has_value());
        const Json seen = read(folder.path()).at("DDP-x2_" + run + "/run");
        QVERIFY(!seen.contains("loss"));
        const Json &use = seen.at("device/cpu:0/utilisation");
        QCOMPARE(use.size(), std::size_t(2));
        QCOMPARE(use[0][1].get<int>(), 19);
        QCOMPARE(use[1][1].get<int>(), 39);
    }

    void exportedAgainItReplacesWhatWasThere() {
        const std::string run = finishedRun(8), other = finishedRun(9);
        QTemporaryDir folder;
        const auto first = exportTensorBoard(folder.path().toStdString(), run);
        QVERIFY(first.has_value());
        const QByteArray before = bytesOf(first->front());
        QVERIFY(!before.isEmpty());
        const auto again = exportTensorBoard(folder.path().toStdString(), run);
        QVERIFY(again.has_value());
        QCOMPARE(*again, *first);
        QCOMPARE(bytesOf(first->front()), before);
        const auto beside = exportTensorBoard(folder.path().toStdString(), other);
        QVERIFY(beside.has_value());
        QVERIFY(beside->front() != first->front());
    }

    void anExportThatTakesWhatEachFrameTouchesMissesNothing() {
        const std::string run = finishedRun(10);
        QTemporaryDir folder, whole;
        const auto files = exportTensorBoard(folder.path().toStdString(), run);
        QVERIFY(files.has_value());
        RunStore store(QString::fromStdString(run));
        std::optional<TensorBoardWriter> writer;
        const auto takeAll = [&] {
            if (!writer)
                writer.emplace(std::move(*TensorBoardWriter::open(whole.path().toStdString(), store)));
            QVERIFY(writer->takeNew(store).has_value());
        };
        QVERIFY(loadRun(store, runFolder(run), [&](const Frame &) { takeAll(); }).has_value());
        takeAll();
        const std::vector<std::string> wanted = writer->files();
        QCOMPARE(files->size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
            QCOMPARE(bytesOf((*files)[i]), bytesOf(wanted[i]));
    }

    void whatARestartMadeAgainIsExportedOnce() {
        const std::string run = finishedRun(11);
        std::vector<Frame> frames = ddpRecording(); // both epochs, then the second one again in longer windows
        frames.pop_back();                          // that it is done
        frames.push_back(frame(makeAlert(ranksRestarted, "all ranks are started again"), std::nullopt, 3000));
        for (const int rank : {0, 1}) {
            for (const int window : {0, 1}) {
                StepsFrame steps;
                steps.epoch = 2;
                steps.firstStep = 20 + 9 * window;
                steps.lastStep = steps.firstStep + 8;
                steps.count = 9;
                steps.samples = 9;
                steps.loss = LossWindow{1, 1, 1, 1};
                steps.phases["forward"] = {0.5, {}};
                frames.push_back(frame(steps, rank, 3100 + 500 * window));
            }
            EpochFrame epoch;
            epoch.epoch = 2;
            epoch.durationS = 1;
            epoch.steps = 18;
            frames.push_back(frame(epoch, rank, 4200));
        }
        std::erase_if(frames, [](const Frame &one) { return std::holds_alternative<DeviceFrame>(one.body); });
        std::string log;
        for (const std::string &line : sealed(run, frames))
            log += line + "\n";
        write(runFolder(run).log(0), log);
        QTemporaryDir folder, atTheEnd;
        const auto files = exportTensorBoard(folder.path().toStdString(), run);
        QVERIFY2(files.has_value(), files ? "" : files.error().message().c_str());
        RunStore store(QString::fromStdString(run));
        QVERIFY(loadRun(store, runFolder(run)).has_value());
        QCOMPARE(store.losses().ofRank(0)->points().back().step, std::int64_t(37));
        auto writer = TensorBoardWriter::open(atTheEnd.path().toStdString(), store);
        QVERIFY(writer.has_value() && writer->takeNew(store).has_value());
        const std::vector<std::string> wanted = writer->files();
        QCOMPARE(files->size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
            QCOMPARE(bytesOf((*files)[i]), bytesOf(wanted[i]));
    }

    void epochsAndTestsThatComeLateAreWrittenAsOneWhoLooksAtAllWritesThem() {
        const std::string run = "20260102T030405Z-0000000b";
        RunStore store(QString::fromStdString(run));
        store.setRecord(ddpRecord(run));
        QTemporaryDir folders[2];
        auto newest = TensorBoardWriter::open(folders[0].path().toStdString(), store),
             all = TensorBoardWriter::open(folders[1].path().toStdString(), store);
        QVERIFY(newest.has_value() && all.has_value());
        const auto take = [&](const Frame &one) {
            store.take(one);
            QVERIFY(newest->takeNew(store, one).has_value() && all->takeNew(store).has_value());
        };
        std::int64_t ms = 0;
        const auto end = [&](int epoch, std::int64_t apartMs) { // rank 1 may say it before rank 0 has
            EpochFrame body;
            body.epoch = epoch;
            body.durationS = 1;
            take(frame(body, 0, ms += 1000));
            take(frame(body, 1, ms + apartMs));
        };
        const auto test = [&](int epoch) {
            EvalFrame body;
            body.epoch = epoch;
            body.accuracy = 0.1 * epoch;
            take(frame(body, 0, ms += 1000));
        };
        end(1, 10);
        end(2, -10);
        end(4, 10);
        end(3, 10); // no longer written
        QCOMPARE(store.epochs().find(2)->endWallUs, frame({}, 0, 2000).wallUs);
        test(2);
        test(4);
        test(3);
        end(5, 10);
        test(5);
        take(frame(makeAlert(ranksRestarted, "all ranks are started again"), std::nullopt, ms));
        end(5, 20); // made again
        test(5);
        end(6, 10);
        test(6);
        QVERIFY(!store.epochs().find(7) && !store.epochs().find(0));
        QCOMPARE(newest->files().size(), all->files().size());
        for (std::size_t i = 0; i < all->files().size(); ++i) {
            QVERIFY(!bytesOf(all->files()[i]).isEmpty());
            QCOMPARE(bytesOf(newest->files()[i]), bytesOf(all->files()[i]));
        }
    }

    void aFurtherNodesTestIsWrittenOnceItCounts() {
        enum class Tests { OfTheFirstNode, OfBoth, OfTheFurtherNode };
        std::vector<QByteArray> written;
        for (const Tests tests : {Tests::OfTheFirstNode, Tests::OfBoth, Tests::OfTheFurtherNode}) {
            RunStore store(QStringLiteral("20260102T030405Z-0000000c"));
            store.setRecord(ddpRecord("20260102T030405Z-0000000c"));
            QTemporaryDir folder;
            auto writer = TensorBoardWriter::open(folder.path().toStdString(), store);
            QVERIFY(writer.has_value());
            std::int64_t ms = 0;
            const auto take = [&](FrameBody body, int rank) {
                Frame one = frame(std::move(body), rank, ms += 1000);
                one.node = rank;
                store.take(one);
                QVERIFY(writer->takeNew(store, one).has_value());
            };
            EvalFrame test;
            if (tests == Tests::OfBoth) { // before the first node's
                test.epoch = 9000;
                test.accuracy = 0.99;
                take(test, 1);
                ms = 0;
            }
            for (int epoch = 1; epoch <= 3; ++epoch) {
                EpochFrame done;
                done.epoch = test.epoch = epoch;
                done.durationS = 1;
                take(done, 0);
                take(done, 1);
                test.accuracy = 0.1 * epoch;
                take(test, tests == Tests::OfTheFurtherNode ? 1 : 0);
            }
            QCOMPARE(store.epochs().merged().size(), std::size_t(3));
            QVERIFY(writer->takeNew(store).has_value());
            written.emplace_back();
            for (const std::string &file : writer->files())
                written.back() += bytesOf(file);
        }
        QVERIFY(!written[0].isEmpty());
        QCOMPARE(written[1], written[0]);
        QCOMPARE(written[2], written[0]);
    }

    void oneWriterARun() {
        RunStore store(QStringLiteral("20260102T030405Z-00000001"));
        store.setRecord(ddpRecord("20260102T030405Z-00000001"));
        QTemporaryDir folder;
        auto writer = TensorBoardWriter::open(folder.path().toStdString(), store);
        QVERIFY(writer.has_value());
        const auto second = TensorBoardWriter::open(folder.path().toStdString(), store);
        QVERIFY(!second);
        QVERIFY2(second.error().message().find("another program") != std::string::npos,
                 second.error().message().c_str());
    }

    void aRunWithALongNameHasAFolderWithItsBeginning() {
        RunStore store(QStringLiteral("20260102T030405Z-00000001"));
        RunRecord record = ddpRecord("20260102T030405Z-00000001");
        record.name = std::string(5000, 'n');
        store.setRecord(record);
        QTemporaryDir folder;
        const auto writer = TensorBoardWriter::open(folder.path().toStdString(), store);
        QVERIFY2(writer.has_value(), writer ? "" : writer.error().message().c_str());
        const QStringList made = QDir(folder.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        QCOMPARE(made, QStringList{QString::fromStdString(std::string(200, 'n')) + "_20260102T030405Z-00000001"});
    }

    void aFolderThatCantBeWrittenIsReportedOnce() {
        RunStore store(QStringLiteral("20260102T030405Z-00000002"));
        TensorBoardFeed feed("/proc/nowhere");
        int found = 0;
        connect(&feed, &TensorBoardFeed::failed, this, [&](const Error &) { ++found; });
        store.setRecord(ddpRecord("x"));
        feed.follow(&store);
        for (const Frame &frame : ddpRecording()) {
            store.take(frame);
            store.flush();
        }
        feed.finish();
        QCOMPARE(found, 1);
    }

    void aLiveRunReadsWhileItGrows() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        const std::string run = "20260102T030405Z-00000003", name = "DDP-x2_" + run;
        RunStore store(QString::fromStdString(run));
        QTemporaryDir folder;
        TensorBoardFeed feed(folder.path().toStdString());
        feed.follow(&store);
        QVERIFY2(QDir(folder.path()).isEmpty(), "without its record the run has no name yet");
        store.setRecord(ddpRecord(run));
        TensorBoard reader(folder.path());
        const std::vector<Frame> frames = ddpRecording();
        const std::size_t half = frames.size() / 2;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            store.take(frames[i]);
            store.flush(); // as its timer does 30 times a second
            if (i + 1 == half) {
                const Json seen = reader.reload();
                const std::vector<Frame> so(frames.begin(), frames.begin() + std::ptrdiff_t(half));
                QCOMPARE(seen.dump(1), expected(name, so).dump(1));
            }
        }
        feed.finish();
        QCOMPARE(reader.reload().dump(1), expected(name, frames).dump(1));
    }

    void aRunThatWentOnFromACheckpointHasItsEpochsToo() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        const std::string run = "20260102T030405Z-00000004";
        RunStore store(QString::fromStdString(run));
        store.setRecord(ddpRecord(run));
        QTemporaryDir folder;
        TensorBoardFeed feed(folder.path().toStdString());
        feed.follow(&store);
        for (Frame one : ddpRecording()) {
            if (auto *steps = std::get_if<StepsFrame>(&one.body))
                steps->epoch += 2;
            if (auto *epoch = std::get_if<EpochFrame>(&one.body))
                epoch->epoch += 2;
            if (auto *eval = std::get_if<EvalFrame>(&one.body))
                eval->epoch += 2;
            store.take(one);
            store.flush();
        }
        feed.finish();
        const Json seen = read(folder.path())["DDP-x2_" + run + "/run"];
        for (const char *tag : {"epoch/loss", "epoch/duration_s", "epoch/test_accuracy"}) {
            QVERIFY2(seen.contains(tag) && seen[tag].size() == 2, tag);
            QCOMPARE(seen[tag][0][1].get<int>(), 3);
            QCOMPARE(seen[tag][1][1].get<int>(), 4);
        }
    }

    void aLossThatIsNoNumberIsOneThereToo() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        QTemporaryDir folder;
        auto file = EventFile::create(folder.path().toStdString(), 1'700'000'000'000'000);
        QVERIFY(file.has_value());
        QVERIFY(file->append({{"loss", 1'700'000'000'250'000, 3, std::nan("")}}).has_value());
        QCOMPARE(read(folder.path()).dump(),
                 Json({{".", {{"loss", Json::array({point(1'700'000'000'250'000, 3, std::nan(""))})}}}}).dump());
    }

    /// With real processes: written live beside the run, and afterwards from the log, TensorBoard reads the same.
    void writtenLiveAndAfterwardsIsTheSame() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        for (const char *name : {"lockstepctl", "lockstep-agent", "fake_rank"})
            if (!QFile::exists(bin + u'/' + QString::fromLatin1(name)))
                QSKIP(qPrintable(QStringLiteral("%1 is not built in %2").arg(QString::fromLatin1(name), bin)));
        qputenv("LOCKSTEP_TRAINER", (bin + QStringLiteral("/fake_rank")).toUtf8());
        qputenv("LOCKSTEP_AGENT", (bin + QStringLiteral("/lockstep-agent")).toUtf8());
        qputenv("FAKE_RANK", "step_ms=10");
        QTemporaryDir live, after, attached;
        const auto ctl = [](const QStringList &arguments) {
            QProcess process;
            process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
            process.start(bin + QStringLiteral("/lockstepctl"), arguments);
            process.waitForFinished(90'000);
            return process.exitCode() == 0 ? process.readAllStandardOutput() : QByteArray("failed");
        };
        const QByteArray ran = ctl({QStringLiteral("run"), QStringLiteral("lenet-dp-vs-ddp"), QStringLiteral("--quick"),
                                    QStringLiteral("--repeats"), QStringLiteral("1"), QStringLiteral("--json"),
                                    QStringLiteral("--tensorboard"), live.path()});
        const auto json = Json::parse(ran.toStdString(), nullptr, false);
        QVERIFY2(json.is_object(), ran.constData());
        const QByteArray files =
            ctl({QStringLiteral("export"), QString::fromStdString(json["experiment"]), QStringLiteral("--format"),
                 QStringLiteral("tensorboard"), QStringLiteral("--out"), after.path()});
        QVERIFY(files.count('\n') >= 5); // each run's own and its ranks'
        ctl({QStringLiteral("attach"), QString::fromStdString(json["experiment"]), QStringLiteral("--tensorboard"),
             attached.path()});
        Json one = read(live.path()), other = read(after.path()), third = read(attached.path());
        QVERIFY(one.size() >= 5);
        for (Json *all : {&one, &other, &third}) // a device's step is the last one known when it was sampled
            for (auto &[run, tags] : all->items())
                for (auto &[tag, values] : tags.items())
                    if (tag.starts_with("device/"))
                        for (Json &value : values)
                            value[1] = 0;
        QCOMPARE(one.dump(1), other.dump(1));
        QCOMPARE(third.dump(1), other.dump(1));
        QVERIFY(one.dump().find("epoch/test_accuracy") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(CoreTensorBoardTest)
#include "tensorboard_test.moc"
