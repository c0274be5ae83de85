// SPDX-License-Identifier: MIT
#include "analysis/history/run_diff.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "analysis/compare/result_table.h"
#include "analysis/compare/row_figures.h"
#include "analysis/history/run_facts.h"
#include "base/format.h"
#include "experiment/script_flags.h"
#include "ipc/metrics.h"
#include "store/run_outcome.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

QString textOrDash(std::string_view utf8) {
    return utf8.empty() ? QStringLiteral("-") : QString::fromUtf8(utf8.data(), qsizetype(utf8.size()));
}

/// Gathers a section's lines.
class Section {
public:
    explicit Section(const char *title) { m_section.title = QString::fromUtf8(title); }

    DiffLine &words(const QString &key, const QString &label, const QString &a, const QString &b) {
        DiffLine line;
        line.key = key;
        line.label = label;
        line.a = a;
        line.b = b;
        line.same = a == b;
        return m_section.lines.emplace_back(std::move(line));
    }
    DiffLine &words(const char *key, const char *label, std::string_view a, std::string_view b) {
        return words(QString::fromUtf8(key), QString::fromUtf8(label), textOrDash(a), textOrDash(b));
    }
    /// `format` shows a figure; two values are equal if they are to the last bit, not if they print alike.
    template <class Format>
    DiffLine &figure(const QString &key, const QString &label, std::optional<double> a, std::optional<double> b,
                     Format format) {
        DiffLine &line = words(key, label, format(a), format(b));
        line.figureA = a;
        line.figureB = b;
        line.same = a == b;
        if (a && b && *a > 0 && *b > 0 && !line.same)
            line.change = factorText(*b / *a);
        return line;
    }
    DiffLine &seconds(const char *key, const char *label, std::optional<double> a, std::optional<double> b) {
        return figure(QString::fromUtf8(key), QString::fromUtf8(label), a, b,
                      [](std::optional<double> value) { return core::seconds(value); });
    }
    DiffLine &count(const char *key, const char *label, std::optional<double> a, std::optional<double> b) {
        return figure(QString::fromUtf8(key), QString::fromUtf8(label), a, b, [](std::optional<double> value) {
            return value ? QString::number(*value, 'f', 0) : QStringLiteral("-");
        });
    }
    DiffSection take() {
        std::stable_sort(m_section.lines.begin(), m_section.lines.end(),
                         [](const DiffLine &a, const DiffLine &b) { return !a.same && b.same; });
        return std::move(m_section);
    }

private:
    DiffSection m_section;
};

/// "DDP on 2 devices #3": repeats must be told apart.
QString nameOf(const RunStore &store) {
    const int repeat = store.record() ? store.record()->repeat : 1;
    return repeat > 1 ? store.identity().title() + QStringLiteral(" #%1").arg(repeat) : store.identity().title();
}

template <class T> std::optional<double> number(const std::optional<T> &value) {
    return value ? std::optional(double(*value)) : std::nullopt;
}

DiffSection resultSection(const RunStore &a, const RunStore &b, const RunOutcome &x, const RunOutcome &y) {
    Section out("Result");
    out.words(QStringLiteral("state"), QStringLiteral("State"), a.lifecycle().sentence(), b.lifecycle().sentence());
    out.seconds("total_training_time_s", "Training time", x.totalTrainingTimeS, y.totalTrainingTimeS).help =
        QStringLiteral("Sum of the epochs' durations, without evaluation");
    DiffLine &runTime = out.seconds("run_time_s", "Run time", x.runTimeS, y.runTimeS);
    runTime.help = QStringLiteral("From the launch to the exit of the last rank");
    if (x.spansFrames != y.spansFrames) {
        runTime.change.clear();
        runTime.help = QStringLiteral("Of one of the two only the time from its first frame to its last is known");
    }
    DiffLine &accuracy = out.figure(QStringLiteral("test_accuracy"), QStringLiteral("Test accuracy"), x.testAccuracy,
                                    y.testAccuracy, [](std::optional<double> value) { return percent(value); });
    if (x.accuracyEpoch != y.accuracyEpoch) {
        accuracy.change.clear();
        accuracy.help = QStringLiteral("The two were not last tested after the same part of their training");
    } else if (x.testAccuracy && y.testAccuracy && !accuracy.same) {
        const double points = (*y.testAccuracy - *x.testAccuracy) * 100;
        accuracy.change = (points > 0 ? QStringLiteral("+") : QString()) + QString::number(points, 'f', 2) +
                          QStringLiteral(" points");
    }
    out.figure(QStringLiteral("final_loss"), QStringLiteral("Final loss"), x.finalLoss, y.finalLoss,
               [](std::optional<double> value) { return significant(value); });
    return out.take();
}

/// The script's command, or our trainer.
std::string commandOf(const RunOutcome &run, const RunRecord &record) {
    if (!run.script)
        return record.config ? "lockstep-trainer" : "";
    std::string all;
    for (const std::string &word : run.command)
        all += (all.empty() ? "" : " ") + word;
    return all;
}

/// A script may read any flag: those in which the two differ are named, beside the settings that are known of it.
void addScripts(const RunOutcome &x, const RunOutcome &y, const RunRecord &a, const RunRecord &b, Section &out) {
    for (const std::string &flag : flagsApart(x.claims.flags, y.claims.flags))
        out.words(textOrDash("flag " + flag), textOrDash("--" + flag), textOrDash(flagValue(x.claims.flags, flag)),
                  textOrDash(flagValue(y.claims.flags, flag)));
    out.words("command", "Command", commandOf(x, a), commandOf(y, b));
    out.count("processes", "Processes", double(a.processes), double(b.processes));
}

DiffSection configSection(const RunOutcome &x, const RunOutcome &y, const RunRecord &a, const RunRecord &b) {
    Section out("Configuration");
    if (x.script || y.script || !a.config || !b.config)
        addScripts(x, y, a, b, out);
    const RunFacts ofA = factsOf(x), ofB = factsOf(y);
    const auto valueIn = [](const RunFacts &facts, std::string_view key) {
        const auto found = facts.find(key);
        return textOrDash(found == facts.end() ? std::string() : found->second);
    };
    for (const FieldSpec &field : runConfigFields())
        if (ofA.contains(field.key) || ofB.contains(field.key))
            out.words(textOrDash(field.key), textOrDash(field.label), valueIn(ofA, field.key), valueIn(ofB, field.key))
                .help = textOrDash(field.help);
    return out.take();
}

std::vector<MergedEpoch> doneEpochs(const RunOutcome &run) {
    auto done = completeEpochs(run.epochs);
    return std::vector<MergedEpoch>(done.begin(), done.end());
}

/// Durations, the first epoch aside since it warms up.
DiffSection timingSection(const RunOutcome &a, const RunOutcome &b) {
    Section out("Timing");
    ResultRow x, y;
    x.epochs = doneEpochs(a);
    y.epochs = doneEpochs(b);
    takeEpochFigures(x);
    takeEpochFigures(y);
    out.seconds("first_epoch_s", "First epoch", x.firstEpochS, y.firstEpochS).help =
        QStringLiteral("It includes warm-up, so it is listed on its own");
    out.seconds("epoch_median_s", "Later epochs, median", x.epochMedianS, y.epochMedianS);
    const auto rate = [](const ResultRow &run) -> std::optional<double> {
        double samples = 0, duration = 0;
        for (const MergedEpoch &epoch : run.epochs) {
            samples += epoch.samples > 0 ? double(epoch.samples) : NAN; // 0: a script's are unknown
            duration += epoch.durationS;
        }
        return duration > 0 && samples > 0 ? std::optional(samples / duration) : std::nullopt;
    };
    out.figure(QStringLiteral("samples_per_s"), QStringLiteral("Samples per second"), rate(x), rate(y),
               [](std::optional<double> value) { return significant(value); });
    out.count("epochs_done", "Epochs done", double(x.epochs.size()), double(y.epochs.size()));
    return out.take();
}

constexpr char phaseTitle[] = "Where a step goes";

/// Mean seconds a step by phase: of the slowest rank, of a pipeline's stages on average, else those of the summary.
PhaseSeconds phasesOfAStep(const RunStore &store, const RunOutcome &run) {
    const auto slowest = slowestRank(run);
    const auto mean = meanOfStages(run);
    const PhaseSeconds &whole = mean ? *mean : slowest ? run.rankPhasesS.at(*slowest) : run.phasesS;
    const double steps = double(slowest ? store.phases().steps(*slowest) : run.summedSteps);
    PhaseSeconds out;
    if (steps > 0)
        for (const auto &[name, seconds] : whole)
            out.emplace(name, seconds / steps);
    return out;
}

DiffSection phaseSection(const RunStore &a, const RunStore &b, const RunOutcome &x, const RunOutcome &y) {
    Section out(phaseTitle);
    const PhaseSeconds stepA = phasesOfAStep(a, x), stepB = phasesOfAStep(b, y);
    const auto secondsIn = [](const PhaseSeconds &step, const std::string &phase) {
        const auto found = step.find(phase);
        return found == step.end() ? std::nullopt : std::optional(found->second);
    };
    std::vector<std::string> names;
    for (const std::string_view name : additivePhases())
        names.emplace_back(name);
    for (const PhaseSeconds *step : {&stepA, &stepB})
        for (const auto &[name, seconds] : *step)
            if (std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    for (const std::string &name : names) {
        const auto ofA = secondsIn(stepA, name), ofB = secondsIn(stepB, name);
        if (!ofA && !ofB)
            continue;
        out.figure(textOrDash(name + "_s"), textOrDash(name).replace(u'_', u' '), ofA, ofB,
                   [](std::optional<double> value) {
                       return value ? significant(*value * 1000) + QStringLiteral(" ms") : QStringLiteral("-");
                   })
            .help = QStringLiteral("Mean per step, on the run's slowest rank");
    }
    return out.take();
}

std::string devicesWithNames(const MachineRecord &machine) {
    std::string all;
    for (const DeviceRecord &device : machine.devices)
        all += (all.empty() ? "" : ", ") + device.device + (device.name.empty() ? "" : " " + device.name);
    return all;
}

/// A fact of each of a run's machines: one value where all have the same.
template <class Get> auto overMachines(const RunRecord &run, Get get) {
    std::vector<std::decay_t<std::invoke_result_t<Get, const MachineRecord &>>> all;
    for (const MachineRecord &machine : run.machines)
        all.push_back(std::invoke(get, machine));
    if (all.empty())
        all.push_back(std::invoke(get, MachineRecord()));
    if (std::ranges::equal(all.begin() + 1, all.end(), all.begin(), all.end() - 1))
        all.resize(1);
    return all;
}

template <class Values, class Format> QString listed(const Values &values, Format format) {
    QStringList out;
    for (const auto &value : values)
        out.append(format(value));
    return out.join(QStringLiteral("; "));
}

DiffSection machineSection(const RunRecord &a, const RunRecord &b) {
    Section out("Machine");
    const auto words = [&](const char *key, const char *label, auto get) {
        const auto format = [](const std::string &value) { return textOrDash(value); };
        out.words(textOrDash(key), textOrDash(label), listed(overMachines(a, get), format),
                  listed(overMachines(b, get), format));
    };
    const auto figure = [&](const char *key, const char *label, auto get, auto format) {
        const auto x = overMachines(a, get), y = overMachines(b, get);
        if (x.size() == 1 && y.size() == 1)
            out.figure(textOrDash(key), textOrDash(label), number(x.front()), number(y.front()), format);
        else
            out.words(textOrDash(key), textOrDash(label), listed(x, format), listed(y, format));
    };
    const auto count = [](std::optional<double> value) {
        return value ? QString::number(*value, 'f', 0) : QStringLiteral("-");
    };
    words("host", "Host", &MachineRecord::host);
    words("os", "System", &MachineRecord::os);
    words("kernel", "Kernel", &MachineRecord::kernel);
    words("cpu_model", "CPU", &MachineRecord::cpuModel);
    figure("cores", "Cores", &MachineRecord::cores, count);
    figure("threads", "Hardware threads", &MachineRecord::threads, count);
    words("allowed_cores", "Usable cores", &MachineRecord::allowedCores);
    figure("memory_total_bytes", "Memory", &MachineRecord::memoryTotalBytes,
           [](std::optional<double> value) { return bytes(value); });
    words("devices", "Devices", devicesWithNames);
    words("gpu_driver", "GPU driver", &MachineRecord::gpuDriver);
    words("torch_version", "PyTorch", &MachineRecord::torchVersion);
    out.words("lockstep_version", "Lockstep", a.lockstepVersion, b.lockstepVersion);
    out.count("nodes", "Nodes", double(a.machines.size()), double(b.machines.size()));
    return out.take();
}

DiffSection fileSection(const FileDigests &a, const FileDigests &b) {
    Section out("Files read");
    FileDigests all = a;
    all.insert(b.begin(), b.end());
    const auto digestIn = [](const FileDigests &files, const std::string &file) {
        const auto found = files.find(file);
        return textOrDash(found == files.end() ? std::string() : found->second.substr(0, 16));
    };
    for (const auto &[file, digest] : all)
        out.words(textOrDash("sha256 " + file), textOrDash(file), digestIn(a, file), digestIn(b, file)).help =
            QStringLiteral("The first 16 digits of the file's SHA-256");
    return out.take();
}

bool hasLine(const std::vector<DiffSection> &sections, const QString &key) {
    return std::ranges::any_of(sections, [&](const DiffSection &section) {
        return std::ranges::any_of(section.lines, [&](const DiffLine &line) { return line.key == key; });
    });
}

/// `others`: what other sections say already.
DiffSection metricsSection(const RunOutcome &a, const RunOutcome &b, const std::vector<DiffSection> &others) {
    Section out("Metrics");
    MetricValues all = a.metrics;
    all.insert(b.metrics.begin(), b.metrics.end());
    const auto valueIn = [](const RunOutcome &run, const std::string &name) {
        const auto found = run.metrics.find(name);
        return found == run.metrics.end() ? std::nullopt : std::optional(found->second);
    };
    for (const auto &[name, value] : all) {
        const MetricSpec spec = metricSpec(name);
        const bool taken = hasLine(others, textOrDash(name));
        if (taken && spec.overSteps == OverSteps::Rate)
            continue;
        out.figure(textOrDash(taken ? "metric_" + name : name), textOrDash(spec.head()), valueIn(a, name),
                   valueIn(b, name), [](std::optional<double> figure) { return significant(figure); })
            .help = textOrDash(spec.help);
    }
    return out.take();
}

} // namespace

const DiffSection *phasesOf(const RunDiff &diff) {
    const auto found = std::find_if(diff.sections.begin(), diff.sections.end(), [](const DiffSection &section) {
        return section.title == QLatin1String(phaseTitle);
    });
    return found == diff.sections.end() ? nullptr : &*found;
}

int DiffSection::differing() const {
    return int(std::count_if(lines.begin(), lines.end(), [](const DiffLine &line) { return !line.same; }));
}

RunDiff diffRuns(const RunStore &a, const RunStore &b) {
    RunDiff diff;
    diff.runA = a.runId();
    diff.runB = b.runId();
    diff.nameA = nameOf(a);
    diff.nameB = nameOf(b);
    const RunOutcome x = outcomeOf(a), y = outcomeOf(b);
    const RunRecord none;
    const RunRecord &recordA = a.record() ? *a.record() : none, &recordB = b.record() ? *b.record() : none;
    diff.sections = {configSection(x, y, recordA, recordB),
                     resultSection(a, b, x, y),
                     timingSection(x, y),
                     phaseSection(a, b, x, y),
                     machineSection(recordA, recordB),
                     fileSection(x.conditions.files, y.conditions.files)};
    diff.sections.push_back(metricsSection(x, y, diff.sections));
    std::erase_if(diff.sections, [](const DiffSection &section) { return section.lines.empty(); });
    // What differs first: a section without a difference comes after those with one.
    std::stable_partition(diff.sections.begin(), diff.sections.end(),
                          [](const DiffSection &section) { return section.differing() > 0; });
    return diff;
}

std::string toJson(const RunDiff &diff) {
    using Json = nlohmann::ordered_json;
    const auto side = [](const DiffLine &line, const QString &shown, std::optional<double> figure) {
        const bool measured = line.figureA || line.figureB;
        return !measured ? Json(shown.toStdString()) : figure ? Json(*figure) : Json(nullptr);
    };
    Json sections = Json::array();
    for (const DiffSection &section : diff.sections) {
        Json lines = Json::array();
        for (const DiffLine &line : section.lines)
            lines.push_back({{"key", line.key.toStdString()},
                             {"label", line.label.toStdString()},
                             {"a", side(line, line.a, line.figureA)},
                             {"b", side(line, line.b, line.figureB)},
                             {"change", line.change.toStdString()},
                             {"same", line.same}});
        sections.push_back({{"title", section.title.toStdString()}, {"lines", std::move(lines)}});
    }
    const Json json = {{"a", {{"run", diff.runA.toStdString()}, {"name", diff.nameA.toStdString()}}},
                       {"b", {{"run", diff.runB.toStdString()}, {"name", diff.nameB.toStdString()}}},
                       {"sections", std::move(sections)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace lockstep::core
