// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/doctor_snapshot.h"
#include "nodes/finding.h"

namespace lockstep::core {

/// Where torchrun's nodes meet unless another port is given: by its static rendezvous, and by c10d.
inline constexpr int torchrunPort = 29500, c10dPort = 29400;

/// A torchrun command for one node, as a person pastes it. Absent: not given, so torchrun's default applies.
struct TorchrunLine {
    std::string text;
    std::map<std::string, std::string> environment; ///< from assignments in front of it and exports before it
    std::optional<int> nodes, processes, nodeRank, masterPort;
    std::string masterAddress, rendezvousId, rendezvousBackend = "static"; ///< the backend: torchrun's default
    std::string script;                                                    ///< the program that every process runs
    [[nodiscard]] std::string master() const { return masterAddress.empty() ? "127.0.0.1" : masterAddress; }
    /// Whether the nodes have the numbers that they are given; other rendezvous number them as they come.
    [[nodiscard]] bool numbersNodes() const { return rendezvousBackend == "static"; }
    [[nodiscard]] int port() const {
        return masterPort.value_or(rendezvousBackend == "c10d" ? c10dPort : torchrunPort);
    }
};

/// Words as a POSIX shell takes them: quotes, backslashes and line continuations are read, nothing is expanded.
[[nodiscard]] std::vector<std::string> shellWords(std::string_view text);

/// Reads torchrun, python -m torch.distributed.run or .launch, and lockstep-agent run; anything else is a BadArgument.
[[nodiscard]] Result<TorchrunLine> readTorchrun(std::string_view text);

/// Contradictions between the commands of one run, one command per node: masters, ports, ranks, counts. With `snapshot`
/// (one node per command, in that order), also interfaces and addresses that the nodes do not have. Pure.
[[nodiscard]] std::vector<Finding> torchrunFindings(const std::vector<TorchrunLine> &lines,
                                                    const DoctorSnapshot *snapshot = nullptr);

} // namespace lockstep::core
