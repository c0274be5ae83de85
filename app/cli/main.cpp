// SPDX-License-Identifier: MIT
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>

#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <QFileInfo>

#include "commands.h"
#include "data/dataset_source.h"
#include "experiment/more_rounds.h"
#include "experiment/side_by_side.h"
#include "export/export.h"
#include "history_options.h"
#include "ipc/descriptor_limit.h"
#include "ipc/logging.h"
#include "ipc/out_of_memory.h"
#include "ipc/socket_folder.h"
#include "ipc/standard_streams.h"
#include "ipc/unknown_command.h"
#include "job_commands.h"
#include "nodes_options.h"
#include "output.h"
#include "run_options.h"

using namespace lockstep;

namespace {

/// CLI::Range lets NaN through.
std::string isNumber(const std::string &text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : std::string();
}

struct QueueOptions {
    std::string experiment;
    int number = 0, place = 0, rounds = 1;
    std::vector<int> numbers;
    bool json = false, alone = false;
};

/// Internal: the commands that another machine's lockstepctl runs by ssh.
void addRemote(CLI::App &app, std::string &experiment, int &exitCode) {
    auto *remote = app.add_subcommand("remote", "")->group("");
    remote->require_subcommand(1);
    remote->add_subcommand("hello", "")->callback([&exitCode] { exitCode = cli::remoteHelloCommand(); });
    const auto command = [&](const char *name, int (*body)(const std::string &)) {
        auto *added = remote->add_subcommand(name, "");
        added->add_option("EXPERIMENT", experiment)->required();
        added->callback([&experiment, &exitCode, body] { exitCode = body(experiment); });
    };
    command("document", cli::remoteDocumentCommand);
    command("follow", cli::remoteFollowCommand);
    command("ask", cli::remoteAskCommand);
}

void addQueue(CLI::App &app, QueueOptions &options, int &exitCode) {
    const auto command = [&](const char *name, const char *help, std::function<int()> body) {
        auto *added = app.add_subcommand(name, help);
        added->add_option("EXPERIMENT", options.experiment, "Experiment")->required();
        added->callback([&exitCode, body = std::move(body)] { exitCode = body(); });
        return added;
    };
    command("queue", "Show an experiment's queue with the runs' numbers", [&] {
        return cli::queueCommand(options.experiment, options.json);
    })->add_flag("--json", options.json, "Print JSON");
    command("pause", "Start no further run of an experiment; the current one continues",
            [&] { return cli::pauseCommand(options.experiment); });
    command("resume", "Resume a paused queue", [&] { return cli::resumeCommand(options.experiment); });
    command("skip", "Skip one run; the current one is stopped",
            [&] { return cli::skipCommand(options.experiment, options.number); })
        ->add_option("NUMBER", options.number, "The run's number in the queue")
        ->required();
    auto *retry = command("retry", "Queue runs again; without numbers, all that failed or were stopped",
                          [&] { return cli::retryCommand(options.experiment, options.numbers, options.alone); });
    retry->add_option("NUMBER", options.numbers, "Numbers of runs in the queue");
    retry->add_flag("--alone", options.alone, "Run no other run of the experiment at the same time");
    command("repeat", "Queue more rounds of an experiment: every run so many times more",
            [&] { return cli::repeatCommand(options.experiment, options.rounds); })
        ->add_option("ROUNDS", options.rounds, "How many")
        ->check(CLI::Range(1, core::mostRoundsAdded))
        ->capture_default_str();
    auto *move = command("move", "Move a waiting run to another place",
                         [&] { return cli::moveCommand(options.experiment, options.number, options.place); });
    move->add_option("NUMBER", options.number, "The run's number in the queue")->required();
    move->add_option("PLACE", options.place, "Its place among the waiting runs, from 1")->required();
}

void addAdd(CLI::App &app, cli::AddOptions &options, int &exitCode) {
    auto *add = app.add_subcommand("add", "Queue a further run in an experiment, e.g. a missing control run");
    add->add_option("EXPERIMENT", options.experiment, "Experiment")->required();
    add->add_option("SETTING", options.set, "KEY=VALUE: a difference from the run it is based on, e.g. workers=1")
        ->required();
    add->add_option("--like", options.like, "Number of the run it is based on; default: the reference")
        ->check(CLI::Range(1, 1'000'000));
    add->add_option("--name", options.name, "Its name");
    add->add_option("--repeats", options.repeats, "How often; default: as often as that run")
        ->check(CLI::Range(1, 100));
    add->callback([&] { exitCode = cli::addCommand(options); });
}

void addLab(CLI::App &app, cli::LabOptions &options, int &exitCode) {
    auto *lab = app.add_subcommand(
        "lab", "Measure how fast ranks on this machine's devices, or on those of nodes, communicate,\n"
               "fit a cost model, and compare ring and server");
    lab->add_option("--ranks", options.ranks, "How many, e.g. 2, 2,4 or 2..4; default: up to the number of devices");
    lab->add_option("--nodes", options.nodes,
                    "Measure between the devices of nodes, in a run's notation: 'hostA%eth0:0;hostB%bond0:0'; default: "
                    "this machine");
    lab->add_option("--backend", options.backend, "auto, gloo or nccl")->capture_default_str();
    lab->add_option("--device", options.device, "cpu or cuda")
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    lab->add_option("--cores-per-device", options.coresPerDevice, "Cores of a CPU device")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    lab->add_flag("--quick", options.quick, "Five sweeps of short blocks");
    lab->add_flag("--oversubscribe", options.oversubscribe,
                  "Let ranks share cores: only to try it, the times mean little");
    lab->add_flag("--json", options.json, "Print JSON on stdout, progress on stderr");
    lab->add_flag("--list", options.list, "List the labs so far");
    auto *show = lab->add_option("--show", options.id, "Show this lab again; without ID, the newest")
                     ->expected(0, 1)
                     ->type_name("ID");
    lab->callback([&options, &exitCode, show] {
        options.show = show->count() > 0;
        exitCode = cli::labCommand(options);
    });
}

void addForecast(CLI::App &app, cli::ForecastOptions &options, int &exitCode) {
    auto *forecast =
        app.add_subcommand("forecast", "Predict step, epoch and speed-up of a recipe's methods before they run,\n"
                                       "from short runs of single devices and the newest lab");
    auto *what = forecast->add_option("WHAT", options.what, "Recipe, recipe file, or run");
    forecast->add_flag("--show", options.show,
                       "Show the newest forecast (of WHAT, if given) next to the measured results");
    forecast->add_option("--devices", options.devices, "How many, e.g. 2,4; default: the recipe's and those here");
    forecast->add_option(
        "--nodes", options.nodes,
        "Forecast runs over these nodes, in a run's notation; the lab must have measured the same ones");
    forecast->add_option("--lab", options.lab,
                         "Lab whose times are used; default: the newest of this machine or nodes");
    forecast->add_option("--set", options.set, "KEY=VALUE on every run of the recipe; may be given several times")
        ->allow_extra_args(false);
    forecast->add_flag("--json", options.json, "Print JSON on stdout, progress on stderr");
    forecast->callback([&options, &exitCode, what] {
        if (what->count() == 0 && !options.show)
            throw CLI::RequiredError("WHAT");
        exitCode = cli::forecastCommand(options);
    });
}

void addGetData(CLI::App &app, cli::GetDataOptions &options, int &exitCode) {
    auto *get = app.add_subcommand("get-data", "Download a data set and check it; resumes an interrupted download");
    std::string names;
    for (const core::DatasetSource &source : core::knownDatasets())
        names += (names.empty() ? "" : " or ") + source.name;
    get->add_option("DATASET", options.dataset, names)->required();
    get->add_option("--dir", options.folder, "Folder for its files; default: where the trainer looks");
    get->add_option("--mirror", options.mirrors,
                    "URL of a folder with the files, tried first; may be given several times")
        ->allow_extra_args(false);
    get->add_option("--manifest", options.manifest,
                    "JSON with data sets of your own: files, sizes, sha256, mirrors or packages");
    get->callback([&] { exitCode = cli::getDataCommand(options); });
}

} // namespace

int main(int argc, char **argv) {
    endWhenOutOfMemory("lockstepctl");
    openMissingStandardStreams();
    raiseDescriptorLimit();
    std::signal(SIGPIPE, SIG_IGN);
    // ssh starts SSH_ASKPASS with the question as its only argument, so there is no subcommand.
    if (argc == 2 && qEnvironmentVariableIsSet("LOCKSTEP_ASKPASS"))
        return core::askForSsh(argv[1]);
    const SocketFolderLeaver leaver;
    QCoreApplication application(argc, argv);
    std::setlocale(LC_NUMERIC, "C"); // Qt takes the person's, by which strtold() reads no 0.5
    QCoreApplication::setApplicationName(QStringLiteral("lockstepctl"));
    LoggingOptions logging;
    logging.program = "lockstepctl";
    logging.level = LogLevel::Warning;
    setUpLogging(logging);
    // A synced copy has Qt's plugins next to it.
    if (const QString brought = QCoreApplication::applicationDirPath() + QStringLiteral("/../lib/lockstep/plugins");
        QFileInfo::exists(brought))
        QCoreApplication::addLibraryPath(brought);

    CLI::App app("lockstepctl runs recipes and shows, follows, exports and stops runs.\n"
                 "Exit codes: 0 done, 1 failed, 2 bad arguments, 4 undecided (check), 130 stopped.");
    app.set_version_flag("--version", "lockstepctl " LOCKSTEP_VERSION);
    app.require_subcommand(1);
    int exitCode = 0;
    cli::RunOptions run;
    cli::ExportOptions exported;
    cli::AttachOptions attached;
    std::string id;
    std::vector<std::string> runs;
    bool json = false;

    QueueOptions queue;
    cli::AddOptions add;
    cli::GetDataOptions getData;
    cli::addRun(app, run, exitCode);
    cli::TryOptions tried;
    cli::addTry(app, tried, exitCode);
    cli::StudyOptions study;
    cli::addStudy(app, study, exitCode);
    cli::CheckOptions check;
    cli::addCheck(app, check, exitCode);
    addQueue(app, queue, exitCode);
    addRemote(app, id, exitCode);
    addAdd(app, add, exitCode);
    addGetData(app, getData, exitCode);
    cli::LabOptions lab;
    addLab(app, lab, exitCode);
    cli::ForecastOptions forecast;
    addForecast(app, forecast, exitCode);
    cli::NodesOptions nodes;
    cli::DoctorCommandOptions doctor;
    cli::addNodes(app, nodes, doctor, exitCode);
    cli::HistoryOptions history;
    cli::addHistory(app, history, exitCode);
    cli::JobCommandsOptions jobs;
    cli::addJobs(app, jobs, exitCode);
    auto *recipes = app.add_subcommand("recipes", "List the recipes and their published figures");
    recipes->add_flag("--json", json, "Print JSON");
    recipes->callback([&] { exitCode = cli::recipesCommand(json); });
    auto *show = app.add_subcommand("show", "Show the result of a run or an experiment");
    show->add_option("ID", id, "Run or experiment")->required();
    show->add_flag("--json", json, "Print JSON");
    bool all = false;
    show->add_flag("--all", all, "Every run and pair of a large result");
    show->callback([&] { exitCode = cli::showCommand(id, json, all); });
    auto *compare = app.add_subcommand("compare", "Show several runs in one result table");
    cli::CompareOptions compared;
    compare->add_option("RUN", compared.runs, "Runs, or one experiment")->required();
    compare
        ->add_option("--target-accuracy", compared.targetAccuracy,
                     "Report when each reached this test accuracy, 0 to 1")
        ->check(CLI::Range(0.0, 1.0))
        ->check(isNumber);
    compare->add_option("--target-loss", compared.targetLoss, "Report when each reached this training loss")
        ->check(CLI::Range(0.0, 1e9))
        ->check(isNumber);
    compare->add_flag("--all", compared.all, "Every run and pair of a large result");
    compare->add_flag("--json", compared.json, "Print JSON");
    compare->callback([&] { exitCode = cli::compareCommand(compared); });
    auto *exporter = app.add_subcommand("export", "Export results, curves or TensorBoard event files");
    exporter->add_option("ID", exported.ids, "Runs, or one experiment")->required();
    exporter->add_option("--what", exported.what, "results or curves")->capture_default_str();
    exporter->add_option("--format", exported.format, core::resultFormatNames({"tensorboard"}))->capture_default_str();
    exporter->add_option("--out", exported.out, "File, - is stdout; a folder for tensorboard")->capture_default_str();
    exporter->callback([&] { exitCode = cli::exportCommand(exported); });
    auto *attach = app.add_subcommand("attach", "Follow a run or an experiment; Ctrl-C only stops following");
    attach->add_option("ID", attached.id, "Run or experiment")->required();
    attach->add_option("--queue-on", attached.queueOn,
                       "The machine that runs the experiment's queue, if it was started from another one");
    attach->add_option("--tensorboard", attached.tensorBoard,
                       "Write TensorBoard event files to this folder during the run");
    attach->add_flag("--connect", attached.connect,
                     "Connect to the machine that its folder names, even if you never named that machine yourself");
    attach->callback([&] { exitCode = cli::attachCommand(attached); });
    auto *stop = app.add_subcommand("stop", "Stop a run, or an experiment with its queue");
    stop->add_option("ID", id, "Run or experiment")->required();
    stop->callback([&] { exitCode = cli::stopCommand(id); });
    std::int64_t traceSteps = 20;
    auto *trace = app.add_subcommand("trace", "Record the next steps of a current run, for Perfetto");
    trace->add_option("RUN", id, "Run")->required();
    trace->add_option("N", traceSteps, "Steps")->check(CLI::Range(1, 10000))->capture_default_str();
    trace->callback([&] { exitCode = cli::traceCommand(id, traceSteps); });
    auto *stacks = app.add_subcommand(
        "stacks", "Show where every rank of a run is: a script's Python stack, lockstep-trainer's step and phase");
    stacks->add_option("RUN", id, "Run")->required();
    bool threads = false;
    stacks->add_flag("--all", threads, "Every thread's, not only the main one's");
    stacks->callback([&] { exitCode = cli::stacksCommand(id, threads); });
    auto *torch = app.add_subcommand("setup-torch", "Install the PyTorch that lockstep-trainer needs (4.6 GB) for this "
                                                    "user; if interrupted, start it again to resume");
    std::string torchLine;
    torch->add_option("--line", torchLine, "This line of PyTorch, 2.11.0 or 2.7.1; default: the newest");
    torch->callback([&] { exitCode = cli::setUpTorchCommand(torchLine); });

    if (const auto unknown = unknownCommand(app, "lockstepctl", argc, argv))
        return cli::complain(*unknown);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? cli::Done : cli::BadArguments;
    }
    return cli::exitCodeAfterPrinting(exitCode);
}
