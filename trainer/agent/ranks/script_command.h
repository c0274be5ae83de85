// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::agent {

/// A Python that has the modules that a script imports.
struct PythonChoice {
    std::string path;
    std::string from; ///< where it was found: "LOCKSTEP_PYTHON", "PATH", "this build"
};

/// LOCKSTEP_PYTHON if it is set; else that of an active environment (VIRTUAL_ENV, CONDA_PREFIX), python3 in PATH, or, for a
/// program that was built in a source tree, the one that set-up has installed there, unless other users can change it
/// (ipc/safe_place.h): the first one that has all modules. Each is asked by a short process, which imports none of them and
/// nothing of the current folder. The error says what each of them lacks.
[[nodiscard]] Result<PythonChoice> findPython(const std::vector<std::string> &modules);

/// The folder of the Python package lockstep and its examples: LOCKSTEP_SCRIPTS, else beside the installed agent, else
/// in the source tree where this program was built. A folder that other users can change is passed over.
[[nodiscard]] Result<std::string> findScripts();

/// PYTHONPATH for a process whose Python scripts are to be followed unchanged: the folders of Lockstep's sitecustomize and
/// package, then what this process has.
[[nodiscard]] Result<std::string> pathThatFollows();

/// A script's command with its placeholders filled in from the configuration and this machine (ipc/command_template.h).
/// Fails if the program or the script does not exist. `python` gets a phrase about the Python that was chosen, if one
/// was.
[[nodiscard]] Result<std::vector<std::string>> resolveScript(const std::vector<std::string> &command,
                                                             const RunConfig &config, std::string &python);

} // namespace lockstep::agent
