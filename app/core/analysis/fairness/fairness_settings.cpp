// SPDX-License-Identifier: MIT
// Findings from two configs (or from what two scripts reported about themselves): one rule a key.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "analysis/fairness/fairness_detail.h"
#include "analysis/history/run_facts.h"
#include "base/format.h"
#include "experiment/run_names.h"
#include "experiment/script_flags.h"
#include "ipc/phase_sums.h"
#include "ipc/thousands.h"

namespace lockstep::core::fairness {
namespace {

using enum FairnessWeight;

constexpr const char *otherWork = "different work, so times can't be compared";
constexpr const char *otherMeans = "a gain may come from the different resources";
constexpr const char *otherCode = "different code takes a different time";
constexpr const char *otherLearning = "times can be compared, accuracies can't";

constexpr std::size_t mostNamedFlags = 20;      ///< of a pair
constexpr std::string_view furtherFlags = "--"; ///< key of the finding that counts the others

struct Rule {
    std::string_view key;
    FairnessWeight weight;
    const char *consequence;
    Settled settled = Settled::ByReference;
};

/// Keys that are neither here nor an exception below: notable, "done in another way".
constexpr std::array<Rule, 35> rules{{
    {"model", Decisive, otherWork},
    {"dataset", Decisive, otherWork},
    {"train_samples", Decisive, otherWork},
    {"epochs", Decisive, otherWork},
    {"batch_size", Decisive, "a different number of steps is different work"},
    {"augment", Decisive, "a gain may come from data loading"},
    {"loader", Decisive, "a gain may come from data loading"},
    {"precision", Decisive, "a different number format changes times and rounding"},
    {"device", Decisive, otherMeans, Settled::ByNeither},
    {"cores_per_device", Decisive, otherMeans},
    {"threads", Decisive, otherMeans},
    {"oversubscribe", Decisive, "devices that share a core slow each other down", Settled::ByNeither},
    {"scheduling", Notable, "ranks wake differently, which changes the time of every all-reduce"},
    {"optimizer", Notable, "a different update takes a different time and trains differently"},
    {"lr", Notable, otherLearning},
    {"lr_rule", Notable, otherLearning},
    {"lr_schedule", Notable, otherLearning},
    {"warmup_steps", Notable, otherLearning},
    {"clip_grad_norm", Notable, "clipping takes time and trains differently"},
    {"compress_gradients", Notable, "rounded gradients are sent in fewer bytes and train otherwise"},
    {"decay_biases", Minor, otherLearning},
    {"padding", Decisive, "a different padding computes more or fewer tokens for the same texts"},
    {"max_tokens", Decisive, otherWork},
    {"bert_dir", Decisive, otherWork},
    {"text_column", Decisive, otherWork},
    {"label_column", Decisive, otherWork},
    {"worker_cores", Notable, "only one of them loads on the cores that train"},
    {"trace", Minor, "recording a trace slows the recorded steps a little", Settled::ByRun},
    {"checkpoint_dir", Minor, "one writes checkpoints between epochs", Settled::ByRun},
    {"momentum", Minor, otherLearning},
    {"weight_decay", Minor, otherLearning},
    {"dropout", Notable, "dropout takes time and trains differently"},
    {"seed", Minor, "different initial weights and order of samples: hardly changes times, changes accuracy by chance"},
    {"init", Notable, "the two start from different parameters: accuracies can't be compared", Settled::ByRun},
    {"resume", Notable,
     "one goes on from a checkpoint and makes only the epochs that were left: neither accuracies nor times from "
     "launch to exit can be compared",
     Settled::ByRun},
}};

Rule ruleOf(std::string_view key) {
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule &rule) { return rule.key == key; });
    return found != rules.end() ? *found : Rule{key, Notable, otherCode};
}

double effectiveRate(const RunConfig &config) {
    return effectiveLr(config, deviceCount(config));
}

std::string numberText(double value) {
    return QString::number(value, 'g', 6).toStdString();
}

/// A key's value in effect, as it is compared and shown; empty: unknown.
std::string valueOf(const RunOutcome &run, const RunFacts &facts, std::string_view key) {
    if (key == "batch_per_device") // the batch size says it
        return {};
    if (run.config && run.claims.knows(key)) {
        const RunConfig &config = *run.config;
        if (key == "lr_rule")
            return config.lrRule == "none" ? "none, " + numberText(config.lr)
                                           : config.lrRule + ", " + numberText(effectiveRate(config));
        if (key == "threads") {
            const std::string asked = effectiveValue(*findField(key), config);
            const auto threads = run.conditions.threads;
            return threads ? std::to_string(*threads) : !asked.empty() ? asked : "one per core of the device";
        }
        if (key == "scheduling" && !run.conditions.scheduling.empty())
            return run.conditions.scheduling;
        if (key == "checkpoint_dir") {
            const std::string whether = effectiveValue(*findField(key), config);
            return whether.empty() ? "none" : whether;
        }
        if (key == "batch_size" || !appliesTo(*findField(key), config))
            return effectiveValue(*findField(key), config);
    }
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second.empty() ? "none" : found->second;
}

/// As people say it: a switch is on or off.
std::string findingValue(const FieldSpec &field, const std::string &value) {
    if (field.type == FieldType::Switch && (value == "true" || value == "false"))
        return value == "true" ? "on" : "off";
    return cutValue(value);
}

/// Whether a key can matter between these two at all.
bool applies(const Pair &pair, std::string_view key) {
    const auto &a = pair.a().config, &b = pair.b().config;
    if (!a || !b)
        return true;
    if (key ==
        "worker_cores") // the plan chooses the cores, and different numbers of workers have different cores anyway
        return a->workers == b->workers && a->workers > 0 && a->workerCores.empty() != b->workerCores.empty();
    const bool sameRate = std::fabs(effectiveRate(*a) - effectiveRate(*b)) <= 1e-12 * effectiveRate(*a);
    if (key == "lr")
        return !sameRate;
    if (key == "lr_rule") { // matters if rates are equal before the rule but not after it, with equal steps
        return a->lr == b->lr && !sameRate && (a->lrRule != b->lrRule || globalBatch(*a) == globalBatch(*b));
    }
    return true;
}

std::optional<double> loadShare(const RepeatGroup &group) {
    std::optional<double> most;
    for (const RunOutcome &run : group.runs)
        if (const auto load = additiveShare(run.phasesS, phase::load))
            most = std::max(most.value_or(0), *load);
    return most;
}

/// The weight of different numbers of loading workers follows from the cost of loading with fewer of them.
void weighWorkers(const Pair &pair, FairnessFinding &finding, std::string &consequence) {
    const auto a = loadShare(pair.reference), b = loadShare(pair.run);
    consequence = "a gain may come from data loading, which more workers hide";
    finding.weight = Decisive;
    if (!a || !b)
        return;
    const double most = std::max(*a, *b);
    const bool runHasMore = pair.a().config && pair.b().config && pair.b().config->workers > pair.a().config->workers;
    const bool moreHides = runHasMore ? *b < *a : *a < *b;
    finding.weight = most < 0.02 ? Minor : most < 0.10 ? Notable : Decisive;
    consequence = "loading takes " + percent(*b, 1).toStdString() + " of training instead of " +
                  percent(*a, 1).toStdString() +
                  (finding.weight == Minor ? ", so it explains almost nothing"
                   : moreHides             ? ", so a gain may come from data loading"
                                           : ": more workers did not lessen it here (their start is part of it)");
}

/// A script's ranks often take the batch that one process took: then a step has more samples, and an epoch fewer steps.
void weighBatch(const Pair &pair, FairnessFinding &finding, std::string &consequence) {
    const double a = QString::fromStdString(finding.reference).toDouble() / std::max(1, pair.a().processes);
    const double b = QString::fromStdString(finding.run).toDouble() / std::max(1, pair.b().processes);
    if (pair.a().processes == pair.b().processes || a <= 0 || a != b)
        return;
    finding.weight = Notable;
    consequence = "each process takes " + numberText(a) +
                  " samples a step, so times of as many samples can be compared, losses after as many steps can't";
}

/// Changed together with the method or the devices, a flag hides what each of them does.
void addFlags(const Flags &a, const Flags &b, std::vector<Unlike> &out) {
    const std::vector<std::string> apart = flagsApart(a, b);
    const std::size_t named = apart.size() <= mostNamedFlags ? apart.size() : mostNamedFlags - 1;
    for (const std::string &flag : std::span(apart).first(named))
        out.push_back(fairness::difference("--" + flag, "--" + flag, flagValue(a, flag), flagValue(b, flag), Decisive,
                                           "a gain may come from this flag"));
    if (named == apart.size())
        return;
    Unlike others = fairness::difference(std::string(furtherFlags), "further flags", "-",
                                         thousands(std::int64_t(apart.size() - named)) + " differ", Decisive,
                                         "a gain may come from them");
    out.push_back(std::move(others));
}

/// The ways in which the repeats shared out the model's layers among their stages, where each did so by times that it measured.
std::set<std::string> measuredCutsOf(const RepeatGroup &group) {
    std::set<std::string> cuts;
    for (const RunOutcome &run : group.runs)
        if (run.config && run.config->stageLayers.empty() && !run.conditions.stageLayers.empty())
            cuts.insert(run.conditions.stageLayers);
    return cuts;
}

std::string cutsInWords(const std::set<std::string> &cuts) {
    std::string text;
    for (const std::string &cut : cuts)
        text += (text.empty() ? "" : " or ") + cut;
    return text.empty() ? "none" : text;
}

void compareMeasuredCuts(const Pair &pair, std::vector<Unlike> &out) {
    constexpr const char *key = "stage_layers";
    const std::set<std::string> a = measuredCutsOf(pair.reference), b = measuredCutsOf(pair.run);
    if (a != b && (a.size() > 1 || b.size() > 1))
        out.push_back(difference(key, labelOf(key), cutsInWords(a), cutsInWords(b), Notable,
                                 "repeats that measured other times cut the model otherwise, which takes another time "
                                 "and, with dropout, trains otherwise; with stage_layers all are cut alike"));
}

} // namespace

bool differInMethod(const RunOutcome &a, const RunOutcome &b) {
    const RunFacts mine = factsOf(a), other = factsOf(b);
    return std::ranges::any_of(std::array<std::string_view, 2>{"method", "devices"}, [&](std::string_view meant) {
        const auto one = mine.find(meant), two = other.find(meant);
        return one != mine.end() && two != other.end() && one->second != two->second;
    });
}

bool Pair::isVaried(std::string_view key) const {
    // Changed together with the method or the devices, a setting that is varied elsewhere hides what each of them does.
    return !differsInMethod && core::isVaried(varies, key);
}

std::string labelOf(std::string_view key) {
    const FieldSpec *field = findField(key);
    return field ? std::string(field->label) : std::string(key);
}

void adopt(RunConfig &from, const RunConfig &to, std::string_view key) {
    if (key == "batch_size") {
        from.batchPerDevice = 0;
        from.batchSize = globalBatch(to);
    } else if (key == "lr" || key == "lr_rule") {
        from.lr = effectiveRate(to);
        from.lrRule = "none";
    } else if (key == "workers") {
        from.workers = to.workers;
        from.workerCores = to.workerCores;
    } else if (const FieldSpec *field = findField(key)) {
        (void)field->set(from, field->get(to)); // it came from a config, so it is allowed
    }
}

std::vector<Unlike> settingDifferences(const Pair &pair) {
    std::vector<Unlike> out;
    const RunFacts a = factsOf(pair.a()), b = factsOf(pair.b());
    for (const FieldSpec &field : runConfigFields()) {
        const std::string_view key = field.key;
        if (field.effect == FieldEffect::None || field.effect == FieldEffect::Means || pair.isVaried(key) ||
            !applies(pair, key))
            continue;
        const std::string one = valueOf(pair.a(), a, key), other = valueOf(pair.b(), b, key);
        if (one == other || one.empty() || other.empty())
            continue;
        const Rule rule = ruleOf(key);
        Unlike difference{
            {std::string(key), labelOf(key), findingValue(field, one), findingValue(field, other), rule.weight, {}, {}},
            rule.settled};
        if ((key == "scheduling" || key == "threads") &&
            field.get(pair.a().config.value_or(RunConfig())) == field.get(pair.b().config.value_or(RunConfig())))
            difference.settled = Settled::ByNeither; // the same was requested, but not granted to both
        std::string consequence = rule.consequence;
        if (key == "workers")
            weighWorkers(pair, difference.finding, consequence);
        if (key == "batch_size" && !pair.a().claims.knows(key) && !pair.b().claims.knows(key))
            weighBatch(pair, difference.finding, consequence);
        difference.finding.sentence = sentenceOf(difference.finding, consequence);
        out.push_back(std::move(difference));
    }
    compareMeasuredCuts(pair, out);
    if (pair.differsInMethod)
        addFlags(pair.a().claims.flags, pair.b().claims.flags, out);
    return out;
}

} // namespace lockstep::core::fairness

namespace lockstep::core {

std::string differenceIn(const FairnessFinding &finding) {
    const std::size_t count = finding.run.find(' '); // of "82 differ"
    if (finding.key != fairness::furtherFlags || count == std::string::npos)
        return finding.label + " " + finding.run + " instead of " + finding.reference;
    return finding.run.substr(0, count) + " " + finding.label + finding.run.substr(count);
}

bool isOfOtherWork(std::string_view key) {
    return std::ranges::find(measuredWork, key) != measuredWork.end() ||
           std::string_view(fairness::ruleOf(key).consequence) == fairness::otherWork;
}

} // namespace lockstep::core
