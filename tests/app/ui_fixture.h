// SPDX-License-Identifier: MIT
#pragma once
// Real run folders on disk for the window's tests: an experiment of baseline, DP and DDP whose logs are written by ipc's
// LogWriter with plausible frames, so that the window reads them exactly as it reads real ones.
#include <QApplication>
#include <QDir>
#include <QTemporaryDir>
#include <QWheelEvent>
#include <QWidget>

#include <cmath>
#include <memory>
#include <random>

#include "app/ui/theme/theme.h"
#include "experiment/experiment.h"
#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"
#include "nodes/node_book.h"
#include "tests/app/core_support.h"
#include "tests/qt_test.h"

namespace lockstep::uitest {

class Home : public test::Home {
public:
    [[nodiscard]] QString path() const { return QString::fromStdString(test::Home::path()); }
};

/// Into the list of nodes, as a person adds it.
inline void addNode(const char *name, const char *how, const char *host) {
    core::NodeEntry node;
    node.name = name;
    node.how = how;
    node.host = host;
    QVERIFY(core::addNode(node));
}

struct Shape {
    int epochs = 3;
    int stepsPerEpoch = 60;
    int windowSteps = 4;
    double stepS = 0.02; ///< baseline's; DP takes 1.7 times, DDP 0.6 times as long
    int repeats = 1;
    std::uint32_t firstRun = 1; ///< runs are numbered from here: two experiments in one home need unlike ones
    double loadShare = 0.08;    ///< of a step; forward takes what is left
    double stolenOfDdp = 0;     ///< share of DDP's time that a hypervisor gave to others; the other runs lost none
    double ddpFactor = 0.6;     ///< of a step of DDP
    double spread = 0;          ///< of a run's speed, evenly drawn up to this share above and below
    bool chairs = false;        ///< a metric "chairs", 3 + rank in each step, and "tables", the step's number
    bool traffic = false;       ///< with bytes that ranks sent
    double othersCores = 0;     ///< that other programs took of the machine while DDP ran
    bool marks = false;         ///< a checkpoint after each epoch, and in the second one an alert and a restart
};

/// Writes one run's log line by line.
class RunWriter {
public:
    RunWriter(const core::PlannedRun &planned, const std::string &experiment, std::uint32_t number,
              std::int64_t startUs, const Shape &shape)
        : m_planned(planned), m_shape(shape), m_random(number), m_number(number), m_startUs(startUs) {
        if (shape.spread > 0)
            m_speed = std::uniform_real_distribution(1 - shape.spread, 1 + shape.spread)(m_random);
        run = "20260102T0304" + std::to_string(10 + number % 50) + "Z-" +
              std::string(8 - std::to_string(number).size(), '0') + std::to_string(number);
        folder = runFolder(run);
        (void)realFileSystem().makeFolders(folder.path);
        record.run = run;
        record.name = planned.name;
        record.experiment = experiment;
        record.recipe = "lenet-dp-vs-ddp";
        record.repeat = planned.repeat;
        record.config = planned.config;
        record.processes = processCount(planned.config);
        for (const std::string &device : planned.config.devices)
            record.deviceNames.push_back("cpu:" + device);
        MachineRecord machine;
        machine.host = "box";
        machine.os = "Debian 12";
        record.machines.push_back(machine);
        record.startWallUs = startUs;
        (void)realFileSystem().writeAtomically(folder.config(), toJson(record));
        Frame header;
        header.wallUs = startUs;
        header.body = HeaderFrame{logFormat, run, "box"};
        if (auto opened = LogWriter::open(realFileSystem(), folder.log(0), 0, header))
            m_log = std::make_unique<LogWriter>(std::move(*opened));
    }

    [[nodiscard]] int ranks() const { return record.processes; }

    void begin() {
        for (int rank = 0; rank < ranks(); ++rank) {
            StateFrame state;
            state.state = RunState::Init;
            state.pid = 1000 + rank;
            state.host = "box";
            state.device = ranks() > 1 ? record.deviceNames[std::size_t(rank)] : record.deviceNames.front();
            state.backend = ranks() > 1 ? "gloo" : "";
            state.worldSize = ranks();
            state.threads = 1;
            state.epochs = m_shape.epochs;
            state.stepsPerEpoch = m_shape.stepsPerEpoch;
            state.totalSteps = std::int64_t(m_shape.stepsPerEpoch) * m_shape.epochs;
            send(rank, state);
            LogFrame line{"info", "rank " + std::to_string(rank) + " trains lenet on " + state.device, "trainer"};
            send(rank, line);
            state = {};
            state.state = RunState::Training;
            send(rank, state);
        }
    }

    void epoch(int number) {
        const double began = m_timeS;
        const std::int64_t first = std::int64_t(number - 1) * m_shape.stepsPerEpoch;
        for (std::int64_t step = first; step < first + m_shape.stepsPerEpoch; step += m_shape.windowSteps)
            window(number, step);
        for (int rank = 0; rank < ranks(); ++rank) {
            EpochFrame frame;
            frame.epoch = number;
            frame.loss = lossAt(double(first + m_shape.stepsPerEpoch));
            frame.durationS = m_timeS - began;
            frame.steps = m_shape.stepsPerEpoch;
            frame.samples = m_shape.stepsPerEpoch * 64 / ranks();
            frame.phases = phases(rank, m_shape.stepsPerEpoch);
            for (const std::string &device : record.deviceNames)
                frame.devices.push_back({device, use(device), std::min(1.0, use(device) + 0.08), {}, {}});
            send(rank, frame);
        }
        EvalFrame eval;
        eval.epoch = number;
        eval.accuracy = 0.9 - 0.3 / (1 + number);
        eval.loss = 0.3;
        eval.samples = 10000;
        for (int c = 0; c < 10; ++c)
            eval.perClassAccuracy.push_back(eval.accuracy - 0.02 + 0.004 * c);
        m_trainedS += m_timeS - began;
        m_accuracy = eval.accuracy;
        m_loss = lossAt(double(first + m_shape.stepsPerEpoch));
        m_summary.push_back({number, m_loss, m_timeS - began, std::int64_t(m_shape.stepsPerEpoch) * 64});
        m_timeS += 0.2;
        send(0, eval);
        if (m_shape.marks)
            addMarks(number);
    }

    void end(RunState state = RunState::Done, const std::string &reason = {}) {
        for (int rank = 0; rank < ranks(); ++rank) {
            StateFrame frame;
            frame.state = state;
            frame.detail = reason;
            send(rank, frame);
        }
        StateFrame whole;
        whole.state = state;
        whole.detail = reason;
        send(std::nullopt, whole);
        (void)m_log->sync();
        RunResult result;
        result.run = run;
        result.state = state;
        result.exitCode = state == RunState::Done ? 0 : 1;
        result.reason = reason;
        result.startWallUs = m_startUs;
        result.endWallUs = wallUs();
        result.runTimeS = m_timeS + 0.4;
        const bool disturbed = m_planned.config.method == Method::Ddp;
        result.surroundings.emplace().measuredS = result.runTimeS;
        result.surroundings->stolenS = disturbed ? m_shape.stolenOfDdp * result.runTimeS : 0.0;
        if (m_shape.othersCores > 0)
            result.surroundings->otherCpuS = disturbed ? m_shape.othersCores * result.runTimeS : 0.0;
        if (state == RunState::Done) {
            Summary summary;
            summary.method = std::string(toString(m_planned.config.method));
            summary.worldSize = ranks();
            summary.devices = record.deviceNames;
            summary.epochs = m_summary;
            summary.totalTrainingTimeS = m_trainedS;
            summary.runTimeS = m_timeS + 0.4;
            summary.testAccuracy = m_accuracy;
            for (const auto &[name, time] : phases(0, std::int64_t(m_summary.size()) * m_shape.stepsPerEpoch))
                summary.phasesS[name] = time.sumS;
            if (m_shape.chairs)
                summary.metrics["chairs"] = 3 + (ranks() - 1) / 2.0;
            result.summary = summary;
        }
        result.logLines = m_log->nextSeq();
        (void)realFileSystem().writeAtomically(folder.result(), toJson(result));
    }

    /// A rank that ended so, and with it the run.
    void died(int rank, const std::string &reason) {
        send(rank, ExitFrame{1000 + rank, "box1", {}, 9, "SIGKILL", reason});
        end(RunState::Failed, reason);
    }

    /// A sample in which a viewer took so many processor seconds a second.
    void watched(double cores) {
        DeviceFrame sample;
        sample.intervalS = 0.2;
        ProcessSample viewer;
        viewer.pid = 4711;
        viewer.cpuCores = cores;
        sample.viewers = {viewer};
        m_timeS += sample.intervalS;
        send(std::nullopt, sample);
        (void)m_log->sync();
    }
    void alert(const std::string &message) { send(std::nullopt, AlertFrame{"error", "rank_died", message, {}}); }
    [[nodiscard]] std::int64_t wallUs() const { return m_startUs + std::int64_t(m_timeS * 1e6); }

    std::string run;
    RunFolder folder;
    RunRecord record;

private:
    [[nodiscard]] double factor() const {
        const Method method = m_planned.config.method;
        return m_speed * (method == Method::Dp ? 1.7 : method == Method::Ddp ? m_shape.ddpFactor : 1.0);
    }
    [[nodiscard]] double use(const std::string &device) const {
        return m_planned.config.method == Method::Dp && device != "cpu:0" ? 0.31 : 0.92;
    }
    [[nodiscard]] double lossAt(double step) const {
        return 0.25 + 2.0 * std::exp(-step / (m_shape.stepsPerEpoch * 0.6));
    }
    PhaseTimes phases(int rank, std::int64_t steps) {
        const double step = m_shape.stepS * factor() * double(steps);
        PhaseTimes out;
        const auto add = [&](const char *name, double share) {
            out[name] = {step * share, step * share / double(steps) * 1.4};
        };
        const bool dp = m_planned.config.method == Method::Dp, ddp = m_planned.config.method == Method::Ddp;
        const double wait = ddp ? (rank ? 0.05 : 0.11) : 0;
        add("load", m_shape.loadShare);
        add("forward", 0.42 - m_shape.loadShare - wait / 2);
        add("backward", (ddp ? 0.32 : 0.5) - wait / 2);
        add("exposed", ddp ? 0.18 + wait : 0.0);
        if (!ddp)
            out.erase("exposed");
        add("optimizer", 0.06);
        add("other", 0.02);
        if (ddp) {
            add("wait", wait);
            add("comm", 0.3);
        }
        if (dp) {
            add("scatter", 0.04);
            add("replicate", 0.08);
            add("parallel_forward", 0.17);
            add("gather", 0.05);
            add("loss", 0.02);
            add("parallel_backward", 0.36);
            add("reduce", 0.14);
        }
        return out;
    }
    /// GPipe: each stage begins when the one before has done its first micro-batch, and is as long as the others.
    [[nodiscard]] CommFrame stageWork(const StepsFrame &window, int rank) const {
        CommFrame out;
        out.epoch = window.epoch;
        out.firstStep = window.firstStep;
        out.lastStep = window.lastStep;
        out.stageSteps = window.count;
        const int micro = m_planned.config.microBatches, rest = ranks() - 1 - rank;
        const double partS = m_shape.stepS * factor() / (3.0 * (micro + ranks() - 1));
        for (int i = 0; i < micro; ++i)
            out.stageWork.push_back({"forward", i, (rank + i) * partS, (rank + i + 1) * partS});
        const double backS = (micro + ranks() - 1) * partS;
        for (int i = 0; i < micro; ++i)
            out.stageWork.push_back(
                {"backward", i, backS + (rest + i) * 2 * partS, backS + (rest + i + 1) * 2 * partS});
        return out;
    }
    void window(int epoch, std::int64_t step) {
        const auto count =
            std::min<std::int64_t>(m_shape.windowSteps, m_shape.stepsPerEpoch * std::int64_t(epoch) - step);
        m_timeS += m_shape.stepS * factor() * double(count) * std::uniform_real_distribution(0.92, 1.08)(m_random);
        for (int rank = 0; rank < ranks(); ++rank) {
            StepsFrame frame;
            frame.epoch = epoch;
            frame.firstStep = step;
            frame.lastStep = step + count - 1;
            frame.count = count;
            frame.samples = count * 64 / ranks();
            const double mean = lossAt(double(step)) * std::uniform_real_distribution(0.88, 1.12)(m_random);
            frame.loss = LossWindow{mean * 0.9, mean, mean * 1.1, mean};
            frame.phases = phases(rank, count);
            if (m_shape.traffic && specOf(m_planned.config.method).traffic != Traffic::None)
                add(frame.scalars, "sent_mb", rank ? 4.8 : 4.9);
            for (std::int64_t at = step; m_shape.chairs && at < step + count; ++at) {
                add(frame.scalars, "chairs", 3 + rank);
                add(frame.scalars, "tables", double(at));
            }
            send(rank, frame);
            if (m_planned.config.method == Method::PsAsync) {
                CommFrame updates;
                updates.epoch = epoch;
                updates.firstStep = frame.firstStep;
                updates.lastStep = frame.lastStep;
                updates.staleness = {rank ? 2 : 6, 3, rank ? 5 : 1};
                send(rank, updates);
            }
            if (m_planned.config.method == Method::Pipeline)
                send(rank, stageWork(frame, rank));
        }
        DeviceFrame devices;
        devices.intervalS = 0.2;
        for (const std::string &device : record.deviceNames) {
            DeviceSample sample;
            sample.device = device;
            sample.kind = "cpu";
            sample.utilization = std::clamp(use(device) + std::normal_distribution(0.0, 0.04)(m_random), 0.0, 1.0);
            devices.devices.push_back(sample);
        }
        send(std::nullopt, devices);
    }
    void addMarks(int epoch) {
        StateFrame state;
        state.state = RunState::Checkpointing;
        state.epoch = epoch;
        for (int rank = 0; rank < ranks(); ++rank)
            send(rank, state);
        if (epoch == 2) {
            send(std::nullopt, AlertFrame{"warning", "straggler", "rank 0 is slower than the others", {}});
            send(std::nullopt, AlertFrame{"warning", "restart", "all ranks are started again, 1 of 3", {}});
        }
        m_timeS += 0.1;
        state = {};
        state.state = RunState::Training;
        for (int rank = 0; rank < ranks(); ++rank)
            send(rank, state);
    }
    template <class Body> void send(std::optional<int> rank, Body body) {
        Frame frame;
        frame.rank = rank;
        if (rank)
            frame.rseq = m_rseq[*rank]++;
        frame.monoNs = std::int64_t(m_timeS * 1e9) + m_number;
        frame.wallUs = wallUs();
        frame.body = std::move(body);
        m_log->append(encode(frame));
    }

    core::PlannedRun m_planned;
    Shape m_shape;
    std::mt19937 m_random;
    double m_speed = 1; ///< its time by the shape's
    std::unique_ptr<LogWriter> m_log;
    std::map<int, std::uint64_t> m_rseq;
    std::int64_t m_number, m_startUs;
    double m_timeS = 0, m_trainedS = 0, m_accuracy = 0, m_loss = 0;
    std::vector<EpochSummary> m_summary;
};

/// Turns the wheel over a widget by so many clicks, as a mouse does: what the widget does not want goes to its parents.
inline void turnWheel(QWidget *widget, const QPoint &at, int clicks, Qt::KeyboardModifiers keys = Qt::NoModifier) {
    QWheelEvent event(QPointF(at), QPointF(widget->mapToGlobal(at)), {}, {0, 120 * clicks}, Qt::NoButton, keys,
                      Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&event); // Qt hands only what comes from a device on to the parents
    (void)qApp->notify(widget, &event);        // sendEvent() would take that back
}

/// Light and dark into the folder LOCKSTEP_SHOTS, to be looked at; without it nothing.
inline void picture(QWidget &widget, ui::Theme &theme, const char *name) {
    const QString folder = qEnvironmentVariable("LOCKSTEP_SHOTS");
    if (folder.isEmpty())
        return;
    for (const auto mode : {ui::ThemeMode::Dark, ui::ThemeMode::Light}) {
        theme.setMode(mode);
        QCoreApplication::processEvents();
        (void)widget.grab().save(folder + u'/' + QString::fromLatin1(name) +
                                 (mode == ui::ThemeMode::Dark ? QStringLiteral("-dark.png") : QStringLiteral(".png")));
    }
}

/// A machine of two cores, whatever this one has.
inline MachineFacts twoCores() {
    return {{0, 1}, {}};
}

/// Writes a whole, finished experiment of a recipe and returns its id; empty: the recipe has a mistake.
inline std::string writeOnDisk(const core::Recipe &recipe, const Shape &shape, bool quick = false) {
    core::PlanOptions options;
    options.quick = quick;
    options.repeats = shape.repeats;
    options.set = {{"epochs", std::to_string(shape.epochs)}};
    auto plan = core::expand(recipe, twoCores(), options);
    if (!plan)
        return {};
    core::Experiment experiment = core::makeExperiment(*plan, recipe, quick, {});
    std::int64_t startUs = 1'767'323'045'000'000;
    std::uint32_t number = shape.firstRun;
    for (core::ExperimentEntry &entry : experiment.entries) {
        if (!entry.planned.runnable())
            continue;
        RunWriter writer(entry.planned, experiment.id, number++, startUs, shape);
        writer.begin();
        for (int epoch = 1; epoch <= shape.epochs; ++epoch)
            writer.epoch(epoch);
        writer.end();
        startUs = writer.wallUs() + 1'000'000;
        entry.run = writer.run;
        entry.state = core::EntryState::Done;
    }
    (void)core::writeExperiment(experiment);
    return experiment.id;
}

/// The same of the built-in recipe.
inline std::string writeExperimentOnDisk(const Shape &shape = {}, bool quick = false) {
    const auto recipe = core::loadRecipe("lenet-dp-vs-ddp");
    return recipe ? writeOnDisk(*recipe, shape, quick) : std::string();
}

/// The same with baseline done, while DP and DDP wait. The holder of its lock is its owner.
inline std::string writeUnfinishedExperiment(const Shape &shape = {}) {
    const std::string id = writeExperimentOnDisk(shape);
    auto experiment = core::readExperiment(id);
    for (std::size_t i = 1; i < experiment->entries.size(); ++i)
        if (experiment->entries[i].planned.runnable()) {
            experiment->entries[i].state = core::EntryState::Queued;
            experiment->entries[i].run.clear();
        }
    (void)core::writeExperiment(*experiment);
    return id;
}

} // namespace lockstep::uitest
