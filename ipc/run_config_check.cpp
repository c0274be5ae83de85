// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <set>
#include <utility>

#include "ipc/backend_rule.h"
#include "ipc/cores.h"
#include "ipc/model_facts.h"
#include "ipc/run_config.h"

namespace lockstep {

namespace {

/// Collects mistakes, each with the key it belongs to.
class Report {
public:
    void add(std::string_view key, std::string what, std::string wayOut) {
        m_errors.push_back(Error::badArgument(std::move(what), std::move(wayOut), std::string(key)));
    }
    void add(Error error) { m_errors.push_back(std::move(error)); }
    [[nodiscard]] bool has(std::string_view key) const {
        return std::any_of(m_errors.begin(), m_errors.end(), [&](const Error &error) { return error.where == key; });
    }
    std::vector<Error> take() { return std::move(m_errors); }

private:
    std::vector<Error> m_errors;
};

std::string count(std::int64_t n, const char *what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

bool isUuid(std::string_view device) {
    return device.starts_with("GPU-") || device.starts_with("MIG-");
}

int indexOf(std::string_view device) {
    int index = -1;
    std::from_chars(device.data(), device.data() + device.size(), index);
    return index;
}

/// Every field on its own: what the table's setter refuses, a config made in code may still hold.
void checkFields(const RunConfig &config, Report &report) {
    RunConfig scratch;
    for (const FieldSpec &field : runConfigFields()) {
        if (field.key == "devices" && config.devices.empty())
            report.add("devices", "there are no devices", "give at least one, like 0");
        else if (auto set = field.set(scratch, field.get(config)); !set)
            report.add(std::move(set.error()));
    }
}

void checkBatch(const RunConfig &config, Report &report) {
    static const RunConfig defaults;
    if (config.batchPerDevice > 0) {
        if (config.batchSize != defaults.batchSize)
            report.add("batch_per_device", "a batch size and a batch size a device are both given",
                       "give batch_size or batch_per_device, not both");
        return;
    }
    const std::int64_t parts = batchParts(config, deviceCount(config)), batch = config.batchSize;
    if (parts < 1 || batch < 1 || batch % parts == 0)
        return;
    const std::int64_t below = batch / parts * parts, above = below + parts;
    report.add("batch_size",
               "batch size " + std::to_string(batch) + " can't be divided among " +
                   count(parts, specOf(config.method).splitsModel ? "pipeline" : "device"),
               "use " + (below > 0 ? std::to_string(below) + " or " : std::string()) + std::to_string(above));
}

void checkServers(const RunConfig &config, Report &report) {
    if (!knowsKey(config.method, "servers"))
        return;
    const int devices = deviceCount(config);
    if (config.servers > devices)
        report.add("servers",
                   count(config.servers, "server") + " can't be shared out among " + count(devices, "device") +
                       ": each is a rank that also trains",
                   "use " + std::to_string(devices) + " or fewer");
    if (config.serverDevices == 0)
        return;
    if (config.serverDevices >= devices)
        report.add("server_devices",
                   count(config.serverDevices, "server device") + " of " + count(devices, "device") + " leave" +
                       (config.serverDevices == 1 ? "s" : "") + " none to train",
                   devices > 1 ? "use " + std::to_string(devices - 1) + " or fewer, or more devices"
                               : "use 0, or more devices");
    if (config.servers > 1)
        report.add("servers", "servers that also train, and devices that only serve, are both given",
                   "give servers or server_devices, not both");
}

void checkMethod(const RunConfig &config, Report &report) {
    const MethodSpec &method = specOf(config.method);
    if (!method.severalDevices && deviceCount(config) > 1)
        report.add(config.nodes.empty() ? "devices" : "nodes",
                   std::string(method.name) + " trains on one device, " + std::to_string(deviceCount(config)) +
                       " are given",
                   "give one device, or the method dp or ddp");
    if (const auto why = whyNotOnGpus(config); !why.empty() && (anyGpu(config) || config.backend == "nccl")) {
        if (method.notOnGpus.empty())
            report.add("all_reduce", std::string(why), "use the all-reduce backend, or the device kind cpu");
        else
            report.add("method", std::string(why), "use the method ddp, or the device kind cpu and the backend gloo");
    }
    checkServers(config, report);
    if (config.backend != "nccl")
        return;
    if (hasReplicas(method))
        report.add("backend", std::string(method.name) + " runs in one process and uses no backend, so not nccl",
                   "use auto, or the method ddp");
    else if (config.device == "cpu" && config.nodes.empty()) // of several nodes: checkNodes()
        report.add("backend", "nccl needs GPUs, the device kind is cpu", "use gloo or auto");
}

void checkStages(const RunConfig &config, const std::optional<ModelFacts> &model, Report &report) {
    if (!specOf(config.method).splitsModel)
        return;
    const int devices = deviceCount(config), stages = stageCount(config, devices);
    if (devices % stages != 0 || (stages == 1 && devices > 1)) {
        report.add("stages", count(devices, "device") + " can't be pipelines of " + count(stages, "stage") + " each",
                   devices > 1 ? "use 0, or a number from 2 on that divides " + std::to_string(devices)
                               : "use 0, or more devices");
        return;
    }
    const std::int64_t batch = globalBatch(config) / batchParts(config, devices);
    if (config.microBatches > batch)
        report.add("micro_batches",
                   "a batch of " + std::to_string(batch) + " can't be cut into " + std::to_string(config.microBatches) +
                       " micro-batches",
                   "use a larger batch or fewer micro-batches");
    if (const auto layers = parseStageLayers(config.stageLayers); !layers)
        report.add(layers.error());
    if (!model)
        return;
    if (hasSizesOfFolder(config))
        return; // its folder says how many layers it has: makeStrategy() asks
    for (Error &error : checkLayers(config, devices, *model))
        report.add(std::move(error));
}

/// How a device's share of a batch is cut, and how large it is.
void checkShares(const RunConfig &config, Report &report) {
    const std::int64_t share = globalBatch(config) / std::max(1, trainingDevices(config, deviceCount(config)));
    if (knowsKey(config.method, "accumulate") && config.accumulate > share)
        report.add("accumulate",
                   "a device's share of a batch, " + count(share, "sample") + ", can't be cut into " +
                       std::to_string(config.accumulate) + " parts",
                   "use " + std::to_string(std::max<std::int64_t>(1, share)) + " or fewer, or a larger batch");
    if (config.shards != "even" && knowsKey(config.method, "shards") && anyGpu(config))
        report.add("shards", "ranks on GPUs don't know each other's times yet, so shards can't follow them",
                   "use even shards, or the device kind cpu");
}

void checkData(const RunConfig &config, const std::optional<ModelFacts> &model, Report &report) {
    const DataSetSpec *dataSet = findDataSet(config.dataset);
    if (!dataSet)
        return; // checkFields() says so
    if (auto error = model ? mismatch(*model, *dataSet) : std::nullopt)
        report.add(std::move(*error));
    if (config.augment == "affine" && dataSet->sample != affineSamples)
        report.add("augment",
                   "affine turns " + inWords(affineSamples) + ", and " + config.dataset + " holds " +
                       inWords(dataSet->sample),
                   "use the augmentation none");
}

void checkTexts(const RunConfig &config, Report &report) {
    const DataSetSpec *dataSet = findDataSet(config.dataset);
    if (!dataSet || dataSet->sample.values != Values::Text)
        return;
    if (config.loader == "device")
        report.add("loader", "the device loader keeps samples of one size on the device, and texts differ in length",
                   "use the loader batch or item");
    if (config.cudaGraph)
        report.add("cuda_graph", "a CUDA graph holds steps of one size, and batches of texts differ in length",
                   "use no CUDA graph");
    if (dataSet->download.empty() && config.dataDir.empty() && config.nodes.empty())
        report.add("data_dir", "no file of texts is named", "give a CSV or TSV file with --data-dir");
}

void checkOptimizer(const RunConfig &config, Report &report) {
    const MethodSpec &method = specOf(config.method);
    const bool updatesOnServer = method.traffic == Traffic::Push;
    if (config.clipGradNorm > 0 && updatesOnServer)
        report.add("clip_grad_norm", "no rank of " + std::string(method.name) + " has all averaged gradients to clip",
                   "use 0, or the method ddp");
    if (!config.decayBiases && config.weightDecay > 0 && updatesOnServer)
        report.add("decay_biases",
                   "the servers of " + std::string(method.name) + " don't tell biases from other parameters",
                   "decay biases, too, or use the method ddp");
    if (config.cudaGraph && config.accumulate > 1)
        report.add("cuda_graph", "a CUDA graph holds a whole batch, and not parts of one",
                   "use 1 for accumulate, or no CUDA graph");
    if (config.cudaGraph && (config.lrSchedule != "constant" || config.warmupSteps > 0 || config.clipGradNorm > 0))
        report.add("cuda_graph", "a CUDA graph holds one learning rate, and no clipping of gradients",
                   "use a constant learning rate without warm-up or clipping, or no CUDA graph");
}

void checkDevices(const RunConfig &config, Report &report) {
    std::set<std::string> seen;
    for (const std::string &device : config.devices) {
        if (config.device == "cpu" && isUuid(device))
            report.add("devices", device + " is a GPU, the device kind is cpu",
                       "use numbers like 0,1 or the device kind cuda");
        // Indices that differ only in leading zeros are one device.
        const std::string name = isUuid(device) ? device : std::to_string(indexOf(device));
        if (seen.insert(name).second)
            continue;
        if (config.backend == "nccl" && isDistributed(config.method))
            report.add("devices", "device " + device + " is given twice and nccl takes one rank a GPU",
                       "give each GPU once, or use gloo");
        else if (!config.oversubscribe)
            report.add("devices", "device " + device + " is given twice",
                       "give each device once, or oversubscribe for a test");
    }
}

void checkLoader(const RunConfig &config, Report &report) {
    if (config.loader == "device" && config.workers > 0)
        report.add("workers",
                   "the device loader makes batches on the device and has no use for " +
                       count(config.workers, "worker"),
                   "use 0 workers, or the loader batch or item");
}

void checkGraph(const RunConfig &config, Report &report) {
    if (!config.cudaGraph)
        return;
    if (isModelFile(config.model))
        report.add("cuda_graph",
                   "a CUDA graph can't hold the steps of " + modelTitle(config.model) + ", a model in a file, yet",
                   "use no CUDA graph");
    const MethodSpec &method = specOf(config.method);
    if (config.device == "cpu")
        report.add("cuda_graph", "a CUDA graph holds a GPU's work, and the device kind is cpu",
                   "use the device kind cuda, or no CUDA graph");
    else if (isDistributed(config.method) && config.backend == "gloo")
        report.add("cuda_graph",
                   "gloo sends " + std::string(method.name) +
                       "'s gradients from the host, which a CUDA graph can't hold",
                   "use the method baseline, or no CUDA graph");
    else if (!method.notRecorded.empty())
        report.add("cuda_graph", std::string(method.notRecorded), "use the method baseline, or no CUDA graph");
}

bool isPort(std::string_view text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc{} && end == text.data() + text.size() && port > 0 && port < 65536;
}

void checkInitMethod(const RunConfig &config, Report &report) {
    const std::string_view address = config.initMethod;
    const auto colon = address.rfind(':');
    const bool tcp = address.starts_with("tcp://") && colon > 6 && isPort(address.substr(colon + 1));
    if (address != "env://" && !tcp && !(address.starts_with("file:///") && address.size() > 8))
        report.add("init_method", "\"" + config.initMethod + "\" is no rendezvous",
                   "use env://, tcp://HOST:PORT or file:///PATH");
}

void checkFiles(const RunConfig &config, Report &report) {
    const auto notFolder = [&](std::string_view key, const std::string &path) {
        if (!path.empty() && path.back() == '/')
            report.add(key, "\"" + path + "\" is a folder, a file is expected", "add the file's name");
    };
    notFolder("init", config.init);
    if (!savesFolder(config.model))
        notFolder("save_final", config.saveFinal);
    notFolder("summary", config.summary);
    if (config.frames.starts_with("tcp://")) {
        const std::string_view place = std::string_view(config.frames).substr(6);
        const auto colon = place.rfind(':');
        if (colon == std::string_view::npos || colon == 0 || !isPort(place.substr(colon + 1)))
            report.add("frames", "\"" + config.frames + "\" names no listener", "write tcp://HOST:PORT");
    }
    if (config.frames == "unix:")
        report.add("frames", "\"unix:\" names no socket", "give unix:PATH");
    if (config.frames == "-" && config.summary == "-")
        report.add("summary", "frames and summary both go to stdout", "give one of them a file");
    if (config.onNonfinite == "rollback" && !writesCheckpoints(config))
        report.add("on_nonfinite", "on_nonfinite is rollback and there are no checkpoints",
                   "give checkpoint_dir or max_restarts, or use stop or continue");
    if (config.resume && config.checkpointDir.empty())
        report.add("resume", "resume is on and there is no checkpoint folder", "give checkpoint_dir, or don't resume");
}

void checkNetwork(const RunConfig &config, Report &report) {
    const std::string &name = config.interface;
    const bool bad = name.size() > 15 || std::any_of(name.begin(), name.end(), [](char c) {
                         return c == '/' || std::isspace(static_cast<unsigned char>(c));
                     });
    if (bad)
        report.add("interface", "\"" + name.substr(0, 60) + "\" is no network interface's name",
                   "give a name that `ip link` lists, like eth0");
}

void checkCpuDevices(const RunConfig &config, const MachineFacts &facts, Report &report) {
    const int has = cpuDeviceCount(config.coresPerDevice, facts.allowedCores);
    const int needs = config.oversubscribe ? 1 : static_cast<int>(config.devices.size());
    const std::string cores = count(config.coresPerDevice, "core") + " each, of " +
                              count(static_cast<std::int64_t>(facts.allowedCores.size()), "core") + " allowed";
    if (needs > has) {
        report.add("devices", "needs " + std::to_string(needs) + ", has " + std::to_string(has),
                   "use fewer CPU devices (" + cores + ") or oversubscribe for a test");
        return;
    }
    for (const std::string &device : config.devices)
        if (!config.oversubscribe && !isUuid(device) && indexOf(device) >= has)
            report.add("devices", "there is no cpu:" + device + " here: " + count(has, "CPU device") + " of " + cores,
                       has == 1 ? "use 0" : "use 0 to " + std::to_string(has - 1));
}

Result<std::optional<ModelFacts>> factsFor(const std::string &model, Descriptions descriptions) {
    if (descriptions == Descriptions::Leave && isModelFile(model))
        return std::nullopt;
    return modelFacts(model);
}

/// The UUID a name means, as CUDA takes it: whole or a prefix that only one GPU has.
std::string gpuOf(std::string_view device, const MachineFacts &facts) {
    if (!isUuid(device)) {
        const int index = indexOf(device);
        const bool known = index >= 0 && index < static_cast<int>(facts.gpuUuids.size());
        return known ? facts.gpuUuids[static_cast<std::size_t>(index)] : std::string();
    }
    std::string found;
    for (const std::string &uuid : facts.gpuUuids) {
        if (uuid == device)
            return uuid;
        if (uuid.starts_with(device)) {
            if (!found.empty())
                return {};
            found = uuid;
        }
    }
    return found;
}

void checkGpus(const RunConfig &config, const MachineFacts &facts, Report &report) {
    const int has = static_cast<int>(facts.gpuUuids.size());
    const int needs = config.oversubscribe ? 1 : static_cast<int>(config.devices.size());
    if (needs > has) {
        if (has == 0)
            report.add("devices", "this machine has no GPU that this build can use", "use the device kind cpu");
        else
            report.add("devices", "needs " + std::to_string(needs) + ", has " + std::to_string(has), "use fewer GPUs");
        return;
    }
    std::set<std::string> taken;
    for (const std::string &device : config.devices) {
        const std::string uuid = gpuOf(device, facts);
        if (uuid.empty())
            report.add("devices", "there is no GPU " + device + " here",
                       has == 1 ? "use 0" : "use 0 to " + std::to_string(has - 1));
        else if (!taken.insert(uuid).second && !config.oversubscribe)
            report.add("devices", "device " + device + " is a GPU already given: " + uuid, "give each GPU once");
    }
}

} // namespace

Result<std::vector<int>> parseStageLayers(std::string_view text) {
    std::vector<int> layers;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        int number = 0;
        const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, number);
        if (error != std::errc() || stop != text.data() + end || number < 1 || end + 1 == text.size())
            return fail(Error::badArgument("\"" + std::string(text.substr(0, 60)) + "\" is no list of layers",
                                           "give numbers from 1, like 2,3", "stage_layers"));
        layers.push_back(number);
        begin = end + 1;
    }
    return layers;
}

std::vector<Error> checkLayers(const RunConfig &config, int devices, const ModelFacts &model) {
    Report report;
    const int stages = stageCount(config, devices);
    const auto layers = parseStageLayers(config.stageLayers);
    const char *const each = config.stages > 0 ? "stage" : "device";
    const std::string among = count(stages, each);
    if (stages > model.layers && isModelFile(config.model) && model.layerNames.empty())
        report.add("model", model.title + " is one layer, which pipeline can't share out among " + among,
                   "name the submodules that are its layers as \"layers\" in " + descriptionOf(config.model) +
                       ", or use the method ddp");
    else if (stages > model.layers)
        report.add(config.stages > 0 ? "stages" : "devices",
                   model.title + " has " + count(model.layers, "layer") + " for " + among,
                   "use " + std::to_string(model.layers) + ' ' + each + "s or fewer");
    if (!layers || layers->empty())
        return report.take();
    const int sum = std::accumulate(layers->begin(), layers->end(), 0);
    if (std::cmp_not_equal(layers->size(), stages) || sum != model.layers)
        report.add("stage_layers",
                   "\"" + config.stageLayers + "\" doesn't share out the " + count(model.layers, "layer") + " of " +
                       model.title + " among " + among,
                   "give " + count(stages, "number") + " that add up to " + std::to_string(model.layers) +
                       ", or nothing");
    return report.take();
}

std::vector<Error> validate(const RunConfig &config, Descriptions descriptions) {
    Report report;
    checkFields(config, report);
    if (!report.has("batch_size") && !report.has("batch_per_device"))
        checkBatch(config, report);
    checkMethod(config, report);
    const auto model = factsFor(config.model, descriptions);
    if (!model)
        report.add(model.error());
    checkStages(config, model.value_or(std::nullopt), report);
    if (!report.has("batch_size") && !report.has("batch_per_device"))
        checkShares(config, report);
    checkData(config, model.value_or(std::nullopt), report);
    checkTexts(config, report);
    checkOptimizer(config, report);
    if (!report.has("devices"))
        checkDevices(config, report);
    checkLoader(config, report);
    checkGraph(config, report);
    if (!config.workerCores.empty()) {
        if (auto cores = parseCores(config.workerCores); !cores)
            report.add("worker_cores", cores.error().what, cores.error().wayOut);
    }
    checkInitMethod(config, report);
    checkNetwork(config, report);
    for (Error &error : checkNodes(config))
        report.add(std::move(error));
    checkFiles(config, report);
    return report.take();
}

std::vector<Error> checkMachine(const RunConfig &config, const MachineFacts &facts) {
    Report report;
    if (config.device == "cuda")
        checkGpus(config, facts, report);
    else
        checkCpuDevices(config, facts, report);
    if (const auto cores = parseCores(config.workerCores); !config.workerCores.empty() && cores) {
        CoreList missing;
        std::set_difference(cores->begin(), cores->end(), facts.allowedCores.begin(), facts.allowedCores.end(),
                            std::back_inserter(missing));
        if (!missing.empty())
            report.add("worker_cores",
                       (missing.size() == 1 ? "core " : "cores ") + formatCores(missing) + " may not be used here",
                       "use some of " + formatCores(facts.allowedCores));
    }
    return report.take();
}

std::vector<std::string> deviceNames(const RunConfig &config, const MachineFacts &facts) {
    std::vector<std::string> names;
    for (const std::string &device : config.devices) {
        if (config.device != "cuda") {
            names.push_back("cpu:" + std::to_string(indexOf(device)));
            continue;
        }
        const std::string uuid = gpuOf(device, facts);
        names.push_back(!uuid.empty() ? uuid : isUuid(device) ? device : "cuda:" + std::to_string(indexOf(device)));
    }
    return names;
}

} // namespace lockstep
