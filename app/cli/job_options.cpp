// SPDX-License-Identifier: MIT
// The command line of export-job, slurm, listen and follow.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "job_commands.h"
#include "run_options.h"

namespace lockstep::cli {
namespace {

void addRuns(CLI::App &command, JobRunsOptions &options) {
    command.add_option("WHAT", options.what, "Recipe, recipe file, - for stdin, run or experiment")->required();
    command.add_option("--nodes", options.nodes, "Number of nodes for the ranks")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    command.add_option("--gpus", options.gpus, "GPUs of all nodes, for recipes that use all; default: as many as here")
        ->check(CLI::Range(0, 65536));
    command.add_option("--cores", options.cores, "Cores of all nodes, for recipes that use all; default: enough")
        ->check(CLI::Range(1, 1'000'000));
    command.add_option("--run", options.number, "Only this run, numbered from 1")->check(CLI::Range(1, 1'000'000));
    command.add_flag("--quick", options.quick, "12,800 training samples, 3 epochs, 3 repeats");
    command.add_option("--repeats", options.repeats, "How often each run is made")->check(CLI::Range(1, 1000));
    command.add_option("--set", options.set, "KEY=VALUE on every run; may be given several times")
        ->allow_extra_args(false);
}

void addSlurmPlace(CLI::App &command, SlurmOptions &options) {
    command.add_option("--partition", options.partition, "Slurm: partition");
    command.add_option("--account", options.account, "Slurm: account");
    command.add_option("--qos", options.qos, "Slurm: quality of service");
    command.add_option("--constraint", options.constraint, "Slurm: features that nodes must have");
    command.add_option("--time", options.time, "Slurm: time limit, e.g. 30 (minutes), 1:00:00, 2-12");
    command.add_option("--gres", options.gres, "Slurm: generic resources of a node; default: gpu:N for runs on GPUs");
    command.add_option(
        "--interface", options.interface,
        "Network interface for rendezvous, gradients and agents; default: found by testing, inside the job");
    command
        .add_option("--tasks-per-node", options.tasksPerNode,
                    "Ranks of each node, e.g. 2,1; default: evenly, or as Slurm lays them out on its nodes")
        ->delimiter(',')
        ->check(CLI::Range(1, 65536));
    command.add_option("--at-once", options.atOnce, "Runs of an array that may run at the same time")
        ->check(CLI::Range(1, 1'000'000));
    command
        .add_option("--sbatch", options.extra,
                    "A further option for sbatch, e.g. --sbatch=--exclusive; may be given several "
                    "times")
        ->allow_extra_args(false);
    command.add_option("--remote-agent", options.agent, "Path of lockstep-agent on the nodes; default: as here")
        ->envname("LOCKSTEP_REMOTE_AGENT");
}

void addExportJob(CLI::App &app, ExportJobOptions &options, int &exitCode) {
    auto *command = app.add_subcommand(
        "export-job", "Write runs as torchrun lines, a Slurm script, or a Kubernetes or PyTorchJob manifest");
    addRuns(*command, options.runs);
    command->add_option("--to", options.to, "torchrun, slurm, kubernetes or pytorchjob")
        ->required()
        ->check(CLI::IsMember({"torchrun", "slurm", "kubernetes", "pytorchjob"}));
    command->add_option("--out", options.out, "File, - is stdout")->capture_default_str();
    command->add_option("--master-addr", options.masterAddress,
                        "Name or address of node 0; required for several nodes");
    command->add_option("--master-port", options.masterPort, "Port of the ranks' rendezvous there")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    command->add_option("--frames", options.frames,
                        "Where the ranks report to: tcp://HOST:PORT of lockstepctl listen, or a shared folder");
    command->add_option("--image", options.image, "Kubernetes: container image with lockstep-trainer and torchrun");
    command->add_option("--namespace", options.nameSpace, "Kubernetes: namespace");
    command->add_option("--claim", options.claim, "Kubernetes: PersistentVolumeClaim that every pod mounts");
    command->add_option("--mount", options.mount, "Kubernetes: where it is mounted")->capture_default_str();
    command->add_option("--frames-secret", options.framesSecret,
                        "Kubernetes: Secret whose key \"token\" lets the ranks report");
    addSlurmPlace(*command, options.slurm);
    command->callback([&options, &exitCode] { exitCode = exportJobCommand(options); });
}

void addSlurm(CLI::App &app, SlurmCommandOptions &options, int &exitCode) {
    auto *slurm = app.add_subcommand("slurm", "Run a recipe through Slurm: a job, or an array with one task per run");
    slurm->require_subcommand(1);
    auto *script = slurm->add_subcommand("script", "Show the batch script; --save keeps it for editing and submitting");
    addRuns(*script, options.runs);
    addSlurmPlace(*script, options.slurm);
    auto *out = script->add_option("--out", options.out, "File, - is stdout")->capture_default_str();
    script->add_flag("--save", options.save, "Create the experiment, save its script there and print the path")
        ->excludes(out);
    script->callback([&options, &exitCode] { exitCode = slurmScriptCommand(options); });
    auto *submit = slurm->add_subcommand("submit", "Submit runs, or an experiment whose script was saved");
    addRuns(*submit, options.runs);
    addSlurmPlace(*submit, options.slurm);
    submit->add_flag("--json", options.json, "Print JSON");
    addOnAlert(*submit, options.onAlert);
    submit->callback([&options, &exitCode] { exitCode = slurmSubmitCommand(options); });
    auto *list = slurm->add_subcommand("list", "List submitted jobs: state, place in the queue, reason");
    list->add_flag("--json", options.json, "Print JSON");
    list->callback([&options, &exitCode] { exitCode = slurmListCommand(options.json); });
    const auto withId = [&](const char *name, const char *help, int (*body)(const std::string &)) {
        auto *command = slurm->add_subcommand(name, help);
        command->add_option("ID", options.id, "Experiment, or Slurm's number of its job")->required();
        command->callback([&options, &exitCode, body] { exitCode = body(options.id); });
        return command;
    };
    withId("cancel", "Cancel its jobs: every rank writes a checkpoint and exits", slurmCancelCommand);
    withId("follow", "Follow it: its place in the queue, then its runs live", slurmFollowCommand);
    withId("own", "", slurmOwnCommand)->group(""); // internal
}

void addListen(CLI::App &app, JobCommandsOptions &options, int &exitCode) {
    ListenOptions &listen = options.listen;
    auto *command =
        app.add_subcommand("listen", "Receive the frames of a run that was started elsewhere, over the network, and "
                                     "record it as a run");
    command->add_option("--port", listen.port, "TCP port; default: any free one")->check(CLI::Range(1, 65535));
    command->add_option("--interface", listen.interface,
                        "Network interface or address to listen on; default: loopback");
    command->add_option("--socket", listen.socket, "Listen on this unix socket instead of TCP");
    command->add_option("--token-file", listen.tokenFile,
                        "File with the token that ranks must send; default: a new one, which is printed");
    command->add_option("--ranks", listen.ranks, "Number of ranks; default: as they reported last")
        ->check(CLI::Range(1, 65536));
    command->add_option("--name", listen.name, "The run's name on screen");
    command
        ->add_option("--patience", listen.patienceS,
                     "Seconds that a run may be without any rank before it counts as failed")
        ->check(CLI::Range(1.0, 1e7));
    command->callback([&listen, &exitCode] { exitCode = listenCommand(listen); });
    FollowFilesOptions &files = options.files;
    auto *follow = app.add_subcommand(
        "follow", "Follow a run through the files that its ranks write (--frames FOLDER), as they grow");
    follow->add_option("PATH", files.path, "Folder with one file per rank, or one file")->required();
    follow->add_option("--ranks", files.ranks, "Number of ranks; default: as they reported last")
        ->check(CLI::Range(1, 65536));
    follow->add_option("--name", files.name, "The run's name on screen; default: the folder's");
    follow->add_flag("--import", files.import, "Read what is there, then exit");
    follow->callback([&files, &exitCode] { exitCode = followFilesCommand(files); });
}

} // namespace

void addJobs(CLI::App &app, JobCommandsOptions &options, int &exitCode) {
    addExportJob(app, options.exported, exitCode);
    addSlurm(app, options.slurm, exitCode);
    addListen(app, options, exitCode);
}

} // namespace lockstep::cli
