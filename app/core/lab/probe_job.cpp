// SPDX-License-Identifier: MIT
#include "lab/probe_job.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <ranges>
#include <set>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/command_prefix.h"
#include "base/last_line.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/launcher_variables.h"
#include "ipc/phase_sums.h"
#include "launch/attended_run.h"

namespace lockstep::core {
namespace {

constexpr std::int64_t fewestSteps = 20, mostSteps = 200; ///< of an epoch
constexpr double mostEpochS = 8;                          ///< for more than the fewest
constexpr int epochs = 3;                                 ///< the first is warm-up
constexpr std::size_t mostSaidBytes = 16 << 20;           ///< of one device's probe on a node: many times its frames

Result<std::string> findTrainer() {
    if (const char *named = ::getenv("LOCKSTEP_TRAINER"); named && *named)
        return std::string(named);
    const auto agent = findAgent();
    if (!agent)
        return fail(agent.error());
    const std::string beside = (std::filesystem::path(*agent).parent_path() / "lockstep-trainer").string();
    if (::access(beside.c_str(), X_OK) == 0)
        return beside;
    return fail(Error::failed("there is no lockstep-trainer beside " + *agent,
                              "build it with ./run, or name it in LOCKSTEP_TRAINER"));
}

/// The place of one device.
NodePlace deviceOf(const std::vector<NodePlace> &nodes, int device) {
    NodePlace place = firstDevices(nodes, device + 1).back();
    place.devices = {place.devices.back()};
    return place;
}

/// The trainer's command on its node, its braces kept from being placeholders.
std::vector<std::string> commandOnNode(const RunConfig &config, const std::string &lastFlag) {
    RunConfig own = configOfNode(config, 0);
    own.nodes.clear();
    own.interface.clear(); // it communicates with nobody
    std::vector<std::string> words = {"lockstep-trainer"};
    for (const std::string &argument : toArguments(own)) {
        std::string word;
        for (const char c : argument)
            word += std::string(c == '{' || c == '}' ? 2 : 1, c);
        words.push_back(std::move(word));
    }
    words.push_back(lastFlag);
    return words;
}

/// Steps of an epoch, by what the layers alone take.
std::int64_t stepsFor(const ModelCosts &costs, std::int64_t batch) {
    double perSampleS = 0; // at the largest batch that the layers were timed with
    for (const LayerCost &layer : costs.layers)
        if (!layer.timesAt.empty())
            perSampleS += layer.timesAt.rbegin()->second.bothS() / double(layer.timesAt.rbegin()->first);
    const double steps = mostEpochS / (perSampleS * double(batch));
    return std::isfinite(steps) ? std::clamp(std::int64_t(steps), fewestSteps, mostSteps) : mostSteps;
}

/// Less the settings that the baseline knows and the method doesn't.
RunConfig meantFor(Method method, RunConfig config) {
    for (const FieldSpec &field : runConfigFields())
        if (knowsKey(Method::Baseline, field.key) && !knowsKey(method, field.key))
            (void)field.set(config, field.get(RunConfig()));
    return config;
}

RunConfig configOf(const ProbeRequest &probe, int copy, std::int64_t trainSamples) {
    RunConfig config = probe.config;
    config.method = probe.handsOver ? Method::Ddp : Method::Baseline;
    // GPUs that were chosen are those that train; a machine's CPU devices are alike.
    const bool chosen = config.device == "cuda" && std::size_t(copy) < config.devices.size();
    config.devices = {chosen ? config.devices[std::size_t(copy)] : std::to_string(copy)};
    if (!config.nodes.empty())
        config.nodes = {deviceOf(config.nodes, copy)};
    else
        config.interface.clear();
    config.initMethod = RunConfig().initMethod;
    config.backend = "auto";
    config.batchSize = probe.batch;
    config.batchPerDevice = 0;
    config.compressGradients = RunConfig().compressGradients; // the forecast knows what is sent
    config.shards = RunConfig().shards;
    config.epochs = epochs;
    config.trainSamples = trainSamples;
    config.testSamples = 1; // evaluation is not what is measured
    config.trace = 0;
    config.summary.clear();
    return withoutKeeping(std::move(config));
}

/// Of a trainer that is a rank of nothing, whoever started this program: a launcher's variables would have each copy meet the others.
QProcessEnvironment aloneEnvironment() {
    QProcessEnvironment out =
        environmentWith({{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}); // the order in which an agent numbers GPUs
    for (const LauncherVariables &names : launcherVariables)
        out.remove(QString::fromLatin1(names.rank));
    for (const char *name : {"MASTER_ADDR", "LOCKSTEP_MASTER_LISTEN_FD"})
        out.remove(QString::fromLatin1(name));
    return out;
}

QStringList argumentsFor(const RunConfig &config) {
    QStringList arguments;
    for (const std::string &word : toArguments(config))
        arguments << QString::fromStdString(word);
    return arguments;
}

Error failedProbe(QProcess &process) {
    const QString said = lastLine(process.readAllStandardError());
    return Error{"a probe failed: " + (said.isEmpty() ? "it gave no word" : said.toStdString()),
                 {},
                 process.exitCode() == exitBadArguments ? ErrorKind::BadArgument : ErrorKind::Failed,
                 {}};
}

struct Steps {
    double count = 0, seconds = 0, forward = 0, backward = 0, optimizer = 0;
    std::vector<std::pair<double, double>> windows; ///< steps, mean seconds of one
    struct Bucket {
        double bytes = 0, count = 0, readyS = 0; ///< readyS: summed over `count`
    };
    std::map<int, Bucket> buckets;
    [[nodiscard]] double mean() const { return seconds / count; }
};

void takeFrame(Steps &steps, const Frame &frame) {
    if (const auto *epoch = std::get_if<EpochFrame>(&frame.body); epoch && epoch->epoch > 1 && epoch->steps > 0) {
        steps.count += double(epoch->steps);
        steps.seconds += epoch->durationS;
        const auto sumOf = [epoch](std::string_view name) {
            const auto found = epoch->phases.find(name);
            return found == epoch->phases.end() ? 0 : found->second.sumS;
        };
        steps.forward += sumOf(phase::forward);
        steps.backward += sumOf(phase::backward);
        steps.optimizer += sumOf(phase::optimizer);
    }
    if (const auto *window = std::get_if<StepsFrame>(&frame.body); window && window->epoch > 1 && window->count > 0)
        steps.windows.emplace_back(double(window->count), additiveSum(window->phases) / double(window->count));
    if (const auto *comm = std::get_if<CommFrame>(&frame.body); comm && comm->epoch > 1)
        for (const BucketTime &bucket : comm->buckets)
            if (bucket.readyS && bucket.count > 0) {
                Steps::Bucket &sum = steps.buckets[bucket.bucket];
                sum.bytes = double(bucket.sizeBytes);
                sum.count += double(bucket.count);
                sum.readyS += *bucket.readyS * double(bucket.count);
            }
}

/// From the deviations of window means: a mean of n steps deviates by 1/√n of what one step does.
std::optional<double> strayOf(const Steps &steps) {
    if (steps.windows.size() < 3)
        return std::nullopt;
    const auto middle = [](std::vector<double> values) {
        std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
        return values[values.size() / 2];
    };
    std::vector<double> means, distances;
    for (const auto &[count, mean] : steps.windows)
        means.push_back(mean);
    const double median = middle(means);
    for (const auto &[count, mean] : steps.windows)
        distances.push_back(std::sqrt(count) * std::abs(mean - median));
    return 1.4826 * middle(distances); // a single stall of the machine is not a property of a step
}

/// Frames count from where the last part's backward began, and the last bucket is full when it ends.
void alignBuckets(ComputeProbe &probe) {
    if (probe.buckets.empty())
        return;
    const double before = probe.backwardS - probe.buckets.back().readyS;
    for (ReadyBucket &bucket : probe.buckets)
        bucket.readyS = std::max(0.0, bucket.readyS + before);
}

} // namespace

std::int64_t samplesOf(const ProbeRequest &probe, const ModelCosts &costs) {
    const std::int64_t parts = probe.handsOver ? probe.copies : 1; // a pipeline's stages all see all samples
    return std::min((costs.trainSamples + parts - 1) / parts, stepsFor(costs, probe.batch) * probe.batch);
}

std::vector<ProbeRequest> probesFor(const ForecastInput &input) {
    const RunConfig alone = configOf(input.config, {Method::Baseline}, 1);
    std::vector<ProbeRequest> out = {{input.config, 1, globalBatch(alone)}};
    const auto add = [&](int copies, std::int64_t batch, Method method) {
        const RunConfig config = meantFor(method, input.config);
        const auto same = std::ranges::find_if(out, [&](const ProbeRequest &probe) {
            return probe.copies == copies && probe.batch == batch && probe.config == config;
        });
        const bool ofStages = specOf(method).splitsModel;
        const bool handsOver = copies > 1 && !ofStages;
        if (same != out.end()) {
            same->ofStages = same->ofStages || ofStages;
            same->handsOver = same->handsOver || handsOver;
        } else if (copies <= input.devicesHere) {
            out.push_back({config, copies, batch, ofStages, handsOver});
        }
    };
    for (const auto &[way, devices] : input.runs)
        if (devices <= input.devicesHere)
            if (const auto share = shareOf(configOf(input.config, way, devices)))
                add(share->copies, share->batch, way.method);
    return out;
}

std::optional<ComputeProbe> probeFromFrames(const ProbeRequest &request, const std::vector<std::string> &frames) {
    ComputeProbe probe;
    probe.copies = request.copies;
    probe.batch = request.batch;
    probe.accumulate = request.config.accumulate;
    const double copies = double(frames.size());
    double stray = 0;
    int strays = 0;
    for (const std::string &text : frames) {
        Steps steps;
        Decoder decoder;
        for (const QByteArray &line : QByteArray::fromStdString(text).split('\n'))
            if (const auto frame = decoder.decode({line.constData(), std::size_t(line.size())}))
                takeFrame(steps, *frame);
        if (!(steps.count > 0) || !(steps.seconds > 0))
            return std::nullopt;
        probe.stepS += steps.mean() / copies;
        probe.copiesS.push_back(steps.mean());
        probe.slowestS = std::max(probe.slowestS, steps.mean());
        probe.forwardS += steps.forward / steps.count / copies;
        probe.backwardS += steps.backward / steps.count / copies;
        probe.optimizerS += steps.optimizer / steps.count / copies;
        std::size_t number = 0; // the copies fill like buckets
        for (const auto &[bucket, sum] : steps.buckets) {
            if (number == probe.buckets.size())
                probe.buckets.push_back({sum.bytes, 0});
            probe.buckets[number++].readyS += sum.readyS / sum.count / copies;
        }
        if (const auto one = strayOf(steps)) {
            stray += *one;
            ++strays;
        }
    }
    if (frames.empty())
        return std::nullopt;
    alignBuckets(probe);
    if (strays > 0)
        probe.strayS = stray / strays;
    return probe;
}

std::optional<ModelCosts> modelCostsFrom(std::string_view text) {
    const auto json = documents::objectOrNull(text);
    if (!json.is_object() || documents::valueIn(json, "type", "") != "model")
        return std::nullopt;
    ModelCosts costs;
    try {
        costs.trainSamples = json.at("train_samples").get<std::int64_t>();
        costs.parameterBytes = json.at("parameter_bytes").get<std::vector<double>>();
        costs.bufferBytes = json.at("buffer_bytes").get<std::vector<double>>();
        const auto batches = json.at("batches").get<std::vector<std::int64_t>>();
        for (const auto &layer : json.at("layers")) {
            LayerCost cost{.outputBytesPerSample = layer.at("output_bytes_per_sample").get<double>(),
                           .parameterBytes = layer.at("parameter_bytes").get<double>()};
            for (std::size_t i = 0; i < batches.size(); ++i)
                cost.timesAt[batches[i]] = {layer.at("forward_s").at(i).get<double>(),
                                            layer.at("backward_s").at(i).get<double>()};
            costs.layers.push_back(std::move(cost));
        }
    } catch (const std::exception &) {
        return std::nullopt;
    }
    return costs.trainSamples > 0 ? std::optional(costs) : std::nullopt;
}

ProbeJob::ProbeJob(QObject *parent) : QObject(parent) {}

ProbeJob::~ProbeJob() {
    for (const auto &process : m_running) {
        process->disconnect(this);
        process->kill();
        process->waitForFinished(1000);
    }
}

std::string ProbeJob::file(const char *what, int copy) const {
    return m_folder.filePath(QStringLiteral("%1-%2").arg(QLatin1String(what)).arg(copy)).toStdString();
}

Result<void> ProbeJob::start(std::vector<ProbeRequest> probes) {
    m_waiting.assign(probes.begin(), probes.end());
    if (!m_waiting.front().config.nodes.empty()) {
        askForCosts();
        return {};
    }
    auto trainer = findTrainer();
    if (!trainer)
        return fail(trainer.error());
    m_trainer = std::move(*trainer);
    m_others.emplace();
    askForCosts();
    return {};
}

void ProbeJob::next() {
    const ProbeRequest &probe = m_waiting.front();
    Q_EMIT progressed(
        probe.copies == 1
            ? QStringLiteral("one device alone, batch %1").arg(probe.batch)
            : QStringLiteral("%1 devices side by side, batch %2 each").arg(probe.copies).arg(probe.batch));
    if (probe.config.nodes.empty())
        startHere();
    else
        startOnNodes();
}

void ProbeJob::watchStart(QProcess &process) {
    connect(&process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            end(Error::failed(m_trainer + " can't be started", "build it with ./run"));
    });
}

void ProbeJob::startHere() {
    const ProbeRequest &probe = m_waiting.front();
    m_running.clear();
    for (int copy = 0; copy < probe.copies; ++copy) {
        auto process = std::make_unique<QProcess>();
        process->setProcessEnvironment(aloneEnvironment());
        process->setStandardInputFile(QProcess::nullDevice());
        process->setStandardOutputFile(QProcess::nullDevice());
        connect(process.get(), &QProcess::finished, this, &ProbeJob::over);
        watchStart(*process);
        m_running.push_back(std::move(process));
    }
    for (std::size_t copy = 0; copy < m_running.size(); ++copy) {
        m_running[copy]->start(QString::fromStdString(m_trainer),
                               argumentsFor(configOf(probe, int(copy), samplesOf(probe, m_costs)))
                                   << QStringLiteral("--frames=") + QString::fromStdString(file("frames", int(copy))));
    }
}

/// Of layers with each pipeline's micro-batch; where none is forecast, once.
void ProbeJob::askForCosts() {
    const RunConfig config = configOf(m_waiting.front(), 0, m_waiting.front().config.trainSamples);
    std::set<std::int64_t> batches;
    for (const ProbeRequest &probe : m_waiting)
        if (probe.ofStages)
            batches.insert(probe.batch);
    if (batches.empty())
        batches.insert(m_waiting.back().batch);
    std::string flag = "--model-costs=";
    for (const std::int64_t batch : batches)
        flag += (flag.ends_with('=') ? "" : ",") + std::to_string(batch);
    if (!config.nodes.empty())
        return askForCostsOnNode(config, flag);
    auto process = std::make_unique<QProcess>();
    process->setStandardInputFile(QProcess::nullDevice());
    connect(process.get(), &QProcess::finished, this, [this] {
        QProcess &asked = *m_running.front();
        const bool done = asked.exitStatus() == QProcess::NormalExit && asked.exitCode() == 0;
        if (!done)
            return end(failedProbe(asked));
        takeCosts(asked.readAllStandardOutput().toStdString());
    });
    watchStart(*process);
    m_running.push_back(std::move(process));
    m_running.back()->start(QString::fromStdString(m_trainer), argumentsFor(config) << QString::fromStdString(flag));
}

/// On the first node: this machine may have no trainer.
void ProbeJob::askForCostsOnNode(const RunConfig &config, const std::string &flag) {
    auto run = std::make_unique<AttendedRun>();
    connect(run.get(), &AttendedRun::said, this, [this](int, const QByteArray &line) { onLine(0, line); });
    connect(run.get(), &AttendedRun::ended, this, [this](const std::optional<Error> &error) {
        if (m_ended || m_flooded)
            return;
        if (error)
            return end(Error{"the model's size is unknown: " + error->message(), {}, error->kind, {}});
        takeCosts(m_said.front());
    });
    m_said.assign(1, {});
    m_onNodes.push_back(std::move(run));
    m_onNodes.back()->start(config, commandOnNode(config, flag), "Probe");
}

/// Among other lines, as a node may have some.
void ProbeJob::takeCosts(std::string_view lines) {
    for (const auto line : std::views::split(lines, '\n'))
        if (auto costs = modelCostsFrom({line.begin(), line.end()}))
            m_costs = std::move(*costs);
    if (m_costs.parameterBytes.empty())
        return end(Error::failed("the model's size is unknown: the trainer gave no word",
                                 "lockstepctl and lockstep-trainer must be of one version"));
    QMetaObject::invokeMethod(this, &ProbeJob::next, Qt::QueuedConnection);
}

void ProbeJob::startOnNodes() {
    const ProbeRequest &probe = m_waiting.front();
    m_onNodes.clear();
    m_said.assign(std::size_t(probe.copies), {});
    m_alive = probe.copies;
    for (int copy = 0; copy < probe.copies; ++copy) {
        auto &run = m_onNodes.emplace_back(std::make_unique<AttendedRun>());
        connect(run.get(), &AttendedRun::said, this,
                [this, copy](int, const QByteArray &line) { onLine(std::size_t(copy), line); });
        connect(run.get(), &AttendedRun::ended, this, &ProbeJob::overOnNodes);
    }
    for (int copy = 0; copy < probe.copies; ++copy) {
        const RunConfig config = configOf(probe, copy, samplesOf(probe, m_costs));
        m_onNodes[std::size_t(copy)]->start(config, commandOnNode(config, "--frames=-"), "Probe");
    }
}

void ProbeJob::onLine(std::size_t copy, const QByteArray &line) {
    if (m_flooded)
        return;
    std::string &said = m_said[copy];
    said.append(line.constData(), std::size_t(line.size()));
    said += '\n';
    if (said.size() <= mostSaidBytes)
        return;
    m_flooded = true;
    for (const auto &run : m_onNodes)
        run->stop();
    const Error error = Error::failed("a probe says more than any probe has to say: over " +
                                          std::to_string(mostSaidBytes >> 20) + " MiB",
                                      "check lockstep-trainer on its node");
    // Not from within the run's own signal; and it may never end.
    QMetaObject::invokeMethod(
        this, [this, error] { end(error); }, Qt::QueuedConnection);
}

void ProbeJob::overOnNodes(const std::optional<Error> &error) {
    if (m_ended || m_flooded)
        return;
    if (error)
        return end(Error{"a probe failed: " + error->message(), {}, error->kind, {}});
    if (--m_alive == 0)
        take(m_said);
}

void ProbeJob::over() {
    if (m_ended)
        return;
    for (const auto &process : m_running)
        if (process->state() != QProcess::NotRunning)
            return;
    std::vector<std::string> frames;
    for (std::size_t copy = 0; copy < m_running.size(); ++copy) {
        QProcess &process = *m_running[copy];
        if (process.exitStatus() != QProcess::NormalExit || process.exitCode() != 0)
            return end(failedProbe(process));
        frames.push_back(realFileSystem().readAll(file("frames", int(copy)), anySize).value_or(std::string()));
        std::error_code ignored;
        std::filesystem::remove(file("frames", int(copy)), ignored);
    }
    take(std::move(frames));
}

void ProbeJob::take(std::vector<std::string> frames) {
    const auto probe = probeFromFrames(m_waiting.front(), frames);
    if (!probe)
        return end(
            Error::failed("a probe reported no epoch", "lockstepctl and lockstep-trainer must be of one version"));
    m_done.push_back(*probe);
    m_waiting.pop_front();
    if (m_waiting.empty()) {
        if (m_others)
            m_otherCores = m_others->cores();
        return end(std::nullopt);
    }
    // Not from within a process's own signal: next() deletes the finished ones.
    QMetaObject::invokeMethod(this, &ProbeJob::next, Qt::QueuedConnection);
}

void ProbeJob::end(std::optional<Error> error) {
    if (std::exchange(m_ended, true))
        return;
    if (error)
        Q_EMIT failed(*error);
    else
        Q_EMIT finished();
}

} // namespace lockstep::core

#include "moc_probe_job.cpp"
