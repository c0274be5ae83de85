// SPDX-License-Identifier: MIT
#include "queue/owned_experiment.h"

#include <algorithm>
#include <filesystem>

#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "launch/nodes_launcher.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"
#include "queue/slurm/slurm_experiment.h"

namespace lockstep::core {

Error hasOwner(const std::string &id) {
    return Error::failed("the queue of " + id + " is already being run", "follow it: lockstepctl attach " + id);
}

Result<OwnedExperiment> OwnedExperiment::own(const std::string &id) {
    if (const Result<Experiment> known = readExperiment(id); !known)
        return fail(known.error());
    if (isSlurmExperiment(id))
        return fail(
            Error::badArgument("the queue of " + id + " is Slurm's", "follow it: lockstepctl slurm follow " + id));
    const auto origin = readQueueOrigin(id);
    if (!origin)
        return fail(origin.error());
    if (*origin)
        return fail(Error::badArgument("the queue of " + id + " lives on " + (*origin)->prefix.host,
                                       "follow it: lockstepctl attach " + id));
    Result<FileLock> lock = takeLock(experimentFolder(id).lock(), hasOwner(id));
    if (!lock)
        return fail(lock.error());
    OwnedExperiment out;
    out.m_lock = std::move(*lock);
    out.m_folder = HeldFolder(experimentFolder(id).path);
    Result<Experiment> experiment = readExperiment(id); // it may have changed before we got the lock
    if (!experiment)
        return fail(experiment.error());
    out.m_experiment = std::move(*experiment);
    const Result<CommandPrefix> prefix = prefixFor(out.m_experiment.host, out.m_experiment.remoteAgent);
    if (!prefix)
        return fail(prefix.error());
    out.m_prefix = *prefix;
    if (const Result<void> known = checkPlacesOf(id); !known)
        return fail(known.error());
    for (const PendingRequest &pending : out.requests()) {
        if (!stopsCurrents(pending.request, out.m_experiment).empty())
            break; // once the runs that it stops are followed
        if (const Result<void> done = out.carryOut(pending); !done)
            return fail(done.error());
    }
    return out;
}

CommandPrefix OwnedExperiment::prefixOf(int entry) const {
    const RunConfig &config = m_experiment.entries[std::size_t(entry)].planned.config;
    return prefixOfAgent0(config, m_prefix).value_or(m_prefix);
}

Result<void> OwnedExperiment::save() const {
    if (lockGone())
        return fail(Error::failed(goneSentence()));
    return writeExperiment(m_experiment);
}

bool OwnedExperiment::lockGone() const {
    return m_lock && !m_lock->isAt(experimentFolder(m_experiment.id).lock());
}

std::vector<PendingRequest> OwnedExperiment::requests() {
    std::vector<PendingRequest> pending = pendingRequests(experimentFolder(m_experiment.id), &m_left);
    // An owner that died before it could remove one had written it down as carried out.
    const std::string folder = experimentFolder(m_experiment.id).requests();
    std::erase_if(m_experiment.taken, [&](const std::string &name) {
        return std::ranges::none_of(pending, [&](const PendingRequest &one) { return one.name == name; }) &&
               !isThere(folder + "/" + name); // of very many, not all are pending at once
    });
    std::erase_if(pending, [&](const PendingRequest &one) {
        if (std::ranges::find(m_experiment.taken, one.name) == m_experiment.taken.end() && !m_left.contains(one.name))
            return false;
        forget(one);
        return true;
    });
    return pending;
}

Result<void> OwnedExperiment::carryOut(const PendingRequest &pending) {
    const Experiment before = m_experiment;
    if (const Result<void> applied = apply(pending.request, m_experiment); !applied) {
        logWarning(applied.error().message());
        forget(pending);
        return {};
    }
    m_experiment.taken.push_back(pending.name);
    if (Result<void> written = save(); !written) {
        m_experiment = before;
        if (written.error().kind != ErrorKind::BadArgument)
            return written;
        logWarning(written.error().message()); // it would be too large the next time, too
    }
    forget(pending);
    return {};
}

void OwnedExperiment::forget(const PendingRequest &pending) {
    if (!forgetRequest(experimentFolder(m_experiment.id), pending.name))
        m_left.insert(pending.name);
}

std::string OwnedExperiment::goneSentence() const {
    std::string sentence = m_folder.gone() ? "the experiment's folder " + m_folder.path() + " was removed"
                                           : "the queue's lock " + experimentFolder(m_experiment.id).lock() +
                                                 " was removed, so that another process may own it, too";
    sentence += ": its queue has ended";
    for (const int current : m_experiment.currents())
        if (const std::string &run = m_experiment.entries[std::size_t(current)].run;
            !run.empty() && isThere(runFolder(run).path))
            sentence += "; run " + run + " continues by itself: lockstepctl attach " + run;
    return sentence;
}

void OwnedExperiment::remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(experimentFolder(m_experiment.id).path, ignored);
}

} // namespace lockstep::core
