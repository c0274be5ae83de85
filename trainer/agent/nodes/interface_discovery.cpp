// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/interface_discovery.h"

#include <chrono>
#include <filesystem>

#include "ipc/placement.h"
#include "ipc/run_folder.h"
#include "trainer/agent/nodes/discovery_guest.h"
#include "trainer/agent/nodes/discovery_host.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds invitationCheck{100};

/// The command's argument that holds the value of --nodes, perhaps as "--nodes=VALUE"; null: the command has no
/// --nodes.
std::string *nodesOption(std::vector<std::string> &command) {
    for (std::size_t i = 0; i < command.size(); ++i) {
        if (command[i].starts_with("--nodes="))
            return &command[i];
        if (command[i] == "--nodes" && i + 1 < command.size())
            return &command[i + 1];
    }
    return nullptr;
}

void applyInterfaces(CommandOptions &options, const std::vector<std::string> &interfaces) {
    options.interface = interfaces[static_cast<std::size_t>(options.nodeRank)];
    std::string *option = nodesOption(options.command);
    if (!option)
        return;
    const std::string flag = option->starts_with("--nodes=") ? "--nodes=" : "";
    auto places = nodesFromText(std::string_view(*option).substr(flag.size()));
    if (!places || places->size() != interfaces.size())
        return; // makePlan() reports what is wrong with them
    for (std::size_t node = 0; node < places->size(); ++node)
        if ((*places)[node].interface.empty())
            (*places)[node].interface = interfaces[node];
    *option = flag + toText(*places);
}
} // namespace

bool needsDiscovery(const CommandOptions &options) {
    return options.joins() && options.interface.empty() && options.join.empty();
}

Result<std::string> findInterfaces(CommandOptions &options) {
    if (!isRunId(options.runId) || options.nodeRank < 0 || options.nodeRank >= options.nodes)
        return std::string(); // makePlan() reports what is wrong
    if (options.nodeRank == 0) {
        DiscoveryHost host(options);
        const auto interfaces = host.run();
        if (!interfaces)
            return fail(interfaces.error());
        applyInterfaces(options, *interfaces);
        return host.sentence();
    }
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(options.joinLimitS * 1000));
    for (;;) {
        if (auto invitation = readInvitation(options.runId)) {
            const auto interfaces = joinDiscovery(options, std::move(*invitation));
            if (!interfaces)
                return fail(interfaces.error());
            if (interfaces->size() != static_cast<std::size_t>(options.nodes))
                return fail(Error::badArgument("agent 0 has " + std::to_string(interfaces->size()) +
                                                   " nodes, --nnodes says " + std::to_string(options.nodes),
                                               "give all nodes the same number"));
            applyInterfaces(options, *interfaces);
            return std::string();
        }
        std::error_code ignored;
        if (std::filesystem::exists(runFolder(options.runId).join(), ignored))
            return std::string(); // agent 0 was given its interface
        if (std::chrono::steady_clock::now() > until)
            return std::string(); // waitForAgent0() reports it
        if (!waitUnlessSignalled(invitationCheck))
            return fail(discoveryInterrupted());
    }
}

} // namespace lockstep::agent
