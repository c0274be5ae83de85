// SPDX-License-Identifier: MIT
#include "analysis/compare/result_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/compare/repeats_together.h"
#include "analysis/compare/row_figures.h"
#include "analysis/history/run_facts.h"
#include "analysis/history/work_amount.h"
#include "base/format.h"
#include "experiment/more_rounds.h"
#include "experiment/plan.h"
#include "experiment/run_names.h"
#include "ipc/metrics.h"
#include "ipc/models.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/thousands.h"
#include "queue/slurm/slurm_experiment.h"

namespace lockstep::core {
namespace {

constexpr const char *measuredHere = "measured here";

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

using Group = RepeatsTogether;

constexpr const char *countedOnce =
    "runs that were copied, or recorded from the same files, are one measurement and count once";

void addNote(std::vector<std::string> &notes, const std::string &note) {
    if (!note.empty())
        notes.push_back(note);
}

/// Each where it stood first.
void keepEachOnce(std::vector<std::string> &notes) {
    std::unordered_set<std::string> seen;
    std::erase_if(notes, [&](const std::string &note) { return !seen.insert(note).second; });
}

/// Of repeats whose folders were lost: neither a record nor a state of theirs was read.
std::string lostRepeats(const std::vector<const ExperimentEntry *> &entries, const std::vector<RunOutcome> &outcomes) {
    const auto lost = std::ranges::count_if(entries, [&](const ExperimentEntry *entry) {
        return entry->state == EntryState::Done && std::ranges::none_of(outcomes, [&](const RunOutcome &outcome) {
                   return outcome.run == entry->run && (outcome.state || outcome.startWallUs > 0);
               });
    });
    if (lost == 0)
        return {};
    return std::to_string(lost) + " of its " + std::to_string(entries.size()) + " repeats " +
           (lost == 1 ? "is" : "are") + " done, but not here, or can't be read";
}

void noteUnlikeAmounts(const std::vector<const RunOutcome *> &runs, ResultRow &row) {
    WorkAmount known;
    std::string first;
    int others = 0;
    for (const RunOutcome *run : runs) {
        const WorkAmount own = amountOf(*run);
        if (const std::string unlike = unlikeAmounts(known, own); !unlike.empty() && ++others == 1)
            first = "repeat " + std::to_string(run->repeat) + " had " + unlike;
        fillIn(known, own);
    }
    if (others > 0)
        addNote(row.notes, first +
                               (others == 1   ? ""
                                : others == 2 ? ", and 1 more differs"
                                              : ", and " + std::to_string(others - 1) + " more differ") +
                               ", so the repeats are not of the same work");
}

ResultRow experimentRow(const std::vector<const ExperimentEntry *> &entries, const std::vector<RunOutcome> &outcomes,
                        const std::string &experiment) {
    const ExperimentEntry &first = *entries.front();
    ResultRow row;
    row.name = first.planned.name;
    row.kind = measuredHere;
    row.planned = int(entries.size());
    row.command = first.planned.command;
    row.state = stateOf(entries);
    if (row.state == toString(EntryState::NotRun))
        row.kind = "not run here";
    takeConfig(first.planned.config, row);
    Group runs;
    for (const ExperimentEntry *entry : entries) {
        for (const RunOutcome &outcome : outcomes) {
            if (entry->run.empty() || outcome.run != entry->run)
                continue;
            const std::string why = whyNotCounted(outcome, *entry, experiment);
            addNote(row.notes, why);
            if (why.empty())
                runs.push_back(&outcome);
        }
        if (entry->state == EntryState::NotRun || entry->state == EntryState::Stopped)
            addNote(row.notes, entry->reason);
    }
    MeasuredOnce once = eachMeasuredOnce(runs);
    if (once.counted.size() + once.disputed.size() < runs.size())
        addNote(row.notes, countedOnce);
    row.disputes = std::move(once.disputes);
    runs = std::move(once.counted);
    for (const RunOutcome *run : runs)
        row.runs.push_back(run->run);
    for (const RunOutcome *run : runs)
        if (const std::string file = editedBetween(runs.front()->conditions.files, run->conditions.files);
            !file.empty())
            addNote(row.notes, file + " was changed between its repeats, so they are not of the same work");
    addNote(row.notes, lostRepeats(entries, outcomes));
    noteUnlikeAmounts(runs, row);
    addNote(row.notes, first.planned.note);
    takeKnown(first.planned.claims, runs.empty() ? nullptr : runs.front(), row);
    takeOutcomes(runs, row);
    for (const ExperimentEntry *entry : entries)
        if (entry->state == EntryState::Failed && runs.empty())
            addNote(row.notes, entry->reason);
    for (const ExperimentEntry *entry : entries) // without any report
        if (entry->state == EntryState::Failed && std::ranges::find(row.runs, entry->run) == row.runs.end())
            row.failed.push_back({entry->planned.repeat, entry->run, entry->reason});
    keepEachOnce(row.notes);
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
    row.dataset = published.dataset;
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
    PairDevices devices;
    for (const PublishedRun &run : published.runs)
        if (run.name == published.reference) {
            reference = run.timeS;
            devices.reference = std::max(1, run.devices);
        }
    for (const PublishedRun &run : published.runs) {
        ResultRow row = publishedRow(run, published);
        if (reference && run.timeS && *run.timeS > 0) {
            row.speedUpTraining = *reference / *run.timeS;
            devices.run = run.devices;
            row.efficiency = efficiencyOf(*row.speedUpTraining, devices);
        }
        row.reference = run.name == published.reference;
        table.rows.push_back(std::move(row));
    }
    for (const std::string &contradiction : published.contradictions)
        addNote(table.notes, contradiction);
}

/// Launch to exit, of the repeats that the comparison of the training times counts.
std::optional<double> wholeFactor(const ResultRow &reference, const ResultRow &row) {
    if (!beginAlike(reference.firstEpoch, row.firstEpoch) || !timedAlike(reference.spansFrames, row.spansFrames))
        return std::nullopt;
    const auto counted =
        reference.runTimes.size() == reference.trainingTimes.size() && row.runTimes.size() == row.trainingTimes.size()
            ? countedOf(reference.trainingTimes, row.trainingTimes)
            : std::nullopt;
    return counted ? meanFactorOf(reference.runTimes, row.runTimes, *counted)
                   : meanFactorOf(reference.runTimes, row.runTimes);
}

void computeSpeedUps(ResultTable &table) {
    const auto reference = std::find_if(table.rows.begin(), table.rows.end(), [&](const ResultRow &row) {
        return !row.published && row.name == table.reference;
    });
    if (reference == table.rows.end())
        return;
    reference->reference = true;
    for (ResultRow &row : table.rows) {
        if (row.published)
            continue;
        row.speedUpTraining = meanFactorOf(reference->trainingTimes, row.trainingTimes);
        row.speedUpRun = wholeFactor(*reference, row);
        row.timedUnlike = !timedAlike(reference->spansFrames, row.spansFrames);
        if (row.speedUpTraining)
            row.efficiency = efficiencyOf(*row.speedUpTraining, {reference->devices, row.devices});
    }
}

/// From the experiment's own runs.
std::optional<double> roundTimeS(const Experiment &experiment, const std::vector<RunOutcome> &outcomes) {
    ExperimentClock clock;
    clock.runTimeS = [&](int entry) -> std::optional<double> {
        const std::string &run = experiment.entries[std::size_t(entry)].run;
        const auto found = std::ranges::find(outcomes, run, &RunOutcome::run);
        return found == outcomes.end() ? std::nullopt : found->runTimeS;
    };
    return roundS(experiment, clock);
}

std::string nameOf(const RunOutcome &outcome) {
    return outcome.name.empty() ? outcome.run : outcome.name;
}

constexpr std::size_t mostAdded = 40; ///< bytes of one thing that is added to a name to tell it from another

/// Runs of a script often share its name: what they reported about themselves tells them apart, "train.py, workers 2". No more of that
/// than a name has room for.
class NamesApart {
public:
    explicit NamesApart(const std::vector<Group> &all) {
        for (const Group &group : all) {
            auto &values = m_values[nameOf(*group.front())];
            for (auto &[key, value] : factsOf(*group.front()))
                values[key].insert(std::move(value));
        }
    }
    [[nodiscard]] std::string of(const RunOutcome &run) const {
        std::string name = nameOf(run);
        if (run.config)
            return name;
        const auto &values = m_values.at(nameOf(run));
        for (const auto &[key, value] : factsOf(run))
            if (values.at(key).size() > 1)
                addTo(name, key, value);
        return name;
    }

private:
    static void addTo(std::string &name, const std::string &key, const std::string &value) {
        const auto part = [&](const std::string &text) { return ", " + key + " " + text; };
        std::string more = part(value);
        if (name.size() + more.size() > longestTitle)
            more = part(cutUnlike(value, mostAdded));
        if (name.size() + more.size() <= longestTitle)
            name += more;
    }
    std::map<std::string, std::map<std::string, std::set<std::string>>> m_values; ///< by name and key
};

/// What runs of one name may differ in: a text of each, in their order. Empty: nothing to say of it.
using TextsOf = std::vector<std::string> (*)(const Group &);

template <std::string MachineRecord::*member> std::vector<std::string> machineTexts(const Group &runs) {
    std::vector<std::string> out;
    for (const RunOutcome *run : runs) {
        std::set<std::string> words;
        for (const MachineRecord &machine : run->conditions.machines)
            words.insert(machine.*member);
        std::string &text = out.emplace_back();
        for (const std::string &word : words)
            text += (text.empty() ? "on " : ", ") + word;
    }
    return out;
}

/// The words that not all of their commands have, an option's value with the option: "--lr 0.1".
std::vector<std::string> commandTexts(const Group &runs) {
    std::set<std::string> common(runs.front()->command.begin(), runs.front()->command.end());
    for (const RunOutcome *run : runs) {
        const std::set<std::string> own(run->command.begin(), run->command.end());
        std::erase_if(common, [&](const std::string &word) { return !own.contains(word); });
    }
    std::vector<std::string> out;
    for (const RunOutcome *run : runs) {
        std::string &text = out.emplace_back();
        std::string option; // that all of them have
        for (const std::string &word : run->command) {
            const bool isOption = word.starts_with('-'), isCommon = common.contains(word);
            if (!isCommon)
                text += (text.empty() ? "" : " ") + (isOption || option.empty() ? "" : option + " ") + word;
            option = isOption && isCommon ? word : std::string();
        }
    }
    return out;
}

std::vector<std::string> amountTexts(const Group &runs) {
    std::vector<std::string> out;
    for (const RunOutcome *run : runs)
        out.push_back(toText(amountOf(*run)));
    return out;
}

std::vector<std::string> folderTexts(const Group &runs) {
    std::vector<std::string> out;
    for (const RunOutcome *run : runs)
        out.push_back(run->folder.empty() ? "" : "in " + run->folder);
    return out;
}

/// Adds to names that several groups have what they differ in there, where that is short.
void addTexts(const std::vector<Group> &groups, TextsOf textsOf, std::vector<std::string> &names) {
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t i = 0; i < names.size(); ++i)
        places[names[i]].push_back(i);
    for (const auto &[name, same] : places) {
        if (same.size() < 2)
            continue;
        Group runs;
        for (const std::size_t place : same)
            runs.push_back(groups[place].front());
        const std::vector<std::string> texts = textsOf(runs);
        const auto isShort = [](const std::string &text) { return text.size() <= mostAdded; };
        if (std::ranges::adjacent_find(texts, std::ranges::not_equal_to()) == texts.end() ||
            !std::ranges::all_of(texts, isShort))
            continue;
        for (std::size_t i = 0; i < same.size(); ++i)
            names[same[i]] += (texts[i].empty() ? "" : ", ") + texts[i];
    }
}

/// A name for each group. Where even these are the same, the groups are numbered.
std::vector<std::string> rowNames(const std::vector<Group> &groups) {
    const NamesApart reported(groups);
    std::vector<std::string> out;
    for (const Group &group : groups)
        out.push_back(reported.of(*group.front()));
    for (const TextsOf textsOf :
         {TextsOf(machineTexts<&MachineRecord::host>), TextsOf(machineTexts<&MachineRecord::cpuModel>),
          TextsOf(commandTexts), TextsOf(folderTexts), TextsOf(amountTexts)})
        addTexts(groups, textsOf, out);
    return out;
}

/// A row's runs, each measurement once.
struct CountedRuns {
    Group runs;
    const RunOutcome *first = nullptr;      ///< whose row it is: none of `runs` where all are disputed
    int disputed = 0;                       ///< runs that don't count, as no one can tell what they measured
    std::vector<std::string> disputes = {}; ///< MeasuredOnce's
    bool recordedAgain = false; ///< a run was left out that was recorded from the same files as one of these
};

/// Those of as much work each.
std::vector<CountedRuns> countedRuns(const Group &repeats, UnlikeWork unlike) {
    const MeasuredOnce once = eachMeasuredOnce(repeats);
    const Group &counted = once.counted;
    std::vector<WorkAmount> amounts(counted.size());
    if (unlike == UnlikeWork::Apart)
        std::ranges::transform(counted, amounts.begin(), [](const RunOutcome *run) { return amountOf(*run); });
    std::vector<CountedRuns> out;
    for (const std::vector<std::size_t> &places : byAmount(amounts)) {
        CountedRuns &one = out.emplace_back();
        for (const std::size_t place : places)
            one.runs.push_back(counted[place]);
        one.first = one.runs.front();
        one.recordedAgain = std::ranges::any_of(repeats, [&](const RunOutcome *run) {
            return std::ranges::find(one.runs, run) == one.runs.end() &&
                   std::ranges::any_of(one.runs, [&](const auto *own) { return areOneMeasurement(*own, *run); });
        });
    }
    if (out.empty())
        out.emplace_back().first = repeats.front();
    out.front().disputed = int(once.disputed.size());
    out.front().disputes = once.disputes;
    return out;
}

/// "3", "1 to 3"
std::string countsText(std::int64_t least, std::int64_t most) {
    return thousands(least) + (least == most ? "" : " to " + thousands(most));
}

/// What all entries share of their data and its amount, "1 to 3 epochs" where they don't. Empty with a script of which it is unknown.
std::string dataText(const std::vector<ExperimentEntry> &entries, bool quick) {
    std::set<std::string> dataSets;
    std::set<std::int64_t> samples, epochs;
    for (const ExperimentEntry &entry : entries) {
        const RunConfig &config = entry.planned.config;
        if (!entry.planned.claims.knows("dataset"))
            return {};
        dataSets.insert(config.dataset);
        samples.insert(config.trainSamples);
        epochs.insert(config.epochs);
    }
    if (entries.empty())
        return {};
    std::string text;
    const DataSetSpec *dataSet = nullptr;
    if (dataSets.size() == 1) {
        dataSet = findDataSet(*dataSets.begin());
        text = (dataSet ? std::string(dataSet->title) : *dataSets.begin()) + ", ";
    }
    const bool allOfSet = dataSet && dataSet->trainSamples > 0 && *samples.begin() >= dataSet->trainSamples;
    if (allOfSet || *samples.rbegin() == 0)
        text += "all samples, ";
    else if (*samples.begin() > 0)
        text += "first " + countsText(*samples.begin(), *samples.rbegin()) + " samples, ";
    text += countsText(*epochs.begin(), *epochs.rbegin()) + (*epochs.rbegin() == 1 ? " epoch" : " epochs");
    return atStart(text) + (quick ? " (quick)" : "");
}

} // namespace

std::string whyNotCounted(const RunOutcome &outcome, const ExperimentEntry &entry, const std::string &experiment) {
    const RunConfig &planned = entry.planned.config;
    if (outcome.experiment.empty() && outcome.hasRecord)
        return "run " + outcome.run + " does not count: its own record names no experiment";
    const bool counts =
        (outcome.experiment.empty() || outcome.experiment == experiment) &&
        (!outcome.config || !entry.planned.command.empty() ||
         (outcome.config->method == planned.method && deviceCount(*outcome.config) == deviceCount(planned)));
    return counts ? "" : "run " + outcome.run + " does not count: its own record says that it is another one";
}

std::string publishedLabel(const std::string &name) {
    return "published " + name;
}

std::string labelOf(const ResultRow &row) {
    return row.published ? publishedLabel(row.name) : row.name;
}

bool isOver(const ResultRow &row) {
    const auto state = entryStateFrom(row.state);
    return state && isOver(*state);
}

std::string doneText(const ResultRow &row) {
    if (row.repeats == 0)
        return {};
    return std::to_string(row.repeats) + " of " + std::to_string(row.planned) + " done" +
           (row.totalTrainingTimeS ? ", " + seconds(row.totalTrainingTimeS).toStdString() : "");
}

std::optional<double> efficiencyOf(double factor, const PairDevices &devices) {
    return devices.run > devices.reference ? std::optional(factor * devices.reference / devices.run) : std::nullopt;
}

std::vector<std::string> metricNames(const ResultTable &table) {
    std::vector<std::string> out;
    for (const ResultRow &row : table.rows)
        for (const auto &[name, value] : row.metrics)
            if (std::ranges::find(out, name) == out.end())
                out.push_back(name);
    std::ranges::sort(out, metricBefore);
    return out;
}

std::string publishedOnOtherData(const ResultTable &table) {
    for (const ResultRow &published : table.rows)
        if (published.published && !published.dataset.empty() &&
            std::ranges::any_of(table.rows, [&](const ResultRow &row) {
                return !row.published && !row.dataset.empty() && row.dataset != published.dataset;
            })) {
            const DataSetSpec *dataSet = findDataSet(published.dataset);
            return dataSet ? std::string(dataSet->title) : published.dataset;
        }
    return {};
}

std::string methodOf(const ResultTable &table, const std::string &name) {
    const auto row =
        std::ranges::find_if(table.rows, [&](const ResultRow &each) { return !each.published && each.name == name; });
    return row == table.rows.end() ? std::string() : row->method;
}

ResultTable resultTable(const Experiment &experiment, const std::vector<RunOutcome> &outcomes) {
    ResultTable table;
    table.title = experiment.title;
    table.reference = experiment.reference;
    table.experiment = experiment.id;
    table.extendable = experiment.over() && !isSlurmExperiment(experiment.id); // Slurm's queue takes none
    if (table.extendable)                                                      // expensive, and not needed before
        table.roundS = roundTimeS(experiment, outcomes);
    std::vector<std::string> order;
    std::map<std::string, std::vector<const ExperimentEntry *>> groups;
    for (const ExperimentEntry &entry : experiment.entries) {
        auto &group = groups[entry.planned.name];
        if (group.empty())
            order.push_back(entry.planned.name);
        group.push_back(&entry);
    }
    for (const std::string &name : order)
        table.rows.push_back(experimentRow(groups[name], outcomes, experiment.id));
    computeSpeedUps(table);
    if (std::any_of(table.rows.begin(), table.rows.end(), [](const ResultRow &row) { return row.repeats == 1; }))
        addNote(table.notes, "Figures of one repeat: small differences may be chance.");
    for (const std::string &note : experiment.recipe.notes)
        addNote(table.notes, note);
    addPublished(experiment.recipe, table);
    keepEachOnce(table.notes);
    table.datasetNote = dataText(experiment.entries, experiment.quick);
    return table;
}

ResultTable resultTable(const std::vector<RunOutcome> &outcomes, const std::string &reference, UnlikeWork unlike) {
    ResultTable table;
    table.title = "Runs compared";
    table.reference = reference;
    std::vector<CountedRuns> counted;
    for (const Group &repeats : repeatsTogether(outcomes))
        std::ranges::move(countedRuns(repeats, unlike), std::back_inserter(counted));
    std::vector<Group> groups;
    for (const CountedRuns &one : counted)
        groups.push_back({one.first});
    const std::vector<std::string> names = rowNames(groups);
    std::map<std::string, int> seen;
    for (std::size_t i = 0; i < counted.size(); ++i) {
        const Group &group = counted[i].runs;
        const RunOutcome &first = *counted[i].first, &last = group.empty() ? first : *group.back();
        ResultRow row;
        row.disputes = counted[i].disputes;
        if (counted[i].recordedAgain)
            addNote(row.notes, countedOnce);
        row.name = names[i];
        if (const int again = ++seen[row.name]; again > 1) // such as the same name with another config
            row.name += " #" + std::to_string(again);
        row.kind = measuredHere;
        row.planned = int(group.size()) + counted[i].disputed;
        row.state = last.agentDied ? "failed"
                    : last.unknown ? "unknown"
                    : last.state   ? std::string(wordOf(*last.state))
                                   : "starting";
        if (first.config) {
            takeConfig(*first.config, row);
            takeKnown(first.claims, &first, row);
        } else
            takeAbout(first, row);
        for (const RunOutcome *run : group)
            row.runs.push_back(run->run);
        takeOutcomes(group, row);
        table.rows.push_back(std::move(row));
    }
    for (const ResultRow &row : table.rows)
        if (table.reference.empty() && row.method == toString(Method::Baseline))
            table.reference = row.name;
    if (table.reference.empty() && !table.rows.empty())
        table.reference = table.rows.front().name;
    computeSpeedUps(table);
    return table;
}

std::vector<Difference> differences(const RunConfig &a, const RunConfig &b) {
    std::vector<Difference> out;
    for (const FieldSpec &field : runConfigFields()) {
        if (field.perProcess || field.get(a) == field.get(b))
            continue;
        out.push_back(
            {std::string(field.key), std::string(field.label), field.get(a), field.get(b), isMeant(field.key)});
    }
    return out;
}

} // namespace lockstep::core
