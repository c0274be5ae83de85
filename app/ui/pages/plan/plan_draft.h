// SPDX-License-Identifier: MIT
#pragma once
#include <QString>
#include <QStringList>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "experiment/round_order.h"
#include "ipc/run_folder.h"

namespace lockstep::ui {

/// A person's choices on the Plan page: a recipe, changes to it, its methods, quick or not.
/// A value without widgets.
class PlanDraft {
public:
    PlanDraft() = default;
    explicit PlanDraft(core::Recipe recipe) : m_recipe(std::move(recipe)) {}
    /// Baseline, DP and DDP on the machine's devices; defaults for everything else.
    [[nodiscard]] static PlanDraft freeChoice();

    /// The settings of an earlier run that has a config, to be repeated or changed, without the fields that a launcher sets for each
    /// process. A script's command stands as it was run: what can be changed is where it runs.
    [[nodiscard]] static PlanDraft ofRun(const RunRecord &record, const std::string &name);

    [[nodiscard]] const core::Recipe &recipe() const { return m_recipe; }

    /// Whether a field says something about any of the runs: of a person's own script only some do.
    [[nodiscard]] bool knows(const FieldSpec &field) const;
    /// A field's value in all runs; absent where the runs differ (devices, method …).
    [[nodiscard]] std::optional<std::string> value(const FieldSpec &field) const;
    /// Sets it in every run. For devices a baseline takes the first of the list. A value that can't be parsed is kept
    /// as it is, and mistakes() reports it.
    void set(const FieldSpec &field, const std::string &value);
    [[nodiscard]] bool isChanged(const FieldSpec &field) const { return m_changes.contains(std::string(field.key)); }
    [[nodiscard]] bool isChanged() const { return !m_changes.empty() || !m_without.empty(); }
    void reset();

    /// The methods the recipe holds, in its order, and whether each is to run.
    [[nodiscard]] std::vector<Method> methods() const;
    [[nodiscard]] bool hasMethod(Method method) const { return !m_without.contains(method); }
    void setMethod(Method method, bool on);

    /// Sets images and epochs to the recipe's quick variant; off restores them. Editing one of these ends it and keeps
    /// the other.
    void setQuick(bool on);
    void endQuick(); ///< keeps what it filled in
    [[nodiscard]] bool isQuick() const { return m_quick; }
    [[nodiscard]] core::QuickVariant quickVariant() const { return m_recipe.quick.value_or(core::QuickVariant{}); }

    std::optional<int> repeats;                ///< absent: the recipe's
    std::optional<core::WidthGoal> untilWidth; ///< absent: the recipe's, unless `repeats` says how many
    int sideBySide = 1;                        ///< runs that may go at once, on devices of their own
    /// Seed for the order of the rounds unless the recipe has one: kept while the plan is edited, new for each start.
    std::uint64_t orderSeed = core::newOrderSeed();

    /// The recipe as it would be started.
    [[nodiscard]] core::Recipe effective() const;
    /// The resulting plan; or every mistake, with the field's key as `where`.
    [[nodiscard]] tl::expected<core::Plan, std::vector<Error>>
    plan(const MachineFacts &facts, const core::EstimateSource &estimate, const core::WhyNot &whyNot = {}) const;

private:
    [[nodiscard]] bool losesReference() const;
    void change(const FieldSpec &field, const std::string &value);
    void fillQuick(const char *key, std::int64_t most);

    core::Recipe m_recipe;
    std::map<std::string, std::string, std::less<>> m_changes; ///< key → text
    std::set<Method> m_without;
    bool m_quick = false;
    std::map<std::string, std::optional<std::string>, std::less<>>
        m_beforeQuick; ///< key → what was changed to; absent: nothing
};

/// "8 × H100: baseline 73.0 s, DDP (8) 26.1 s, DP (8) 161 s and 4 more" as published; empty without published figures.
[[nodiscard]] QString publishedLine(const core::Recipe &recipe);

} // namespace lockstep::ui
