// SPDX-License-Identifier: MIT
#include "nodes_options.h"

#include <memory>

#include <CLI/CLI.hpp>

namespace lockstep::cli {
namespace {

void addCommands(CLI::App &nodes, NodesOptions &options, int &exitCode) {
    const auto command = [&](const char *name, const char *help, int (*body)(const NodesOptions &)) {
        auto *added = nodes.add_subcommand(name, help);
        added->callback([&options, &exitCode, body] { exitCode = body(options); });
        return added;
    };
    nodes.add_subcommand("list", "List the nodes")->callback([&options, &exitCode] {
        exitCode = nodesListCommand(options.json);
    });
    nodes.get_subcommand("list")->add_flag("--json", options.json, "Print JSON");
    auto *add = command("add", "Add a machine by its ssh name, or the nodes of a Slurm partition", nodesAddCommand);
    add->add_option("NAME", options.names, "Its name here")->expected(0, 1);
    add->add_option("--host", options.host, "Its name in your ssh configuration; default: NAME");
    add->add_option("--agent", options.agent, "Path of lockstep-agent there; sync sets it");
    add->add_option("--interface", options.interface, "Network interface for training; default: the doctor finds it");
    add->add_option("--partition", options.partition, "Add the nodes of this Slurm partition instead");
    add->add_flag("--local", options.local, "It is this machine");
    add->add_flag("--untried", options.untried, "Add it without connecting");
    auto *set = command("set", "Change settings of nodes", nodesSetCommand);
    set->add_option("NAME", options.names, "Nodes")->required();
    auto *interface =
        set->add_option("--interface", options.interface, "Network interface for training; auto: the doctor finds it");
    interface->each([&options](const std::string &) { options.interfaceGiven = true; });
    set->add_option("--host", options.host, "Name for ssh");
    set->add_option("--agent", options.agent, "Path of lockstep-agent there");
    command("remove", "Remove nodes from the list; nothing on them is deleted", nodesRemoveCommand)
        ->add_option("NAME", options.names, "Nodes")
        ->required();
    auto *show =
        command("show", "Show the state of nodes once: devices, load, memory, disk, versions, clock, interfaces",
                nodesShowCommand);
    auto *watch = command("watch", "Show it each second until interrupted", nodesWatchCommand);
    watch->add_option("--times", options.times, "Exit after this many lines")->check(CLI::Range(0, 1'000'000));
    auto *sync = command("sync", "Copy agent, trainer, their libraries and data sets to nodes: only what differs",
                         nodesSyncCommand);
    for (CLI::App *one : {show, watch, sync}) {
        one->add_option("NAME", options.names, "Nodes; default: all");
        one->add_flag("--json", options.json, "Print JSON");
    }
    sync->add_option("--data", options.datasets, "Also copy this data set; may be given several times")
        ->allow_extra_args(false);
    sync->add_flag("--torch", options.torch,
                   "Copy this machine's PyTorch even if the node has one of the right version");
    sync->add_option("--line", options.line,
                     "Use this line of PyTorch, 2.11.0 or 2.7.1; default: one that all can use");
    sync->add_flag("--tar", options.tar, "Use tar even if both sides have rsync");
}

} // namespace

void addNodes(CLI::App &app, NodesOptions &options, DoctorCommandOptions &doctor, int &exitCode) {
    auto *nodes =
        app.add_subcommand("nodes", "The list of machines for runs: list, add, set, remove, show, watch, sync");
    nodes->require_subcommand(0, 1);
    nodes->callback([&exitCode, nodes] {
        if (nodes->get_subcommands().empty())
            exitCode = nodesListCommand(false);
    });
    addCommands(*nodes, options, exitCode);
    auto *doctorApp = app.add_subcommand(
        "doctor", "Check nodes and the connections between them before a run; print problems and fixes");
    doctorApp->add_option("NODE", doctor.names, "Nodes; default: all");
    doctorApp
        ->add_option("--command", doctor.commands,
                     "A torchrun command, one per node in that order: reports contradictions between them")
        ->allow_extra_args(false);
    doctorApp->add_option("--port", doctor.port, "The port that rank 0 will listen on; default: any")
        ->check(CLI::Range(1, 65535));
    doctorApp->add_option("--dataset", doctor.dataset, "Also compare this data set's files");
    doctorApp->add_option("--data-dir", doctor.dataFolder,
                          "Its folder on every node; default: where the trainer looks");
    doctorApp
        ->add_option("--seconds", doctor.bandwidthS, "Seconds to measure each direction's bandwidth; 0: not at all")
        ->check(CLI::Range(0.0, 60.0))
        ->capture_default_str();
    doctorApp->add_flag_callback(
        "--no-keep", [&doctor] { doctor.keep = false; }, "Do not store the chosen interfaces in the list of nodes");
    doctorApp->add_flag("--json", doctor.json, "Print JSON");
    doctorApp->callback([&doctor, &exitCode] { exitCode = doctorCommand(doctor); });
    auto *ask = app.add_subcommand("askpass", "")
                    ->group(""); // ssh starts this as SSH_ASKPASS; main() detects it by its environment
    const auto prompt = std::make_shared<std::string>();
    ask->add_option("PROMPT", *prompt)->required();
    ask->callback([&exitCode, prompt] { exitCode = core::askForSsh(*prompt); });
}

} // namespace lockstep::cli
