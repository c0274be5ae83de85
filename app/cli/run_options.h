// SPDX-License-Identifier: MIT
#pragma once
#include "commands.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// --on-alert: the person's own command for alerts (queue/alert_command.h).
void addOnAlert(CLI::App &command, std::string &onAlert);
/// Where and how runs go, and what becomes of their results: the options that `run` and `study` share.
void addRunOptions(CLI::App &command, RunOptions &options);
/// run, and the internal command own.
void addRun(CLI::App &app, RunOptions &options, int &exitCode);
/// try: does a setting matter?
void addTry(CLI::App &app, TryOptions &options, int &exitCode);
/// study, with its trials.
void addStudy(CLI::App &app, StudyOptions &options, int &exitCode);
void addCheck(CLI::App &app, CheckOptions &options, int &exitCode);

} // namespace lockstep::cli
