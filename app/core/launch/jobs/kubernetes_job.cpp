// SPDX-License-Identifier: MIT
// Kubernetes manifests: a plain Indexed Job with its headless Service, and a PyTorchJob.
#include <nlohmann/json.hpp>

#include "ipc/command_template.h"
#include "launch/jobs/exported_job.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

/// Emits block-style YAML. Keys are plain; every value is quoted.
void writeYaml(const Json &value, int indent, std::string &out) {
    const std::string blanks(std::size_t(indent), ' ');
    const auto scalar = [&](const Json &one) {
        return one.is_string() ? yamlText(one.get_ref<const std::string &>()) : one.dump();
    };
    if (value.is_object())
        for (const auto &[key, member] : value.items()) {
            out += blanks + key + ":";
            if (member.is_structured() && !member.empty()) {
                out += "\n";
                writeYaml(member, member.is_array() ? indent : indent + 2, out);
            } else {
                out += " " + scalar(member) + "\n";
            }
        }
    else
        for (const Json &item : value) {
            if (!item.is_structured()) {
                out += blanks + "- " + scalar(item) + "\n";
                continue;
            }
            std::string inner;
            writeYaml(item, indent + 2, inner);
            inner.replace(std::size_t(indent), 2, "- ");
            out += inner;
        }
}

std::string toYaml(const Json &document) {
    std::string out;
    writeYaml(document, 0, out);
    return out;
}

/// Kubernetes expands $(NAME) in a container's arguments; $$ escapes $.
std::string containerWord(const std::string &word) {
    std::string out;
    for (const char c : word)
        out += c == '$' ? "$$" : std::string(1, c);
    return out;
}

int coresOf(const RunConfig &config, int processes) {
    const int devices = isDistributed(config.method) ? processes : deviceCount(config);
    const int training = config.device == "cpu" ? devices * config.coresPerDevice : processes;
    return training + processes * config.workers;
}

Json containerOf(const PlannedRun &run, const JobPlace &place, int processes, std::vector<std::string> words) {
    Json command = Json::array();
    for (std::string &word : words)
        command.push_back(std::move(word));
    Json container = {{"name", "pytorch"}, {"image", place.image}, {"command", std::move(command)}};
    Json environment = Json::array();
    if (!place.frames.empty())
        environment.push_back({{"name", "LOCKSTEP_FRAMES"}, {"value", containerWord(place.frames)}});
    if (!place.framesSecret.empty())
        environment.push_back({{"name", "LOCKSTEP_FRAMES_TOKEN"},
                               {"valueFrom", {{"secretKeyRef", {{"name", place.framesSecret}, {"key", "token"}}}}}});
    if (!environment.empty())
        container["env"] = std::move(environment);
    Json resources = {{"requests", {{"cpu", std::to_string(coresOf(run.config, processes))}}}};
    if (run.config.device == "cuda") {
        const int gpus = isDistributed(run.config.method) ? processes : deviceCount(run.config);
        resources["limits"] = {{"nvidia.com/gpu", std::to_string(gpus)}};
    }
    container["resources"] = std::move(resources);
    Json mounts = Json::array();
    if (!place.claim.empty())
        mounts.push_back({{"name", "shared"}, {"mountPath", place.mount}});
    if (processes > 1) // shared memory of NCCL and the loaders: a pod's default of 64 MiB is too little
        mounts.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
    if (!mounts.empty())
        container["volumeMounts"] = std::move(mounts);
    return container;
}

Json podSpec(const JobPlace &place, int processes, Json container) {
    Json spec = Json::object();
    spec["restartPolicy"] = "Never";
    spec["terminationGracePeriodSeconds"] = 60; // time for the checkpoint that ranks write on SIGTERM
    spec["containers"] = Json::array({std::move(container)});
    Json volumes = Json::array();
    if (!place.claim.empty())
        volumes.push_back({{"name", "shared"}, {"persistentVolumeClaim", {{"claimName", place.claim}}}});
    if (processes > 1)
        volumes.push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}});
    if (!volumes.empty())
        spec["volumes"] = std::move(volumes);
    return spec;
}

Json metadata(const PlannedRun &run, const JobPlace &place, const std::string &name) {
    Json out = {{"name", name}};
    if (!place.nameSpace.empty())
        out["namespace"] = place.nameSpace;
    out["labels"] = {{"app.kubernetes.io/name", "lockstep"}, {"lockstep/job", name}};
    out["annotations"] = {{"lockstep/run", run.name}};
    return out;
}

struct Manifest {
    JobShape shape;
    int processes = 1; ///< of each pod
    std::vector<std::string> command;
    std::string name;
};

Result<Manifest> prepare(const PlannedRun &run, const JobPlace &place) {
    const auto shape = jobShape(run.config, place.nodes);
    if (!shape)
        return fail(shape.error());
    if (!shape->even())
        return fail(Error::badArgument(std::to_string(shape->worldSize()) + " ranks can't be shared evenly among " +
                                           std::to_string(shape->nodes()) + " pods, which are all the same",
                                       "choose a number of nodes that divides the ranks", "nodes"));
    if (place.image.empty())
        return fail(Error::badArgument("no container image is given", "give one with lockstep-trainer in it: --image",
                                       "image"));
    if (!place.claim.empty() && !place.mount.starts_with('/'))
        return fail(Error::badArgument("the mount \"" + commentText(place.mount) + "\" is not an absolute path",
                                       "write it like /shared", "mount"));
    Manifest out{
        *shape, shape->processes.front(), {}, place.name.empty() ? jobName("lockstep-" + run.name) : place.name};
    // A pod's own files live as long as its restarts.
    const std::string checkpoints = (place.claim.empty() ? "/tmp" : place.mount) + "/" + out.name + "-checkpoints";
    auto command =
        jobCommand(run, out.processes, torchrunRestarts(run.config, shape->nodes()) ? checkpoints : std::string());
    if (!command)
        return fail(command.error());
    for (const std::string &word : *command)
        out.command.push_back(containerWord(word));
    return out;
}

/// Prefixes torchrun with these arguments; a single-process method needs none.
std::vector<std::string> underTorchrun(const PlannedRun &run, const Manifest &manifest,
                                       std::vector<std::string> words) {
    std::vector<std::string> command = manifest.command;
    if (!isDistributed(run.config.method))
        return command;
    words.insert(words.begin(), "torchrun");
    if (pythonScript(command) == std::size_t(1))
        command.erase(command.begin()); // torchrun starts Python itself
    else
        words.emplace_back("--no-python");
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

} // namespace

std::string yamlText(std::string_view utf8) {
    // As JSON: invalid UTF-8 becomes U+FFFD, ASCII controls are escaped.
    const std::string json = Json(std::string(utf8)).dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string out;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const auto at = [&](std::size_t k) {
            return i + k < json.size() ? static_cast<unsigned char>(json[i + k]) : 0u;
        };
        char hex[8];
        if (at(0) == 0x7f) {
            out += "\\x7f";
        } else if (at(0) == 0xc2 && at(1) < 0xa0) { // C1 controls; U+0085 is a line break to YAML
            std::snprintf(hex, sizeof hex, "\\x%02x", at(1));
            out += hex;
            ++i;
        } else if (at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0xa8 || at(2) == 0xa9)) { // line separators
            out += at(2) == 0xa8 ? "\\u2028" : "\\u2029";
            i += 2;
        } else if (at(0) == 0xef && ((at(1) == 0xbb && at(2) == 0xbf) || (at(1) == 0xbf && at(2) >= 0xbe))) {
            out += at(1) == 0xbb ? "\\ufeff" : at(2) == 0xbe ? "\\ufffe" : "\\uffff"; // not printable
            i += 2;
        } else {
            out += json[i];
        }
    }
    return out;
}

Result<std::string> kubernetesJob(const PlannedRun &run, const JobPlace &place) {
    const auto manifest = prepare(run, place);
    if (!manifest)
        return fail(manifest.error());
    const int nodes = manifest->shape.nodes();
    const std::string &name = manifest->name;
    TorchrunPlace pods{nodes, "$(JOB_COMPLETION_INDEX)", manifest->processes, {}, {}};
    if (nodes > 1) { // the pod's hostname is NAME-INDEX, its domain the headless service
        pods.master = name + "-0." + name;
        pods.port = place.masterPort;
    }
    std::vector<std::string> numbers;
    for (const auto &[flag, value] : torchrunOptions(run.config, pods))
        numbers.push_back(value.empty() ? flag : flag + "=" + value);
    Json pod = podSpec(place, manifest->processes,
                       containerOf(run, place, manifest->processes, underTorchrun(run, *manifest, numbers)));
    if (nodes > 1)
        pod["subdomain"] = name;
    const Json job = {
        {"apiVersion", "batch/v1"},
        {"kind", "Job"},
        {"metadata", metadata(run, place, name)},
        {"spec",
         {{"completionMode", "Indexed"},
          {"completions", nodes},
          {"parallelism", nodes},
          {"backoffLimit", 0}, // torchrun restarts the ranks; a pod that is started again can't rejoin its group
          {"template", {{"metadata", {{"labels", {{"lockstep/job", name}}}}}, {"spec", std::move(pod)}}}}}};
    if (nodes == 1)
        return toYaml(job);
    const Json service = {{"apiVersion", "v1"},
                          {"kind", "Service"},
                          {"metadata", metadata(run, place, name)},
                          {"spec",
                           {{"clusterIP", "None"},
                            {"publishNotReadyAddresses", true}, // ranks meet before any pod is ready
                            {"selector", {{"lockstep/job", name}}}}}};
    return toYaml(service) + "---\n" + toYaml(job);
}

Result<std::string> pyTorchJob(const PlannedRun &run, const JobPlace &place) {
    const auto manifest = prepare(run, place);
    if (!manifest)
        return fail(manifest.error());
    const int nodes = manifest->shape.nodes();
    std::vector<std::string> words; // the operator gives torchrun its nodes
    if (torchrunRestarts(run.config, nodes))
        words = {"--standalone", "--max-restarts=" + std::to_string(run.config.maxRestarts)};
    Json pod = podSpec(place, manifest->processes,
                       containerOf(run, place, manifest->processes, underTorchrun(run, *manifest, words)));
    pod.erase("restartPolicy"); // set per replica, below
    const auto replicas = [&](int count) {
        return Json{{"replicas", count}, {"restartPolicy", "Never"}, {"template", {{"spec", pod}}}};
    };
    Json spec = {{"nprocPerNode", std::to_string(manifest->processes)}, {"runPolicy", {{"cleanPodPolicy", "None"}}}};
    spec["pytorchReplicaSpecs"] = {{"Master", replicas(1)}};
    if (nodes > 1)
        spec["pytorchReplicaSpecs"]["Worker"] = replicas(nodes - 1);
    return toYaml({{"apiVersion", "kubeflow.org/v1"},
                   {"kind", "PyTorchJob"},
                   {"metadata", metadata(run, place, manifest->name)},
                   {"spec", std::move(spec)}});
}

} // namespace lockstep::core
