#include "analysis/result_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/format.h"
#include "launch/plan.h"

namespace lockstep::core {
namespace {

constexpr const char *measuredHere = "measured here";

bool isDone(const RunOutcome &outcome) {
    return outcome.state == RunState::Done && !outcome.agentDied;
}

template <class Get> std::optional<double> medianOf(const std::vector<const RunOutcome *> &runs, Get get) {
    std::vector<double> values;
    for (const RunOutcome *run : runs)
        if (const std::optional<double> value = get(*run))
            values.push_back(*value);
    return median(std::move(values));
}

/// Each epoch's median duration and loss over the repeats.
std::vector<MergedEpoch> medianEpochs(const std::vector<const RunOutcome *> &runs) {
    std::size_t count = 0;
    for (const RunOutcome *run : runs)
        count = std::max(count, run->epochs.size());
    std::vector<MergedEpoch> out;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> durations, losses;
        const MergedEpoch *any = nullptr;
        for (const RunOutcome *run : runs) {
            if (i >= run->epochs.size() || !run->epochs[i].complete)
                continue;
            any = &run->epochs[i];
            durations.push_back(any->durationS);
            if (any->loss)
                losses.push_back(*any->loss);
        }
        if (!any)
            break;
        MergedEpoch epoch = *any;
        epoch.durationS = *median(durations);
        epoch.loss = median(losses);
        out.push_back(std::move(epoch));
    }
    return out;
}

/// Mean of means: each device over the epochs of all repeats, weighted by duration.
std::vector<DeviceUse> deviceUse(const std::vector<const RunOutcome *> &runs) {
    struct Sums {
        double use = 0, useS = 0, memory = 0, memoryS = 0;
        std::optional<double> useMax, memoryMax;
    };
    std::vector<std::string> order;
    std::map<std::string, Sums> sums;
    const auto larger = [](std::optional<double> a, std::optional<double> b) {
        return a && b ? std::optional(std::max(*a, *b)) : a ? a : b;
    };
    for (const RunOutcome *run : runs)
        for (const MergedEpoch &epoch : run->epochs)
            for (const DeviceUse &use : epoch.devices) {
                if (!sums.contains(use.device))
                    order.push_back(use.device);
                Sums &sum = sums[use.device];
                if (use.utilizationMean) {
                    sum.use += *use.utilizationMean * epoch.durationS;
                    sum.useS += epoch.durationS;
                }
                if (use.memoryMeanBytes) {
                    sum.memory += *use.memoryMeanBytes * epoch.durationS;
                    sum.memoryS += epoch.durationS;
                }
                sum.useMax = larger(sum.useMax, use.utilizationMax);
                sum.memoryMax = larger(sum.memoryMax, use.memoryMaxBytes);
            }
    std::vector<DeviceUse> out;
    for (const std::string &device : order) {
        const Sums &sum = sums[device];
        DeviceUse use;
        use.device = device;
        if (sum.useS > 0)
            use.utilizationMean = sum.use / sum.useS;
        if (sum.memoryS > 0)
            use.memoryMeanBytes = sum.memory / sum.memoryS;
        use.utilizationMax = sum.useMax;
        use.memoryMaxBytes = sum.memoryMax;
        out.push_back(std::move(use));
    }
    return out;
}

std::string useText(const std::vector<DeviceUse> &devices) {
    std::string text;
    for (const DeviceUse &use : devices)
        if (use.utilizationMean)
            text += (text.empty() ? "" : ", ") + use.device + " " + percent(use.utilizationMean, 0).toStdString();
    return text;
}

void takeConfig(const RunConfig &config, ResultRow &row) {
    row.method = toString(config.method);
    row.devices = deviceCount(config);
    row.loader = config.loader;
    row.augment = config.augment;
    row.model = config.model;
    row.dataset = config.dataset;
    row.device = config.device;
    row.workers = config.workers;
    row.backend = config.method == Method::Ddp ? config.backend : "";
}

void takeEpochFigures(ResultRow &row) {
    std::vector<double> later;
    for (const MergedEpoch &epoch : row.epochs) {
        if (epoch.epoch == 1)
            row.firstEpochS = epoch.durationS;
        else
            later.push_back(epoch.durationS);
    }
    row.epochMedianS = later.empty() ? row.firstEpochS : median(later);
}

/// The figures of the repeats that are done; of a run still going, what it has so far.
void takeOutcomes(const std::vector<const RunOutcome *> &all, ResultRow &row) {
    std::vector<const RunOutcome *> runs;
    for (const RunOutcome *run : all)
        if (isDone(*run))
            runs.push_back(run);
    row.repeats = int(runs.size());
    if (runs.empty() && !all.empty())
        runs = {all.back()};
    if (runs.empty())
        return;
    row.epochs = medianEpochs(runs);
    takeEpochFigures(row);
    row.totalTrainingTimeS = medianOf(runs, [](const RunOutcome &r) { return r.totalTrainingTimeS; });
    row.runTimeS = medianOf(runs, [](const RunOutcome &r) { return isDone(r) ? r.runTimeS : std::nullopt; });
    row.testAccuracy = medianOf(runs, [](const RunOutcome &r) { return r.testAccuracy; });
    row.finalLoss = medianOf(runs, [](const RunOutcome &r) { return r.finalLoss; });
    const RunOutcome *middle = runs.front(); // the run nearest the median speaks for what has no median
    for (const RunOutcome *run : runs)
        if (run->testAccuracy && row.testAccuracy && middle->testAccuracy &&
            std::fabs(*run->testAccuracy - *row.testAccuracy) < std::fabs(*middle->testAccuracy - *row.testAccuracy))
            middle = run;
    row.perClassAccuracy = middle->perClassAccuracy;
    row.phasesS = middle->phasesS;
    row.hosts = middle->hosts;
    row.nodes = middle->nodes;
    if (!middle->backend.empty() && row.method == "ddp")
        row.backend = middle->backend;
    row.devicesUse = deviceUse(runs);
    row.utilisation = useText(row.devicesUse);
    for (const RunOutcome *run : all)
        if (run->oversubscribed) {
            row.notes.emplace_back("not comparable: oversubscribed");
            break;
        }
    for (const RunOutcome *run : all)
        if (run->agentDied || run->state == RunState::Failed)
            row.notes.push_back("repeat " + std::to_string(run->repeat) + " failed: " + run->reason);
}

std::string stateOf(const std::vector<const ExperimentEntry *> &entries) {
    const auto any = [&](EntryState state) {
        return std::any_of(entries.begin(), entries.end(), [&](const auto *entry) { return entry->state == state; });
    };
    if (any(EntryState::Running) || any(EntryState::Launching))
        return "running";
    for (const EntryState state : {EntryState::Queued, EntryState::Failed, EntryState::Stopped, EntryState::NotRun})
        if (any(state))
            return std::string(toString(state));
    return "done";
}

void addNote(std::vector<std::string> &notes, const std::string &note) {
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
        notes.push_back(note);
}

ResultRow experimentRow(const std::vector<const ExperimentEntry *> &entries, const std::vector<RunOutcome> &outcomes) {
    const ExperimentEntry &first = *entries.front();
    ResultRow row;
    row.name = first.planned.name;
    row.kind = measuredHere;
    row.planned = int(entries.size());
    row.state = stateOf(entries);
    takeConfig(first.planned.config, row);
    std::vector<const RunOutcome *> runs;
    for (const ExperimentEntry *entry : entries) {
        for (const RunOutcome &outcome : outcomes)
            if (!entry->run.empty() && outcome.run == entry->run) {
                runs.push_back(&outcome);
                row.runs.push_back(outcome.run);
            }
        if (entry->state == EntryState::NotRun || entry->state == EntryState::Stopped)
            addNote(row.notes, entry->reason);
    }
    addNote(row.notes, first.planned.note);
    takeOutcomes(runs, row);
    for (const ExperimentEntry *entry : entries)
        if (entry->state == EntryState::Failed && runs.empty())
            addNote(row.notes, entry->reason);
    return row;
}

void takePublishedEpochs(const PublishedRun &run, ResultRow &row) {
    for (const PublishedEpoch &printed : run.epochs) {
        if (!printed.durationS)
            continue;
        MergedEpoch epoch;
        epoch.epoch = printed.epoch;
        epoch.loss = printed.loss;
        epoch.durationS = *printed.durationS;
        epoch.complete = true;
        row.epochs.push_back(std::move(epoch));
    }
    takeEpochFigures(row);
    if (!run.epochs.empty())
        row.finalLoss = run.epochs.back().loss;
}

ResultRow publishedRow(const PublishedRun &run, const Published &published) {
    ResultRow row;
    row.name = run.name;
    row.published = true;
    row.kind = "published, " + published.machine + (run.timeKind.empty() ? "" : ", " + run.timeKind);
    row.method = run.method;
    row.devices = run.devices;
    row.backend = run.backend;
    row.workers = run.workers;
    row.state = "published";
    row.publishedTimeS = run.timeS;
    row.printedSpeedUp = run.printedSpeedUp;
    row.testAccuracy = run.testAccuracy;
    row.perClassAccuracy = run.perClassAccuracy;
    row.utilisation = run.utilisation;
    takePublishedEpochs(run, row);
    addNote(row.notes, run.note);
    return row;
}

void addPublished(const Recipe &recipe, ResultTable &table) {
    if (!recipe.published)
        return;
    const Published &published = *recipe.published;
    std::optional<double> reference;
    for (const PublishedRun &run : published.runs)
        if (run.name == published.reference)
            reference = run.timeS;
    for (const PublishedRun &run : published.runs) {
        ResultRow row = publishedRow(run, published);
        if (reference && run.timeS && *run.timeS > 0) {
            row.speedUpTraining = *reference / *run.timeS;
            row.efficiency = *row.speedUpTraining / std::max(1, run.devices);
        }
        row.reference = run.name == published.reference;
        table.rows.push_back(std::move(row));
    }
    for (const std::string &contradiction : published.contradictions)
        addNote(table.notes, contradiction);
}

/// Speed-up = the reference's measured time ÷ the run's; efficiency = speed-up ÷ devices.
void computeSpeedUps(ResultTable &table) {
    const auto reference = std::find_if(table.rows.begin(), table.rows.end(), [&](const ResultRow &row) {
        return !row.published && row.name == table.reference;
    });
    if (reference == table.rows.end())
        return;
    reference->reference = true;
    const std::optional<double> training = reference->totalTrainingTimeS, whole = reference->runTimeS;
    for (ResultRow &row : table.rows) {
        if (row.published)
            continue;
        if (training && row.totalTrainingTimeS && *row.totalTrainingTimeS > 0)
            row.speedUpTraining = *training / *row.totalTrainingTimeS;
        if (whole && row.runTimeS && *row.runTimeS > 0)
            row.speedUpRun = *whole / *row.runTimeS;
        if (row.speedUpTraining)
            row.efficiency = *row.speedUpTraining / std::max(1, row.devices);
    }
}

/// The first fairness hint: what differs besides what is meant to.
void addFairnessHints(const std::vector<std::pair<std::string, RunConfig>> &configs, ResultTable &table) {
    const auto reference =
        std::find_if(configs.begin(), configs.end(), [&](const auto &pair) { return pair.first == table.reference; });
    if (reference == configs.end())
        return;
    for (const auto &[name, config] : configs) {
        std::string text;
        for (const Difference &difference : differences(reference->second, config))
            if (!difference.meant)
                text += (text.empty() ? "" : "; ") + difference.key + " " + difference.a + " and " + difference.b;
        if (!text.empty())
            addNote(table.notes,
                    "Unlike besides method and devices: " + table.reference + " and " + name + " (" + text + ").");
    }
}

std::string thousands(std::int64_t number) {
    std::string digits = std::to_string(number), out;
    for (std::size_t i = 0; i < digits.size(); ++i)
        out += (i > 0 && (digits.size() - i) % 3 == 0 ? "," : "") + std::string(1, digits[i]);
    return out;
}

std::string dataText(const RunConfig &config, bool quick) {
    std::string text = config.dataset == "fashion-mnist" ? "Fashion-MNIST"
                       : config.dataset == "mnist"       ? "MNIST"
                                                         : config.dataset;
    text += config.trainSamples > 0 ? ", first " + thousands(config.trainSamples) + " training samples"
                                    : ", the whole training set";
    text += ", " + std::to_string(config.epochs) + (config.epochs == 1 ? " epoch" : " epochs");
    return text + (quick ? " (quick)" : "");
}

} // namespace

std::optional<double> median(std::vector<double> values) {
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ResultTable resultTable(const Experiment &experiment, const std::vector<RunOutcome> &outcomes) {
    ResultTable table;
    table.title = experiment.title;
    table.reference = experiment.reference;
    std::vector<std::string> order;
    std::map<std::string, std::vector<const ExperimentEntry *>> groups;
    std::vector<std::pair<std::string, RunConfig>> configs;
    for (const ExperimentEntry &entry : experiment.entries) {
        auto &group = groups[entry.planned.name];
        if (group.empty()) {
            order.push_back(entry.planned.name);
            configs.emplace_back(entry.planned.name, entry.planned.config);
        }
        group.push_back(&entry);
    }
    for (const std::string &name : order)
        table.rows.push_back(experimentRow(groups[name], outcomes));
    computeSpeedUps(table);
    if (std::any_of(table.rows.begin(), table.rows.end(), [](const ResultRow &row) { return row.repeats == 1; }))
        addNote(table.notes, "Figures of one repeat: small differences may be chance.");
    for (const std::string &note : experiment.recipe.notes)
        addNote(table.notes, note);
    addFairnessHints(configs, table);
    addPublished(experiment.recipe, table);
    if (!experiment.entries.empty())
        table.datasetNote = dataText(experiment.entries.front().planned.config, experiment.quick);
    return table;
}

ResultTable resultTable(const std::vector<RunOutcome> &outcomes) {
    ResultTable table;
    table.title = "Runs side by side";
    std::vector<std::vector<const RunOutcome *>> groups;
    for (const RunOutcome &outcome : outcomes) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto &group) {
            return group.front()->name == outcome.name && group.front()->config == outcome.config;
        });
        if (same == groups.end())
            groups.push_back({&outcome});
        else
            same->push_back(&outcome);
    }
    std::map<std::string, int> seen;
    std::vector<std::pair<std::string, RunConfig>> configs;
    for (const auto &group : groups) {
        ResultRow row;
        row.name = group.front()->name.empty() ? group.front()->run : group.front()->name;
        if (const int again = ++seen[row.name]; again > 1) // the same name with another config
            row.name += " #" + std::to_string(again);
        row.kind = measuredHere;
        row.planned = int(group.size());
        const auto state = group.back()->state;
        row.state = group.back()->agentDied ? "failed" : state ? std::string(toString(*state)) : "starting";
        if (group.front()->config) {
            takeConfig(*group.front()->config, row);
            configs.emplace_back(row.name, *group.front()->config);
        }
        for (const RunOutcome *run : group)
            row.runs.push_back(run->run);
        takeOutcomes(group, row);
        table.rows.push_back(std::move(row));
    }
    for (const ResultRow &row : table.rows)
        if (table.reference.empty() && row.method == "baseline")
            table.reference = row.name;
    if (table.reference.empty() && !table.rows.empty())
        table.reference = table.rows.front().name;
    computeSpeedUps(table);
    addFairnessHints(configs, table);
    return table;
}

std::vector<Difference> differences(const RunConfig &a, const RunConfig &b) {
    std::vector<Difference> out;
    for (const FieldSpec &field : runConfigFields()) {
        if (field.perProcess || field.get(a) == field.get(b))
            continue;
        const bool meant =
            field.key == "method" || field.key == "devices" || field.key == "backend" || field.key == "dp_replicas";
        out.push_back({std::string(field.key), std::string(field.label), field.get(a), field.get(b), meant});
    }
    return out;
}

std::string verdictSentence(const ResultTable &table) {
    std::string text;
    for (const ResultRow &row : table.rows) {
        if (row.published || row.reference || !row.speedUpTraining)
            continue;
        const double factor = *row.speedUpTraining;
        text += text.empty() ? "" : "; ";
        text += row.name +
                (factor >= 1 ? " trains " + significant(factor).toStdString() + " times as fast as "
                             : " takes " + significant(1 / factor).toStdString() + " times as long as ") +
                table.reference;
    }
    return text.empty() ? text : text + ".";
}

} // namespace lockstep::core
