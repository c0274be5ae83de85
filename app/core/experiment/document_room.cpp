// SPDX-License-Identifier: MIT
#include "experiment/document_room.h"

#include <algorithm>

#include "ipc/documents.h"
#include "ipc/file_system.h"

namespace lockstep::core {
namespace {

/// Of a run beside what it is when it is added: its line in the order, larger numbers of its repeats, and what makes its name its own.
constexpr std::size_t restOfARun = 32;

} // namespace

DocumentRoom::DocumentRoom(const Experiment &experiment) : m_id(experiment.id), m_taken(lengthOf(toJson(experiment))) {
    m_taken.bytes += restOfARun * experiment.entries.size();
    m_taken.lines += experiment.entries.size();
}

DocumentRoom::Length DocumentRoom::lengthOf(const std::string &text) {
    return {text.size(), std::size_t(std::ranges::count(text, '\n'))};
}

DocumentRoom::Length DocumentRoom::lengthOf(const PlannedRun &run) {
    static const Length none = lengthOf(toJson(Experiment()));
    Experiment alone;
    alone.entries.emplace_back().planned = run;
    const Length with = lengthOf(toJson(alone));
    return {with.bytes - none.bytes + restOfARun, with.lines - none.lines + 1};
}

Result<void> DocumentRoom::take(const Length &one, std::size_t times) {
    const Length more{m_taken.bytes + one.bytes * times, m_taken.lines + one.lines * times};
    if (more.bytes > largestDocument || more.lines > documents::mostValues)
        return fail(Error::badArgument("experiment " + m_id + " would take about " + std::to_string(more.bytes) +
                                           " bytes and " + std::to_string(more.lines) + " lines",
                                       "at most " + std::to_string(largestDocument) + " and " +
                                           std::to_string(documents::mostValues) +
                                           " are read: start another experiment, or shorten its notes"));
    m_taken = more;
    return {};
}

Result<void> DocumentRoom::takeRun(const PlannedRun &run, std::size_t times) {
    return take(lengthOf(run), times);
}

Result<void> DocumentRoom::takeRounds(const Experiment &experiment, const std::vector<int> &entries,
                                      std::size_t rounds) {
    Length round;
    for (const int entry : entries) {
        auto known = m_entries.find(entry);
        if (known == m_entries.end())
            known = m_entries.emplace(entry, lengthOf(experiment.entries[std::size_t(entry)].planned)).first;
        round.bytes += known->second.bytes;
        round.lines += known->second.lines;
    }
    return take(round, rounds);
}

} // namespace lockstep::core
