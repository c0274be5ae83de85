// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/script_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "ipc/command_template.h"
#include "ipc/file_system.h"
#include "ipc/python_guard.h"
#include "ipc/safe_place.h"
#include "trainer/agent/ranks/programs.h"

namespace lockstep::agent {

namespace {

constexpr int firstMissing = 100; ///< exit code of the script below: 100 + the index of the first missing module
constexpr const char *pathVariable = "PYTHONPATH",
                     *givenPath = "LOCKSTEP_PYTHONPATH"; ///< the second for the script below

/// Looks for modules and imports none of them, nor their packages: a recipe that is only looked at is asked about too. What
/// lies in the current folder counts, since a script may find it there. A package that changes its own path may hold what only
/// its import would show.
const std::string question = pythonGuard + R"(import os
from importlib.machinery import PathFinder

here = ["", *os.environ.get("LOCKSTEP_PYTHONPATH", "").split(":")]

def look(full, tail, path):
    asked = [(finder, full, path) for finder in sys.meta_path]
    for finder, name, where in [*asked, (PathFinder, tail, here if path is None else path)]:
        try:
            spec = finder.find_spec(name, where)
        except Exception:  # a folder without __init__.py asks for its parent, which is not imported
            spec = None
        if spec is not None:
            return spec

def grows(origin):
    try:
        with open(origin, "rb") as file:
            text = file.read()
        return b"__path__" in text or b"sys.modules" in text
    except (OSError, TypeError):
        return False

def there(name):
    full, path, origin = "", None, None
    for tail in name.split("."):
        full += "." + tail if full else tail
        spec = sys.modules[full] if full in sys.modules else look(full, tail, path)
        if spec is None:
            return grows(origin)
        path = getattr(spec, "__path__" if full in sys.modules else "submodule_search_locations", None)
        if not path:
            return True
        path, origin = list(path), getattr(spec, "origin", None)
    return True

for i, name in enumerate(sys.argv[1:]):
    if not there(name):
        sys.exit(100 + i)
)";
constexpr int patienceMs = 20'000, waitPollMs = 2;

/// The environment without the places in PYTHONPATH that mean the current folder or lie in it: Python imports its own start from there.
std::vector<std::string> guardedEnvironment() {
    std::vector<std::string> out;
    for (char **variable = environ; *variable; ++variable)
        if (const std::string_view text = *variable; !text.starts_with(std::string(pathVariable) + "="))
            out.emplace_back(text);
    const char *given = ::getenv(pathVariable);
    if (!given || !*given)
        return out;
    out.push_back(std::string(givenPath) + "=" + given);
    std::error_code gone; // a folder that was removed has no path
    const std::filesystem::path current = std::filesystem::current_path(gone);
    std::string kept;
    std::istringstream places(given);
    for (std::string place; std::getline(places, place, ':');)
        if (place.starts_with('/') && !std::filesystem::equivalent(place, current, gone))
            kept += (kept.empty() ? "" : ":") + place;
    if (!kept.empty())
        out.push_back(std::string(pathVariable) + "=" + kept);
    return out;
}

std::vector<char *> pointersTo(const std::vector<std::string> &words) {
    std::vector<char *> out;
    for (const std::string &word : words)
        out.push_back(const_cast<char *>(word.c_str()));
    out.push_back(nullptr);
    return out;
}

/// The exit code of a short process without input or output; absent if it cannot be run or was killed.
std::optional<int> exitCodeOf(const std::vector<std::string> &command) {
    const std::vector<std::string> environment = guardedEnvironment();
    const std::vector<char *> words = pointersTo(command), variables = pointersTo(environment);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none); // the agent has signals blocked
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = 0;
    const int spawned = ::posix_spawn(&pid, words.front(), &files, &attributes, words.data(), variables.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (spawned != 0)
        return std::nullopt;
    int status = 0;
    for (int waited = 0; ::waitpid(pid, &status, WNOHANG) == 0; waited += waitPollMs) {
        if (waited > patienceMs) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, &status, 0);
            return std::nullopt;
        }
        ::usleep(waitPollMs * 1000);
    }
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

/// What a Python lacks for these modules: "has no torch", "can't be run"; empty if nothing.
std::string lackOf(const std::string &python, const std::vector<std::string> &modules) {
    std::vector<std::string> command = {python, "-c", question};
    command.insert(command.end(), modules.begin(), modules.end());
    const std::optional<int> code = exitCodeOf(command);
    if (code == 0)
        return {};
    const auto missing = static_cast<std::size_t>(code.value_or(0) - firstMissing);
    return code && *code >= firstMissing && missing < modules.size() ? "has no " + modules[missing] : "can't be run";
}

std::string joined(const std::vector<std::string> &words, const char *last) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i)
        out += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
    return out;
}

bool isFolder(const std::string &path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

Result<void> checkFiles(const std::vector<std::string> &command) {
    if (auto program = findProgram(command.front()); !program)
        return fail(program.error());
    const auto script = pythonScript(command);
    std::error_code error;
    if (script && !std::filesystem::exists(command[*script], error))
        return fail(Error::badArgument("there is no script " + command[*script],
                                       "correct the recipe's command, or put the script there"));
    return {};
}

std::filesystem::path binFolder() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// A path of CMakeCache.txt, in which a line is "NAME:INTERNAL=/path".
std::filesystem::path cachedPath(const std::string &cache, const std::string &name) {
    const std::string key = "\n" + name + ":INTERNAL=";
    const auto found = cache.find(key);
    if (found == std::string::npos)
        return {};
    const auto begin = found + key.size();
    return cache.substr(begin, cache.find('\n', begin) - begin);
}

/// The source tree where this program was built; empty for an installed one. The path is not compiled in, because a package
/// is installed elsewhere: it is known by what CMake has noted in the folder of the build, with which the tree may have moved.
std::filesystem::path sourceTree() {
    const std::filesystem::path bin = binFolder(), build = bin.parent_path(), noted = build / "CMakeCache.txt";
    if (!isAsSafeAs(bin, noted))
        return {};
    const auto cache = realFileSystem().readAll(noted.string());
    if (!cache)
        return {};
    const auto source = cachedPath(*cache, "CMAKE_HOME_DIRECTORY"), folder = cachedPath(*cache, "CMAKE_CACHEFILE_DIR");
    if (source.empty() || folder.empty())
        return {};
    return (build / source.lexically_relative(folder)).lexically_normal();
}

constexpr const char *thisBuild = "this build", *openToOthers = "can be changed by other users";

} // namespace

Result<PythonChoice> findPython(const std::vector<std::string> &modules) {
    const std::string all = joined(modules, " and ");
    if (const char *named = ::getenv("LOCKSTEP_PYTHON"); named && *named) {
        const auto path = findProgram(named);
        const std::string lack = path ? lackOf(*path, modules) : "can't be run";
        if (lack.empty())
            return PythonChoice{*path, "LOCKSTEP_PYTHON"};
        return fail(Error::badArgument("LOCKSTEP_PYTHON names '" + std::string(named) + "', which " + lack,
                                       "name a Python that has " + all + ", or unset it"));
    }
    std::vector<PythonChoice> candidates;
    for (const char *active : {"VIRTUAL_ENV", "CONDA_PREFIX"}) // an environment that the user has activated
        if (const char *folder = ::getenv(active); folder && *folder)
            if (const auto python = findProgram(std::string(folder) + "/bin/python"))
                candidates.push_back({*python, active});
    if (const auto inPath = findProgram("python3"))
        candidates.push_back({*inPath, "PATH"});
    if (const auto source = sourceTree(); !source.empty())
        if (const auto peers = findProgram((source / ".cache/peers/bin/python").string()))
            candidates.push_back({*peers, thisBuild});
    std::string lacks = "LOCKSTEP_PYTHON is not set";
    for (const PythonChoice &candidate : candidates) {
        const bool safe = candidate.from != thisBuild || isAsSafeAs(binFolder(), candidate.path);
        const std::string lack = safe ? lackOf(candidate.path, modules) : openToOthers;
        if (lack.empty())
            return candidate;
        lacks += ", " + candidate.path + " " + lack;
    }
    return fail(Error::badArgument("no Python with " + all + " was found: " + lacks, "name one in LOCKSTEP_PYTHON"));
}

Result<std::string> findScripts() {
    if (const char *named = ::getenv("LOCKSTEP_SCRIPTS"); named && *named) {
        if (isFolder(named))
            return std::string(named);
        return fail(Error::badArgument("LOCKSTEP_SCRIPTS names '" + std::string(named) + "', which is no folder",
                                       "unset it or name the folder of the Python package lockstep"));
    }
    std::vector<std::string> places = {(binFolder().parent_path() / "share/lockstep/python").string()};
    if (const auto source = sourceTree(); !source.empty())
        places.push_back((source / "resources/python").string());
    std::string lacks;
    for (const std::string &place : places) {
        const bool there = isFolder(place);
        if (there && isAsSafeAs(binFolder(), place))
            return place;
        lacks +=
            (lacks.empty() ? "" : ", ") + (there ? "those in " + place + " " + openToOthers : "none are in " + place);
    }
    return fail(Error::badArgument("no Python files of Lockstep can be used: " + lacks,
                                   "name their folder in LOCKSTEP_SCRIPTS"));
}

Result<std::string> pathThatFollows() {
    const auto scripts = findScripts();
    if (!scripts)
        return fail(scripts.error());
    const char *given = ::getenv("PYTHONPATH");
    return *scripts + "/lockstep/site:" + *scripts + (given && *given ? ":" + std::string(given) : "");
}

Result<std::vector<std::string>> resolveScript(const std::vector<std::string> &command, const RunConfig &config,
                                               std::string &python) {
    std::vector<std::string> out;
    std::size_t bytes = 0;
    for (const std::string &word : command) {
        auto filled = fillPlaceholders(word, [&](std::string_view name) -> Result<std::string> {
            if (const auto modules = pythonModules(name)) {
                auto found = findPython(*modules);
                if (!found)
                    return fail(found.error());
                python = found->path + " (found by " + found->from + ")";
                return found->path;
            }
            return name == "scripts" ? findScripts() : configPlaceholder(config, name);
        });
        if (!filled)
            return fail(filled.error());
        out.push_back(std::move(*filled));
        bytes += out.back().size() + 1;
        if (bytes > mostCommandBytes)
            return fail(commandTooLong());
    }
    if (auto there = checkFiles(out); !there)
        return fail(there.error());
    out.front() = *findProgram(out.front());
    return out;
}

} // namespace lockstep::agent
