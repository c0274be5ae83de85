// SPDX-License-Identifier: MIT
#include "trainer/engine/training.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "ipc/alerts.h"
#include "ipc/class_limit.h"
#include "ipc/logging.h"
#include "ipc/phase_sums.h"
#include "ipc/printable.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/process_facts.h"
#include "trainer/engine/settings_summary.h"
#include "trainer/engine/start_files.h"
#include "trainer/engine/stop_flag.h"
#include "trainer/strategies/dp.h"

namespace lockstep::trainer {

namespace {

/// More than the laps, DP's parts and the buckets of a step, and than the transfers of eight buckets in four segments each.
std::size_t spansAStep(const Session &session) {
    const auto others = static_cast<std::size_t>(session.communicator->worldSize() - 1);
    return 64 + static_cast<std::size_t>(session.config.workers) +
           (session.config.allReduce == "ring" ? 64 * others : 0);
}

StepRecorder::Outputs outputsOf(Session &session, DivergenceWatch &divergence) {
    return {[&session](StepsFrame window) { session.frames->send(std::move(window)); },
            [&divergence](std::int64_t step, double loss) { divergence.onNonFinite(step, loss); }};
}

/// Whether this run's gradients travel by TCP, so that the kernel counts their bytes, and a look at a few sockets is short beside a
/// step.
bool countsTraffic(const Session &session) {
    return session.backend == "gloo" && session.communicator->worldSize() > 1 && !session.communicator->someOnGpu();
}

/// LOCKSTEP_STEP_WINDOW_MS: how long steps are gathered before they are reported; 0 reports each one, at the cost of a frame per step.
std::chrono::milliseconds windowOfSteps() {
    const char *text = std::getenv("LOCKSTEP_STEP_WINDOW_MS");
    const std::string_view given = text ? text : "";
    int window = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), window);
    const bool good = !given.empty() && error == std::errc() && end == given.data() + given.size() && window >= 0;
    return std::chrono::milliseconds(good ? window : 100);
}

/// Layers of each stage, as --stage-layers takes them; empty: no stages.
std::string stageLayersOf(const Strategy &strategy) {
    std::string text;
    for (const std::size_t layers : strategy.stageLayers())
        text += (text.empty() ? "" : ",") + std::to_string(layers);
    return text;
}

/// A rank's epoch as numbers for all ranks: loss, the samples of that, samples, seconds, then all registered metrics. One that this rank
/// does not measure, as a rank that only serves measures few, has the weight 0.
std::vector<double> epochNumbers(const EpochTotals &totals, const Scalars &scalars) {
    std::vector<double> numbers{totals.lossSum, static_cast<double>(totals.lossSamples()),
                                static_cast<double>(totals.samples), totals.durationS};
    for (const MetricSpec &spec : metrics()) {
        const auto found = scalars.find(spec.name);
        const ScalarWindow scalar = found == scalars.end() ? ScalarWindow{0, 0, 0, 0, 0} : found->second;
        numbers.insert(numbers.end(), {scalar.sum, scalar.weight, scalar.min, scalar.max, scalar.last});
    }
    return numbers;
}

/// The inverse; `own`: this rank's epoch, for what all have in common.
EpochFrame epochOf(std::span<const double> numbers, const EpochFrame &own) {
    EpochFrame epoch;
    epoch.epoch = own.epoch;
    epoch.steps = own.steps;
    epoch.samples = static_cast<std::int64_t>(numbers[2]);
    epoch.durationS = numbers[3];
    std::size_t at = 4;
    for (const MetricSpec &spec : metrics()) {
        if (numbers[at + 1] != 0)
            epoch.scalars[spec.name] = {numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3],
                                        numbers[at + 4]};
        at += 5;
    }
    return epoch;
}

} // namespace

Training::Training(Session &session)
    : m_session(session), m_saver(session), m_divergence(session),
      m_recorder(*session.clock, outputsOf(session, m_divergence), windowOfSteps(), session.placement.names,
                 session.config.onNonfinite == "rollback"),
      m_evaluator(session.test, *session.communicator, session.device(), session.dtype), m_stragglers(session),
      m_shards(session), m_comm(session) {}

void Training::sendInit() {
    const Session &s = m_session;
    StateFrame init;
    init.state = RunState::Init;
    init.pid = ::getpid();
    init.host = hostName();
    for (const auto &name : s.placement.names)
        init.device += (init.device.empty() ? "" : ",") + name;
    init.cores = formatCores(s.placement.cores);
    init.backend = s.backend;
    init.scheduling = schedulingPolicy();
    init.version = LOCKSTEP_VERSION;
    init.worldSize = s.env.worldSize;
    init.threads = s.placement.threads;
    init.epochs = s.config.epochs;
    init.stepsPerEpoch = s.loader->steps();
    init.totalSteps = s.loader->steps() * s.config.epochs;
    if (hasReplicas(specOf(s.config.method)))
        init.replicaBatch = scatterSizes(processBatch(s.config, s.env), deviceCount(s.config));
    if (!std::getenv("LOCKSTEP_RUN")) // our agent knows the config; other readers don't
        for (const FieldSpec &field : runConfigFields())
            if (const std::string value = field.get(s.config); !field.perProcess && !value.empty())
                init.about.emplace(field.key, value);
    for (const DataSet *set : {&s.train, &s.test})
        init.files.insert(set->sha256.begin(), set->sha256.end());
    if (s.isRank0()) // whose parameters all ranks begin with
        init.files.merge(startFiles(s.config));
    if (s.config.oversubscribe)
        init.detail = "devices may share cores: not comparable";
    if (s.delay)
        init.detail += (init.detail.empty() ? "" : "; ") + s.delay->sentence();
    s.frames->send(init);
    if (!s.delay || s.delay->rank != s.env.rank)
        return;
    warn(makeAlert("test_delay", s.delay->sentence()));
}

void Training::warn(const AlertFrame &alert) {
    m_session.frames->send(alert);
    logWarning(alert.message);
}

/// What is cut by measured times may be cut otherwise the next time.
void Training::logStages() const {
    const std::string layers = stageLayersOf(*m_session.strategy);
    if (m_session.isRank0() && !layers.empty() && m_session.config.stageLayers.empty())
        logInfo("by measured times the stages have " + layers + " layers; --stage-layers=" + layers +
                " cuts the model so again");
}

void Training::sendState(RunState state, std::optional<int> epoch, std::string detail) {
    StateFrame frame;
    frame.state = state;
    frame.epoch = epoch;
    frame.detail = std::move(detail);
    m_session.frames->send(frame);
}

Result<Outcome> Training::run() {
    m_progress = m_saver.resume();
    m_madeBefore = m_progress.unfinished;
    if (m_session.env.attempt == 0) {
        m_firstEpoch = static_cast<int>(m_progress.epochs.size()) + 1;
        m_amidEpoch = m_madeBefore.steps > 0;
    }
    sendInit();
    if (const std::string otherwise = m_saver.madeOtherwise(); m_session.isRank0() && !otherwise.empty())
        warn(makeAlert("resumed_otherwise", otherwise));
    logStages();
    m_session.trace->ask(m_session.config.trace);
    m_session.frames->setOnTrace([trace = m_session.trace.get()](std::int64_t steps) { trace->ask(steps); });
    m_session.frames->setPosition([position = &m_session.position] { return position->position(); });
    // On every path, since the sender outlives the trace and the position.
    const std::shared_ptr<void> forget(nullptr, [this](void *) {
        m_session.frames->setOnTrace({});
        m_session.frames->setPosition({});
    });
    const auto done = trainEpochs();
    if (m_session.trace->unfinished())
        writeTrace();
    m_traceWriter.finish();
    return done;
}

Result<Outcome> Training::trainEpochs() {
    stop_flag::training(); // from here on a signal waits for the step that all ranks agree on
    m_session.communicator->barrier();
    const int firstEpoch = static_cast<int>(m_progress.epochs.size()) + 1;
    if (std::exchange(m_progress.untested, false) && firstEpoch <= m_session.config.epochs)
        evaluate(firstEpoch - 1);
    for (int epoch = firstEpoch; epoch <= m_session.config.epochs; ++epoch) {
        if (m_session.peers)
            m_session.peers->arm();
        const auto trained = trainOrGoBack(epoch);
        if (!trained)
            return fail(trained.error());
        const bool stopped = *trained;
        const bool whole = m_progress.stepInEpoch >= m_session.loader->steps();
        if (whole) {
            reportEpoch(epoch, std::exchange(m_progress.unfinished, {}));
            m_progress.stepInEpoch = 0;
        }
        if (m_session.peers)
            m_session.peers->disarm(); // rank 0 may be long at a checkpoint, and others leave after the last step
        if (stopped) {
            m_progress.untested = whole; // a stop doesn't wait for it
            if (auto saved = saveCheckpoint(whole ? epoch : epoch - 1); !saved)
                return fail(saved.error());
            sendState(RunState::Stopped, epoch, "stopped after step " + std::to_string(m_progress.step - 1));
            return Outcome::Stopped;
        }
        evaluate(epoch);
        if (auto saved = saveCheckpoint(epoch); !saved)
            return fail(saved.error());
        // Else the others would wait for rank 0, which alone writes, in a step of the next epoch.
        if (epoch < m_session.config.epochs)
            m_session.communicator->barrier();
    }
    if (firstEpoch > m_session.config.epochs) // resumed after the last epoch: only the accuracy is missing
        evaluate(m_session.config.epochs);
    return Outcome::Done;
}

/// Trains an epoch from m_progress.stepInEpoch on. Where a loss was not finite, it ends with an error, or goes back to the last good
/// checkpoint and on with the next batch. True: a person stopped it before its end.
Result<bool> Training::trainOrGoBack(int epoch) {
    for (;;) {
        const bool stopped = trainEpoch(epoch, std::exchange(m_progress.stepInEpoch, 0));
        const auto diverged = m_divergence.agree(m_saver.newest());
        if (!diverged)
            return stopped;
        if (m_session.config.onNonfinite == "stop")
            return fail(DivergenceWatch::end(*diverged));
        if (auto back = m_divergence.goBack(*diverged); !back)
            return fail(back.error());
        m_saver.keepCopy(diverged->lastGood);
        m_recorder.afterRollback();
        // What stopped this epoch was the loss; a person may want to stop, too.
        const auto wishes = m_session.communicator->gather({stop_flag::requested() ? 1.0 : 0.0});
        const bool wanted = std::any_of(wishes.begin(), wishes.end(), [](const auto &wish) { return wish[0] > 0; });
        if (wanted || m_progress.stepInEpoch >= m_session.loader->steps())
            return wanted;
    }
}

bool Training::trainEpoch(int epoch, std::int64_t firstStep) {
    Session &s = m_session;
    sendState(RunState::Training, epoch);
    m_progress.stepInEpoch = firstStep;
    m_comm.startEpoch(m_progress.step);
    m_epochStartNs = monotonicNs();
    m_recorder.startEpoch(epoch, std::exchange(m_progress.unfinished, {}));
    m_readyBatches = s.loader->ready();
    if (countsTraffic(s))
        m_traffic.start();
    m_shards.startEpoch();
    const auto loadFrom = [&](std::int64_t step) { s.loader->startEpoch(epoch - 1, s.config.epochs - 1, step); };
    loadFrom(firstStep);
    bool stop = false;
    while (!stop) {
        s.position.beginStep(m_progress.step);
        s.trace->beginStep(monotonicNs(), spansAStep(s));
        auto batch = s.loader->next();
        if (!batch)
            break;
        if (batch->terms.defined())
            s.strategy->makeOnDevice(*batch);
        s.clock->lap(Phase::Load);
        stop = trainStep(std::move(*batch));
        m_recorder.flush(false);
        m_comm.sendIfDue(epoch);
        if (m_shards.addStep())
            loadFrom(m_progress.stepInEpoch);
        s.clock->lap(Phase::Other);
        if (s.trace->endStep(m_progress.step - 1, monotonicNs())) {
            writeTrace();
        }
    }
    const StepsEnd end = s.strategy->endSteps(stop);
    if (countsTraffic(s)) // what a server still sent to slower ranks; what is shared below is of no step
        addTraffic([&](const char *name, double value) {
            m_recorder.addToSum(name, value - static_cast<double>(end.bytes) * 1e-6);
        });
    stop = s.strategy->finishEpoch(*s.optimizer, end.stop);
    s.communicator->broadcast(s.model->buffers()); // each rank's are those of its own samples
    m_progress.unfinished = m_recorder.finishEpoch();
    m_comm.send(epoch);
    return stop;
}

bool Training::trainStep(Batch batch) {
    Session &s = m_session;
    if (s.device().is_cuda()) {
        s.strategy->bring(batch, s.device(), s.config.nonBlocking);
        s.clock->lap(Phase::H2d);
    }
    m_divergence.poison(m_progress.step, batch);
    const double share = lrShare(s.config, m_progress.step, s.loader->steps() * s.config.epochs);
    s.optimizer->setLrShare(share);
    s.strategy->setLrShare(share);
    const StepOutcome outcome = s.strategy->step(batch, stop_flag::requested() || m_divergence.wantsStop());
    if (!s.strategy->countsSamples())
        batch.real = 0;
    m_divergence.check(m_progress.step, batch, outcome.loss);
    if (m_replicaBatch.empty())
        m_replicaBatch = s.strategy->replicaBatch(); // how the first, full batch was split
    std::vector<StepMetric> metrics = measure();
    s.strategy->runOptimizer(*s.optimizer);
    s.clock->lap(Phase::Optimizer);
    m_recorder.addStep(m_progress.step, batch.real, outcome.loss, s.strategy->deviceTimes(), std::move(metrics));
    if (!m_shards.on()) // which deal with a slower rank, and make the phases of ranks differ
        m_stragglers.addStep(m_progress.step);
    ++m_progress.step;
    ++m_progress.stepInEpoch;
    return outcome.stop;
}

/// The metrics (ipc/metrics.h) of the step whose gradients are ready. To add one: a line here and its row there.
std::vector<StepMetric> Training::measure() {
    const Session &s = m_session;
    std::vector<StepMetric> metrics;
    if (const auto share = s.strategy->learningRateShare(*s.optimizer))
        metrics.push_back({"lr", effectiveLr(s.config, s.env) * *share});
    // Its time counts as the optimizer's. On a GPU its launch takes longer than some graphed steps, so there only once a window.
    const bool clips = s.config.clipGradNorm > 0;
    if (clips || (s.strategy->holdsWholeModel() && (!s.device().is_cuda() || m_recorder.beginsWindow()))) {
        const torch::Tensor norm = s.strategy->gradientNorm(*s.optimizer);
        metrics.push_back({"grad_norm", norm}); // before it is clipped
        if (clips)
            s.optimizer->clipGradients(norm, s.config.clipGradNorm);
    }
    if (countsTraffic(s))
        addTraffic([&](const char *name, double value) { metrics.push_back({name, value}); });
    if (m_shards.on())
        metrics.push_back(
            {"shard_samples", static_cast<double>(m_shards.shares()[static_cast<std::size_t>(s.env.rank)])});
    for (StepMetric &metric : s.strategy->measured())
        metrics.push_back(std::move(metric));
    return metrics;
}

void Training::addTraffic(const std::function<void(const char *name, double value)> &add) {
    const auto [sent, received] = m_traffic.take();
    add("sent_mb", static_cast<double>(sent) * 1e-6);
    add("received_mb", static_cast<double>(received) * 1e-6);
}

void Training::writeTrace() {
    m_recorder.flush(true); // a GPU's times are known by then
    m_traceWriter.write(*m_session.trace, m_session.env.rank);
}

void Training::reportEpoch(int epoch, const EpochTotals &totals) {
    EpochFrame frame;
    frame.epoch = epoch;
    frame.durationS = totals.durationS;
    frame.samples = totals.samples;
    frame.steps = totals.steps;
    frame.startMonoNs = m_epochStartNs;
    frame.phases = totals.phases.toFrame();
    frame.replicas = m_recorder.epochReplicas();
    frame.readyBatches = m_readyBatches;
    frame.scalars = m_recorder.epochScalars();
    if (const EpochTotals before = std::exchange(m_madeBefore, {}); before.steps > 0) // of the first epoch here
        frame.before = {before.durationS, before.samples, before.steps, before.phases.toFrame()};
    const auto rows = m_session.communicator->gather(epochNumbers(totals, frame.scalars));
    double lossSum = 0, lossSamples = 0, samples = 0, longest = 0;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        lossSum += rows[rank][0];
        lossSamples += rows[rank][1];
        samples += rows[rank][2];
        longest = std::max(longest, rows[rank][3]);
        m_metrics.take(static_cast<int>(rank), epochOf(rows[rank], frame));
    }
    frame.loss = lossSum / lossSamples;
    m_session.frames->send(frame);
    m_progress.epochs.push_back({epoch, frame.loss, longest, static_cast<std::int64_t>(samples)});
    m_progress.total.add(totals);
}

void Training::evaluate(int epoch) {
    sendState(RunState::Evaluating, epoch);
    m_lastEval = m_evaluator.run(*m_session.model, epoch);
    if (m_session.isRank0())
        m_session.frames->send(*m_lastEval);
}

Result<void> Training::saveCheckpoint(int epochsDone) {
    if (m_session.config.checkpointDir.empty())
        return {};
    sendState(RunState::Checkpointing, epochsDone);
    return m_saver.save(m_progress, epochsDone);
}

Result<void> Training::saveFinal() {
    return m_session.config.saveFinal.empty() ? Result<void>() : m_saver.saveFinal();
}

Summary Training::summary() {
    Session &s = m_session;
    std::vector<double> own{peakRssBytes().value_or(std::nan("")), m_progress.total.durationS};
    const auto ownPhases = m_progress.total.phases.toNumbers();
    own.insert(own.end(), ownPhases.begin(), ownPhases.end());
    const auto rows = s.communicator->gather(own);
    double rss = 0;
    std::size_t slowest = 0;
    std::vector<PhaseSeconds> phases;
    for (const auto &row : rows) {
        rss += row[0];
        if (row[1] > rows[slowest][1] && !onlyServes(s.config, static_cast<int>(phases.size()), s.env.worldSize))
            slowest = phases.size();
        phases.push_back(secondsOf(PhaseTotals::fromNumbers(std::span(row).subspan(2)).toFrame()));
    }

    Summary summary = summaryOfSettings(s);
    summary.steps = m_progress.step;
    summary.epochs = m_progress.epochs;
    summary.firstEpoch = m_firstEpoch;
    summary.amidEpoch = m_amidEpoch;
    double training = 0;
    for (const auto &epoch : m_progress.epochs)
        training += epoch.durationS;
    summary.totalTrainingTimeS = training;
    if (m_lastEval) {
        summary.testAccuracy = m_lastEval->accuracy;
        summary.perClassAccuracy = m_lastEval->perClassAccuracy;
        if (!summary.perClassAccuracy.empty())
            for (const std::string &label : s.train.classNames)
                summary.classNames.push_back(cutText(label, longestClassName));
    }
    summary.phasesS = specOf(s.config.method).splitsModel ? meanPhases(phases) : phases[slowest];
    std::vector<torch::Tensor> parameters;
    for (const auto &parameter : s.model->parameters())
        parameters.push_back(parameter.detach().to(torch::kCPU).contiguous());
    summary.parametersSha256 = parametersSha256(parameters);
    compareRanks(summary.parametersSha256);
    if (!std::isnan(rss))
        summary.peakRssBytes = rss;
    summary.stageLayers = stageLayersOf(*s.strategy);
    summary.replicaBatch = m_shards.on() ? m_shards.shares() : m_replicaBatch;
    summary.metrics = m_metrics.ofRun();
    summary.runTimeS = secondsSinceLaunch();
    return summary;
}

/// Checks that all ranks hold the same bits after the last step, as DDP promises.
void Training::compareRanks(const std::string &sha256) {
    logInfo("parameters sha256 " + sha256);
    const auto all = m_session.communicator->exchange("parameters_sha256", sha256);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank] == sha256 || m_session.env.rank != 0)
            continue;
        const AlertFrame alert =
            makeAlert("ranks_differ", "rank " + std::to_string(rank) + " ended with other parameters than rank 0");
        m_session.frames->send(alert);
        logError(alert.message);
    }
}

} // namespace lockstep::trainer
