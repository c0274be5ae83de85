// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QCoreApplication>

#include "base/format.h"
#include "commands.h"
#include "lab/lab_job.h"
#include "lab/lab_report.h"
#include "output.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using core::CommunicationModel;
using core::LabRecord;
using Rows = std::vector<std::vector<std::string>>;

constexpr double kib = 1024, mib = 1024 * kib;
constexpr double shownBytes[] = {4, 4 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib};

Json optional(const std::optional<double> &value) {
    return value ? Json(*value) : Json();
}

bool isShown(const core::LabRow &row) {
    return row.heldOut || std::find(std::begin(shownBytes), std::end(shownBytes), row.bytes) != std::end(shownBytes);
}

std::string measuredTable(const LabRecord &record, const CommunicationModel &model) {
    Rows rows = {{"operation", "ranks", "size", "median", "p90", "algbw", "busbw", "predicted", "off by"}};
    for (const core::LabRow &row : record.rows) {
        const core::CostModel *cost = model.find(row.collective, row.ranks);
        if (!isShown(row) || !cost)
            continue;
        const double predicted = cost->seconds(row.bytes);
        rows.push_back({core::collectiveTitle(row.collective), std::to_string(row.ranks),
                        text(core::messageSize(row.bytes)) + (row.heldOut ? " *" : ""),
                        text(core::shortTime(row.medianS)), text(core::shortTime(row.p90S)),
                        text(core::bandwidth(row.algbwBytesS)), text(core::bandwidth(row.busbwBytesS)),
                        text(core::shortTime(predicted)),
                        text(core::percent(core::relativeError(predicted, row.medianS), 1))});
    }
    return aligned(rows) + "* not used for the fit, to check it. algbw = size/time, busbw as nccl-tests defines it.\n";
}

std::string fitTable(const std::vector<core::LabFit> &fits) {
    Rows rows = {{"operation", "ranks", "from", "to", "alpha", "1/beta", "held-out median", "worst"}};
    for (const core::LabFit &fit : fits)
        for (std::size_t i = 0; i < fit.regimes.size(); ++i) {
            const core::Regime &regime = fit.regimes[i];
            const bool first = i == 0;
            const std::optional<double> rate =
                regime.betaSPerByte > 0 ? std::optional(1 / regime.betaSPerByte) : std::nullopt;
            rows.push_back({first ? core::collectiveTitle(fit.collective) : "", first ? std::to_string(fit.ranks) : "",
                            text(core::messageSize(regime.fromBytes)), text(core::messageSize(regime.toBytes)),
                            text(core::shortTime(regime.alphaS)), text(core::bandwidth(rate)),
                            first ? text(core::percent(fit.heldOutMedianError, 1)) : "",
                            first ? text(core::percent(fit.heldOutWorst, 1)) : ""});
        }
    return aligned(rows) + "Time = alpha + size·beta in each regime; between two of them a straight line in log-log.\n";
}

std::string ringTable(const LabRecord &record, const CommunicationModel &model) {
    Rows rows = {{"ranks", "K", "ring: formula", "measured", "server: formula", "measured", "backend's own"}};
    for (const core::RingVersusServer &row : core::ringVersusServer(record, model, {64 * kib, mib, 16 * mib, 64 * mib}))
        rows.push_back({std::to_string(row.ranks), text(core::messageSize(row.bytes)),
                        text(core::shortTime(row.ringFormulaS)), text(core::shortTime(row.ringMeasuredS)),
                        text(core::shortTime(row.serverFormulaS)), text(core::shortTime(row.serverMeasuredS)),
                        text(core::shortTime(row.backendMeasuredS))});
    return aligned(rows) + core::ringFormulaText() + ".\n" + core::serverFormulaText() + ".\n" +
           core::formulaLettersText() +
           ".\nThe formulas count messages; each message costs the time measured for its size between two ranks "
           "alone.\n";
}

std::string heading(const LabRecord &record) {
    std::string out = "Lab " + record.id + " " + core::whereMeasured(record) + ", " +
                      text(core::wallTime(record.startWallUs)) + ": " + record.backend + " on " + record.device +
                      " devices of " + std::to_string(record.coresPerDevice) + " core" +
                      (record.coresPerDevice > 1 ? "s" : "") + ", " + core::sweepsText(record) + ", " +
                      core::schedulingText(record) + "\n";
    for (const std::string &sentence : core::labReservations(record, core::thisMachine()))
        out += sentence + "\n";
    for (const std::string &sentence : record.leftOut)
        out += "Left out: " + sentence + "\n";
    for (const auto *sentences : {&record.notRun, &record.notOffered})
        for (const std::string &sentence : *sentences)
            out += "Not measured: " + sentence + "\n";
    return out;
}

Json regimesJson(const std::vector<core::Regime> &regimes) {
    Json out = Json::array();
    for (const core::Regime &regime : regimes)
        out.push_back({{"from_bytes", regime.fromBytes},
                       {"to_bytes", regime.toBytes},
                       {"alpha_s", regime.alphaS},
                       {"beta_s_per_byte", regime.betaSPerByte},
                       {"points", regime.points}});
    return out;
}

std::string jsonOf(const LabRecord &record, const CommunicationModel &model) {
    Json json = Json::parse(core::toJson(record));
    for (Json &row : json["rows"])
        if (const auto *cost = model.find(row["collective"], row["ranks"]))
            row["predicted_s"] = cost->seconds(row["bytes"].get<double>());
    json["fits"] = Json::array();
    for (const core::LabFit &fit : core::labFits(record, model))
        json["fits"].push_back({{"collective", fit.collective},
                                {"ranks", fit.ranks},
                                {"regimes", regimesJson(fit.regimes)},
                                {"held_out_sizes", fit.heldOut},
                                {"held_out_median_error", optional(fit.heldOutMedianError)},
                                {"held_out_worst_error", optional(fit.heldOutWorst)},
                                {"held_out_worst_bytes", optional(fit.heldOutWorstBytes)},
                                {"busbw_most_bytes_s", optional(fit.busbwMostBytesS)}});
    json["ring_versus_server"] = Json::array();
    for (const auto &row : core::ringVersusServer(record, model, {64 * kib, mib, 16 * mib, 64 * mib}))
        json["ring_versus_server"].push_back({{"ranks", row.ranks},
                                              {"bytes", row.bytes},
                                              {"ring_formula_s", optional(row.ringFormulaS)},
                                              {"ring_measured_s", optional(row.ringMeasuredS)},
                                              {"server_formula_s", optional(row.serverFormulaS)},
                                              {"server_measured_s", optional(row.serverMeasuredS)},
                                              {"backend_measured_s", optional(row.backendMeasuredS)}});
    return json.dump(1) + "\n";
}

int show(const LabRecord &record, bool json) {
    const CommunicationModel model = core::fitLab(record);
    if (json) {
        print(jsonOf(record, model));
        return Done;
    }
    print(heading(record) + "\n" + measuredTable(record, model) + "\n" + fitTable(core::labFits(record, model)) + "\n" +
          ringTable(record, model));
    return Done;
}

Result<std::vector<int>> ranksFrom(const std::string &list) {
    std::vector<int> ranks;
    for (const QString &part : QString::fromStdString(list).split(u',', Qt::SkipEmptyParts)) {
        const QStringList ends = part.split(QStringLiteral(".."));
        bool first = false, last = false;
        const int from = ends.front().toInt(&first), to = ends.back().toInt(&last);
        if (!first || !last || ends.size() > 2 || from < 2 || to < from || to > 4096)
            return fail(Error::badArgument("\"" + part.left(40).toStdString() + "\" is not a number of ranks",
                                           "write 2, 2,4 or 2..4", "--ranks"));
        for (int n = from; n <= to; ++n)
            ranks.push_back(n);
    }
    return ranks;
}

/// Progress: one rewritten line on a terminal, else one line per tenth.
void printProgress(const core::LabProgress &progress, int &lastTenth) {
    const int tenth = int(progress.fraction * 10);
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    if (!terminal && tenth == lastTenth)
        return;
    lastTenth = tenth;
    std::fprintf(stderr, terminal ? "\r\033[K%3.0f %%  %s" : "%3.0f %%  %s\n", progress.fraction * 100,
                 progress.what.c_str());
}

int measure(const LabOptions &options) {
    core::LabRequest request;
    const auto ranks = ranksFrom(options.ranks);
    if (!ranks)
        return complain(ranks.error());
    request.ranks = *ranks;
    auto nodes = nodesFromText(options.nodes);
    if (!nodes) {
        nodes.error().where = "--nodes";
        return complain(nodes.error());
    }
    request.nodes = std::move(*nodes);
    request.backend = options.backend;
    request.device = options.device;
    request.coresPerDevice = options.coresPerDevice;
    request.quick = options.quick;
    request.oversubscribe = options.oversubscribe;
    core::LabJob job;
    int exitCode = Failed, lastTenth = -1;
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    QObject::connect(&job, &core::LabJob::progressed,
                     [&](const core::LabProgress &progress) { printProgress(progress, lastTenth); });
    QObject::connect(&job, &core::LabJob::finished, [&] {
        if (terminal)
            std::fprintf(stderr, "\r\033[K");
        exitCode = show(job.record(), options.json);
        QCoreApplication::exit();
    });
    QObject::connect(&job, &core::LabJob::failed, [&](const Error &error) {
        if (terminal)
            std::fprintf(stderr, "\r\033[K");
        exitCode = complain(error);
        if (job.wasStopped())
            exitCode = Stopped;
        QCoreApplication::exit();
    });
    const StopSignals signals([&job] { job.stop(); });
    if (const auto started = job.start(request); !started)
        return complain(started.error());
    QCoreApplication::exec();
    return exitCode;
}

int listLabs(bool json) {
    Rows rows = {{"lab", "when", "measured", "backend", "ranks", "rows"}};
    Json all = Json::array();
    for (const std::string &id : core::listLabs()) {
        const auto record = core::readLab(id);
        if (!record)
            continue;
        std::string ranks;
        int last = 0;
        for (const core::LabRow &row : record->rows)
            if (row.ranks != std::exchange(last, row.ranks))
                ranks += (ranks.empty() ? "" : ",") + std::to_string(row.ranks);
        rows.push_back({id, text(core::wallTime(record->startWallUs)), core::whereMeasured(*record), record->backend,
                        ranks, std::to_string(record->rows.size())});
        all.push_back({{"lab", id},
                       {"host", record->host},
                       {"nodes", toText(record->nodes)},
                       {"backend", record->backend},
                       {"ranks", ranks}});
    }
    print(json ? all.dump(1) + "\n" : rows.size() > 1 ? aligned(rows) : "no lab yet; `lockstepctl lab` measures\n");
    return Done;
}

} // namespace

int labCommand(const LabOptions &options) {
    if (options.list)
        return listLabs(options.json);
    if (!options.show)
        return measure(options);
    if (options.id.empty()) {
        const auto newest = core::newestLab();
        return newest ? show(*newest, options.json)
                      : complain(Error::badArgument("there is no lab yet", "`lockstepctl lab` measures this machine"));
    }
    const auto record = core::readLab(options.id);
    return record ? show(*record, options.json) : complain(record.error());
}

} // namespace lockstep::cli
