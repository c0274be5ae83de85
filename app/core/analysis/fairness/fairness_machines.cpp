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
#include "ipc/thousands.h"

namespace lockstep::core::fairness {
namespace {

using Words = std::set<std::string>;
constexpr std::size_t mostNamed = 8; ///< machines, files or others of one kind in a sentence
using Property = std::function<std::string(const MachineRecord &)>;

Words machineWords(const RepeatGroup &group, const Property &property) {
    Words out;
    for (const RunOutcome &run : group.runs)
        for (const MachineRecord &machine : run.conditions.machines)
            if (std::string word = property(machine); !word.empty())
                out.insert(std::move(word));
    return out;
}

/// "a, b, c", of many the first ones: "a, b and 4,094 more".
std::string joined(const std::vector<std::string> &words, std::size_t most = mostNamed) {
    std::string text;
    for (std::size_t i = 0; i < std::min(words.size(), most); ++i)
        text += (text.empty() ? "" : ", ") + words[i];
    return words.size() > most ? text + " and " + thousands(std::int64_t(words.size() - most)) + " more" : text;
}

std::string joined(const Words &words) {
    return joined(std::vector<std::string>(words.begin(), words.end()));
}

/// Those that the other lacks first: of many only the first ones are named.
std::string joinedBeside(const Words &words, const Words &other) {
    std::vector<std::string> sorted(words.begin(), words.end());
    std::ranges::stable_partition(sorted, [&](const std::string &word) { return !other.contains(word); });
    return joined(sorted);
}

std::string gpuNames(const MachineRecord &machine) {
    Words out;
    for (const DeviceRecord &device : machine.devices)
        if (device.kind == "cuda")
            out.insert(device.name);
    return joined(std::vector<std::string>(out.begin(), out.end()), out.size()); // whole: it is compared
}

std::string allowedCount(const MachineRecord &machine) {
    if (machine.allowedCores.empty())
        return {};
    const auto cores = coreCount(machine.allowedCores);
    return cores ? std::to_string(*cores) : std::string();
}

using Files = std::map<std::string, Words>; ///< file → its digests over a group's repeats

/// A trainer's data have names without folders; what its model starts from comes after its setting (StateFrame::files).
enum class FileKind { Script, Data, Start };

Files filesOf(const RepeatGroup &group, FileKind kind) {
    Files out;
    for (const RunOutcome &run : group.runs)
        for (const auto &[file, digest] : run.conditions.files)
            if (kind == FileKind::Script || (file.find('/') != std::string::npos) == (kind == FileKind::Start))
                out[file].insert(digest.substr(0, 12));
    return out;
}

std::string fileText(const std::string &file, const Words &digests) {
    return file + " " + joined(digests);
}

/// As editedBetween(), over a group's repeats. `data`: where no file has the same name, packed or not, they read other data.
std::pair<std::string, std::string> unlikeFiles(const Files &a, const Files &b, bool data) {
    struct Sides {
        std::vector<std::string> a, b;
    } out, all;
    bool anyInBoth = false;
    const auto unpacked = [](const std::string &file) {
        return file.substr(0, file.size() - (file.ends_with(".gz") ? 3 : 0));
    };
    for (const auto &[file, digests] : a) {
        all.a.push_back(fileText(file, digests));
        anyInBoth = anyInBoth || b.contains(file) || b.contains(unpacked(file)) || b.contains(file + ".gz");
        if (const auto other = b.find(file); other != b.end() && other->second != digests) {
            out.a.push_back(fileText(file, digests));
            out.b.push_back(fileText(file, other->second));
        }
    }
    for (const auto &[file, digests] : b)
        all.b.push_back(fileText(file, digests));
    const Sides &unlike = data && !anyInBoth && !a.empty() && !b.empty() ? all : out;
    return {joined(unlike.a), joined(unlike.b)};
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
        out.push_back(
            difference(row.key, row.label, joinedBeside(a, b), joinedBeside(b, a), row.weight, row.consequence));
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

void compareStartFiles(const Pair &pair, const std::vector<Unlike> &settings, std::vector<Unlike> &out) {
    for (const char *key : {"model", "bert_dir", "init"}) // what is named otherwise is another file
        if (names(settings, key) || pair.isVaried(key))
            return;
    const auto [before, after] =
        unlikeFiles(filesOf(pair.reference, FileKind::Start), filesOf(pair.run, FileKind::Start), false);
    if (!before.empty())
        out.push_back(difference("start_files", "Files of the start", before, after, FairnessWeight::Notable,
                                 "the runs start from different parameters, or read texts in different ways"));
}

void compareFiles(const Pair &pair, const std::vector<Unlike> &settings, std::vector<Unlike> &out) {
    if (isScript(pair.reference) != isScript(pair.run))
        return; // what the program reads, its name says
    const bool script = isScript(pair.run);
    if (!script)
        compareStartFiles(pair, settings, out);
    if (!script && (names(settings, "dataset") || pair.isVaried("dataset")))
        return;
    const FileKind kind = script ? FileKind::Script : FileKind::Data;
    const auto [before, after] = unlikeFiles(filesOf(pair.reference, kind), filesOf(pair.run, kind), !script);
    if (before.empty())
        return;
    out.push_back(difference(
        script ? "script" : "data", script ? "Script" : "Data files", before, after, FairnessWeight::Decisive,
        script ? "their code differs, so a gain may be the code's" : "the runs read different data"));
}

} // namespace lockstep::core::fairness
