// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// A GPU's compute capability: 7.0 is Volta, 7.5 Turing. It is also what a compiled kernel is for.
struct Capability {
    int major = 0, minor = 0;
    bool operator==(const Capability &) const = default;
};
[[nodiscard]] std::optional<Capability> capabilityFromText(std::string_view text); ///< "7.5"
[[nodiscard]] std::string toString(Capability capability);

/// A PyTorch that lockstep-trainer is built against.
struct TorchLine {
    std::string version, cuda;       ///< "2.11.0", "13.0"
    int leastDriver = 0;             ///< major version of NVIDIA's driver
    std::vector<Capability> kernels; ///< in its wheel; a kernel runs on GPUs of its major and the same or a later minor
};
/// Newest first.
[[nodiscard]] const std::vector<TorchLine> &torchLines();
/// The line with this version's major.minor ("2.7.1+cu126"); null if there is none.
[[nodiscard]] const TorchLine *lineOf(std::string_view torchVersion);
[[nodiscard]] std::string titleOf(const TorchLine &line); ///< "PyTorch 2.11.0 (CUDA 13.0)"
/// The command that installs it for one user: "lockstepctl setup-torch", with --line for all but the newest.
[[nodiscard]] std::string setUpCommand(std::string_view torchVersion);
/// The line's folder under HOME and HOME/sync: "torch" for the newest, "torch-2.7" for the other.
[[nodiscard]] std::string bundleOfLine(std::string_view bundle, std::string_view torchVersion);

/// What decides which lines a node can use. Unknown facts rule out no line.
struct LineFacts {
    struct Gpu {
        std::string name;
        std::optional<Capability> capability;
    };
    std::string node;
    std::string driver;    ///< NVIDIA's, "535.104.05"
    std::vector<Gpu> gpus; ///< none: CPU devices only; any line works
    std::string ownTorch;  ///< a PyTorch that we did not install
    bool here = false;     ///< this machine: it has every line that is built
};

/// Why this line does not run there, as a relative clause; empty if it does.
[[nodiscard]] std::string whyNot(const TorchLine &line, const LineFacts &node);

struct LineChoice {
    TorchLine line;
    std::string reason; ///< one sentence
};
/// Chooses the line for all nodes among those that are built: one that every node has before one that must be
/// copied, then the newer one. The error says why there is none. Pure.
[[nodiscard]] Result<LineChoice> chooseLine(const std::vector<LineFacts> &nodes,
                                            const std::vector<std::string> &builtVersions);

} // namespace lockstep::core
