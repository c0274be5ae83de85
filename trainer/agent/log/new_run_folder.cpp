// SPDX-License-Identifier: MIT
#include "trainer/agent/log/new_run_folder.h"

#include <unistd.h>

#include <filesystem>

#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "trainer/agent/log/slurm_origin.h"
#include "trainer/agent/net/version.h"

namespace lockstep::agent {

namespace {
Error unwritable(const RunFolder &folder, const Error &why) {
    return Error::badArgument("the run folder " + folder.path + " can't be written: " + why.message(),
                              "make it writable or name another place in XDG_DATA_HOME");
}
} // namespace

Result<NewRunFolder> NewRunFolder::create(RunRecord &record, int node) {
    if (record.run.empty())
        record.run = makeRunId();
    if (!isRunId(record.run))
        return fail(Error::badArgument("'" + record.run + "' is no run id", "leave it empty: the agent makes one"));
    const SystemClock clock;
    record.startWallUs = clock.wallUs();
    record.lockstepVersion = agentVersion();

    FileSystem &fs = realFileSystem();
    const RunFolder folder = runFolder(record.run);
    std::error_code ignored;
    const Before before = entriesOf(folder);
    const auto removeEmpty = [&] { // without the lock the folder may be another agent's by now
        ::rmdir((folder.path + "/console").c_str());
        ::rmdir(folder.path.c_str());
    };
    if (const auto made = fs.makeFolders(folder.path + "/console"); !made) {
        removeEmpty();
        return fail(unwritable(folder, made.error()));
    }
    if (::access(folder.path.c_str(), W_OK) != 0) {
        removeEmpty();
        return fail(unwritable(folder, Error::failed("it is read-only")));
    }
    auto lock = takeLock(folder.lock(node), Error::badArgument("run " + record.run + " is served by another agent",
                                                               "follow it: lockstep-agent attach " + record.run));
    if (!lock && lock.error().kind == ErrorKind::BadArgument)
        return fail(lock.error());
    if (!lock) {
        removeEmpty();
        return fail(unwritable(folder, lock.error()));
    }
    const bool shared = node > 0 && std::filesystem::exists(folder.log(0), ignored);
    if (shared && !std::filesystem::exists(folder.log(node), ignored))
        return NewRunFolder(folder, std::move(*lock), node, true, before);
    if (std::filesystem::exists(folder.config(), ignored))
        return fail(
            Error::badArgument("run " + record.run + " exists already", "leave the run id empty for a new one"));
    if (node == 0)
        writeSlurmOrigin(folder); // viewers on other machines open whatever has a log or a record
    if (const auto written = fs.writeAtomically(folder.config(), toJson(record)); !written) {
        removeNew(folder, before);
        return fail(unwritable(folder, written.error()));
    }
    return NewRunFolder(folder, std::move(*lock), node, false, before);
}

NewRunFolder::Before NewRunFolder::entriesOf(const RunFolder &folder) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder.path, ignored))
        return std::nullopt;
    std::set<std::string> entries;
    for (const std::string &of : {folder.path, folder.path + "/console"})
        for (const auto &entry : std::filesystem::directory_iterator(of, ignored))
            entries.insert(entry.path());
    return entries;
}

void NewRunFolder::removeNew(const RunFolder &folder, const Before &before) {
    std::error_code ignored;
    if (!before) {
        std::filesystem::remove_all(folder.path, ignored);
        return;
    }
    for (const std::string &entry : entriesOf(folder).value_or(std::set<std::string>()))
        if (!before->contains(entry))
            std::filesystem::remove_all(entry, ignored);
}

void NewRunFolder::discard() {
    std::error_code ignored;
    if (!m_shared)
        return removeNew(m_folder, m_before);
    for (const std::string &path : {m_folder.log(m_node), m_folder.lock(m_node), m_folder.agentConsole(m_node)})
        std::filesystem::remove(path, ignored);
}

} // namespace lockstep::agent
