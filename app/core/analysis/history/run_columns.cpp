// SPDX-License-Identifier: MIT
#include "analysis/history/run_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/format.h"
#include "ipc/metrics.h"
#include "ipc/nearest_word.h"

namespace lockstep::core {
namespace {

ColumnValue textOf(const std::string &text) {
    return text.empty() ? ColumnValue() : ColumnValue(text);
}
ColumnValue numberOf(std::optional<double> number) {
    return number ? ColumnValue(*number) : ColumnValue();
}

RunColumn text(std::string key, std::string head, std::string IndexedRun::*member, std::string help) {
    RunColumn column;
    column.key = std::move(key);
    column.head = std::move(head);
    column.help = std::move(help);
    column.value = [member](const IndexedRun &run) { return textOf(run.*member); };
    return column;
}

template <class Get> RunColumn number(std::string key, std::string head, ColumnKind kind, Get get, std::string help) {
    RunColumn column;
    column.key = std::move(key);
    column.head = std::move(head);
    column.help = std::move(help);
    column.kind = kind;
    column.value = [get](const IndexedRun &run) { return numberOf(get(run)); };
    return column;
}

RunColumn measured(RunColumn column) {
    column.measured = true;
    return column;
}
RunColumn shown(RunColumn column) {
    column.shown = true;
    return column;
}
RunColumn spelt(std::string also, RunColumn column) {
    column.also = std::move(also);
    return column;
}
RunColumn among(std::vector<std::string> choices, RunColumn column) {
    column.choices = std::move(choices);
    return column;
}
RunColumn orOthers(RunColumn column) {
    column.open = true;
    return column;
}
RunColumn configured(RunColumn column) {
    column.setting = true;
    return column;
}

std::vector<std::string> choicesOf(std::string_view key) {
    const FieldSpec *field = findField(key);
    return field ? std::vector<std::string>(field->choices.begin(), field->choices.end()) : std::vector<std::string>();
}

RunColumn hostColumn() {
    RunColumn column = text("host", "Host", &IndexedRun::hosts, "The names of the machines it ran on.");
    column.kind = ColumnKind::Words;
    return column;
}

std::vector<RunColumn> personColumns() {
    RunColumn name = text("name", "Run", &IndexedRun::name, "The name you gave the run, or its own.");
    name.value = [](const IndexedRun &run) { return textOf(run.title()); };
    name.otherValue = [](const IndexedRun &run) { return textOf(run.givenName.empty() ? run.name : run.givenName); };
    RunColumn tags = text("tags", "Tags", &IndexedRun::tags, "Words of your own to find runs by.");
    tags.kind = ColumnKind::Words;
    return {
        shown(spelt("starred",
                    number(
                        "star", "★", ColumnKind::Flag, [](const IndexedRun &run) { return double(run.starred); },
                        "Runs you marked with a star: star=yes."))),
        shown(number(
            "started", "Started", ColumnKind::Time,
            [](const IndexedRun &run) {
                return run.startWallUs > 0 ? std::optional(double(run.startWallUs)) : std::nullopt;
            },
            "When the run was launched, local time.")),
        shown(std::move(name)),
        shown(among({"starting", "running", "done", "failed", "stopped", "unknown"},
                    text("state", "State", &IndexedRun::state,
                         "starting, running, done, failed, or stopped by a person; unknown in a copy from another "
                         "machine, where it may "
                         "still run."))),
        shown(spelt("tag", std::move(tags))),
        spelt("notes", text("note", "Note", &IndexedRun::note, "What you wrote about the run.")),
    };
}

RunColumn inHundredths(RunColumn column) {
    column.hundredths = true;
    return column;
}

std::vector<RunColumn> outcomeColumns() {
    return {
        shown(measured(spelt("time", number(
                                         "training", "Training time (s)", ColumnKind::Duration,
                                         [](const IndexedRun &run) { return run.totalTrainingTimeS; },
                                         "Sum of the epochs' durations on the slowest rank, without evaluation.")))),
        shown(inHundredths(
            measured(spelt("acc", number(
                                      "accuracy", "Accuracy (%)", ColumnKind::Share,
                                      [](const IndexedRun &run) { return run.testAccuracy; },
                                      "Share of the test samples classified correctly after the last epoch that was "
                                      "tested; each counts once."))))),
        shown(measured(number(
            "loss", "Final loss", ColumnKind::Number, [](const IndexedRun &run) { return run.finalLoss; },
            "Cross-entropy of the last epoch, weighted by samples over all ranks."))),
        shown(measured(spelt("samples_per_s", number(
                                                  "throughput", "Samples/s", ColumnKind::Number,
                                                  [](const IndexedRun &run) { return run.samplesPerS; },
                                                  "All training samples ÷ training time.")))),
        measured(spelt("total", number(
                                    "run_time", "Run time (s)", ColumnKind::Duration,
                                    [](const IndexedRun &run) { return run.runTimeS; },
                                    "From the launch to the exit of the last rank."))),
        measured(number(
            "load", "Loading (%)", ColumnKind::Share, [](const IndexedRun &run) { return run.loadShare; },
            "Share of a step in which the slowest rank waits for data.")),
        measured(number(
            "exposed", "Exposed (%)", ColumnKind::Share, [](const IndexedRun &run) { return run.exposedShare; },
            "Share of a step in communication that doesn't overlap computing, on the slowest rank.")),
        measured(number(
            "memory", "Memory (MiB)", ColumnKind::Bytes, [](const IndexedRun &run) { return run.peakRssBytes; },
            "Largest resident memory of the ranks' processes, summed.")),
        measured(number(
            "watching", "Watching (cores)", ColumnKind::Cores, [](const IndexedRun &run) { return run.viewersShare; },
            "CPU time that viewers on the run's machine took, of several nodes on the first one. If ranks use every "
            "core, "
            "this slowed training by at most about as much.")),
        measured(number(
            "waited", "Core wait (s)", ColumnKind::Duration, [](const IndexedRun &run) { return run.ranksWaitedS; },
            "How long the ranks' threads were ready but had no core, summed over all nodes: viewers, each other or "
            "other "
            "programs ran there.")),
        shown(measured(
            spelt("other_load", number(
                                    "surroundings", "Other load (cores)", ColumnKind::Cores,
                                    [](const IndexedRun &run) { return run.otherLoad; },
                                    "CPU time that other programs took of the cores that the run's agent may use, mean "
                                    "over the run. Of several nodes, on the most loaded one. Runs under "
                                    "different load are no fair comparison.")))),
        measured(number(
            "stolen", "Stolen (cores)", ColumnKind::Cores, [](const IndexedRun &run) { return run.stolenShare; },
            "CPU time of those cores that the hypervisor gave to other machines, mean over the run. Of several "
            "nodes, on the one that `surroundings` is of.")),
        measured(number(
            "throttled", "Throttled (%)", ColumnKind::Share, [](const IndexedRun &run) { return run.throttledShare; },
            "Share of the run in which the slowest device of all nodes was throttled: GPUs by power, heat or a "
            "setting, "
            "CPUs by the control group's quota.")),
        text("throttle", "Throttled by", &IndexedRun::throttle,
             "Why it was throttled, in the driver's or the kernel's words."),
    };
}

std::vector<RunColumn> placeColumns() {
    return {
        shown(text("recipe", "Recipe", &IndexedRun::recipe, "The recipe the run belongs to.")),
        configured(among(choicesOf("method"), text("method", "Method", &IndexedRun::method, methodsInWords() + "."))),
        shown(configured(number(
            "devices", "Devices", ColumnKind::Number,
            [](const IndexedRun &run) { return std::optional(double(run.devices)); },
            "How many devices the run used."))),
        number(
            "free_cores", "Free cores", ColumnKind::Number, [](const IndexedRun &run) { return run.freeCores; },
            "Allowed cores of the machine that no rank and no loading worker was bound to."),
        configured(among(choicesOf("device"), text("device", "Kind of device", &IndexedRun::device, "cpu or cuda."))),
        shown(text("backend", "Backend", &IndexedRun::backend,
                   "The communication library that DDP used: gloo or nccl; auto until it is known.")),
        configured(orOthers(among(choicesOf("model"),
                                  text("model", "Model", &IndexedRun::model, "The network trained, or its file.")))),
        configured(among(choicesOf("dataset"), text("dataset", "Data", &IndexedRun::dataset, "The data trained on."))),
        shown(configured(number(
            "epochs", "Epochs", ColumnKind::Number,
            [](const IndexedRun &run) { return run.epochs > 0 ? std::optional(double(run.epochs)) : std::nullopt; },
            "Passes over the training samples asked for."))),
        number(
            "repeat", "Repeat", ColumnKind::Number,
            [](const IndexedRun &run) { return std::optional(double(run.repeat)); },
            "Which repeat of its experiment the run is, from 1."),
        text("reason", "Reason", &IndexedRun::reason, "Why the run is not done."),
        hostColumn(),
        text("experiment", "Experiment", &IndexedRun::experiment, "Id of the experiment the run belongs to."),
        spelt("id", text("run", "Run id", &IndexedRun::run, "The name of the run's folder.")),
    };
}

/// A switch counts as words "true" and "false", since that is how config.json and the flags have it.
RunColumn fieldColumn(const FieldSpec &field) {
    RunColumn column;
    column.key = field.key;
    column.head = field.label;
    column.help = field.help;
    column.setting = true;
    const bool numeric = field.type == FieldType::Integer || field.type == FieldType::Real;
    column.kind = numeric ? ColumnKind::Number : ColumnKind::Text;
    column.choices.assign(field.choices.begin(), field.choices.end());
    if (field.type == FieldType::Switch)
        column.choices = {"true", "false"};
    column.value = [&field, numeric](const IndexedRun &run) -> ColumnValue {
        const std::optional<std::string> value = run.setting(field);
        if (!value || value->empty())
            return {};
        if (!numeric)
            return *value;
        double number = 0;
        const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
        return error == std::errc() ? ColumnValue(number) : ColumnValue();
    };
    return column;
}

QString lower(std::string_view text) {
    return QString::fromUtf8(text.data(), qsizetype(text.size())).toLower();
}

/// `key`: the metric's name, unless another column has it.
RunColumn metricColumn(const MetricSpec &metric, std::string key) {
    return measured(number(
        std::move(key), metric.head(), ColumnKind::Number,
        [name = metric.name](const IndexedRun &run) { return run.metric(name); }, metric.help));
}

bool answersTo(const RunColumn &column, const QString &lowerKey) {
    return lower(column.key) == lowerKey || (!column.also.empty() && lower(column.also) == lowerKey);
}

const RunColumn *columnWith(std::span<const RunColumn> columns, std::string_view key) {
    const auto found =
        std::ranges::find_if(columns, [key = lower(key)](const RunColumn &column) { return answersTo(column, key); });
    return found == columns.end() ? nullptr : &*found;
}

/// A registered metric may be what a measured column shows already. What a script calls so is its own affair.
void addMetric(std::vector<RunColumn> &columns, std::span<const RunColumn> others, const MetricSpec &metric) {
    if (const RunColumn *taken = columnWith(others, metric.name); taken && taken->measured && isRegistered(metric.name))
        return;
    std::string key = metric.name;
    while (columnWith(others, key) || columnWith(columns, key))
        key = "metric_" + key;
    columns.push_back(metricColumn(metric, key));
}

} // namespace

std::span<const RunColumn> runColumns() {
    static const std::vector<RunColumn> columns = [] {
        std::vector<RunColumn> all;
        for (auto part : {personColumns(), outcomeColumns(), placeColumns()})
            all.insert(all.end(), part.begin(), part.end());
        for (const FieldSpec &field : runConfigFields())
            if (!field.perProcess &&
                std::none_of(all.begin(), all.end(), [&](const RunColumn &column) { return column.key == field.key; }))
                all.push_back(fieldColumn(field));
        for (const MetricSpec &metric : metrics())
            addMetric(all, std::vector(all), metric);
        return all;
    }();
    return columns;
}

std::vector<RunColumn> inventedColumns(const std::vector<IndexedRun> &runs) {
    constexpr std::size_t most = 64;
    std::set<std::string> names;
    for (const IndexedRun &run : runs)
        for (std::string &name : run.metricNames())
            if (names.size() < most && !isRegistered(name))
                names.insert(std::move(name));
    std::vector<RunColumn> out;
    for (const std::string &name : names)
        addMetric(out, runColumns(), metricSpec(name));
    return out;
}

const RunColumn *findRunColumn(std::string_view key, std::span<const RunColumn> invented) {
    if (const int at = runColumnAt(key); at >= 0)
        return &runColumns()[std::size_t(at)];
    const auto found = std::ranges::find_if(
        invented, [&](const RunColumn &column) { return lower(column.key) == lower(key).replace(u'-', u'_'); });
    return found == invented.end() ? nullptr : &*found;
}

int runColumnAt(std::string_view key) {
    const QString wanted = lower(key).replace(QLatin1Char('-'), QLatin1Char('_')); // a flag's spelling
    const auto columns = runColumns();
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (wanted == lower(columns[i].key) || (!columns[i].also.empty() && wanted == lower(columns[i].also)))
            return int(i);
    return -1;
}

int runColumn(std::string_view key) {
    const int at = runColumnAt(key);
    Q_ASSERT(at >= 0);
    return at;
}

Error unknownColumn(const std::string &key, std::span<const RunColumn> invented) {
    std::vector<std::string> known;
    for (const auto columns : {runColumns(), invented})
        for (const RunColumn &column : columns)
            known.push_back(column.key);
    const std::string near = nearestWord(lower(key).toStdString(), known);
    return Error::badArgument("there is no column \"" + key.substr(0, 60) + "\"",
                              near.empty() ? "name, method, devices, accuracy, training and state are some that are"
                                           : "did you mean " + near + "?");
}

Result<std::vector<RunColumn>> runColumnsFrom(std::string_view list, std::span<const RunColumn> invented) {
    std::vector<RunColumn> out;
    for (std::size_t from = 0; from <= list.size();) {
        const std::size_t comma = std::min(list.find(',', from), list.size());
        const std::string key = QString::fromUtf8(list.data() + from, qsizetype(comma - from)).trimmed().toStdString();
        const RunColumn *column = findRunColumn(key, invented);
        if (!column)
            return fail(unknownColumn(key, invented));
        out.push_back(*column);
        from = comma + 1;
    }
    return out;
}

bool isNumeric(ColumnKind kind) {
    return kind != ColumnKind::Text && kind != ColumnKind::Words;
}

QString shownValue(const RunColumn &column, const ColumnValue &value) {
    if (const auto *words = std::get_if<std::string>(&value))
        return QString::fromStdString(*words);
    const auto *figure = std::get_if<double>(&value);
    if (!figure)
        return QStringLiteral("-");
    switch (column.kind) {
    case ColumnKind::Time:
        return wallTime(std::int64_t(*figure));
    case ColumnKind::Share:
        return column.hundredths ? QString::number(*figure * 100, 'f', 2) : significant(*figure * 100);
    case ColumnKind::Cores: // hundredths would hide what is less than one
        return *figure > 0 && *figure < 0.01 ? significant(*figure) : QString::number(*figure, 'f', 2);
    case ColumnKind::Bytes:
        return significant(*figure / 1024 / 1024);
    case ColumnKind::Flag:
        return *figure > 0 ? QStringLiteral("★") : QString();
    case ColumnKind::Duration:
        return significant(*figure);
    default: // a whole number keeps all of its digits, and a setting is written as a filter takes it
        if (column.setting)
            return QString::number(*figure, 'g', 15);
        if (std::floor(*figure) == *figure && std::fabs(*figure) < 1e15)
            return inGroups(QString::number(*figure, 'g', 15));
        return threeDigits(*figure);
    }
}

bool valueBefore(const ColumnValue &a, const ColumnValue &b) {
    if (a.index() != b.index())
        return a.index() > b.index(); // numbers, texts, unknown
    if (const auto *text = std::get_if<std::string>(&a)) {
        const auto &other = std::get<std::string>(b);
        return QString::fromStdString(*text).compare(QString::fromStdString(other), Qt::CaseInsensitive) < 0;
    }
    if (const auto *number = std::get_if<double>(&a)) {
        const double x = *number, y = std::get<double>(b);
        return std::isnan(x) || std::isnan(y) ? !std::isnan(x) && std::isnan(y) : x < y;
    }
    return false;
}

} // namespace lockstep::core
