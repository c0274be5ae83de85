// SPDX-License-Identifier: MIT
#include "nodes/torch_line.h"

#include <algorithm>
#include <charconv>

namespace lockstep::core {
namespace {

/// "535" of "535.104.05".
std::optional<int> majorOf(std::string_view version) {
    int major = 0;
    const auto read = std::from_chars(version.data(), version.data() + version.size(), major);
    return read.ec == std::errc() ? std::optional(major) : std::nullopt;
}

/// "2.7" of "2.7.1+cu126".
std::string_view majorMinor(std::string_view version) {
    const auto first = version.find('.');
    return version.substr(0, first == std::string_view::npos ? first : version.find_first_of(".+", first + 1));
}

bool runsOn(const TorchLine &line, Capability card) {
    return std::any_of(line.kernels.begin(), line.kernels.end(),
                       [&](Capability kernel) { return kernel.major == card.major && kernel.minor <= card.minor; });
}

bool has(const LineFacts &node, const TorchLine &line) {
    const TorchLine *own = lineOf(node.ownTorch);
    return node.here || (own && own->version == line.version);
}

bool builtHere(const TorchLine &line, const std::vector<std::string> &versions) {
    return std::any_of(versions.begin(), versions.end(), [&](const std::string &version) {
        const TorchLine *one = lineOf(version);
        return one && one->version == line.version;
    });
}

/// "box: its driver 535.104.05 is older than 580"; empty: all can use it.
std::string firstObstacle(const TorchLine &line, const std::vector<LineFacts> &nodes) {
    for (const LineFacts &node : nodes)
        if (const std::string why = whyNot(line, node); !why.empty())
            return node.node + ", " + why;
    return {};
}

/// Why newer lines were rejected.
std::string passedOver(const TorchLine &chosen, const std::vector<LineFacts> &nodes,
                       const std::vector<std::string> &built) {
    std::string text;
    for (const TorchLine &line : torchLines()) {
        if (line.version == chosen.version)
            break;
        const std::string obstacle = firstObstacle(line, nodes);
        if (!obstacle.empty())
            text += (text.empty() ? "since " : ", and ") + line.version + " does not run on " + obstacle;
        else if (!builtHere(line, built))
            text += (text.empty() ? "since " : ", and ") + line.version + " is not built here";
    }
    return text;
}

LineChoice chosen(const TorchLine &line, const std::string &why) {
    return {line, titleOf(line) + ": " + why};
}

} // namespace

std::optional<Capability> capabilityFromText(std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    const auto major = majorOf(text), minor = majorOf(text.substr(dot + 1));
    return major && minor ? std::optional(Capability{*major, *minor}) : std::nullopt;
}

std::string toString(Capability capability) {
    return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

const std::vector<TorchLine> &torchLines() {
    // Drivers: NVIDIA's "CUDA Compatibility", least version of each major CUDA. Kernels: the architectures that the
    // wheels' libtorch_cuda.so was compiled for; neither holds PTX for later cards.
    static const std::vector<TorchLine> lines = {
        {"2.11.0", "13.0", 580, {{7, 5}, {8, 0}, {8, 6}, {9, 0}, {10, 0}, {12, 0}}},
        {"2.7.1", "12.6", 525, {{5, 0}, {6, 0}, {7, 0}, {7, 5}, {8, 0}, {8, 6}, {9, 0}}}};
    return lines;
}

const TorchLine *lineOf(std::string_view torchVersion) {
    for (const TorchLine &line : torchLines())
        if (majorMinor(line.version) == majorMinor(torchVersion))
            return &line;
    return nullptr;
}

std::string bundleOfLine(std::string_view bundle, std::string_view torchVersion) {
    const TorchLine *line = lineOf(torchVersion);
    const bool second = line && line != &torchLines().front();
    return std::string(bundle) + (second ? "-" + std::string(majorMinor(line->version)) : "");
}

std::string setUpCommand(std::string_view torchVersion) {
    const TorchLine *line = lineOf(torchVersion);
    return "lockstepctl setup-torch" +
           (line && line != &torchLines().front() ? " --line " + std::string(majorMinor(line->version)) : "");
}

std::string titleOf(const TorchLine &line) {
    return "PyTorch " + line.version + " (CUDA " + line.cuda + ")";
}

std::string whyNot(const TorchLine &line, const LineFacts &node) {
    if (node.gpus.empty())
        return {};
    for (const LineFacts::Gpu &gpu : node.gpus)
        if (gpu.capability && !runsOn(line, *gpu.capability))
            return "whose " + (gpu.name.empty() ? "GPU" : gpu.name) + " has compute capability " +
                   toString(*gpu.capability) + ", but it is compiled for " + toString(line.kernels.front()) + " to " +
                   toString(line.kernels.back());
    const auto driver = majorOf(node.driver);
    if (driver && *driver < line.leastDriver)
        return "whose driver is " + node.driver + ", but CUDA " + line.cuda + " needs " +
               std::to_string(line.leastDriver) + " or newer";
    return {};
}

Result<LineChoice> chooseLine(const std::vector<LineFacts> &nodes, const std::vector<std::string> &builtVersions) {
    std::vector<const TorchLine *> possible;
    std::string notBuilt;
    for (const TorchLine &line : torchLines())
        if (firstObstacle(line, nodes).empty()) {
            if (builtHere(line, builtVersions))
                possible.push_back(&line);
            else
                notBuilt = notBuilt.empty() ? line.version : notBuilt;
        }
    const bool others = std::any_of(nodes.begin(), nodes.end(), [](const LineFacts &node) { return !node.here; });
    for (const TorchLine *line : possible)
        if (others && line != possible.front() &&
            std::all_of(nodes.begin(), nodes.end(), [&](const LineFacts &node) { return has(node, *line); }) &&
            !std::all_of(nodes.begin(), nodes.end(),
                         [&](const LineFacts &node) { return has(node, *possible.front()); }))
            return chosen(*line, "every node has it already, so none has to be copied");
    if (!possible.empty()) {
        const std::string why = passedOver(*possible.front(), nodes, builtVersions);
        return chosen(*possible.front(), why.empty() ? "the newest, and every node can use it" : why);
    }
    std::string what;
    for (const TorchLine &line : torchLines())
        if (const std::string obstacle = firstObstacle(line, nodes); !obstacle.empty())
            what += (what.empty() ? "" : "; ") + line.version + " does not run on " + obstacle;
    if (!notBuilt.empty())
        return fail(Error::badArgument((what.empty() ? "" : what + "; ") + "PyTorch " + notBuilt +
                                           " would work, but the trainer is not built for it here",
                                       notBuilt == torchLines().front().version ? "build it: ./run --setup"
                                                                                : "build it: ./run --lines"));
    return fail(Error::badArgument("no PyTorch runs on all of these nodes: " + what,
                                   "install a newer driver on the node with the old one, or choose nodes with GPUs of "
                                   "neighbouring generations"));
}

} // namespace lockstep::core
