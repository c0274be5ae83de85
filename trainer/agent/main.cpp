// SPDX-License-Identifier: MIT
#include <cstdio>

#include <CLI/CLI.hpp>

#include "ipc/descriptor_limit.h"
#include "ipc/logging.h"
#include "ipc/out_of_memory.h"
#include "ipc/socket_folder.h"
#include "ipc/standard_streams.h"
#include "ipc/unknown_command.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/listen/listen_session.h"
#include "trainer/agent/net/version.h"
#include "trainer/agent/session/run_session.h"

namespace {

using namespace lockstep;
using namespace lockstep::agent;

void addRun(CLI::App &app, CommandOptions &options) {
    auto *run =
        app.add_subcommand("run", "Start a command once per rank, watch it and keep its log: what torchrun does, "
                                  "without Python.\nlockstep-agent run --nproc-per-node 2 -- python train.py");
    const auto given = [&options](const std::string &) { options.ranksGiven = true; };
    run->add_flag("--auto", options.automatic,
                  "Follow Python scripts that don't report: their steps, phases, losses, epochs");
    run->add_option("--nproc-per-node", options.processes, "Ranks to start on this node")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str()
        ->each(given);
    run->add_option("--nnodes", options.nodes, "Number of nodes; without --run-id each node keeps a run of its own")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str()
        ->each(given);
    run->add_option("--node-rank", options.nodeRank, "This node's number, from 0")->capture_default_str();
    run->add_option("--master-addr", options.masterAddress, "Where rank 0 listens; 127.0.0.1 for one node");
    run->add_option("--master-port", options.masterPort, "Port rank 0 listens on; left out: any free one")
        ->check(CLI::Range(1, 65535));
    run->add_option("--run-id", options.runId,
                    "Makes one run of all --nnodes; give each node the same id, in the form 20260102T030405Z-89abcdef");
    run->add_option(
        "--join", options.join,
        "With --run-id: HOST:PORT where node 0 listens for the others' agents; left out: node 0 takes a free "
        "port, the others read it in the run's folder, which then has to be one that all nodes see");
    run->add_option(
        "--interface", options.interface,
        "With --run-id: network interface of this node for rendezvous, gradients and the agents' link; left "
        "out on all nodes, as is --join: the agents find it, through a LOCKSTEP_HOME that all nodes see");
    run->add_option(
        "--token-file", options.tokenFile,
        "With --run-id: file with the token that the agents show each other; LOCKSTEP_JOIN_TOKEN overrides it");
    run->add_option("--join-limit", options.joinLimitS, "With --run-id: seconds to wait for the other nodes")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    run->add_option("--lease", options.leaseS, "With --run-id: seconds a node keeps its ranks without node 0")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    run->add_option("--max-restarts", options.maxRestarts, "Restart all ranks up to so many times after a failure")
        ->check(CLI::Range(0, mostRestarts))
        ->capture_default_str();
    run->add_option("--cores-per-rank", options.coresPerRank,
                    "Pin rank K to the K-th block of this many cores; 0: don't pin")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    run->add_option("--name", options.name, "The run's name on screen; left out: the command's");
    run->add_option("--experiment", options.experiment, "Id of the run's experiment, for its record");
    run->add_option("--recipe", options.recipe, "Name of its recipe, for its record");
    run->add_option("--repeat", options.repeat, "Which repeat it is, for its record")->check(CLI::Range(1, 1'000'000));
    run->add_option("command", options.command, "The command, after --")->required();
    run->footer("Every rank gets LOCKSTEP_FRAMES, the address to which it may report steps and epochs, and with "
                "--nproc-per-node\n"
                "or --nnodes RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Without them "
                "the command\n"
                "may start ranks by itself, as torchrun does. Its console goes to stdout with\n"
                "its rank in front, and in full into the run's folder. The exit code is that of the first rank that\n"
                "failed (128 + signal when it was killed), 130 after a stop, 2 for bad arguments.");
}

struct ListenWords {
    ListenPlan plan;
    std::string tokenFile;
    double patienceS = 600;
};

void addListen(CLI::App &app, ListenWords &words) {
    ListenPlan &plan = words.plan;
    auto *listen = app.add_subcommand(
        "listen", "Receive the frames of a run that was started elsewhere, over connections or from\n"
                  "growing files, and keep it as a run.");
    listen->add_option("--interface", plan.address, "Network interface or address to listen on; left out: loopback");
    listen->add_option("--port", plan.port, "TCP port; left out: any free one")->check(CLI::Range(1, 65535));
    auto *socket = listen->add_option("--socket", plan.socket, "Listen on this unix socket instead");
    auto *token = listen->add_option("--token-file", words.tokenFile,
                                     "File with the token that ranks must give; left out: a new one, which is printed");
    auto *files = listen->add_option("--files", plan.files, "Read frame files instead: a folder, or one file");
    listen->add_flag("--import", plan.import, "With --files: read what is there, then end")->needs(files);
    listen->add_option("--ranks", plan.ranks, "Number of ranks; left out: the number that they reported last")
        ->check(CLI::Range(1, 65536));
    listen->add_option("--name", plan.name, "The run's name on screen");
    listen->add_option("--patience", words.patienceS, "Seconds without any rank before the run counts as failed")
        ->check(CLI::Range(0.1, 1e7))
        ->capture_default_str();
    socket->excludes(token)->excludes(files);
}

} // namespace

int main(int argc, char **argv) {
    endWhenOutOfMemory("lockstep-agent");
    openMissingStandardStreams();
    const SocketFolderLeaver leaver;
    LoggingOptions logging;
    logging.program = "lockstep-agent";
    logging.level = LogLevel::Warning;
    CLI::App app(
        "lockstep-agent starts the ranks of one run on this node, watches them, measures its devices, keeps the\n"
        "run's log and lets viewers follow.");
    app.require_subcommand(1);
    app.set_version_flag("--version", agentVersion());
    CommandOptions options;
    std::string runId, experiment, by = "lockstep-agent on " + hostName();
    std::uint64_t fromSeq = 0;
    int coresPerDevice = 1;

    app.add_subcommand("serve",
                       "Serve one run: a launch request (one JSON line) on stdin, a ready or error line on stdout.");
    app.add_subcommand("check", "Check launch requests on stdin, one per line: would serve start them?");
    addRun(app, options);
    ListenWords listen;
    addListen(app, listen);
    auto *attach =
        app.add_subcommand("attach", "Bridge stdin and stdout to a run's agent: a follower's hello in, log lines out.");
    attach->add_option("RUN", runId, "Run id")->required();
    auto *from = attach->add_option("--from-seq", fromSeq,
                                    "Print the log's lines from this number on; nothing is read from stdin");
    auto *stop = app.add_subcommand("stop", "Stop a run: its ranks end after their step, and are killed after 5 s.");
    stop->add_option("RUN", runId, "Run id")->required();
    stop->add_option("--by", by, "Who asks, for the log")->capture_default_str();
    stop->add_option("--experiment", experiment, "Id of an experiment; refuse unless the run's record names it");
    std::int64_t steps = 20;
    auto *trace = app.add_subcommand("trace", "Record a run's next steps into traces/trace.json in its folder.");
    trace->add_option("RUN", runId, "Run id")->required();
    trace->add_option("N", steps, "Steps")->check(CLI::Range(1, 10000))->capture_default_str();
    trace->add_option("--by", by, "Who asks, for the log")->capture_default_str();
    auto *stacks =
        app.add_subcommand("stacks", "Ask a run's ranks where they are: each thread's stack goes into the log.");
    stacks->add_option("RUN", runId, "Run id")->required();
    stacks->add_option("--by", by, "Who asks, for the log")->capture_default_str();
    auto *status = app.add_subcommand("status", "Print a run's state, record and result as one line of JSON.");
    status->add_option("RUN", runId, "Run id")->required();
    auto *machine =
        app.add_subcommand("machine", "Print this machine's record as JSON: CPU, devices, driver, interfaces.");
    auto *devices =
        app.add_subcommand("devices", "Print how much this machine's devices are used now and by whom, as JSON.");
    auto *node =
        app.add_subcommand("node", "Print the state of this node as JSON: devices, load, disk, versions, interfaces, "
                                   "limits, clock.");
    for (CLI::App *command : {machine, devices, node})
        command->add_option("--cores-per-device", coresPerDevice, "Cores of a CPU device")
            ->check(CLI::Range(1, 4096))
            ->capture_default_str();
    double everySeconds = 1;
    auto *every = node->add_option("--every", everySeconds, "Print it every so many seconds until stdin ends")
                      ->check(CLI::Range(0.1, 3600.0));
    auto *net = app.add_subcommand("net", "Try TCP between two nodes and measure it; requests are JSON on stdin.");
    net->require_subcommand(1);
    net->add_subcommand("listen", "Bind, print the addresses, and serve until stdin ends.");
    net->add_subcommand("connect", "Connect, measure round trips and bandwidth, and print the results.");
    net->add_subcommand("resolve", "Print what names resolve to on this machine.");
    app.add_subcommand("version", "Print the version.");
    if (const auto unknown = unknownCommand(app, "lockstep-agent", argc, argv)) {
        std::fprintf(stderr, "lockstep-agent: %s\n", unknown->message().c_str());
        return 2;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2; // CLI11's own codes are above 100
    }

    const std::string command = app.get_subcommands().front()->get_name();
    const bool serves = command == "serve" || command == "run" || command == "listen";
    if (serves) {
        blockSessionSignals();
        raiseDescriptorLimit();
    }
    if (command == "serve")
        logging.level = LogLevel::Info; // into console/agent.log
    setUpLogging(logging);
    if (command == "serve")
        return serveCommand();
    if (command == "check")
        return checkCommand();
    if (command == "run")
        return runCommand(options);
    if (command == "listen") {
        listen.plan.patience = std::chrono::milliseconds(static_cast<std::int64_t>(listen.patienceS * 1000));
        return listenCommand(listen.plan, listen.tokenFile);
    }
    if (command == "attach")
        return attachCommand(runId, from->count() > 0 ? std::optional(fromSeq) : std::nullopt);
    if (command == "stop")
        return stopCommand(runId, by, experiment);
    if (command == "trace")
        return askCommand(runId, {"trace", by, steps});
    if (command == "stacks")
        return askCommand(runId, {"stacks", by, {}});
    if (command == "status")
        return statusCommand(runId);
    if (command == "machine")
        return machineCommand(coresPerDevice);
    if (command == "devices")
        return devicesCommand(coresPerDevice);
    if (command == "node")
        return nodeCommand(coresPerDevice, every->count() > 0 ? std::optional(std::chrono::milliseconds(
                                                                    static_cast<std::int64_t>(everySeconds * 1000)))
                                                              : std::nullopt);
    if (command == "net") {
        const std::string what = net->get_subcommands().front()->get_name();
        return what == "listen" ? netListenCommand() : what == "connect" ? netConnectCommand() : netResolveCommand();
    }
    std::printf("lockstep-agent %s\n", agentVersion());
    return 0;
}
