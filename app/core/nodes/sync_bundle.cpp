// SPDX-License-Identifier: MIT
#include "nodes/sync_bundle.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <QFile>
#include <QFileInfo>
#include <QLibraryInfo>
#include <QProcess>

#include "base/command_prefix.h"
#include "base/last_line.h"
#include "data/dataset_source.h"
#include "ipc/documents.h"
#include "ipc/run_folder.h"
#include "ipc/sha256.h"
#include "nodes/torch_line.h"

namespace lockstep::core {
namespace {

namespace fs = std::filesystem;

bool plainPath(std::string_view path) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";
    return !path.empty() && path.front() != '/' && path.front() != '-' &&
           path.find_first_not_of(allowed) == std::string_view::npos &&
           ("/" + std::string(path) + "/").find("/../") == std::string::npos;
}

Result<void> read(SyncFile &file) {
    QFile source(QString::fromStdString(file.source));
    if (source.open(QIODevice::ReadOnly)) {
        file.bytes = source.size();
        file.sha256 = sha256OfNext(source, file.bytes);
    }
    if (file.sha256.empty())
        return fail(Error::failed(file.source + " can't be read: " + source.errorString().toStdString(),
                                  "check that it exists and is readable"));
    file.executable = QFileInfo(source).isExecutable();
    return {};
}

/// Libraries of the C library: every machine must use its own.
bool ofGlibc(const std::string &name) {
    static const char *const parts[] = {"ld-linux",   "libc.so",    "libm.so",         "libpthread.so",     "libdl.so",
                                        "librt.so",   "libutil.so", "libresolv.so",    "libanl.so",         "libnss_",
                                        "libmvec.so", "libnsl.so",  "libthread_db.so", "libBrokenLocale.so"};
    return std::any_of(std::begin(parts), std::end(parts), [&](const char *part) { return name.starts_with(part); });
}

/// As this machine's dynamic linker finds them.
Result<std::vector<std::string>> librariesOf(const std::string &program) {
    QProcess ldd;
    ldd.start(QStringLiteral("ldd"), {QString::fromStdString(program)});
    if (!ldd.waitForFinished(20'000) || ldd.exitCode() != 0)
        return fail(Error::failed("ldd can't list which libraries " + program + " needs",
                                  "check that ldd (libc-bin) works here"));
    std::vector<std::string> out;
    for (const QString &line : QString::fromUtf8(ldd.readAllStandardOutput()).split(u'\n')) {
        const QString path = line.section(QStringLiteral("=> "), 1).section(QStringLiteral(" ("), 0, 0).trimmed();
        if (path.startsWith(u'/'))
            out.push_back(path.toStdString());
    }
    return out;
}

std::string fileName(const std::string &path) {
    return fs::path(path).filename().string();
}

bool within(const std::string &path, const std::string &folder) {
    return !folder.empty() && path.starts_with(folder + "/");
}

/// The folder with torch and nvidia: site-packages.
std::string siteOf(const LocalTrainer &trainer) {
    return trainer.torchFolder.empty() ? std::string()
                                       : fs::path(trainer.torchFolder).parent_path().lexically_normal().string();
}

std::string normal(const std::string &path) {
    return fs::path(path).lexically_normal().string();
}

/// The launcher of lockstep-trainer: next to the agent if installed, in a separate folder of a build tree.
std::string launcherBeside(const std::string &agent, const std::string &trainer) {
    std::error_code error;
    for (const fs::path &candidate : {fs::path(agent).parent_path() / "../launcher/lockstep-trainer",
                                      fs::path(agent).parent_path() / "lockstep-trainer"})
        if (fs::exists(candidate, error) && !fs::equivalent(candidate, trainer, error))
            return normal(candidate.string());
    return {};
}

/// The Python package `lockstep` and the modules next to it.
void addPython(const std::string &agent, std::vector<SyncFile> &files) {
    const fs::path folder = scriptsBeside(agent);
    if (folder.empty())
        return;
    std::error_code error;
    for (const fs::path &part : {folder, folder / "lockstep", folder / "lockstep" / "site"})
        for (const auto &entry : fs::directory_iterator(part, error))
            if (entry.path().extension() == ".py")
                files.push_back({"share/lockstep/python/" + entry.path().lexically_relative(folder).string(),
                                 normal(entry.path().string()),
                                 {},
                                 0,
                                 false});
}

/// lockstepctl with Qt's SQLite driver, which is loaded by name: with them a queue's owner can run on the node. What
/// else they need is added to `libraries`.
Result<void> addQueueOwner(std::vector<SyncFile> &files, std::vector<std::string> &libraries) {
    const auto ctl = findCtl();
    if (!ctl)
        return fail(ctl.error());
    const std::string plugins = QLibraryInfo::path(QLibraryInfo::PluginsPath).toStdString();
    const std::string driver = plugins + "/sqldrivers/libqsqlite.so";
    files.push_back({"bin/lockstepctl", *ctl, {}, 0, true});
    std::error_code error;
    if (fs::exists(driver, error))
        files.push_back({"lib/lockstep/plugins/sqldrivers/libqsqlite.so", driver, {}, 0, false});
    for (const std::string &one : {*ctl, driver})
        if (fs::exists(one, error)) {
            const auto more = librariesOf(one);
            if (!more)
                return fail(more.error());
            libraries.insert(libraries.end(), more->begin(), more->end());
        }
    return {};
}

Error unclear(const std::string &program, const std::string &why) {
    return Error::failed(program + " does not report its libraries: " + why,
                         "build it with ./run, or install Lockstep again");
}

/// Includes CUDA's libraries, which the trainer must load to report them.
Result<std::string> factsWithCuda(const std::string &program) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("LOCKSTEP_FACTS"), QStringLiteral("cuda"));
    process.setProcessEnvironment(environment);
    process.start(QString::fromStdString(program), {QStringLiteral("--facts")});
    if (!process.waitForFinished(120'000) || process.exitCode() != 0)
        return fail(unclear(program, lastLine(process.readAllStandardError()).toStdString()));
    return process.readAllStandardOutput().toStdString();
}

/// An installed trainer whose PyTorch is not here: the program behind the launcher, with the libraries that a node may
/// lack.
Result<LocalTrainer> withoutTorch(const LocalLine &line) {
    LocalTrainer trainer;
    trainer.agent = line.agent;
    trainer.program = normal(line.trainer + "/../../libexec/lockstep/lockstep-trainer");
    trainer.torchVersion = line.version;
    auto libraries = librariesOf(trainer.program);
    if (!libraries)
        return fail(libraries.error());
    trainer.libraries = std::move(*libraries);
    return trainer;
}

} // namespace

std::string sha256OfNext(QFile &source, std::int64_t bytes) {
    constexpr qint64 hashedAtOnce = 1 << 20;
    Sha256 hash;
    while (bytes > 0) {
        const QByteArray block = source.read(std::min<qint64>(hashedAtOnce, bytes));
        if (block.isEmpty())
            return {};
        hash.add({block.constData(), std::size_t(block.size())});
        bytes -= block.size();
    }
    return hash.hex();
}

std::int64_t SyncBundle::bytes() const {
    std::int64_t sum = 0;
    for (const SyncFile &file : files)
        sum += file.bytes;
    return sum;
}

std::string SyncBundle::manifest() const {
    std::string text;
    for (const SyncFile &file : files)
        text += file.sha256 + "  " + file.path + "\n";
    return text;
}

std::string SyncBundle::version() const {
    return sha256Hex(manifest()).substr(0, 16);
}

Result<SyncBundle> makeBundle(std::string name, std::vector<SyncFile> files) {
    SyncBundle bundle;
    bundle.name = std::move(name);
    std::sort(files.begin(), files.end(), [](const SyncFile &a, const SyncFile &b) { return a.path < b.path; });
    files.erase(
        std::unique(files.begin(), files.end(), [](const SyncFile &a, const SyncFile &b) { return a.path == b.path; }),
        files.end());
    for (SyncFile &file : files) {
        if (!plainPath(file.path))
            return fail(
                Error::badArgument("a file called '" + file.path.substr(0, 80) + "' can't be copied to other machines",
                                   "rename it to letters, digits and ._+- only"));
        if (auto done = read(file); !done)
            return fail(done.error());
    }
    bundle.files = std::move(files);
    return bundle;
}

Result<LocalTrainer> localTrainer(const LocalLine &line, bool cuda) {
    if (!line.torchHere)
        return withoutTorch(line);
    const std::string &program = line.trainer;
    const auto facts = cuda ? factsWithCuda(program) : Result<std::string>(line.facts);
    if (!facts)
        return fail(facts.error());
    const auto json = documents::objectOrNull(*facts);
    if (!json.is_object() || !json.contains("libraries"))
        return fail(unclear(program, "no libraries are named"));
    LocalTrainer trainer;
    trainer.agent = line.agent;
    trainer.program = documents::valueIn(json, "program", program);
    trainer.torchVersion = documents::valueIn(json, "torch", "");
    trainer.torchFolder = normal(documents::valueIn(json, "torch_folder", ""));
    for (const std::string &one : documents::valueIn(json, "libraries", std::vector<std::string>()))
        trainer.libraries.push_back(normal(one));
    for (const std::string &one : documents::valueIn(json, "cuda_libraries", std::vector<std::string>()))
        trainer.cudaLibraries.push_back(normal(one));
    return trainer;
}

Result<SyncBundle> programBundle(const LocalTrainer &trainer) {
    const std::string &agent = trainer.agent;
    const std::string launcher = launcherBeside(agent, trainer.program);
    if (launcher.empty())
        return fail(
            Error::failed("lockstep-trainer's launcher is neither next to " + agent + " nor in the build folder",
                          "build it: ./run --setup"));
    std::vector<SyncFile> files = {{"bin/lockstep-agent", agent, {}, 0, true},
                                   {"bin/lockstep-trainer", launcher, {}, 0, true},
                                   {"libexec/lockstep/lockstep-trainer", trainer.program, {}, 0, true}};
    std::error_code error;
    if (const fs::path module = fs::path(trainer.program).parent_path() / "lockstep-trainer-cuda.so";
        fs::exists(module, error))
        files.push_back({"libexec/lockstep/lockstep-trainer-cuda.so", module.string(), {}, 0, true});
    std::vector<std::string> libraries = trainer.libraries;
    for (const std::string &program : {agent, launcher}) {
        const auto more = librariesOf(program);
        if (!more)
            return fail(more.error());
        libraries.insert(libraries.end(), more->begin(), more->end());
    }
    if (auto added = addQueueOwner(files, libraries); !added)
        return fail(added.error());
    for (const std::string &library : libraries)
        if (!ofGlibc(fileName(library)) && !within(library, siteOf(trainer)))
            files.push_back({"lib/lockstep/" + fileName(library), library, {}, 0, false});
    addPython(agent, files);
    return makeBundle(bundleOfLine("programs", trainer.torchVersion), std::move(files));
}

Result<SyncBundle> torchBundle(const LocalTrainer &trainer, bool cuda) {
    const std::string site = siteOf(trainer);
    if (site.empty())
        return fail(
            Error::badArgument("PyTorch " + trainer.torchVersion + " is neither on the node nor on this machine",
                               "install it on one of them; here: " + setUpCommand(trainer.torchVersion)));
    std::vector<SyncFile> files = {{"torch/version.py", trainer.torchFolder + "/version.py", {}, 0, false}};
    std::vector<std::string> libraries = trainer.libraries;
    if (cuda)
        libraries.insert(libraries.end(), trainer.cudaLibraries.begin(), trainer.cudaLibraries.end());
    for (const std::string &library : libraries)
        if (within(library, site))
            files.push_back({library.substr(site.size() + 1), library, {}, 0, false});
    return makeBundle(bundleOfLine("torch", trainer.torchVersion), std::move(files));
}

Result<SyncBundle> dataBundle(const std::string &dataset) {
    const auto source = findDataset(knownDatasets(), dataset);
    if (!source)
        return fail(source.error());
    const std::string folder = presentDatasetFolder(*source);
    if (folder.empty())
        return fail(
            Error::badArgument(dataset + " is not on this machine", "lockstepctl get-data " + dataset, "--data"));
    std::vector<SyncFile> files;
    std::error_code error;
    for (const DatasetFile &file : source->files) {
        std::string name = file.name; // packed, else unpacked
        if (!fs::exists(folder + "/" + name, error) && name.ends_with(".gz"))
            name.resize(name.size() - 3);
        files.push_back({name, folder + "/" + name, {}, 0, false});
    }
    return makeBundle("data-" + source->name, std::move(files));
}

int compareVersions(std::string_view a, std::string_view b) {
    while (!a.empty() || !b.empty()) {
        int x = 0, y = 0;
        std::from_chars(a.data(), a.data() + a.size(), x);
        std::from_chars(b.data(), b.data() + b.size(), y);
        if (x != y)
            return x < y ? -1 : 1;
        const auto rest = [](std::string_view &text) {
            text.remove_prefix(std::min(text.find('.'), text.size() - 1) + 1);
        };
        if (!a.empty())
            rest(a);
        if (!b.empty())
            rest(b);
    }
    return 0;
}

std::string neededGlibc(const std::string &file) {
    QFile source(QString::fromStdString(file));
    if (!source.open(QIODevice::ReadOnly) || source.size() < 4)
        return {};
    const uchar *data = source.map(0, source.size());
    if (!data)
        return {};
    const std::string_view bytes(reinterpret_cast<const char *>(data), std::size_t(source.size()));
    if (!bytes.starts_with("\177ELF"))
        return {};
    // Symbol versions are NUL-terminated strings in the file.
    constexpr std::string_view mark = "GLIBC_2.";
    std::string newest;
    for (auto at = bytes.find(mark); at != std::string_view::npos; at = bytes.find(mark, at + 1)) {
        const auto from = at + 6;
        auto end = from;
        while (end < bytes.size() && end < from + 12 && (bytes[end] == '.' || (bytes[end] >= '0' && bytes[end] <= '9')))
            ++end;
        if (end < bytes.size() && bytes[end] == '\0')
            if (std::string version(bytes.substr(from, end - from)); compareVersions(version, newest) > 0)
                newest = std::move(version);
    }
    return newest;
}

std::string neededGlibc(const SyncBundle &bundle) {
    std::string newest;
    for (const SyncFile &file : bundle.files)
        if (std::string needed = neededGlibc(file.source); compareVersions(needed, newest) > 0)
            newest = std::move(needed);
    return newest;
}

} // namespace lockstep::core
