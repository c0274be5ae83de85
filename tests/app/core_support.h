// SPDX-License-Identifier: MIT
#pragma once
// What the core's tests share: a home of their own, frames as an agent logs them, runs on disk.
#include <sys/inotify.h>
#include <unistd.h>

#include <array>

#include <QTemporaryDir>

#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/host_name.h"
#include "ipc/log.h"
#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"
#include "tests/qt_test.h"

namespace lockstep::test {

/// LOCKSTEP_HOME for the life of the test: nothing of the person's own runs is touched.
class Home {
public:
    Home() { qputenv("LOCKSTEP_HOME", m_folder.path().toUtf8()); }
    ~Home() { leaveSocketFolder(); } // of this home, which nobody will name again
    Home(const Home &) = delete;
    Home &operator=(const Home &) = delete;
    [[nodiscard]] std::string path() const { return m_folder.path().toStdString(); }

private:
    QTemporaryDir m_folder;
};

/// How often a file is opened from now on, by whichever process.
class OpenCount {
public:
    explicit OpenCount(const std::string &path) : m_watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        // Closing too, since equal events that follow each other are one.
        QVERIFY(::inotify_add_watch(m_watch, path.c_str(), IN_OPEN | IN_CLOSE) >= 0);
    }
    ~OpenCount() { ::close(m_watch); }
    OpenCount(const OpenCount &) = delete;
    OpenCount &operator=(const OpenCount &) = delete;
    [[nodiscard]] int soFar() {
        std::array<inotify_event, 64> events{}; // those of a file have no name
        for (ssize_t bytes = 0; (bytes = ::read(m_watch, events.data(), sizeof events)) > 0;)
            for (std::size_t i = 0; i < std::size_t(bytes) / sizeof(inotify_event); ++i)
                m_count += (events[i].mask & IN_OPEN) != 0 ? 1 : 0;
        return m_count;
    }

private:
    int m_watch, m_count = 0;
};

/// A machine of so many cores and no GPU.
inline MachineFacts machine(int cores) {
    MachineFacts facts;
    for (int i = 0; i < cores; ++i)
        facts.allowedCores.push_back(i);
    return facts;
}

inline Frame frame(FrameBody body, std::optional<int> rank, std::int64_t atMs) {
    Frame out;
    out.rank = rank;
    out.monoNs = 1'000'000'000 + atMs * 1'000'000;
    out.wallUs = 1'700'000'000'000'000 + atMs * 1000;
    out.body = std::move(body);
    return out;
}

/// A DDP run of two ranks, two epochs of 20 steps, as its agent would log it. Rank 1 is slower.
inline std::vector<Frame> ddpRecording() {
    std::vector<Frame> out;
    std::vector<std::uint64_t> rseq(2, 0);
    const auto rankFrame = [&](FrameBody body, int rank, std::int64_t atMs) {
        Frame one = frame(std::move(body), rank, atMs);
        one.rseq = rseq[std::size_t(rank)]++;
        out.push_back(std::move(one));
    };
    out.push_back(frame(StateFrame{}, std::nullopt, 0));
    for (int rank = 0; rank < 2; ++rank) {
        StateFrame init;
        init.pid = 100 + rank;
        init.host = "box";
        init.device = "cpu:" + std::to_string(rank);
        init.backend = "gloo";
        init.worldSize = 2;
        init.epochs = 2;
        init.totalSteps = 40;
        init.stepsPerEpoch = 20;
        rankFrame(init, rank, 1 + rank);
    }
    for (int epoch = 1; epoch <= 2; ++epoch) {
        const std::int64_t start = 100 + 1000 * (epoch - 1);
        for (int rank = 0; rank < 2; ++rank) {
            StateFrame training;
            training.state = RunState::Training;
            training.epoch = epoch;
            rankFrame(training, rank, start);
        }
        for (int window = 0; window < 4; ++window)
            for (int rank = 0; rank < 2; ++rank) {
                StepsFrame steps;
                steps.epoch = epoch;
                steps.firstStep = 20 * (epoch - 1) + 5 * window;
                steps.lastStep = steps.firstStep + 4;
                steps.count = 5;
                steps.samples = 160;
                const double loss = 2.0 / double(steps.lastStep + 1) + 0.1 * rank;
                steps.loss = LossWindow{loss - 0.01, loss, loss + 0.01, loss};
                steps.phases["forward"] = {0.05 + 0.01 * rank, 0.02};
                steps.phases["backward"] = {0.05, 0.02};
                rankFrame(steps, rank, start + 100 * (window + 1) + rank);
            }
        for (int rank : {1, 0}) { // the slower one reports first
            EpochFrame done;
            done.epoch = epoch;
            done.loss = 1.0 / epoch;
            done.durationS = 0.4 + 0.05 * rank;
            done.samples = 640;
            done.steps = 20;
            done.phases["forward"] = {0.2 + 0.04 * rank, 0.02};
            done.phases["backward"] = {0.2, 0.02};
            DeviceEpochUse use;
            use.device = "cpu:" + std::to_string(rank);
            use.utilizationMean = 0.5 + 0.25 * rank;
            done.devices = {use};
            rankFrame(done, rank, start + 510 + rank);
        }
        EvalFrame eval;
        eval.epoch = epoch;
        eval.accuracy = 0.7 + 0.1 * epoch;
        eval.samples = 10000;
        eval.perClassAccuracy = std::vector<double>(10, 0.7 + 0.1 * epoch);
        eval.durationS = 0.1;
        rankFrame(eval, 0, start + 600);
        DeviceFrame sampled;
        sampled.intervalS = 0.2;
        for (int device = 0; device < 2; ++device) {
            DeviceSample sample;
            sample.device = "cpu:" + std::to_string(device);
            sample.kind = "cpu";
            sample.utilization = 0.9;
            sampled.devices.push_back(sample);
        }
        out.push_back(frame(sampled, std::nullopt, start + 610));
    }
    rankFrame(LogFrame{"warning", "a \"line\", with commas", "console"}, 1, 2200);
    out.push_back(frame(AlertFrame{"warning", "straggler", "rank 1 is slower", 30}, 1, 2210));
    StateFrame done;
    done.state = RunState::Done;
    out.push_back(frame(done, std::nullopt, 2300));
    return out;
}

inline RunRecord ddpRecord(const std::string &run) {
    RunRecord record;
    record.run = run;
    record.name = "DDP on 2 devices";
    record.recipe = "lenet-dp-vs-ddp";
    RunConfig config;
    config.method = Method::Ddp;
    config.devices = {"0", "1"};
    config.epochs = 2;
    record.config = config;
    record.processes = 2;
    record.deviceNames = {"cpu:0", "cpu:1"};
    MachineRecord machine;
    machine.host = "box";
    record.machines = {machine};
    record.startWallUs = 1'700'000'000'000'000;
    return record;
}

inline RunResult doneResult(const std::string &run, std::uint64_t lines, double runTimeS = 2.5) {
    RunResult result;
    result.run = run;
    result.state = RunState::Done;
    result.exitCode = 0;
    result.runTimeS = runTimeS;
    result.logLines = lines;
    return result;
}

/// The sealed lines of the log that an agent on that host writes: header first.
inline std::vector<std::string> sealed(const std::string &run, const std::vector<Frame> &frames,
                                       const std::string &host = hostName()) {
    std::vector<std::string> lines;
    HeaderFrame header;
    header.run = run;
    header.host = host;
    lines.push_back(sealLine(encode(frame(header, std::nullopt, 0)), 0, 0));
    const std::int64_t number = std::strtoll(run.substr(run.rfind('-') + 1).c_str(), nullptr, 16);
    for (Frame one : frames) {
        one.monoNs += number; // no two runs begin at one moment
        lines.push_back(sealLine(encode(one), 0, lines.size()));
    }
    return lines;
}

inline void write(const std::string &path, const std::string &text) {
    QVERIFY2(realFileSystem().writeAtomically(path, text).has_value(), path.c_str());
}

/// A finished run in the runs folder; returns its id.
inline std::string finishedRun(std::uint32_t number, const RunRecord *base = nullptr, double runTimeS = 2.5) {
    char id[32];
    std::snprintf(id, sizeof id, "20260102T03%02u%02uZ-%08x", number / 60 % 60, number % 60, number);
    const std::string run = id;
    const RunFolder folder = runFolder(run);
    (void)realFileSystem().makeFolders(folder.path);
    RunRecord record = base ? *base : ddpRecord(run);
    record.run = run;
    record.startWallUs += number;
    const std::vector<std::string> lines = sealed(run, ddpRecording());
    std::string text;
    for (const std::string &line : lines)
        text += line + "\n";
    write(folder.config(), toJson(record));
    write(folder.log(0), text);
    write(folder.lock(0), "");
    write(folder.result(), toJson(doneResult(run, lines.size(), runTimeS)));
    return run;
}

} // namespace lockstep::test
