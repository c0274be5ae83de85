// SPDX-License-Identifier: MIT
#include "queue/owned_experiment.h"

#include <filesystem>

#include "ipc/logging.h"
#include "launch/nodes_launcher.h"
#include "queue/queue_origin.h"
#include "queue/slurm/slurm_experiment.h"

namespace lockstep::core {

Result<OwnedExperiment> OwnedExperiment::own(const std::string &id) {
    if (const Result<Experiment> known = readExperiment(id); !known)
        return fail(known.error());
    if (isSlurmExperiment(id))
        return fail(
            Error::badArgument("the queue of " + id + " is Slurm's", "follow it: lockstepctl slurm follow " + id));
    if (const auto origin = queueOriginOf(id))
        return fail(Error::badArgument("the queue of " + id + " lives on " + origin->prefix.host,
                                       "follow it: lockstepctl attach " + id));
    Result<FileLock> lock = FileLock::acquire(experimentFolder(id).lock());
    if (!lock)
        return fail(Error::failed("the queue of " + id + " has an owner: " + lock.error().what,
                                  "follow it: lockstepctl attach " + id));
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
    for (const QueueRequest &request : out.requests())
        if (request.kind != QueueRequest::Kind::Stop &&
            stopsCurrents(request, out.m_experiment).empty()) // meant for an earlier owner
            (void)apply(request, out.m_experiment);
    return out;
}

CommandPrefix OwnedExperiment::prefixOf(int entry) const {
    const RunConfig &config = m_experiment.entries[std::size_t(entry)].planned.config;
    return prefixOfAgent0(config, m_prefix).value_or(m_prefix);
}

void OwnedExperiment::save() const {
    if (const Result<void> written = writeExperiment(m_experiment); !written)
        logError("the queue's state can't be written: " + written.error().message());
}

std::vector<QueueRequest> OwnedExperiment::requests() const {
    return takeRequests(experimentFolder(m_experiment.id));
}

std::string OwnedExperiment::goneSentence() const {
    std::string sentence = "the experiment's folder " + m_folder.path() + " was removed: its queue has ended";
    for (const int current : m_experiment.currents())
        if (const std::string &run = m_experiment.entries[std::size_t(current)].run;
            !run.empty() && std::filesystem::exists(runFolder(run).path))
            sentence += "; run " + run + " continues by itself: lockstepctl attach " + run;
    return sentence;
}

void OwnedExperiment::remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(experimentFolder(m_experiment.id).path, ignored);
}

} // namespace lockstep::core
