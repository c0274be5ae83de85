// SPDX-License-Identifier: MIT
#include "history_options.h"

#include <CLI/CLI.hpp>

namespace lockstep::cli {
namespace {

constexpr auto filterHelp =
    "Only runs that match, e.g. 'method=ddp devices>=2 accuracy>88%' or 'tag=old or state=failed'";

void addList(CLI::App &app, HistoryOptions &options, int &exitCode) {
    auto *list = app.add_subcommand("list", "List experiments and runs, newest first");
    list->add_option("--filter", options.list.filter, filterHelp);
    list->add_option("--sort", options.list.sort, "Column to sort by; with - in front, largest first");
    list->add_option("--columns", options.list.columns,
                     "Columns, like name,accuracy,training; help shows all there are");
    list->add_flag("--group", options.list.group, "Group repeats: mean ± standard deviation, and their number");
    list->add_flag("--json", options.list.json, "Print JSON");
    list->callback([&] { exitCode = listCommand(options.list); });
}

CLI::App *addOnRuns(CLI::App &app, HistoryOptions &options, const char *name, const char *help) {
    auto *command = app.add_subcommand(name, help);
    auto *runs = command->add_option("RUN", options.choice.runs, "Runs");
    auto *filter = command->add_option("--filter", options.choice.filter, filterHelp);
    runs->excludes(filter);
    return command;
}

void addNotes(CLI::App &app, HistoryOptions &options, int &exitCode) {
    auto *tag = app.add_subcommand("tag", "Add tags to runs, or remove them");
    tag->add_option("TAGS", options.tags, "Words joined by commas")->required();
    auto *runs = tag->add_option("RUN", options.choice.runs, "Runs");
    tag->add_option("--filter", options.choice.filter, filterHelp)->excludes(runs);
    tag->add_flag("--remove", options.flag, "Remove them");
    tag->callback([&] { exitCode = tagCommand(options.choice, options.tags, options.flag); });
    auto *rename = app.add_subcommand("rename", "Rename a run; an empty name restores the original");
    rename->add_option("RUN", options.run, "Run")->required();
    rename->add_option("NAME", options.text, "Name")->required();
    rename->callback([&] { exitCode = renameCommand(options.run, options.text); });
    auto *note = app.add_subcommand("note", "Write a note about a run, or print it");
    note->add_option("RUN", options.run, "Run")->required();
    auto *text = note->add_option("TEXT", options.text, "The note; - reads stdin; empty removes it");
    note->callback([&, text] {
        exitCode = noteCommand(options.run, text->count() > 0 ? std::optional(options.text) : std::nullopt);
    });
    auto *star = addOnRuns(app, options, "star", "Mark runs with a star");
    star->add_flag("--off", options.flag, "Remove it");
    star->callback([&] { exitCode = starCommand(options.choice, options.flag); });
}

void addTrash(CLI::App &app, HistoryOptions &options, int &exitCode) {
    auto *remove = addOnRuns(app, options, "delete", "Move runs to the trash, which keeps them for 30 days");
    remove->add_flag("--json", options.json, "Print JSON");
    remove->callback([&] { exitCode = deleteCommand(options.choice, options.json); });
    auto *restore = app.add_subcommand("restore", "Restore deleted runs");
    restore->add_option("ID", options.ids, "Runs, or the id of a deletion; none: the latest deletion");
    restore->add_flag("--json", options.json, "Print JSON");
    restore->callback([&] { exitCode = restoreCommand(options.ids, options.json); });
    auto *trash = app.add_subcommand("trash", "Show the deleted runs");
    trash->add_flag("--empty", options.flag, "Remove them all permanently");
    trash->add_flag("--json", options.json, "Print JSON");
    trash->callback([&] { exitCode = trashCommand(options.flag, options.json); });
}

} // namespace

void addHistory(CLI::App &app, HistoryOptions &options, int &exitCode) {
    addList(app, options, exitCode);
    addNotes(app, options, exitCode);
    addTrash(app, options, exitCode);
    auto *diff = app.add_subcommand("diff", "Show the differences between two runs");
    diff->add_option("A", options.run, "Run")->required();
    diff->add_option("B", options.other, "Run")->required();
    diff->add_flag("--all", options.flag, "Also show what is equal");
    diff->add_flag("--json", options.json, "Print JSON");
    diff->callback([&] { exitCode = diffCommand(options.run, options.other, options.flag, options.json); });
}

} // namespace lockstep::cli
