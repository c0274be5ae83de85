// SPDX-License-Identifier: MIT
// The machines and programs that two groups ran on, as their runs recorded them: weights and their reasons stand in fairness.h.
#include <algorithm>
#include <functional>
#include <set>

#include "analysis/fairness/fairness_detail.h"
#include "experiment/run_names.h"
#include "ipc/cores.h"

namespace lockstep::core::fairness {
namespace {

using Words = std::set<std::string>;
using Property = std::function<std::string(const MachineRecord &)>;

Words machineWords(const RepeatGroup &group, const Property &property) {
    Words out;
    for (const RunOutcome &run : group.runs)
        for (const MachineRecord &machine : run.conditions.machines)
            if (std::string word = property(machine); !word.empty())
                out.insert(std::move(word));
    return out;
}

std::string joined(const Words &words) {
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string gpuNames(const MachineRecord &machine) {
    Words out;
    for (const DeviceRecord &device : machine.devices)
        if (device.kind == "cuda")
            out.insert(device.name);
    return joined(out);
}

std::string allowedCount(const MachineRecord &machine) {
    const auto cores = parseCores(machine.allowedCores);
    return machine.allowedCores.empty() || !cores ? std::string() : std::to_string(cores->size());
}

std::string dataText(const MachineRecord &machine) {
    std::string text;
    for (const auto &[file, sha] : machine.datasetSha256)
        text += (text.empty() ? "" : ", ") + file + " " + sha.substr(0, 12);
    return text;
}

/// More nodes are more devices, which is meant: host names matter only if the smaller set is not part of the larger.
bool isUnlikeHosts(const Words &a, const Words &b) {
    return !std::ranges::includes(a, b) && !std::ranges::includes(b, a);
}

} // namespace

void compareMachines(const Pair &pair, const std::vector<Unlike> &settings, std::vector<Unlike> &out) {
    using enum FairnessWeight;
    struct Row {
        const char *key, *label;
        FairnessWeight weight;
        Property property;
        const char *consequence;
    };
    using M = MachineRecord;
    const std::vector<Row> rows{
        {"cpu_model", "Processor", Decisive, &M::cpuModel, "the machines differ, so a gain may be the machine's"},
        {"gpu_model", "GPU", Decisive, gpuNames, "the GPUs differ, so a gain may be theirs"},
        {"data", "Data files", Decisive, dataText, "the runs read different data"},
        {"host", "Machine", Notable, &M::host, "two machines of one model still differ in load, cooling and memory"},
        {"machine_cores", "Usable cores", Notable, allowedCount,
         "one had more cores for loading, viewers and everything else"},
        {"torch_version", "PyTorch", Notable, &M::torchVersion,
         "a different version computes the same work differently"},
        {"kernel", "Kernel", Minor, &M::kernel, "a different kernel schedules and communicates differently"},
        {"gpu_driver", "GPU driver", Minor, &M::gpuDriver, "a different driver launches kernels differently"},
    };
    for (const Row &row : rows) {
        const bool data = std::string_view(row.key) == "data", host = std::string_view(row.key) == "host";
        if ((data && names(settings, "dataset")) || pair.isVaried(data ? "dataset" : row.key))
            continue;
        const Words a = machineWords(pair.reference, row.property), b = machineWords(pair.run, row.property);
        if (a.empty() || b.empty() || a == b || (host && !isUnlikeHosts(a, b)))
            continue;
        out.push_back(difference(row.key, row.label, joined(a), joined(b), row.weight, row.consequence));
    }
}

void comparePrograms(const Pair &pair, std::vector<Unlike> &out) {
    using enum FairnessWeight;
    const auto words = [](const RepeatGroup &group, std::string RunConditions::*member) {
        Words of;
        for (const RunOutcome &run : group.runs)
            if (const std::string &word = run.conditions.*member; !word.empty())
                of.insert(word);
        return of;
    };
    const auto compare = [&](std::string RunConditions::*member, const char *key, const char *label,
                             FairnessWeight weight, const char *consequence) {
        const Words a = words(pair.reference, member), b = words(pair.run, member);
        if (!a.empty() && !b.empty() && a != b)
            out.push_back(difference(key, label, joined(a), joined(b), weight, consequence));
    };
    compare(&RunConditions::program, "program", "Program", Decisive,
            "different programs do the work, so a gain may be the program's, not the method's");
    compare(&RunConditions::lockstepVersion, "lockstep_version", "Lockstep", Minor,
            "a different version may train differently");
}

} // namespace lockstep::core::fairness
