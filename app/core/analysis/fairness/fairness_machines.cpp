// SPDX-License-Identifier: MIT
// The machines and programs that two groups ran on, as their runs recorded them: weights and their reasons stand in fairness.h.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/fairness/fairness_detail.h"
#include "analysis/fairness/setting_factors.h"
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
    if (machine.allowedCores.empty())
        return {};
    const auto cores = coreCount(machine.allowedCores);
    return cores ? std::to_string(*cores) : std::string();
}

using Files = std::map<std::string, Words>; ///< file → its digests over a group's repeats

Files filesOf(const RepeatGroup &group) {
    Files out;
    for (const RunOutcome &run : group.runs)
        for (const auto &[file, digest] : run.conditions.files)
            out[file].insert(digest.substr(0, 12));
    return out;
}

void addTo(std::string &list, const std::string &file, const Words &digests) {
    list += (list.empty() ? "" : ", ") + file + " " + joined(digests);
}

/// As editedBetween(), over a group's repeats. `data`: where no file has the same name, packed or not, they read other data.
std::pair<std::string, std::string> unlikeFiles(const Files &a, const Files &b, bool data) {
    std::pair<std::string, std::string> out, all;
    bool anyInBoth = false;
    const auto unpacked = [](const std::string &file) {
        return file.substr(0, file.size() - (file.ends_with(".gz") ? 3 : 0));
    };
    for (const auto &[file, digests] : a) {
        addTo(all.first, file, digests);
        anyInBoth = anyInBoth || b.contains(file) || b.contains(unpacked(file)) || b.contains(file + ".gz");
        if (const auto other = b.find(file); other != b.end() && other->second != digests) {
            addTo(out.first, file, digests);
            addTo(out.second, file, other->second);
        }
    }
    for (const auto &[file, digests] : b)
        addTo(all.second, file, digests);
    return data && !anyInBoth && !a.empty() && !b.empty() ? all : out;
}

/// More nodes are more devices, which is meant: host names matter only if the smaller set is not part of the larger.
bool isUnlikeHosts(const Words &a, const Words &b) {
    return !std::ranges::includes(a, b) && !std::ranges::includes(b, a);
}

} // namespace

void compareMachines(const Pair &pair, std::vector<Unlike> &out) {
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
        {"host", "Machine", Notable, &M::host, "two machines of one model still differ in load, cooling and memory"},
        {"machine_cores", "Usable cores", Notable, allowedCount,
         "one had more cores for loading, viewers and everything else"},
        {"torch_version", "PyTorch", Notable, &M::torchVersion,
         "a different version computes the same work differently"},
        {"kernel", "Kernel", Minor, &M::kernel, "a different kernel schedules and communicates differently"},
        {"gpu_driver", "GPU driver", Minor, &M::gpuDriver, "a different driver launches kernels differently"},
    };
    for (const Row &row : rows) {
        const bool host = std::string_view(row.key) == "host";
        if (pair.isVaried(row.key))
            continue;
        const Words a = machineWords(pair.reference, row.property), b = machineWords(pair.run, row.property);
        if (a.empty() || b.empty() || a == b || (host && !isUnlikeHosts(a, b)))
            continue;
        out.push_back(difference(row.key, row.label, joined(a), joined(b), row.weight, row.consequence));
    }
}

void comparePrograms(const Pair &pair, std::vector<Unlike> &out) {
    using enum FairnessWeight;
    const auto words = [](const RepeatGroup &group, std::string RunConditions::*member, const RepeatGroup &other) {
        Words of;
        for (const RunOutcome &run : group.runs)
            if (const std::string &word = run.conditions.*member; !word.empty())
                of.insert(word);
        // Whatever its name is, a script is not our trainer; it may be the other script.
        if (member == &RunConditions::program && of.empty() && isScript(group) && !isScript(other))
            of.insert("a script");
        return of;
    };
    const auto compare = [&](std::string RunConditions::*member, const char *key, const char *label,
                             FairnessWeight weight, const char *consequence) {
        const Words a = words(pair.reference, member, pair.run), b = words(pair.run, member, pair.reference);
        if (!a.empty() && !b.empty() && a != b)
            out.push_back(difference(key, label, joined(a), joined(b), weight, consequence));
    };
    compare(&RunConditions::program, "program", "Program", Decisive,
            "different programs do the work, so a gain may be the program's, not the method's");
    compare(&RunConditions::lockstepVersion, "lockstep_version", "Lockstep", Minor,
            "a different version may train differently");
}

void compareFiles(const Pair &pair, const std::vector<Unlike> &settings, std::vector<Unlike> &out) {
    if (isScript(pair.reference) != isScript(pair.run))
        return; // what the program reads, its name says
    const bool script = isScript(pair.run);
    if (!script && (names(settings, "dataset") || pair.isVaried("dataset")))
        return;
    const auto [before, after] = unlikeFiles(filesOf(pair.reference), filesOf(pair.run), !script);
    if (before.empty())
        return;
    out.push_back(difference(
        script ? "script" : "data", script ? "Script" : "Data files", before, after, FairnessWeight::Decisive,
        script ? "their code differs, so a gain may be the code's" : "the runs read different data"));
}

} // namespace lockstep::core::fairness
