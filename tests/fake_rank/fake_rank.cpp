// SPDX-License-Identifier: MIT
// A rank without a model: it connects, says hello, reports states, steps, epochs and evaluations like lockstep-trainer,
// writes --summary, hears stop and SIGTERM, and misbehaves as behaviour.h lists. Unknown arguments are ignored, so it can
// stand in for lockstep-trainer (LOCKSTEP_TRAINER=…/fake_rank).
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "ipc/clock.h"
#include "ipc/cores.h"
#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "tests/fake_rank/behaviour.h"
#include "tests/fake_rank/wire.h"

using namespace lockstep;

namespace {

constexpr int samplesAStep = 32;
std::atomic<bool> terminated = false;

int environmentNumber(const char *name, int otherwise) {
    const char *text = std::getenv(name);
    return text && *text ? std::atoi(text) : otherwise;
}

/// lockstep-trainer's flags as far as they are understood; what is not is left out.
RunConfig configFrom(int argc, char **argv) {
    RunConfig config;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        for (const FieldSpec &field : runConfigFields()) {
            if (flagOf(field) != argument.substr(0, equals))
                continue;
            if (equals != std::string::npos)
                (void)field.set(config, argument.substr(equals + 1));
            else if (field.type == FieldType::Switch)
                (void)field.set(config, "true");
            else if (i + 1 < argc)
                (void)field.set(config, argv[++i]);
        }
    }
    return config;
}

class FakeRank {
public:
    FakeRank(int argc, char **argv)
        : m_rank(environmentNumber("RANK", 0)), m_worldSize(environmentNumber("WORLD_SIZE", 1)),
          m_behaviour(Behaviour::fromEnvironment(m_rank)), m_wire(m_rank), m_config(configFrom(argc, argv)) {
        m_epochs = static_cast<int>(m_behaviour.number("epochs", argc > 1 ? m_config.epochs : 2));
        m_stepsAnEpoch = m_behaviour.number("steps", 10);
        m_stepMs = m_behaviour.number("step_ms", 10);
        if (m_behaviour.has("show_environment"))
            showEnvironment(argc, argv);
    }

    int run();
    [[nodiscard]] bool shallRunAgain() const {
        return m_behaviour.has("again") && !std::getenv("FAKE_RANK_RUNS_AGAIN");
    }

private:
    void showEnvironment(int argc, char **argv);
    void beforeTraining();
    void startChild();
    /// False when a stop was heard.
    bool trainEpoch(int epoch);
    void misbehaveAt(long step);
    void beatAt(long step, const std::string &phase, bool waits);
    void writeTrace();
    void work(std::int64_t ms);
    [[nodiscard]] PhaseTimes workStep();
    void sendSteps(int epoch, PhaseTimes phases);
    void sendState(RunState state, const std::string &detail = {});
    void writeSummary() const;
    bool stopHeard();
    double lossAt(long step) const { return 2.3 * std::exp(-0.02 * static_cast<double>(step)); }

    int m_rank, m_worldSize, m_epochs = 2;
    Behaviour m_behaviour;
    Wire m_wire;
    RunConfig m_config;
    long m_stepsAnEpoch = 10, m_stepMs = 10, m_step = 0;
    std::vector<EpochSummary> m_done;
    SystemClock m_clock;
};

void FakeRank::showEnvironment(int argc, char **argv) {
    for (const char *name :
         {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GLOO_SOCKET_IFNAME", "MASTER_ADDR",
          "MASTER_PORT", "LOCKSTEP_FRAMES", "LOCKSTEP_MASTER_LISTEN_FD", "TORCHELASTIC_RESTART_COUNT"})
        if (const char *value = std::getenv(name))
            std::printf("%s=%s\n", name, value);
    std::printf("CORES=%s\n", formatCores(allowedCores()).c_str());
    std::printf("PGID=%d PID=%d\n", getpgrp(), getpid());
    std::printf("ARGUMENTS=");
    for (int i = 1; i < argc; ++i)
        std::printf("%s ", argv[i]);
    std::printf("\n");
    std::fflush(stdout);
}

void FakeRank::startChild() {
    const pid_t child = fork();
    if (child == 0) {
        if (m_behaviour.has("stray"))
            setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    std::printf("child %d\n", child);
    std::fflush(stdout);
}

void FakeRank::sendState(RunState state, const std::string &detail) {
    StateFrame body;
    body.state = state;
    body.detail = detail;
    if (state == RunState::Init) {
        body.pid = getpid();
        char host[256] = {};
        gethostname(host, sizeof host - 1);
        body.host = host;
        body.device = "cpu:" + std::to_string(m_rank);
        body.cores = formatCores(allowedCores());
        body.backend = m_worldSize > 1 ? "gloo" : "none";
        body.worldSize = m_worldSize;
        body.threads = 1;
        body.epochs = m_epochs;
        body.stepsPerEpoch = m_stepsAnEpoch;
        body.totalSteps = m_stepsAnEpoch * m_epochs;
        body.leavesPausesOut = m_behaviour.has("leaves_pauses_out");
    }
    m_wire.send(body);
}

void FakeRank::beforeTraining() {
    if (m_behaviour.has("leave_group"))
        (void)!setpgid(0, getpgid(getppid()));
    if (m_behaviour.has("say"))
        std::printf("%s\n", m_behaviour.text("say").c_str());
    for (long i = 0; i < m_behaviour.number("print", 0); ++i)
        std::printf("line %ld of rank %d\n", i, m_rank);
    std::fflush(stdout);
    if (m_behaviour.has("complain"))
        std::fprintf(stderr, "%s\n", m_behaviour.text("complain").c_str());
    if (m_behaviour.has("child") || m_behaviour.has("stray"))
        startChild();
    std::this_thread::sleep_for(std::chrono::milliseconds(m_behaviour.number("start_ms", 0)));
    if (m_behaviour.has("like_python"))
        m_wire.writeLikePython();
    if (m_behaviour.has("tally"))
        m_wire.keepTally(m_behaviour.text("tally"));
    if (!m_behaviour.has("no_connect"))
        m_wire.open(!m_behaviour.has("no_hello"));
    if (m_behaviour.has("no_connect") || m_behaviour.has("no_hello"))
        return;
    sendState(RunState::Init);
    m_wire.send(LogFrame{"info", "fake rank " + std::to_string(m_rank) + " is ready", "trainer"});
    for (long i = 0; i < m_behaviour.number("malformed", 0); ++i)
        m_wire.sendRaw("{\"type\":\"steps\",\"rank\":" + std::to_string(m_rank) + ",oops " + std::to_string(i));
    if (m_behaviour.has("wrong_rank"))
        m_wire.sendRaw(R"({"type":"heartbeat","rank":4711,"rseq":2,"mono_ns":1,"wall_us":1})");
    if (m_behaviour.has("huge"))
        m_wire.sendRaw(std::string(80 * 1024, 'x'));
    if (m_behaviour.has("gap"))
        m_wire.skipNumber();
    for (long i = 0; i < m_behaviour.number("flood", 0); ++i)
        m_wire.send(LogFrame{"info", "flood " + std::to_string(i), "trainer"});
    sendState(RunState::Training);
}

/// As the trainer writes it, 100 KB of it.
void FakeRank::writeTrace() {
    const char *folder = std::getenv("LOCKSTEP_TRACES");
    std::filesystem::create_directories(folder);
    const std::string path = std::string(folder) + "/rank-" + std::to_string(m_rank) + ".json";
    char event[160];
    std::ofstream out(path + ".part");
    out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (int i = 0; i < 1000; ++i) {
        std::snprintf(event, sizeof event,
                      R"(%s{"ph":"X","name":"step","pid":%d,"tid":0,"ts":%.3f,"dur":1.000,"args":{"step":%d}})",
                      i == 0 ? "" : ",\n", m_rank, static_cast<double>(m_clock.monoNs()) * 1e-3, i);
        out << event;
    }
    out << "\n]}\n";
    out.close();
    std::filesystem::rename(path + ".part", path);
}

/// Hangs, and says in heartbeats where: in a phase, or in the step's one collective.
void FakeRank::beatAt(long step, const std::string &phase, bool waits) {
    const auto since = std::chrono::steady_clock::now();
    const long beatMs = 200;
    while (!stopHeard()) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - since;
        RankPosition at{step, phase, passed.count(), step + (waits ? 1 : 0), step, {}};
        if (waits)
            at.waitS = passed.count();
        m_wire.send(HeartbeatFrame{at});
        std::this_thread::sleep_for(std::chrono::milliseconds(beatMs));
    }
}

void FakeRank::misbehaveAt(long step) {
    if (m_behaviour.at("trace_at", step))
        writeTrace();
    if (m_behaviour.has("first_time") && environmentNumber("TORCHELASTIC_RESTART_COUNT", 0) > 0)
        return;
    if (m_behaviour.at("exit_at", step) && m_behaviour.has("last_words")) {
        std::fprintf(stderr, "%s\n", m_behaviour.text("last_words").c_str());
        std::this_thread::sleep_for(std::chrono::milliseconds(m_behaviour.number("linger_ms", 0)));
    }
    if (m_behaviour.at("exit_at", step))
        std::_Exit(static_cast<int>(m_behaviour.number("exit", 1)));
    if (m_behaviour.at("crash_at", step))
        std::abort();
    if (m_behaviour.at("kill_at", step))
        kill(getpid(), SIGKILL);
    while (m_behaviour.at("hang_at", step) && !stopHeard())
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (m_behaviour.at("load_at", step))
        beatAt(step, "load", false);
    if (m_behaviour.at("wait_at", step))
        beatAt(step, "exposed", true);
}

void FakeRank::work(std::int64_t ms) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    if (!m_behaviour.has("burn"))
        return std::this_thread::sleep_until(until);
    while (std::chrono::steady_clock::now() < until) {
    }
}

/// One step and where its time went: `phases` as they are set, else what was measured, 2:3 forward and backward.
PhaseTimes FakeRank::workStep() {
    PhaseTimes out;
    std::int64_t sumMs = 0;
    std::istringstream parts(m_behaviour.text("phases"));
    for (std::string part; std::getline(parts, part, ',');) {
        const auto colon = part.find(':');
        const std::int64_t ms = std::atoi(part.c_str() + colon + 1);
        const std::string name = part.substr(0, colon);
        sumMs += ms;
        out[name].sumS += static_cast<double>(ms) * 1e-3;
        if (name == phase::wait)
            out[std::string(phase::exposed)].sumS += static_cast<double>(ms) * 1e-3;
    }
    const std::int64_t start = m_clock.monoNs();
    work(out.empty() ? m_stepMs : sumMs);
    if (!out.empty())
        return out;
    const double seconds = static_cast<double>(m_clock.monoNs() - start) * 1e-9;
    out["forward"] = {seconds * 0.4, seconds * 0.4};
    out["backward"] = {seconds * 0.6, seconds * 0.6};
    return out;
}

bool FakeRank::stopHeard() {
    if (m_behaviour.has("ignore_term"))
        return false;
    return terminated || (!m_behaviour.has("ignore_control") && m_wire.stopAsked());
}

void FakeRank::sendSteps(int epoch, PhaseTimes phases) {
    const double loss = m_behaviour.at("nan_at", m_step) ? std::numeric_limits<double>::quiet_NaN() : lossAt(m_step);
    StepsFrame body;
    body.epoch = epoch;
    body.firstStep = body.lastStep = m_step;
    body.count = 1;
    body.samples = samplesAStep;
    body.loss = LossWindow{loss, loss, loss, loss};
    body.phases = std::move(phases);
    m_wire.send(body);
}

bool FakeRank::trainEpoch(int epoch) {
    EpochFrame body;
    body.epoch = epoch;
    body.startMonoNs = m_clock.monoNs();
    for (long i = 0; i < m_stepsAnEpoch; ++i, ++m_step) {
        if (stopHeard())
            return false;
        misbehaveAt(m_step);
        PhaseTimes phases = workStep();
        for (const auto &[name, time] : phases)
            body.phases[name].sumS += time.sumS;
        sendSteps(epoch, std::move(phases));
    }
    body.durationS = static_cast<double>(m_clock.monoNs() - body.startMonoNs) * 1e-9;
    if (m_behaviour.has("phases")) { // an epoch is as long as its reported steps
        body.durationS = 0;
        for (const std::string_view name : additivePhases())
            if (const auto found = body.phases.find(name); found != body.phases.end())
                body.durationS += found->second.sumS;
    }
    body.loss = lossAt(m_step);
    body.steps = m_stepsAnEpoch;
    body.samples = m_stepsAnEpoch * samplesAStep;
    m_wire.send(body);
    m_done.push_back({epoch, body.loss, body.durationS, body.samples * m_worldSize});
    if (m_rank == 0)
        m_wire.send(EvalFrame{epoch, 0.5 + 0.4 * (1 - std::exp(-epoch)), lossAt(m_step), 1000, {}, 0.01});
    return true;
}

void FakeRank::writeSummary() const {
    if (m_config.summary.empty() || m_rank != 0)
        return;
    Summary summary;
    summary.method = toString(m_config.method);
    summary.backend = m_worldSize > 1 ? "gloo" : "none";
    summary.model = m_config.model;
    summary.dataset = m_config.dataset;
    summary.loader = m_config.loader;
    summary.optimizer = m_config.optimizer;
    summary.precision = m_config.precision;
    summary.augment = m_config.augment;
    summary.worldSize = m_worldSize;
    summary.devices = deviceNames(m_config, MachineFacts{});
    summary.coresPerDevice = m_config.coresPerDevice;
    summary.seed = m_config.seed;
    summary.batchSize = globalBatch(m_config);
    summary.lr = m_config.lr;
    summary.workers = m_config.workers;
    summary.workersTotal = m_config.workers * m_worldSize;
    summary.epochs = m_done;
    summary.steps = m_step;
    double total = 0;
    for (const EpochSummary &epoch : m_done)
        total += epoch.durationS;
    summary.totalTrainingTimeS = total;
    summary.testAccuracy = 0.5 + 0.4 * (1 - std::exp(-m_epochs));
    std::ofstream(m_config.summary) << toJson(summary) << '\n';
}

int FakeRank::run() {
    beforeTraining();
    const auto first = static_cast<int>(m_behaviour.number("first_epoch", 1));
    for (int epoch = first; epoch < first + m_epochs; ++epoch)
        if (!trainEpoch(epoch)) {
            sendState(RunState::Stopped, "asked to stop");
            return 130;
        }
    const int code = static_cast<int>(m_behaviour.number("exit", 0));
    sendState(code == 0 ? RunState::Done : RunState::Failed);
    if (code == 0)
        writeSummary();
    return code;
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::string(argv[1]) == "--facts") { // FAKE_TORCH: the version of PyTorch it claims to run with
        const char *torch = std::getenv("FAKE_TORCH");
        std::printf("{\"torch\":\"%s\"}\n", torch ? torch : "");
        return 0;
    }
    signal(SIGTERM, [](int) { terminated = true; });
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && std::string_view(argv[1]) == "check") { // it would be a lie of any but a fake rank
        std::puts(R"({"type":"check","ok":true})");
        return 0;
    }
    FakeRank rank(argc, argv);
    const int code = rank.run();
    if (rank.shallRunAgain()) {
        setenv("FAKE_RANK_RUNS_AGAIN", "1", 1);
        execv("/proc/self/exe", argv);
    }
    return code;
}
