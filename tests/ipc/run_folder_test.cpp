// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>

#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/host_name.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

class FixedClock final : public Clock {
public:
    [[nodiscard]] std::int64_t monoNs() const override { return 0; }
    [[nodiscard]] std::int64_t wallUs() const override { return 1'767'323'045'999'999; }
};

Summary sampleSummary() {
    Summary summary;
    summary.method = "ddp";
    summary.backend = "gloo";
    summary.loader = "batch";
    summary.model = "lenet";
    summary.dataset = "fashion-mnist";
    summary.optimizer = "sgd";
    summary.precision = "fp32";
    summary.augment = "none";
    summary.worldSize = 2;
    summary.devices = {"cpu:0", "cpu:1"};
    summary.coresPerDevice = 2;
    summary.threads = 3;
    summary.workers = 1;
    summary.workersTotal = 2;
    summary.seed = 18446744073709551615ull;
    summary.batchSize = 64;
    summary.steps = 9380;
    summary.lr = 0.1 + 0.2;
    summary.epochs = {{1, 0.7, 4.1, 60000}, {2, std::nullopt, 4.0, 60000}};
    summary.firstEpoch = 2;
    summary.amidEpoch = true;
    summary.totalTrainingTimeS = 8.1;
    summary.runTimeS = 10.5;
    summary.testAccuracy = 0.8812;
    summary.perClassAccuracy = {0.8, 1.0};
    summary.classNames = {"bad", "good"};
    summary.phasesS = {{"load", 0.5}, {"backward", 3.25}};
    summary.parametersSha256 = "ab12";
    summary.peakRssBytes = 4e8;
    summary.replicaBatch = {32, 32};
    summary.stageLayers = "2,3";
    summary.copies = "pinned, non-blocking";
    summary.cudaGraph = true;
    summary.oversubscribed = true;
    return summary;
}

RunRecord sampleRecord() {
    RunRecord record;
    record.run = "20260102T030405Z-89abcdef";
    record.name = "DDP on 2 devices";
    record.experiment = "e";
    record.recipe = "lenet-dp-vs-ddp";
    record.repeat = 3;
    record.config = RunConfig{};
    record.config->epochs = 4;
    record.command = {"python", "train.py", "a b\n"};
    record.folder = "/home/me/a project";
    record.processes = 2;
    record.deviceNames = {"cpu:0", "cpu:1"};
    MachineRecord machine;
    machine.node = 1;
    machine.host = "box";
    machine.os = "Debian 12";
    machine.kernel = "6.18";
    machine.cpuModel = "Xeon";
    machine.sockets = 1;
    machine.cores = 2;
    machine.threads = 4;
    machine.allowedCores = "0-1";
    machine.memoryTotalBytes = 8e9;
    machine.devices = {{"cpu:0", "cpu", "Xeon", "0", "", std::nullopt}, {"GPU-1", "cuda", "H100", "", "GPU-1", 8e10}};
    machine.gpuDriver = "580.1";
    machine.torchVersion = "2.11.0";
    machine.agentVersion = "0.1.0";
    machine.interfaces = {{"lo", "127.0.0.1"}, {"eth0", "10.0.0.2"}};
    record.machines = {machine};
    record.lockstepVersion = "0.1.0";
    record.about = {{"method", "ddp"}, {"hidden", "8"}};
    record.startWallUs = 1'767'323'045'000'000;
    record.files = RecordedFiles{"rank 0 on box, pid 7, at 1767323045000000 us", 1'234};
    return record;
}

} // namespace

class RunFolderTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_home;
    RunFolder m_folder;

    void write(const std::string &path, const std::string &text) {
        QVERIFY(realFileSystem().writeAtomically(path, text).has_value());
    }

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<QTemporaryDir>();
        qputenv("LOCKSTEP_HOME", m_home->path().toUtf8());
        m_folder = runFolder("20260102T030405Z-89abcdef");
        QVERIFY(realFileSystem().makeFolders(m_folder.path).has_value());
    }
    void cleanup() { qunsetenv("LOCKSTEP_HOME"); }

    void namesOfDevicesAndPhasesTurnNoNumbersBesideThem() {
        const std::string turned = "cpu\xE2\x80\xAE", shown = "cpu\xEF\xBF\xBD";
        RunRecord record = sampleRecord();
        record.deviceNames = {turned};
        record.machines.front().host = record.machines.front().devices.front().name = turned;
        const auto back = runRecordFromJson(toJson(record));
        QVERIFY(back.has_value());
        QCOMPARE(back->deviceNames.front(), shown);
        QCOMPARE(back->machines.front().host, shown);
        QCOMPARE(back->machines.front().devices.front().name, shown);
        Summary summary = sampleSummary();
        summary.phasesS = {{turned, 1}};
        QVERIFY(summaryFromJson(toJson(summary))->phasesS.contains(shown));
    }

    void runIdsAreTimesAndChance() {
        QCOMPARE(makeRunId(FixedClock(), 0x89abcdef), std::string("20260102T030405Z-89abcdef"));
        QCOMPARE(makeRunId(FixedClock(), 1), std::string("20260102T030405Z-00000001"));
        QVERIFY(isRunId(makeRunId()));
        QVERIFY(makeRunId() != makeRunId());
        for (const char *bad : {"", "20260102T030405Z-89abcde", "20260102T030405Z-89ABCDEF", "../../../../etc/passwd",
                                "20260102T030405Z-89abcdef/", "20260102 030405Z-89abcdef"})
            QVERIFY(!isRunId(bad));
    }

    void foldersFollowTheEnvironment() {
        const std::string home = m_home->path().toStdString();
        QCOMPARE(dataHome(), home);
        QCOMPARE(runsFolder(), home + "/runs");
        QCOMPARE(experimentsFolder(), home + "/experiments");
        const std::string socket = runSocketPath("20260102T030405Z-89abcdef").value();
        for (const char *more : {"/", "//", "/.", "/x/.."}) { // the same folder
            qputenv("LOCKSTEP_HOME", QByteArray::fromStdString(home + more));
            QCOMPARE(dataHome(), home);
            QCOMPARE(runSocketPath("20260102T030405Z-89abcdef").value(), socket);
        }
        qputenv("LOCKSTEP_HOME", "here/");
        QCOMPARE(dataHome(), QDir::currentPath().toStdString() + "/here");
        qunsetenv("LOCKSTEP_HOME");
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        qputenv("XDG_DATA_HOME", "/x");
        QCOMPARE(dataHome(), std::string("/x/lockstep"));
        qputenv("XDG_DATA_HOME", "relative");
        QVERIFY(QString::fromStdString(dataHome()).endsWith("/.local/share/lockstep"));
        before.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", before);
    }

    void aRecordComesBackAsItWas() {
        RunRecord record = sampleRecord();
        record.name = "DDP ×2"; // as an older version named it
        const auto back = runRecordFromJson(toJson(record));
        record.name = "DDP on 2 devices";
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(toJson(*back), toJson(record));
        QVERIFY(back->machines == record.machines);
        QVERIFY(back->config == record.config);
        QVERIFY(back->command == record.command);
        QVERIFY(back->name == record.name && back->repeat == 3 && back->startWallUs == record.startWallUs);
        RunRecord script;
        script.command = {"python"};
        QVERIFY(!runRecordFromJson(toJson(script))->config);
    }

    void aSummaryComesBackAsItWas() {
        const Summary summary = sampleSummary();
        const auto back = summaryFromJson(toJson(summary));
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(toJson(*back), toJson(summary));
        QVERIFY(back->epochs == summary.epochs);
        QVERIFY(back->firstEpoch == 2 && back->amidEpoch);
        QVERIFY(back->phasesS == summary.phasesS && back->classNames == summary.classNames);
        QVERIFY(back->seed == summary.seed && back->lr == summary.lr && back->oversubscribed);
        QVERIFY(back->copies == summary.copies && back->cudaGraph);
        const auto keys = QJsonDocument::fromJson(QByteArray::fromStdString(toJson(summary))).object().keys();
        for (const char *key : {"method",
                                "backend",
                                "world_size",
                                "devices",
                                "cores_per_device",
                                "threads",
                                "workers",
                                "workers_total",
                                "loader",
                                "model",
                                "dataset",
                                "seed",
                                "batch_size",
                                "optimizer",
                                "lr",
                                "precision",
                                "augment",
                                "steps",
                                "epochs",
                                "total_training_time_s",
                                "run_time_s",
                                "test_accuracy",
                                "per_class_accuracy",
                                "phases_s",
                                "parameters_sha256",
                                "peak_rss_bytes"})
            QVERIFY2(keys.contains(key), key);
        QVERIFY(!summaryFromJson("{}")->testAccuracy); // unknown is absent
        Summary diverged;
        diverged.epochs = {{1, std::nan(""), 1, 1}};
        QVERIFY(std::isnan(*summaryFromJson(toJson(diverged))->epochs[0].loss));
    }

    void aResultComesBackAsItWas() {
        RunResult result;
        result.run = "20260102T030405Z-89abcdef";
        result.state = RunState::Failed;
        result.exitCode = 1;
        result.reason = "rank 1 on box was killed by SIGKILL";
        result.startWallUs = 5;
        result.endWallUs = 6;
        result.runTimeS = 1.5;
        result.ranks = {{0, "box", 0, std::nullopt, ""}, {1, "box", std::nullopt, 9, "SIGKILL"}};
        result.summary = sampleSummary();
        result.watching = Watching{12.5, 0.7, 0.2, 0.1, std::nullopt};
        result.surroundings = Surroundings{11.5, 0.3, std::nullopt, 2.5, {"CPU quota"}};
        result.logLines = 4711;
        result.warnings = {"the log can't be synced"};
        const auto back = runResultFromJson(toJson(result));
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(toJson(*back), toJson(result));
        QVERIFY(back->watching == result.watching); // what the kernel did not report stays absent
        QVERIFY(back->surroundings == result.surroundings);
        QVERIFY(toJson(result).find("\"nodes") == std::string::npos); // of one node
        result.watching->nodes = result.surroundings->nodes = 3;
        result.surroundings->nodesUnknown = 1;
        result.surroundings->loadedNode = "hostB";
        result.surroundings->heldNode = "hostC";
        result.surroundings->freeCores = 4;
        const auto ofSeveral = runResultFromJson(toJson(result));
        QVERIFY(ofSeveral && ofSeveral->surroundings == result.surroundings && ofSeveral->watching == result.watching);
        QVERIFY(back->ranks[1].signal == 9 && !back->ranks[1].code);
        result.summary.reset();
        QVERIFY(!runResultFromJson(toJson(result))->summary);
    }

    void aLaunchRequestIsOneLineAndStrict() {
        LaunchRequest request;
        request.record = sampleRecord();
        request.detach = false;
        const std::string line = toJson(request);
        QVERIFY(line.find('\n') == std::string::npos);
        const auto back = launchRequestFromJson(line);
        QVERIFY2(back.has_value(), back ? "" : back.error().message().c_str());
        QCOMPARE(toJson(*back), line);
        const auto newer = launchRequestFromJson("{\"record\":{\"config\":{\"telepathy\":true}}}");
        QVERIFY(!newer);
        QVERIFY(newer.error().message().find("telepathy") != std::string::npos);
        QVERIFY(!launchRequestFromJson("{}"));
    }

    void aScriptsRecordHasNoKeysThatSayNothingOfIt() {
        RunRecord record = sampleRecord();
        record.config->epochs = RunConfig{}.epochs;
        record.config->workers = 2;
        record.config->batchSize = 77; // chosen, though nobody says that it is the script's
        record.claims.known = {"method", "workers"};
        const std::string text = toJson(record);
        for (const char *key : {"method", "workers", "batch_size"})
            QVERIFY2(text.find('"' + std::string(key) + "\":") != std::string::npos, key);
        for (const char *key : {"model", "dataset", "epochs", "optimizer"})
            QVERIFY2(text.find('"' + std::string(key) + "\":") == std::string::npos, key);
        QVERIFY(runRecordFromJson(text)->config == record.config);
        record.claims.known.reset(); // a recipe that says all of its script
        QVERIFY(toJson(record).find("\"model\":") != std::string::npos);
    }

    void aRecordOfANewerVersionIsRead() {
        const auto record = runRecordFromJson("{\"run\":\"r\",\"mood\":\"good\",\"config\":{\"epochs\":2,\"telepathy\":"
                                              "true},\"machines\":[{\"gpus\":1}]}");
        QVERIFY2(record.has_value(), record ? "" : record.error().message().c_str());
        QCOMPARE(record->config->epochs, 2);
    }

    void wrongTypesAreRefusedWithTheKey_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *text, const char *says) {
            QTest::newRow(text) << QByteArray(text) << QByteArray(says);
        };
        row("", "JSON");
        row("[]", "object");
        row("{\"run\":7}", "\"run\" should be a text");
        row("{\"state\":\"done\",\"ranks\":{}}", "\"ranks\" should be a list");
        row("{\"state\":\"done\",\"ranks\":[1]}", "object");
        row("{\"state\":\"done\",\"ranks\":[{\"code\":\"0\"}]}", "code");
        row("{\"state\":\"done\",\"exit_code\":99999999999}", "exit_code");
        row("{\"state\":\"done\",\"log_lines\":-1}", "log_lines");
        row("{\"state\":\"training\"}", "state");
        row("{}", "state");
        row("{\"state\":\"done\",\"run_time_s\":\"fast\"}", "run_time_s");
        row("{\"state\":\"done\",\"summary\":{\"epochs\":[{\"loss\":[]}]}}", "loss");
        row("{\"state\":\"done\",\"summary\":{\"phases_s\":{\"load\":\"x\"}}}", "phases_s");
        row("{\"state\":\"done\",\"summary\":{\"devices\":[1]}}", "devices");
    }
    void wrongTypesAreRefusedWithTheKey() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, says);
        const auto result = runResultFromJson(text.toStdString());
        QVERIFY(!result);
        QVERIFY2(result.error().message().find(says.toStdString()) != std::string::npos,
                 result.error().message().c_str());
    }

    void theStateOfARunFollowsFromItsFiles() {
        using Kind = RunStatus::Kind;
        QVERIFY(readRunStatus(m_folder).kind == Kind::Starting); // only the folder is there
        {
            const auto lock = FileLock::acquire(m_folder.lock(0));
            QVERIFY(lock.has_value());
            QVERIFY(readRunStatus(m_folder).kind == Kind::Starting);
            write(m_folder.log(0), "");
            QVERIFY(readRunStatus(m_folder).kind == Kind::Running);
        }
        QVERIFY(readRunStatus(m_folder).kind == Kind::AgentDied);
        QCOMPARE(readRunStatus(m_folder).sentence, std::string("failed: agent died"));
        RunResult result;
        result.state = RunState::Stopped;
        result.reason = "stopped by lockstepctl";
        write(m_folder.result(), toJson(result));
        const RunStatus status = readRunStatus(m_folder);
        QVERIFY(status.kind == Kind::Finished && status.result);
        QCOMPARE(status.sentence, std::string("stopped: stopped by lockstepctl"));
        result.state = RunState::Done;
        write(m_folder.result(), toJson(result));
        QCOMPARE(readRunStatus(m_folder).sentence, std::string("done"));
        write(m_folder.result(), "{\"state\":");
        QVERIFY(readRunStatus(m_folder).kind == Kind::Unknown);
        QVERIFY(readRunStatus(m_folder).sentence.find("result.json") != std::string::npos);
    }

    void aResultThatNobodyCanReadIsNoFailure() {
        static_cast<void>(FileLock::acquire(m_folder.lock(0)).has_value());
        write(m_folder.log(0), "");
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::AgentDied);
        write(m_folder.result(), "{}");
        QCOMPARE(::truncate(m_folder.result().c_str(), off_t(resultLimits.bytes) + 1), 0);
        const RunStatus status = readRunStatus(m_folder);
        QVERIFY(status.kind == RunStatus::Kind::Unknown && !status.result);
        QVERIFY2(status.sentence.find("larger than 16 MiB") != std::string::npos, status.sentence.c_str());
    }

    void aResultThatIsALinkToItselfOrToNothingIsThereAndCantBeRead() {
        for (const char *leadsTo : {"result.json", "nowhere.json"}) {
            QCOMPARE(::symlink(leadsTo, m_folder.result().c_str()), 0);
            const RunStatus status = readRunStatus(m_folder);
            QVERIFY(status.kind == RunStatus::Kind::Unknown && !status.result); // else it would be waited for
            QVERIFY2(status.sentence.find("result.json can't be used: ") != std::string::npos, status.sentence.c_str());
            QCOMPARE(::unlink(m_folder.result().c_str()), 0);
        }
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Starting);
    }

    void aResultOfAnotherRunIsNone() {
        RunResult result;
        result.state = RunState::Done;
        result.run = "20260102T030405Z-00000001";
        write(m_folder.result(), toJson(result));
        QVERIFY(!readRunResult(m_folder));
        const RunStatus status = readRunStatus(m_folder);
        QVERIFY(status.kind == RunStatus::Kind::Unknown && !status.result);
        QVERIFY2(status.sentence.find("that of run " + result.run) != std::string::npos, status.sentence.c_str());
        result.run = "20260102T030405Z-89abcdef";
        write(m_folder.result(), toJson(result));
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Finished);
    }

    void epochsThatWouldMakeAResultTooLongToReadAreLeftOut() {
        RunResult result;
        result.summary = sampleSummary();
        QCOMPARE(runResultFromJson(toJson(result))->summary->epochs.size(), std::size_t(2));
        result.reason.assign(resultLimits.bytes - 8192, 'x');
        result.summary->epochs.resize(1000);
        const std::string text = toJson(result);
        QVERIFY(text.size() <= resultLimits.bytes);
        const auto read = runResultFromJson(text);
        QVERIFY(read && read->summary && read->summary->epochs.empty());
        QCOMPARE(read->summary->totalTrainingTimeS, result.summary->totalTrainingTimeS);
        QVERIFY(read->warnings.front().find("too many for result.json") != std::string::npos);
    }

    void aKilledAgentIsSeenAtOnce() {
        int ends[2];
        QCOMPARE(::pipe(ends), 0);
        const pid_t agent = ::fork();
        if (agent == 0) {
            const auto lock = FileLock::acquire(m_folder.lock(0));
            static_cast<void>(realFileSystem().writeAtomically(m_folder.log(0), "").has_value());
            static_cast<void>(!::write(ends[1], "x", 1));
            ::pause();
            ::_exit(0);
        }
        char c;
        QCOMPARE(::read(ends[0], &c, 1), ssize_t{1});
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Running);
        ::kill(agent, SIGKILL);
        ::waitpid(agent, nullptr, 0);
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::AgentDied);
        ::close(ends[0]);
        ::close(ends[1]);
    }

    void aCopyOfARunElsewhereIsNotCalledDead() {
        write(m_folder.log(0), "");
        write(m_folder.origin(), "{\"prefix\":[\"ssh\",\"box\"]}");
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Running);
    }

    void aRunElsewhereIsUnknownOnceNothingIsHeardOfItAndDeadOnceThatIsKnown() {
        write(m_folder.log(0), "");
        write(m_folder.origin(), R"({"host":"box"})");
        std::filesystem::last_write_time(m_folder.log(0),
                                         std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Unknown);
        QVERIFY(readRunStatus(m_folder).sentence.starts_with("as last seen on box;"));
        write(m_folder.origin(), "{\"host\":\"a\\nb" + std::string(60'000, 'c') + "\"}");
        QVERIFY(readRunStatus(m_folder).sentence.starts_with("as last seen on a bccc"));
        QVERIFY(readRunStatus(m_folder).sentence.size() < 2 * longestReportedName);
        write(m_folder.origin(), R"({"host":"box","state":"agent_died"})");
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::AgentDied);
    }

    void aFreeLockInACopyOnTheSameMachineSaysNothing() {
        const std::string copied = m_folder.lock(0) + ".copy";
        write(m_folder.log(0), "");
        {
            const auto lock = FileLock::acquire(m_folder.lock(0));
            QVERIFY(lock.has_value());
            write(copied, *realFileSystem().readAll(m_folder.lock(0)));
        }
        QVERIFY(!FileLock::isCopy(m_folder.lock(0)) && FileLock::isCopy(copied));
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::AgentDied);
        QCOMPARE(::rename(copied.c_str(), m_folder.lock(0).c_str()), 0);
        QVERIFY(readRunStatus(m_folder).kind == RunStatus::Kind::Unknown);
        QVERIFY(readRunStatus(m_folder).sentence.find("as in a copy") != std::string::npos);
    }

    void aFreeLockMeansADeadAgentOnItsOwnMachineAlone() {
        using Kind = RunStatus::Kind;
        RunRecord record;
        record.machines.emplace_back().host = "hostB"; // where ranks are that somebody else started
        write(m_folder.config(), toJson(record));
        const auto writeLog = [&](const std::string &host) {
            HeaderFrame header;
            header.run = makeRunId();
            header.host = host;
            Frame frame;
            frame.body = header;
            write(m_folder.log(0), sealLine(encode(frame), 0, 0) + "\n");
        };
        writeLog("hostA");
        {
            const auto lock = FileLock::acquire(m_folder.lock(0)); // a shared file system shows hostA's
            QVERIFY(lock.has_value());
            QVERIFY(readRunStatus(m_folder).kind == Kind::Running);
        }
        QVERIFY(readRunStatus(m_folder).kind == Kind::Unknown);
        QCOMPARE(readRunStatus(m_folder).sentence,
                 std::string("as last seen on hostA; whether it still runs there is unknown"));
        writeLog(hostName());
        QVERIFY(readRunStatus(m_folder).kind == Kind::AgentDied);
        writeLog("hostA");
        RunResult result;
        result.state = RunState::Done;
        write(m_folder.result(), toJson(result));
        QVERIFY(readRunStatus(m_folder).kind == Kind::Finished);
    }
};

QTEST_GUILESS_MAIN(RunFolderTest)
#include "run_folder_test.moc"
