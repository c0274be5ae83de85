// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::agent {

/// A Python that has what a script imports.
struct PythonChoice {
    std::string path;
    std::string from; ///< where it was found: "LOCKSTEP_PYTHON", "this build", "PATH"
};

/// LOCKSTEP_PYTHON when it is set, else the Python of the build's peers, else python3 in PATH; the first that has all the
/// modules. Asks each by a short process. The error says of each what it lacks.
[[nodiscard]] Result<PythonChoice> findPython(const std::vector<std::string> &modules);

/// The folder of the Python package lockstep and its examples: LOCKSTEP_SCRIPTS, beside the installed agent, else in the source tree.
[[nodiscard]] Result<std::string> findScripts();

/// A script's command with its placeholders filled in by the config and this machine (ipc/command_template.h). Program
/// and script are there; `python` gets a sentence's part on the Python that was chosen, when one was.
[[nodiscard]] Result<std::vector<std::string>> resolveScript(const std::vector<std::string> &command,
                                                             const RunConfig &config, std::string &python);

} // namespace lockstep::agent
