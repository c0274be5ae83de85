// SPDX-License-Identifier: MIT
#include <cstdio>

#include "ipc/logging.h"
#include "ipc/printable.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/commands/stdout_pump.h"
#include "trainer/agent/nodes/interface_discovery.h"
#include "trainer/agent/ranks/node_plan.h"
#include "trainer/agent/session/run_session.h"

namespace lockstep::agent {

namespace {
int refuse(const std::vector<Error> &errors) {
    int code = 1;
    for (const Error &error : errors) {
        std::fprintf(stderr, "%s\n", printable(error.message()).c_str());
        if (error.kind == ErrorKind::BadArgument)
            code = 2;
    }
    return code;
}
} // namespace

int runCommand(const CommandOptions &given) {
    auto keeper = GroupKeeper::start();
    if (!keeper)
        return refuse({keeper.error()});
    auto nvml = Nvml::load();
    CommandOptions options = given;
    std::string found;
    if (needsDiscovery(options)) {
        auto sentence = findInterfaces(options);
        if (!sentence)
            return refuse({sentence.error()});
        found = std::move(*sentence);
    }
    auto plan = planFromCommand(options, nvml.get());
    if (!plan)
        return refuse(plan.error());
    plan->nodes.interfacesFound = std::move(found);
    if (plan->nodes.count > 1 && plan->nodes.node > 0)
        if (const auto found = waitForAgent0(*plan); !found)
            return refuse({found.error()});
    StdoutPump out;
    auto session = Session::start(std::move(*plan), std::move(*keeper), std::move(nvml),
                                  [&out](int rank, ConsoleTap::Stream, std::string_view line) {
                                      out.put("[rank " + std::to_string(rank) + "] " + std::string(line));
                                  });
    if (!session)
        return refuse({session.error()});
    LoggingOptions logging; // keep stderr for the one sentence at the end
    logging.program = "lockstep-agent";
    logging.toStderr = false;
    logging.file = (*session)->folder().agentConsole((*session)->node());
    setUpLogging(logging);
    std::fprintf(stderr, "run %s\n", (*session)->runId().c_str());
    (*session)->loop().every(std::chrono::milliseconds(50), [&out] { out.flush(); });
    (*session)->onWaits([](const std::string &sentence) {
        std::fprintf(stderr, "%s; Ctrl-C gives it up\n", printable(sentence).c_str());
    });
    const RunEnd ending = (*session)->run();
    out.finish();
    for (const std::string &warning : ending.warnings)
        std::fprintf(stderr, "%s\n", printable(warning).c_str());
    if (!ending.reason.empty())
        std::fprintf(stderr, "%s\n", printable(ending.reason).c_str());
    return ending.commandCode;
}

} // namespace lockstep::agent
