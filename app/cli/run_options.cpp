// SPDX-License-Identifier: MIT
// The command line of run and study.
#include "run_options.h"

#include <CLI/CLI.hpp>

#include "experiment/side_by_side.h"
#include "experiment/width_goal.h"

namespace lockstep::cli {
namespace {

/// For a number without a sign, which would become a huge one.
std::string notBelowZero(const std::string &given) {
    return given.starts_with('-') ? "is a whole number from 0 on, not " + given : std::string();
}

} // namespace

void addOnAlert(CLI::App &command, std::string &onAlert) {
    command.add_option(
        "--on-alert", onAlert,
        "Shell command that runs on the queue's machine for each alert, at most once a minute for a kind;\n"
        "LOCKSTEP_ALERT and LOCKSTEP_ALERT_KIND in its environment say what happened");
}

void addRunOptions(CLI::App &command, RunOptions &options) {
    command.add_flag("--detach", options.detach, "Run the queue in the background and return at once");
    command.add_option("--out", options.out, "Write results and curves into this folder");
    command.add_option("--tensorboard", options.tensorBoard,
                       "Write TensorBoard event files to this folder during the runs");
    addOnAlert(command, options.onAlert);
    command.add_flag("--json", options.json, "Print JSON on stdout, progress on stderr");
    command.add_flag_callback(
        "--no-check", [&options] { options.check = false; },
        "Skip the check (an all-reduce with known sums, ten seconds at most) before the first run over\n"
        "devices of several nodes, or GPUs");
    command.add_option("--host", options.host, "Run on this host through ssh");
    command.add_option("--remote-agent", options.remoteAgent, "Path of lockstep-agent there")
        ->envname("LOCKSTEP_REMOTE_AGENT");
    command.add_option(
        "--queue-on", options.queueOn,
        "Run the queue on this machine (a node or an ssh name), so that this one may be\n"
        "switched off; runs without nodes use its devices. `lockstepctl nodes sync` installs lockstepctl there");
    command.add_flag("--reach-nodes", options.reachNodes,
                     "First check that each node of the runs can be reached from here without a password prompt");
    command.add_option("--repeats", options.repeats, "How often each run is made")->check(CLI::Range(1, 1000));
    command.add_option("--until-width", options.untilWidth,
                       "Add rounds until every 95 % interval reaches no further than this on each side, e.g. 5%");
    command.add_option("--at-most", options.mostRounds, "Rounds in all that --until-width may come to; default: 30")
        ->check(CLI::Range(core::leastRoundsOfGoal, core::mostRoundsOfGoal));
    command
        .add_option("--side-by-side", options.sideBySide,
                    "Runs at the same time, each on its own devices; they share memory, caches and\n"
                    "clock frequency, so their times are longer than alone")
        ->check(CLI::Range(1, core::mostSideBySide));
    command
        .add_option("--order-seed", options.orderSeed,
                    "Seed for the order of the rounds of repeats; without it, each experiment has its own. 0: as the "
                    "recipe lists them")
        ->check(notBelowZero);
    command
        .add_option("--set", options.set,
                    "KEY=VALUE on every run, e.g. epochs=2; may be given several times. Values are those of\n"
                    "lockstep-trainer's flags: devices are a list of numbers, as in devices=0,1")
        ->allow_extra_args(false);
}

void addRun(CLI::App &app, RunOptions &options, int &exitCode) {
    auto *run = app.add_subcommand(
        "run", "Run a recipe: its runs one after another, or side by side on disjoint devices; then the table");
    auto *recipe = run->add_option("RECIPE", options.recipe, "Name of a recipe, a recipe file, or - for stdin");
    auto *experiment = run->add_option("--experiment", options.experiment,
                                       "Resume the queue of this experiment after the process that ran it has ended");
    recipe->excludes(experiment);
    run->add_flag("--quick", options.quick, "12,800 training samples, 3 epochs, 3 repeats");
    addRunOptions(*run, options);
    run->callback([&options, &exitCode, recipe, experiment] {
        if (recipe->count() == 0 && experiment->count() == 0)
            throw CLI::RequiredError("RECIPE");
        exitCode = runCommand(options);
    });
    auto *own = app.add_subcommand("own", "")->group(""); // internal
    own->add_option("EXPERIMENT", options.experiment)->required();
    own->callback([&] { exitCode = ownCommand(options.experiment); });
}

void addTry(CLI::App &app, TryOptions &options, int &exitCode) {
    auto *command = app.add_subcommand(
        "try", "Try a few values of one setting for some seconds each, in turns, and say whether it matters");
    command->add_option("WHAT", options.what, "A recipe, whose first DDP run is tried, or a run's id")->required();
    command->add_option("--vary", options.vary, "The setting and the values to try besides its own, e.g. workers=1,2,4")
        ->capture_default_str();
    command->add_option("--steps", options.steps, "Steps of an epoch; each run has three epochs")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t(10), std::int64_t(1'000'000)));
    addRunOptions(*command, options.run);
    command->callback([&options, &exitCode] { exitCode = tryCommand(options); });
}

void addStudy(CLI::App &app, StudyOptions &options, int &exitCode) {
    auto *study = app.add_subcommand(
        "study",
        "Compare runs of your own training script, unchanged: with other numbers of processes and other flags");
    study->add_option("SCRIPT", options.script, "Your Python script; its own arguments follow after --")->required();
    study->add_option("ARGUMENTS", options.arguments, "Given to the script in every run");
    study
        ->add_option(
            "--nproc", options.processes,
            "Numbers of processes, e.g. 1,2,4: one process is the baseline, several are started as torchrun does")
        ->capture_default_str();
    study
        ->add_option("--vary", options.vary,
                     "FLAG=VALUE,VALUE: a flag of the script, e.g. num-workers=0,2 or amp=off,on; may be\n"
                     "given several times")
        ->allow_extra_args(false);
    study
        ->add_option("--max-steps", options.maxSteps,
                     "End each run after so many steps of one process; several processes end after as many samples")
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1'000'000'000)));
    study->add_option("--python", options.python, "The Python that runs it; default: one that has torch");
    study->add_option("--device", options.device, "cpu, cuda or auto")
        ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
        ->capture_default_str();
    study->add_option("--cores-per-device", options.coresPerDevice, "Cores of a CPU device, which a process has")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    study->add_flag_callback(
        "--no-trial", [&options] { options.trial = false; },
        "Start at once, without trying first whether the script takes its flags");
    study->add_option("--trial-limit", options.trialLimitS, "Seconds in which a trial must have made its step")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    study->add_option(
        "--save", options.save,
        "Write the study as a recipe into this file instead of running it, once the trials have shown what\n"
        "is needed for it (--no-trial: at once)");
    addRunOptions(*study, options.run);
    study->callback([&options, &exitCode] { exitCode = studyCommand(options); });
}

void addCheck(CLI::App &app, CheckOptions &options, int &exitCode) {
    auto *check = app.add_subcommand(
        "check", "For continuous integration: fail if training takes longer than before by more than is allowed.\n"
                 "Exit codes: 0 not slower, 1 slower or failed, 4 undecided");
    check
        ->add_option("WHAT", options.what,
                     "The base and the new measurement, each an experiment or runs separated by commas;\n"
                     "with --against the training command, after --")
        ->required();
    auto *against = check->add_option(
        "--against", options.against,
        "Run the command in a checkout of this revision (git:main) and here. On CPUs both run in alternation,\n"
        "a tenth of a second each, so a machine whose speed varies affects both alike");
    check
        ->add_flag("--one-after-another", options.oneAfterAnother,
                   "With --against: one run after another, for commands that can't run side by side")
        ->needs(against);
    check->add_option("--max-slower", options.maxSlower, "How much longer training may take, e.g. 5%")
        ->capture_default_str();
    check->add_option("--max-steps", options.maxSteps, "With --against: end each run after so many steps")
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1'000'000'000)))
        ->needs(against);
    check->add_option("--repeats", options.run.repeats, "With --against: how often each is run; default: 5")
        ->check(CLI::Range(1, 1000))
        ->needs(against);
    check->add_option("--junit", options.junit, "Write the outcome into this file as JUnit XML");
    check->add_option("--markdown", options.markdown, "Write it as Markdown, for a comment on a change");
    check->add_flag("--json", options.json, "Print JSON on stdout, progress on stderr");
    check->callback([&options, &exitCode] { exitCode = checkCommand(options); });
}

} // namespace lockstep::cli
