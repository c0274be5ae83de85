// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "ipc/file_system.h"
#include "ipc/model_facts.h"
#include "ipc/phase_sums.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/scalars.h"
#include "ipc/sha256.h"
#include "ipc/sound_values.h"
#include "store/run_data.h"
#include "store/run_hosts.h"
#include "store/run_index_rows_detail.h"
#include "store/run_notes.h"

namespace lockstep::core {
namespace {

using Text = std::string IndexedRun::*;
using Number = std::optional<double> IndexedRun::*;

struct TextColumn {
    const char *name;
    Text member;
};
struct NumberColumn {
    const char *name;
    Number member;
};
constexpr TextColumn textColumns[] = {
    {"name", &IndexedRun::name},       {"experiment", &IndexedRun::experiment}, {"recipe", &IndexedRun::recipe},
    {"method", &IndexedRun::method},   {"device", &IndexedRun::device},         {"backend", &IndexedRun::backend},
    {"model", &IndexedRun::model},     {"dataset", &IndexedRun::dataset},       {"host", &IndexedRun::host},
    {"state", &IndexedRun::state},     {"reason", &IndexedRun::reason},         {"settings", &IndexedRun::settings},
    {"work", &IndexedRun::work},       {"given_name", &IndexedRun::givenName},  {"tags", &IndexedRun::tags},
    {"note", &IndexedRun::note},       {"cpu_model", &IndexedRun::cpuModel},    {"throttle", &IndexedRun::throttle},
    {"metrics", &IndexedRun::metrics}, {"recorded", &IndexedRun::recorded},     {"folder", &IndexedRun::folder},
    {"known", &IndexedRun::known},     {"hosts", &IndexedRun::hosts},
};
constexpr NumberColumn numberColumns[] = {
    {"training_s", &IndexedRun::totalTrainingTimeS},
    {"run_s", &IndexedRun::runTimeS},
    {"accuracy", &IndexedRun::testAccuracy},
    {"loss", &IndexedRun::finalLoss},
    {"samples_s", &IndexedRun::samplesPerS},
    {"load_share", &IndexedRun::loadShare},
    {"exposed_share", &IndexedRun::exposedShare},
    {"peak_bytes", &IndexedRun::peakRssBytes},
    {"viewers_share", &IndexedRun::viewersShare},
    {"ranks_waited_s", &IndexedRun::ranksWaitedS},
    {"free_cores", &IndexedRun::freeCores},
    {"other_load", &IndexedRun::otherLoad},
    {"stolen_share", &IndexedRun::stolenShare},
    {"throttled_share", &IndexedRun::throttledShare},
    {"samples", &IndexedRun::samples},
    {"steps", &IndexedRun::steps},
};

/// Names and sentences that are shown; with them no row is much longer than what people read.
constexpr Text shownTexts[] = {&IndexedRun::recipe,   &IndexedRun::method,  &IndexedRun::device, &IndexedRun::backend,
                               &IndexedRun::model,    &IndexedRun::dataset, &IndexedRun::host,   &IndexedRun::reason,
                               &IndexedRun::cpuModel, &IndexedRun::throttle};

constexpr std::size_t mostHostsBytes = 8'192; ///< the names of 64 nodes fit

/// Per-process fields do not affect the work.
std::string settingsOf(const RunConfig &config, const ScriptClaims &claims) {
    static const RunConfig defaults;
    std::string text = "\n";
    for (const FieldSpec &field : runConfigFields()) {
        if (field.perProcess || !claims.knows(field.key))
            continue;
        const std::string value = field.get(config);
        if (value != field.get(defaults))
            text += std::string(field.key) + "=" + value + "\n";
    }
    return text;
}

/// The text behind "\nkey=", up to the end of its line.
std::optional<std::string> valueIn(const std::string &text, std::string_view key) {
    const std::string begin = "\n" + std::string(key) + "=";
    const std::size_t at = text.find(begin);
    if (at == std::string::npos)
        return std::nullopt;
    const std::size_t from = at + begin.size();
    return text.substr(from, text.find('\n', from) - from);
}

/// What is known of a script's configuration, as factsOf() has it; what came first stays.
class KnownFields {
public:
    explicit KnownFields(std::string &text) : m_text(text) {
        if (m_text.empty())
            m_text = "\n";
    }
    void add(const FieldSpec &field, const std::string &value) {
        if (!field.perProcess && !value.empty() && !valueIn(m_text, field.key))
            m_text += std::string(field.key) + "=" + cutText(onOneLine(value)) + "\n";
    }
    /// What the script reported.
    void add(std::string_view key, const std::string &said) {
        if (const FieldSpec *field = findField(key))
            add(*field, normalised(*field, said));
    }
    void addNumber(std::string_view key, auto number) {
        char buffer[32];
        if (number)
            add(key, std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, *number).ptr));
    }

private:
    std::string &m_text;
};

void takeKnown(const RunConfig &config, const ScriptClaims &claims, IndexedRun &row) {
    KnownFields known(row.known);
    for (const FieldSpec &field : runConfigFields())
        if (claims.knows(field.key))
            known.add(field, field.get(config));
}

void takeReported(const Summary &summary, IndexedRun &row) {
    KnownFields known(row.known);
    known.add("loader", summary.loader);
    known.add("optimizer", summary.optimizer);
    known.add("precision", summary.precision);
    known.add("augment", summary.augment);
    known.addNumber("threads", summary.threads);
    known.addNumber("workers", summary.workers);
    known.addNumber("seed", summary.seed);
    known.addNumber("batch_size", summary.batchSize);
    known.addNumber("lr", summary.lr);
}

/// Of a run whose configuration is unknown.
void takeScript(const RunRecord &record, IndexedRun &row) {
    KnownFields known(row.known);
    for (const auto &[key, said] : record.about)
        known.add(key, said);
    const auto said = [&](std::string_view key) {
        const auto found = record.about.find(key);
        return found == record.about.end() ? std::string() : found->second;
    };
    row.method = said("method");
    row.model = said("model");
    row.dataset = said("dataset");
    for (const std::string &word : record.command)
        row.work += word + "\n";
    row.work += workKey(record.about) + "processes=" + std::to_string(record.processes) +
                "\ndevices=" + std::to_string(record.deviceNames.size()) + "\n";
}

/// Two machines may have one name.
std::string hostsOf(const RunRecord &record) {
    RunHosts hosts;
    std::size_t bytes = 0;
    for (const MachineRecord &machine : record.machines)
        if (!machine.host.empty() && (bytes += machine.host.size()) <= mostHostsBytes)
            hosts.addNew(machine.host);
    std::string out;
    for (const std::string &host : hosts.list())
        out += (out.empty() ? "" : ", ") + host;
    return out;
}

void takeRecord(const RunRecord &record, IndexedRun &row) {
    row.name = record.name;
    row.experiment = record.experiment;
    row.recipe = record.recipe;
    row.repeat = record.repeat;
    row.startWallUs = record.startWallUs;
    row.folder = scriptFolder(record);
    if (record.files)
        row.recorded = record.files->begin;
    if (record.freeCores)
        row.freeCores = *record.freeCores;
    if (!record.machines.empty()) {
        row.host = record.machines.front().host;
        row.hosts = hostsOf(record);
        row.cpuModel = record.machines.front().cpuModel;
    }
    const std::optional<RunConfig> &work = workOf(record);
    if (!work)
        return takeScript(record, row);
    const RunConfig &config = *work;
    row.method = toString(config.method);
    row.devices = deviceCount(config);
    row.device = record.claims.knows("device") ? config.device : deviceKind(record.deviceNames);
    row.backend = isDistributed(config.method) && record.claims.knows("backend") ? config.backend : "";
    if (record.claims.knows("model"))
        row.model = modelTitle(config.model);
    if (record.claims.knows("dataset"))
        row.dataset = config.dataset;
    if (record.claims.knows("epochs"))
        row.epochs = config.epochs;
    row.settings = settingsOf(config, record.claims);
    if (record.claims.known)
        takeKnown(config, record.claims, row);
    row.work = isScript(record) ? workKey(config, record.command) : workKey(config); // its times are not our trainer's
    if (isScript(record) && record.command.empty())
        row.work += "script\n";
}

/// What a run reported of itself: facts of a script where its record says nothing, and the backend.
void takeWords(const Summary &summary, IndexedRun &row) {
    const auto take = [](std::string &member, const std::string &said) {
        if (member.empty())
            member = said;
    };
    take(row.method, summary.method);
    take(row.model, summary.model);
    take(row.dataset, summary.dataset);
    if (!row.known.empty())
        takeReported(summary, row);
    if (row.epochs == 0)
        row.epochs = int(summary.epochs.size());
    if (isDistributed(row.method) && !summary.backend.empty())
        row.backend = summary.backend;
}

std::string metricsOf(const Summary &summary) {
    std::string text;
    std::size_t kept = 0;
    for (const auto &[name, value] : summary.metrics)
        if (char buffer[32]; isScalarName(name) && ++kept <= maxScalars) // a script's file may contain anything
            text += (text.empty() ? "\n" : "") + name + "=" +
                    std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr) + "\n";
    return text;
}

/// Shares of what adds up to a step; nested phases and communication hidden behind computing are left out.
void takePhases(const Summary &summary, IndexedRun &row) {
    row.loadShare = additiveShare(summary.phasesS, phase::load);
    row.exposedShare = additiveShare(summary.phasesS, phase::exposed);
}

/// What its epochs took and learnt: of another run where it made none of them.
void takeTraining(const Summary &summary, std::optional<double> runTimeS, IndexedRun &row) {
    if (madeNoEpoch(summary))
        return;
    if (const auto trainedS = trainingTimeIn(summary); trainedS && canBeTrainingTime(*trainedS, runTimeS))
        row.totalTrainingTimeS = trainedS;
    double samples = 0;
    for (const EpochSummary &epoch : summary.epochs)
        samples += epoch.samples > 0 ? double(epoch.samples) : NAN; // 0: a script's are unknown
    if (samples > 0)
        row.samples = samples;
    if (summary.steps > 0)
        row.steps = double(summary.steps);
    if (row.samples && row.totalTrainingTimeS && *row.totalTrainingTimeS > 0)
        row.samplesPerS = samples / *row.totalTrainingTimeS;
    if (!summary.epochs.empty())
        row.finalLoss = summary.epochs.back().loss;
    takePhases(summary, row);
}

void takeFigures(const Summary &summary, std::optional<double> runTimeS, IndexedRun &row) {
    takeTraining(summary, runTimeS, row);
    if (summary.testAccuracy && isShare(*summary.testAccuracy))
        row.testAccuracy = summary.testAccuracy;
    row.peakRssBytes = summary.peakRssBytes;
    row.metrics = metricsOf(summary);
}

void takeSurroundings(const Surroundings &around, IndexedRun &row) {
    const auto share = [&](std::optional<double> seconds) {
        return seconds && around.measuredS > 0 ? std::optional(*seconds / around.measuredS) : std::nullopt;
    };
    row.otherLoad = share(around.otherCpuS);
    row.stolenShare = share(around.stolenS);
    row.throttledShare = share(around.throttledS);
    for (const std::string &reason : around.throttle)
        row.throttle += (row.throttle.empty() ? "" : ", ") + reason;
}

/// What the run measured. The training time of a run that may go on from a checkpoint holds epochs of earlier runs: it may exceed
/// the run's own.
void takeMeasured(const RunResult &result, bool resumes, IndexedRun &row) {
    if (result.runTimeS > 0)
        row.runTimeS = result.runTimeS;
    if (result.summary)
        takeFigures(*result.summary, resumes ? std::nullopt : row.runTimeS, row);
    if (result.watching) {
        row.viewersShare = viewersShare(*result.watching);
        row.ranksWaitedS = result.watching->ranksWaitedS;
    }
    if (result.surroundings)
        takeSurroundings(*result.surroundings, row);
}

void takeStatus(const RunStatus &status, const RunRecord &record, IndexedRun &row) {
    using Kind = RunStatus::Kind;
    switch (status.kind) {
    case Kind::Starting:
        row.state = "starting";
        return;
    case Kind::Running:
        row.state = "running";
        return;
    case Kind::Unknown:
        row.state = "unknown";
        row.reason = status.sentence;
        return;
    case Kind::AgentDied:
        row.state = "failed";
        row.reason = status.sentence;
        return;
    case Kind::Finished:
        break;
    }
    const RunResult &result = *status.result;
    row.state = toString(result.state);
    row.reason = result.reason;
    if (result.summary)
        takeWords(*result.summary, row);
    if (!soleFurtherNode(record)) // of a part, no figure is the run's
        takeMeasured(result, record.config && record.config->resume, row);
}

void takeNotes(const RunFolder &folder, IndexedRun &row) {
    const Result<RunNotes> notes = readRunNotes(folder);
    if (!notes) { // show the run nevertheless
        row.note = notes.error().message();
        return;
    }
    row.givenName = notes->name;
    row.tags = joinedTags(notes->tags);
    row.note = notes->note;
    row.starred = notes->starred;
}

} // namespace

std::string IndexedRun::ownTitle() const {
    return repeat > 1 || repeated ? name + " #" + std::to_string(repeat) : name;
}

std::string IndexedRun::title() const {
    return givenName.empty() ? ownTitle() : givenName;
}

void markRepeats(std::vector<IndexedRun> &runs) {
    std::unordered_map<std::string, IndexedRun *> firsts;
    for (IndexedRun &run : runs) {
        run.repeated = false;
        if (run.experiment.empty())
            continue;
        const auto [first, isFirst] = firsts.try_emplace(run.experiment + '\n' + run.name, &run);
        if (!isFirst)
            run.repeated = first->second->repeated = true;
    }
}

std::optional<std::string> IndexedRun::setting(const FieldSpec &field) const {
    static const RunConfig defaults;
    if (!known.empty())
        return valueIn(known, field.key);
    if (settings.empty())
        return std::nullopt;
    const std::optional<std::string> value = valueIn(settings, field.key);
    return value ? *value : field.get(defaults);
}

std::optional<double> IndexedRun::metric(std::string_view name) const {
    const std::optional<std::string> text = valueIn(metrics, name);
    double value = 0;
    return text && std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc()
               ? std::optional(value)
               : std::nullopt;
}

std::vector<std::string> IndexedRun::metricNames() const {
    std::vector<std::string> out;
    for (std::size_t at = metrics.find('\n'); at + 1 < metrics.size(); at = metrics.find('\n', at + 1))
        out.push_back(metrics.substr(at + 1, metrics.find('=', at) - at - 1));
    return out;
}

namespace detail {

QString tableColumns() {
    QString out = QStringLiteral("run TEXT PRIMARY KEY, stamp TEXT, repeat INTEGER, devices INTEGER, epochs INTEGER,"
                                 " start_us INTEGER, starred INTEGER");
    for (const TextColumn &column : textColumns)
        out += QStringLiteral(", %1 TEXT").arg(QLatin1String(column.name));
    for (const NumberColumn &column : numberColumns)
        out += QStringLiteral(", %1 REAL").arg(QLatin1String(column.name));
    return out;
}

std::string keptWork(std::string key) {
    constexpr std::size_t mostBytes = 4'096; // the settings of 64 nodes fit
    return key.size() <= mostBytes ? std::move(key) : "sha256=" + sha256Hex(key);
}

QVariantList valuesOf(const IndexedRun &row, const QString &stamp) {
    QVariantList out = {QString::fromStdString(row.run), stamp,      row.repeat, row.devices, row.epochs,
                        qlonglong(row.startWallUs),      row.starred};
    for (const TextColumn &column : textColumns)
        out.append(QString::fromStdString(row.*column.member));
    for (const NumberColumn &column : numberColumns) {
        const std::optional<double> &value = row.*column.member;
        out.append(value ? QVariant(*value) : QVariant(QMetaType(QMetaType::Double)));
    }
    return out;
}

IndexedRun rowOf(const QSqlQuery &query) {
    IndexedRun row;
    row.run = query.value(0).toString().toStdString();
    row.repeat = query.value(2).toInt();
    row.devices = query.value(3).toInt();
    row.epochs = query.value(4).toInt();
    row.startWallUs = query.value(5).toLongLong();
    row.starred = query.value(6).toBool();
    int at = 7;
    for (const TextColumn &column : textColumns)
        row.*column.member = query.value(at++).toString().toStdString();
    for (const NumberColumn &column : numberColumns)
        if (const QVariant value = query.value(at++); !value.isNull())
            row.*column.member = value.toDouble();
    row.name = presentTitle(std::move(row.name)); // an index made by an older version
    row.givenName = cutTitle(std::move(row.givenName));
    return row;
}

Result<IndexedRun> readRow(const std::string &run, const RunFolder &folder, StatusReader &statuses) {
    const Result<RunRecord> record = readRunRecord(folder);
    if (!record)
        return fail(record.error());
    IndexedRun row;
    row.run = run;
    takeRecord(*record, row);
    takeStatus(statuses.read(folder, *record), *record, row);
    if (!workOf(*record)) // the result may say by which method
        row.devices = reportedDevices(row.method, record->processes, record->deviceNames.size());
    takeNotes(folder, row);
    row.work = keptWork(std::move(row.work));
    for (const Text text : shownTexts)
        row.*text = cutText(std::move(row.*text));
    return row;
}

} // namespace detail
} // namespace lockstep::core
