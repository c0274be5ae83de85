// SPDX-License-Identifier: MIT
#include "lab/lab_report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/other_load.h"
#include "ipc/run_config.h"

namespace lockstep::core {
namespace {

using Key = std::pair<std::string, int>;

/// Operations and ranks in the order in which they were measured.
std::vector<Key> keysOf(const LabRecord &record) {
    std::vector<Key> keys;
    for (const LabRow &row : record.rows)
        if (const Key key{row.collective, row.ranks}; std::find(keys.begin(), keys.end(), key) == keys.end())
            keys.push_back(key);
    return keys;
}

/// The measured time nearest to that size, if one is within a factor of √2.
std::optional<double> measuredNear(const LabRecord &record, const std::string &collective, int ranks, double bytes) {
    std::optional<double> seconds;
    double nearest = 0.35;
    for (const LabRow &row : record.rows)
        if (row.collective == collective && row.ranks == ranks)
            if (const double apart = std::abs(std::log(row.bytes / bytes)); apart < nearest) {
                nearest = apart;
                seconds = row.medianS;
            }
    return seconds;
}

std::optional<double> medianSecondsOf(const LabRow &row) {
    return row.medianS;
}

/// A run's time adds up means: stalls count. Absent: an older lab kept none.
std::optional<double> meanSecondsOf(const LabRow &row) {
    return row.meanS > 0 ? std::optional(row.meanS) : std::nullopt;
}

std::optional<double> workSecondsOf(const LabRow &row) {
    return row.cpuS;
}

/// Adds the model `name` of what the rows of an operation say.
void addFit(CommunicationModel &model, const std::string &name, const LabRecord &record, const std::string &collective,
            int ranks, std::optional<double> (*seconds)(const LabRow &)) {
    std::vector<TimePoint> points;
    for (const LabRow &row : record.rows)
        if (row.collective == collective && row.ranks == ranks && !row.heldOut)
            if (const auto s = seconds(row))
                points.push_back({row.bytes, *s});
    if (auto fit = CostModel::fit(std::move(points)))
        model.add(name, ranks, std::move(*fit));
}

/// Whether the lab's messages on so many ranks went from one node to another.
bool isBetweenNodes(const LabRecord &record, const std::string &collective, int ranks) {
    if (record.nodes.size() < 2)
        return false;
    const int ofFirst = std::max(1, int(record.nodes.front().devices.size()));
    return std::ranges::any_of(record.rows, [&](const LabRow &row) {
        return row.collective == collective && row.ranks == ranks && row.partner >= ofFirst;
    });
}

/// "1 core", "2 cores"
std::string wholeCores(int cores) {
    return std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

} // namespace

CommunicationModel fitLab(const LabRecord &record) {
    CommunicationModel model;
    for (const auto &[collective, ranks] : keysOf(record)) {
        const bool between = isBetweenNodes(record, collective, ranks);
        if (collective == messageAfterWork)
            addFit(model, between ? messageBetweenNodes : messageInTraining, record, collective, ranks, meanSecondsOf);
        if (collective == pairOfRanks && between)
            addFit(model, pairBetweenNodes, record, collective, ranks, medianSecondsOf);
        if (collective == "all_reduce_after_work") {
            addFit(model, inTraining, record, collective, ranks, meanSecondsOf);
            addFit(model, workInTraining, record, collective, ranks, workSecondsOf);
        }
        addFit(model, collective, record, collective, ranks, medianSecondsOf);
    }
    return model;
}

const CostModel *costOfMessages(const LabRecord &record, const CommunicationModel &model) {
    const char *name = record.nodes.size() > 1 ? pairBetweenNodes : pairOfRanks;
    const auto ranks = model.ranksOf(name);
    return ranks.empty() ? nullptr : model.find(name, ranks.front());
}

std::vector<LabFit> labFits(const LabRecord &record, const CommunicationModel &model) {
    std::vector<LabFit> fits;
    for (const auto &[collective, ranks] : keysOf(record)) {
        const CostModel *cost = model.find(collective, ranks);
        if (!cost)
            continue;
        LabFit fit{.collective = collective, .ranks = ranks, .regimes = cost->regimes()};
        std::vector<double> errors;
        for (const LabRow &row : record.rows) {
            if (row.collective != collective || row.ranks != ranks)
                continue;
            fit.partner = row.partner;
            fit.busbwMostBytesS = std::max(fit.busbwMostBytesS.value_or(0), row.busbwBytesS);
            if (!row.heldOut)
                continue;
            errors.push_back(relativeError(cost->seconds(row.bytes), row.medianS));
            if (!fit.heldOutWorst || errors.back() > *fit.heldOutWorst) {
                fit.heldOutWorst = errors.back();
                fit.heldOutWorstBytes = row.bytes;
            }
        }
        fit.heldOut = int(errors.size());
        std::sort(errors.begin(), errors.end());
        if (!errors.empty())
            fit.heldOutMedianError = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
        fits.push_back(std::move(fit));
    }
    return fits;
}

std::vector<RingVersusServer> ringVersusServer(const LabRecord &record, const CommunicationModel &model,
                                               const std::vector<double> &bytes) {
    std::set<int> ranks;
    for (const LabRow &row : record.rows)
        ranks.insert(row.ranks);
    const CostModel *pair = costOfMessages(record, model);
    std::vector<RingVersusServer> out;
    for (const int n : ranks) {
        for (const double size : bytes) {
            RingVersusServer row{n, size, {}, {}, {}, {}, {}};
            if (pair) {
                row.ringFormulaS = ringFormulaS(*pair, n, size);
                row.serverFormulaS = serverFormulaS(*pair, n, size);
            }
            row.ringMeasuredS = measuredNear(record, "ring_all_reduce", n, size);
            row.serverMeasuredS = measuredNear(record, "server_all_reduce", n, size);
            row.backendMeasuredS = measuredNear(record, "all_reduce", n, size);
            out.push_back(row);
        }
    }
    return out;
}

std::string sweepsText(const LabRecord &record) {
    if (record.rows.empty())
        return "no rows";
    const auto [least, most] = std::ranges::minmax(record.rows, {}, &LabRow::sweeps);
    return (least.sweeps == most.sweeps ? "" : std::to_string(least.sweeps) + " to ") + std::to_string(most.sweeps) +
           (most.sweeps == 1 ? " sweep" : " sweeps");
}

std::string schedulingText(const LabRecord &record) {
    const std::string &policy = record.scheduling;
    return policy == "other" ? "usual scheduling" : policy.empty() ? "scheduling unknown" : policy + " scheduling";
}

std::vector<std::string> labReservations(const LabRecord &record, const MachineName &here) {
    std::vector<std::string> out;
    if (record.oversubscribed)
        out.emplace_back("The lab's ranks shared cores: its times say nothing about ranks with cores of their own.");
    const bool isHere = record.host.empty() || isSameMachine({record.host, record.cpuModel}, here);
    if (const std::string others =
            otherLoadSentence(record.otherCores, "the lab measured", isHere ? "this machine" : record.host);
        !others.empty())
        out.push_back(others);
    return out;
}

std::vector<std::string> labReservationsFor(const RunConfig &config, const LabRecord &record, const MachineName &here) {
    std::vector<std::string> out;
    if (placesOf(record.nodes) != placesOf(config.nodes))
        out.push_back("The lab was measured " + whereMeasured(record) + ", not between the places of the forecast.");
    else if (const std::string elsewhere = measuredElsewhere(record, here); !elsewhere.empty())
        out.push_back(elsewhere);
    if (!anyGpu(config) && record.device != "cuda" && record.coresPerDevice != config.coresPerDevice)
        out.push_back("Each of the lab's ranks had " + wholeCores(record.coresPerDevice) +
                      ", a device of the forecast has " + wholeCores(config.coresPerDevice) + ".");
    for (std::string &sentence : labReservations(record, here))
        out.push_back(std::move(sentence));
    return out;
}

std::string ringFormulaText() {
    return "Ring: every rank passes 1/N of the data on, N-1 times to add it up and N-1 times to hand the sum round: "
           "T = 2(N-1)K/N, which hardly grows with N";
}

std::string serverFormulaText() {
    return "Server: N-1 ranks send all their data to one, which sends all of it back to each, through one link: "
           "T = 2(N-1)K, which grows with N";
}

std::string formulaLettersText() {
    return "N: ranks, K: the time to send all the data once from one rank to another";
}

} // namespace lockstep::core
