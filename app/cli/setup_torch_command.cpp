// SPDX-License-Identifier: MIT
// setup-torch: creates a Python environment with the pinned PyTorch, where lockstep-trainer finds it.
#include <filesystem>
#include <unistd.h>

#include <QProcess>
#include <QStandardPaths>
#include <QStorageInfo>

#include "commands.h"
#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "nodes/torch_line.h"
#include "output.h"

namespace lockstep::cli {
namespace {

constexpr double neededBytes = 8e9; ///< 4.6 GB installed, plus pip's temporary files

struct Ran {
    bool started = false;
    int code = 1;
    std::string lastError; ///< pip's last "ERROR: …", else the last line
};

/// pip inherits our stdout to draw its progress; its stderr is passed on, and its last error kept.
Ran runStep(const std::string &program, const QStringList &arguments) {
    QProcess process;
    process.setProcessChannelMode(QProcess::ForwardedOutputChannel);
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(QString::fromStdString(program), arguments);
    Ran ran;
    ran.started = process.waitForStarted(-1);
    const auto take = [&] {
        while (process.canReadLine()) {
            const std::string line = process.readLine().trimmed().toStdString();
            std::fprintf(stderr, "%s\n", line.c_str());
            if (line.starts_with("ERROR: "))
                ran.lastError = line.substr(7);
            else if (ran.lastError.empty() && !line.empty())
                ran.lastError = line;
        }
    };
    process.setReadChannel(QProcess::StandardError);
    while (ran.started && process.waitForReadyRead(-1))
        take();
    process.waitForFinished(-1);
    take();
    ran.code = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : 1;
    return ran;
}

bool holdsTorch(const std::string &folder) {
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder + "/lib", error))
        if (isThere((entry.path() / "site-packages/torch/lib/libtorch_cpu.so").string()))
            return true;
    return false;
}

Result<void> checkSpace(const std::string &folder, const std::string &pin) {
    const QStorageInfo disk(QString::fromStdString(folder));
    if (!disk.isValid() || double(disk.bytesAvailable()) >= neededBytes)
        return {};
    const auto gigabytes = [](double bytes) { return std::to_string(int(bytes / 1e9)) + " GB"; };
    return fail(Error::badArgument(pin + " and its CUDA libraries need " + gigabytes(neededBytes) + " in " + folder +
                                       ", which has " + gigabytes(double(disk.bytesAvailable())) + " left",
                                   "free some, or set LOCKSTEP_TORCH to an installed PyTorch"));
}

/// Completes an unfinished environment, recreates a broken one.
Result<std::string> makeEnvironment(const std::string &folder) {
    const std::string python = folder + "/bin/python";
    if (::access(python.c_str(), X_OK) == 0 &&
        QProcess::execute(QString::fromStdString(python), {"-c", "import pip"}) == 0)
        return python;
    const QString system = QStandardPaths::findExecutable(QStringLiteral("python3"));
    if (system.isEmpty())
        return fail(Error::badArgument("there is no python3 in PATH, but PyTorch is a Python package",
                                       "apt install python3-venv"));
    print("1 of 2: a Python environment in " + folder + "\n");
    const Ran made = runStep(system.toStdString(), {"-m", "venv", "--clear", QString::fromStdString(folder)});
    if (made.code != 0)
        return fail(Error::failed("python3 -m venv made no environment in " + folder +
                                      (made.lastError.empty() ? "" : ": " + made.lastError),
                                  "apt install python3-venv, then start this again"));
    return python;
}

Result<void> installTorch(const std::string &python, const std::string &folder, const std::string &pin) {
    print("2 of 2: " + pin + " and its CUDA libraries (some 5 GB)\n");
    // pip caches complete files: a second start downloads only the rest.
    const Ran installed = runStep(
        python, {"-m", "pip", "install", "--disable-pip-version-check", "--retries", "2", QString::fromStdString(pin)});
    if (installed.code == 0 && holdsTorch(folder))
        return {};
    return fail(
        Error::failed(pin + " could not be installed" + (installed.lastError.empty() ? "" : ": " + installed.lastError),
                      "check the network or pip's settings and start this again: it resumes where it stopped"));
}

Result<void> setUp(const std::string &folder, const std::string &pin) {
    if (auto made = realFileSystem().makeFolders(folder); !made)
        return fail(Error::badArgument(folder + " can't be created: " + made.error().what,
                                       "set LOCKSTEP_HOME to a folder you may write to"));
    const auto lock = takeLock(folder + ".lock",
                               Error::failed("another lockstepctl setup-torch is running in " + folder, "wait for it"));
    if (!lock)
        return fail(lock.error());
    const std::string stamp = folder + "/lockstep-stamp";
    if (const auto done = realFileSystem().readAll(stamp); done && *done == pin && holdsTorch(folder)) {
        print(pin + " is in " + folder + " already\n");
        return {};
    }
    if (auto enough = checkSpace(folder, pin); !enough)
        return enough;
    const auto python = makeEnvironment(folder);
    if (!python)
        return fail(python.error());
    if (auto installed = installTorch(*python, folder, pin); !installed)
        return installed;
    if (auto written = realFileSystem().writeAtomically(stamp, pin); !written)
        return written;
    print(pin + " is in " + folder + ": lockstep-trainer finds it there\n");
    return {};
}

} // namespace

int setUpTorchCommand(const std::string &version) {
    const core::TorchLine *line = version.empty() ? &core::torchLines().front() : core::lineOf(version);
    if (!line)
        return complain(Error::badArgument(
            "lockstep-trainer is not built for PyTorch " + version,
            "choose " + core::torchLines().front().version + " or " + core::torchLines().back().version, "--line"));
    const auto done = setUp(dataHome() + "/" + core::bundleOfLine("torch", line->version), "torch==" + line->version);
    return done ? int(Done) : complain(done.error());
}

} // namespace lockstep::cli
