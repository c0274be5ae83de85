// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/launch_plan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "ipc/command_template.h"
#include "ipc/model_facts.h"
#include "ipc/placement.h"
#include "ipc/run_title.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/ranks/device_plan.h"
#include "trainer/agent/ranks/master_port.h"
#include "trainer/agent/ranks/node_plan.h"
#include "trainer/agent/ranks/programs.h"
#include "trainer/agent/ranks/script_command.h"

namespace lockstep::agent {

namespace {

using Errors = std::vector<Error>;

constexpr std::string_view trainerName = "lockstep-trainer";

std::vector<std::pair<std::string, std::string>> rankEnvironment(int rank, int localRank, int worldSize,
                                                                 int localSize) {
    return {{"RANK", std::to_string(rank)},
            {"LOCAL_RANK", std::to_string(localRank)},
            {"WORLD_SIZE", std::to_string(worldSize)},
            {"LOCAL_WORLD_SIZE", std::to_string(localSize)}};
}

/// Environment variables of PyTorch and OpenMP that give a script its devices. lockstep-trainer has options instead.
std::vector<std::pair<std::string, std::string>>
scriptEnvironment(const RunConfig &config, const std::vector<DevicePlan> &devices, int rank, int node) {
    const int threads = config.threads > 0 ? config.threads : config.device == "cpu" ? config.coresPerDevice : 1;
    std::vector<std::pair<std::string, std::string>> out = {{"LOCKSTEP_DEVICE", devicesOfRank(devices, rank)},
                                                            {"OMP_NUM_THREADS", std::to_string(threads)},
                                                            {"GROUP_RANK", std::to_string(node)}};
    if (config.device != "cuda")
        return out;
    std::string visible; // LOCAL_RANK is an index into this list
    for (const DevicePlan &device : devices) {
        const std::string name = localName(device.name);
        visible += (visible.empty() ? "" : ",") + (name.starts_with("cuda:") ? name.substr(5) : name);
    }
    out.emplace_back("CUDA_VISIBLE_DEVICES", visible);
    return out;
}

Errors mistakesIn(const CommandOptions &options) {
    Errors errors;
    const auto mistake = [&](std::string what, std::string wayOut) {
        errors.push_back(Error::badArgument(std::move(what), std::move(wayOut)));
    };
    if (options.command.empty())
        mistake("there is no command to run", "write it after --, e.g. lockstep-agent run -- python train.py");
    if (auto words = checkWordCount(options.command); !words)
        errors.push_back(words.error());
    if (options.nodeRank < 0 || options.nodeRank >= options.nodes)
        mistake("node rank " + std::to_string(options.nodeRank) + " is outside 0 to " +
                    std::to_string(options.nodes - 1),
                "give --node-rank a number below --nnodes");
    if (!options.runId.empty() && !isRunId(options.runId))
        mistake("'" + options.runId + "' is no run id", "give all nodes the same one, like 20260102T030405Z-89abcdef");
    if (options.joins() && options.nodeRank == 0 && options.join.empty() && options.interface.empty())
        mistake("node 0 of " + std::to_string(options.nodes) + " does not know where to listen",
                "give --interface IF or --join HOST:PORT, or leave both out on all nodes");
    if (options.nodes > 1 && !options.joins() && (options.masterAddress.empty() || options.masterPort == 0))
        mistake("a run on " + std::to_string(options.nodes) + " nodes needs the address of node 0",
                "give --run-id and --join, or --master-addr and --master-port of node 0 for one run per node");
    const CoreList allowed = allowedCores();
    const int there = options.coresPerRank > 0 ? cpuDeviceCount(options.coresPerRank, allowed) : options.processes;
    if (there < options.processes)
        mistake("needs " + std::to_string(options.processes) + " devices of " + std::to_string(options.coresPerRank) +
                    " cores, has " + std::to_string(there),
                "lower --nproc-per-node or --cores-per-rank");
    return errors;
}

Result<std::vector<std::string>> trainerCommand(const RunConfig &config) {
    auto trainer = findTrainer();
    if (!trainer)
        return fail(trainer.error());
    RunConfig own = config;
    own.frames.clear(); // the agent sets these
    own.summary.clear();
    std::vector<std::string> command = toArguments(own);
    command.insert(command.begin(), std::move(*trainer));
    return command;
}
} // namespace

std::string defaultName(const RunConfig &config) {
    const MethodSpec &method = specOf(config.method);
    return titleOf(method, deviceCount(config));
}

tl::expected<LaunchPlan, Errors> planFromConfig(RunRecord record, const Nvml *nvml, int node, bool attended) {
    if (node < 0 || node >= nodeCount(*record.config))
        return tl::unexpected(Errors{Error::badArgument("node " + std::to_string(node) + " is not one of the run's " +
                                                            std::to_string(nodeCount(*record.config)) + " nodes",
                                                        "count them from 0")});
    const RunConfig config = configOfNode(*record.config, node);
    const bool several = nodeCount(config) > 1;
    const MachineFacts facts = machineFacts(nvml);
    Errors errors = validate(config);
    const Errors lacking = checkMachine(config, facts);
    errors.insert(errors.end(), lacking.begin(), lacking.end());
    LaunchPlan plan;
    const bool ours = attended && !record.command.empty() && record.command.front() == trainerName;
    const bool script = ours || (!record.command.empty() && isScript(record));
    plan.attended = attended;
    plan.maxRestarts = attended ? 0 : config.maxRestarts;
    if (auto there = checkModelFile(config.model); !script && !there)
        errors.push_back(there.error());
    if (ours) // e.g. `lockstep-trainer lab`, another mode of the same program
        if (auto trainer = findTrainer())
            record.command.front() = *trainer;
    auto command = script ? resolveScript(record.command, config, plan.python) : trainerCommand(config);
    if (!command)
        errors.push_back(command.error());
    plan.master.passListener = !script || ours;
    if (!config.interface.empty()) {
        if (auto address = addressOfInterface(config.interface))
            plan.master.address = *address;
        else
            errors.push_back(address.error());
    }
    if (!errors.empty())
        return tl::unexpected(errors);

    record.processes = processCount(config);
    record.deviceNames = deviceNames(config, facts);
    for (std::string &device : record.deviceNames)
        device = several ? nameApart(device, node) : device;
    record.machines = {takeMachineRecord(node, config.coresPerDevice, nvml)};
    if (record.name.empty())
        record.name = script ? commandName(*command) : defaultName(config);
    if (script)
        record.command = *command;
    plan.worldSize = record.processes;
    plan.nodes = nodesOf(config, node);
    plan.nodes.listenAddress = plan.master.address;
    if (several && !config.nodes[static_cast<std::size_t>(node)].address.empty())
        plan.nodes.announce = config.nodes[static_cast<std::size_t>(node)].address;
    plan.master.bindHere = node == 0;
    const int local = plan.nodes.processes[static_cast<std::size_t>(node)];
    const int first = firstRanks(plan.nodes.processes)[static_cast<std::size_t>(node)];
    plan.devices = devicesOf(config, record.deviceNames, record.machines.front(), first);
    plan.adoptsRanks = script && !ours && !specOf(config.method).processPerDevice;
    const Result<std::string> follows = pathThatFollows();
    for (int i = 0; i < local; ++i) {
        RankPlan process;
        const int rank = process.rank = first + i;
        process.localRank = i;
        process.command = *command;
        if (!plan.adoptsRanks)
            process.environment = rankEnvironment(rank, i, record.processes, local);
        if (script && !ours) {
            for (auto &[name, value] : scriptEnvironment(config, plan.devices, rank, node))
                process.environment.emplace_back(name, value);
            if (follows)
                process.environment.emplace_back("PYTHONPATH", *follows);
        } else if (several)
            process.environment.emplace_back("GROUP_RANK", std::to_string(node));
        nameInterface(config.interface, process.environment);
        process.affinity = affinityOf(config, plan.devices, rank);
        plan.ranks.push_back(std::move(process));
    }
    plan.record = std::move(record);
    plan.record.freeCores = freeCoresOf(plan);
    return plan;
}

namespace {
void nameByOptions(RunRecord &record, const CommandOptions &options) {
    record.run = options.runId;
    record.experiment = options.experiment;
    record.recipe = options.recipe;
    record.repeat = options.repeat;
}
} // namespace

tl::expected<LaunchPlan, Errors> planFromCommand(const CommandOptions &options, const Nvml *nvml) {
    Errors errors = mistakesIn(options);
    auto program = options.command.empty() ? Result<std::string>(std::string()) : findProgram(options.command.front());
    // lockstep-trainer need not be in PATH: it lies beside the agent.
    const bool ours =
        !options.command.empty() && std::filesystem::path(options.command.front()).filename() == trainerName;
    if (!program && ours && options.command.front().find('/') == std::string::npos)
        program = findTrainer();
    if (!program)
        errors.push_back(program.error());
    const auto follows = options.automatic ? pathThatFollows() : Result<std::string>(std::string());
    if (!follows)
        errors.push_back(follows.error());
    const MachineFacts facts = machineFacts(nvml);
    std::optional<RunConfig> config;
    if (ours)
        config = configFromArguments({options.command.begin() + 1, options.command.end()});
    std::error_code gone;
    if (config) {
        config->model = modelFrom(std::filesystem::current_path(gone), config->model); // known by its whole path
        config->maxRestarts = std::max(config->maxRestarts, options.maxRestarts);
        takeFirstDevices(*config, options.processes);
        // Refuse what the trainer would refuse before anything starts.
        const Errors mistakes = validate(*config);
        const Errors lacking = options.nodes == 1 ? checkMachine(*config, facts) : Errors{};
        if (!config->nodes.empty() && options.joins() && nodeCount(*config) != options.nodes)
            errors.push_back(Error::badArgument("--nodes places " + std::to_string(nodeCount(*config)) +
                                                    " nodes, --nnodes says " + std::to_string(options.nodes),
                                                "give the same number"));
        errors.insert(errors.end(), mistakes.begin(), mistakes.end());
        errors.insert(errors.end(), lacking.begin(), lacking.end());
        if (auto there = checkModelFile(config->model); !there)
            errors.push_back(there.error());
    }
    if (!errors.empty())
        return tl::unexpected(errors);
    if (config && config->nodes.size() > 1 && options.joins()) {
        RunRecord record; // with --nodes each agent knows its part
        nameByOptions(record, options);
        record.name = options.name;
        record.config = config;
        auto plan = planFromConfig(std::move(record), nvml, options.nodeRank);
        if (!plan)
            return plan;
        plan->echoConsole = true;
        if (auto joined = joinByOptions(*plan, options); !joined)
            return tl::unexpected(Errors{joined.error()});
        return plan;
    }

    LaunchPlan plan;
    plan.maxRestarts = config ? config->maxRestarts : options.maxRestarts;
    plan.echoConsole = true;
    plan.worldSize = options.processes * options.nodes;
    plan.master.port = options.masterPort;
    if (!options.masterAddress.empty())
        plan.master.address = options.masterAddress;
    plan.master.bindHere = options.nodeRank == 0;
    plan.master.passListener = ours;
    plan.adoptsRanks = !ours && !options.ranksGiven;

    RunRecord &record = plan.record;
    record.command = options.command;
    record.processes = options.processes;
    record.config = config;
    const int coresPerDevice = record.config ? record.config->coresPerDevice : std::max(1, options.coresPerRank);
    record.machines = {takeMachineRecord(options.nodeRank, coresPerDevice, nvml)};
    if (record.config && checkMachine(*record.config, facts).empty())
        plan.devices = devicesOf(*record.config, deviceNames(*record.config, facts), record.machines.front());
    else
        plan.devices = devicesOfCommand(options, record.machines.front(), nvml);
    for (const DevicePlan &device : plan.devices)
        record.deviceNames.push_back(device.name);
    record.name = !options.name.empty() ? options.name
                  : record.config       ? defaultName(*record.config)
                                        : commandName(options.command);

    for (int local = 0; local < options.processes; ++local) {
        RankPlan process;
        process.rank = options.nodeRank * options.processes + local;
        process.localRank = local;
        process.command = options.command;
        process.command.front() = *program;
        if (!plan.adoptsRanks) {
            process.environment = rankEnvironment(process.rank, local, plan.worldSize, options.processes);
            process.environment.emplace_back("GROUP_RANK", std::to_string(options.nodeRank));
        }
        if (!follows->empty())
            process.environment.emplace_back("PYTHONPATH", *follows);
        if (!ours && options.processes > 1 && !::getenv("OMP_NUM_THREADS"))
            process.environment.emplace_back("OMP_NUM_THREADS", "1"); // as torchrun: N ranks × all cores would thrash
        if (options.coresPerRank > 0) {
            process.affinity = plan.devices[static_cast<std::size_t>(local)].cores;
            process.environment.emplace_back("LOCKSTEP_DEVICE", devicesOfRank(plan.devices, process.rank));
        }
        plan.ranks.push_back(std::move(process));
    }
    record.freeCores = freeCoresOf(plan);
    nameByOptions(record, options);
    if (options.joins()) {
        for (std::size_t i = 0; i < plan.devices.size(); ++i)
            plan.devices[i].name = record.deviceNames[i] = nameApart(plan.devices[i].name, options.nodeRank);
        if (auto joined = joinByOptions(plan, options); !joined)
            return tl::unexpected(Errors{joined.error()});
    }
    return plan;
}

std::optional<RunConfig> configFromArguments(const std::vector<std::string> &arguments) {
    RunConfig config;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &argument = arguments[i];
        const auto equals = argument.find('=');
        const std::string flag = argument.substr(0, equals);
        const auto fields = runConfigFields();
        const auto field =
            std::find_if(fields.begin(), fields.end(), [&](const FieldSpec &f) { return flagOf(f) == flag; });
        if (field == fields.end())
            return std::nullopt;
        std::string value;
        if (equals != std::string::npos)
            value = argument.substr(equals + 1);
        else if (field->type == FieldType::Switch)
            value = "true";
        else if (i + 1 < arguments.size())
            value = arguments[++i];
        else
            return std::nullopt;
        if (!field->set(config, value))
            return std::nullopt;
    }
    return config;
}

} // namespace lockstep::agent
