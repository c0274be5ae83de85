// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_draft.h"

#include <QCoreApplication>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "experiment/run_names.h"
#include "experiment/script_flags.h"
#include "experiment/study.h"
#include "ipc/run_title.h"

namespace lockstep::ui {
namespace {

/// "0,1" for two runs on devices; a baseline has one.
std::string valueFor(const FieldSpec &field, const std::string &value, const RunConfig &config) {
    if (field.key == "devices" && !specOf(config.method).severalDevices)
        return value.substr(0, value.find(','));
    return value;
}

} // namespace

PlanDraft PlanDraft::freeChoice() {
    core::Recipe recipe;
    recipe.name = "free-choice"; // lockstepctl, which starts it, wants one
    recipe.title = "Free choice";
    recipe.summary = "Choose methods, devices and settings yourself";
    for (const Method method : {Method::Baseline, Method::Dp, Method::Ddp}) {
        core::RunSpec spec;
        spec.config.method = method;
        spec.autoDevice = false;
        if (!specOf(method).severalDevices)
            spec.config.devices = {"0"};
        else
            spec.devices.kind = core::DeviceRequest::Kind::All;
        recipe.runs.push_back(spec);
    }
    recipe.quick = core::QuickVariant{};
    return PlanDraft(recipe);
}

PlanDraft PlanDraft::ofRun(const RunRecord &record, const std::string &name) {
    RunConfig copy = record.config.value_or(RunConfig());
    const RunConfig defaults;
    for (const FieldSpec &field : runConfigFields())
        if (field.perProcess)
            (void)field.set(copy, field.get(defaults));
    core::Recipe recipe = core::recipeFromConfigs("Copy of " + name, {copy}, 1);
    recipe.summary = "The settings of that run; change what you like";
    if (!record.command.empty() && isScript(record)) {
        core::RunSpec &run = recipe.runs.front();
        run.name = name;
        for (const std::string &word : record.command)
            run.command.push_back(core::literalWord(word));
        run.claims = {record.claims.flags, core::placeKeys()};
        recipe.quick.reset();
        recipe.summary = "The command of that run; change where it runs";
    }
    return PlanDraft(recipe);
}

bool PlanDraft::knows(const FieldSpec &field) const {
    return std::ranges::any_of(m_recipe.runs, [&](const core::RunSpec &run) { return run.claims.knows(field.key); });
}

std::optional<std::string> PlanDraft::value(const FieldSpec &field) const {
    if (const auto changed = m_changes.find(field.key); changed != m_changes.end())
        return changed->second;
    std::optional<std::string> out;
    for (const core::RunSpec &run : m_recipe.runs) {
        if (field.key == "devices" && run.devices.kind == core::DeviceRequest::Kind::All)
            return std::nullopt; // as many as the machine has
        if (field.key == "device" && run.autoDevice)
            return std::nullopt;
        const std::string own = field.get(run.config);
        if (out && *out != own)
            return std::nullopt;
        out = own;
    }
    return out;
}

void PlanDraft::set(const FieldSpec &field, const std::string &value) {
    change(field, value);
    if (m_beforeQuick.contains(field.key))
        endQuick();
}

void PlanDraft::endQuick() {
    m_quick = false;
    m_beforeQuick.clear();
}

void PlanDraft::setQuick(bool on) {
    if (on == m_quick)
        return;
    m_quick = on;
    if (on) {
        fillQuick("train_samples", quickVariant().trainSamples);
        if (quickVariant().testSamples > 0)
            fillQuick("test_samples", quickVariant().testSamples);
        fillQuick("epochs", quickVariant().epochs);
        return;
    }
    for (const auto &[key, before] : std::exchange(m_beforeQuick, {}))
        if (before)
            m_changes[key] = *before;
        else
            m_changes.erase(key);
}

/// Less than that stays as it is; 0 samples are all there are.
void PlanDraft::fillQuick(const char *key, std::int64_t most) {
    const FieldSpec &field = *findField(key);
    const auto changed = m_changes.find(key);
    m_beforeQuick[key] = changed == m_changes.end() ? std::nullopt : std::optional(changed->second);
    const std::int64_t now = QString::fromStdString(value(field).value_or("")).toLongLong();
    if (now <= 0 || now > most)
        change(field, std::to_string(most));
}

void PlanDraft::change(const FieldSpec &field, const std::string &value) {
    m_changes.erase(std::string(field.key));
    if (this->value(field) != value)
        m_changes[std::string(field.key)] = value;
}

void PlanDraft::reset() {
    m_changes.clear();
    m_without.clear();
    endQuick();
}

std::vector<Method> PlanDraft::methods() const {
    std::vector<Method> out;
    for (const core::RunSpec &run : m_recipe.runs)
        if (std::find(out.begin(), out.end(), run.config.method) == out.end())
            out.push_back(run.config.method);
    return out;
}

void PlanDraft::setMethod(Method method, bool on) {
    if (on)
        m_without.erase(method);
    else
        m_without.insert(method);
}

/// Whether the run that speed-ups are measured from is left out, or may have another name after the changes.
bool PlanDraft::losesReference() const {
    const std::string &reference = m_recipe.reference;
    for (const core::RunSpec &run : m_recipe.runs) {
        const bool named = !run.name.empty() && run.name == reference;
        const bool titled = run.name.empty() && isTitledAs(reference, specOf(run.config.method));
        if ((named || titled) && m_without.contains(run.config.method))
            return true;
        if (named)
            return false;
    }
    return std::ranges::any_of(m_changes, [&](const auto &change) { return core::mayRename(m_recipe, change.first); });
}

core::Recipe PlanDraft::effective() const {
    core::Recipe out = m_recipe;
    if (losesReference())
        out.reference.clear();
    std::erase_if(out.runs, [this](const core::RunSpec &run) { return m_without.contains(run.config.method); });
    for (core::RunSpec &run : out.runs)
        for (const auto &[key, value] : m_changes) {
            const FieldSpec *field = findField(key);
            if (!field || !field->set(run.config, valueFor(*field, value, run.config)))
                continue; // a mistake, which plan() reports
            if (key == "devices")
                run.devices.kind = core::DeviceRequest::Kind::List;
            if (key == "device")
                run.autoDevice = false;
        }
    if (untilWidth)
        out.untilWidth = untilWidth;
    return out;
}

tl::expected<core::Plan, std::vector<Error>>
PlanDraft::plan(const MachineFacts &facts, const core::EstimateSource &estimate, const core::WhyNot &whyNot) const {
    std::vector<Error> errors;
    for (const auto &[key, value] : m_changes) {
        RunConfig scratch;
        const FieldSpec *field = findField(key);
        if (const Result<void> set = field->set(scratch, value); !set) {
            Error error = set.error();
            error.where = key;
            errors.push_back(error);
        }
    }
    const core::Recipe recipe = effective();
    if (recipe.runs.empty())
        errors.push_back(Error::badArgument("no method is chosen", "tick at least one", "method"));
    core::PlanOptions options;
    options.quick = m_quick;
    options.repeats = repeats;
    options.sideBySide = sideBySide;
    options.orderSeed = recipe.orderSeed.value_or(orderSeed);
    options.estimate = estimate;
    options.whyNot = whyNot;
    auto out = core::expand(recipe, facts, options);
    if (errors.empty())
        return out;
    // Invalid values are left out above; the rest is checked nevertheless, so that all mistakes are shown at once.
    if (!out && !recipe.runs.empty())
        errors.insert(errors.end(), out.error().begin(), out.error().end());
    return tl::unexpected(errors);
}

QString publishedLine(const core::Recipe &recipe) {
    if (!recipe.published)
        return {};
    constexpr qsizetype mostNamed = 3; // the recipe's page has them all
    QStringList parts;
    for (const core::PublishedRun &run : recipe.published->runs)
        if (run.timeS)
            parts.append(QString::fromStdString(shortTitle(run.name)) + QLatin1Char(' ') + core::seconds(run.timeS));
    const qsizetype more = parts.size() - mostNamed;
    return QString::fromStdString(recipe.published->machine) + QStringLiteral(": ") +
           parts.mid(0, mostNamed).join(QStringLiteral(", ")) +
           (more > 0 ? QCoreApplication::translate("PlanPage", " and %1 more").arg(more) : QString());
}

} // namespace lockstep::ui
