// SPDX-License-Identifier: MIT
#pragma once
// What the parts of the fairness guard share: settings, conditions, controls.
#include <string>
#include <vector>

#include "analysis/fairness/fairness.h"

namespace lockstep::core::fairness {

/// One comparison as the parts see it.
struct Pair {
    const RepeatGroup &reference;
    const RepeatGroup &run;
    const std::vector<std::string> &varies;
    const std::vector<RepeatGroup> &others;
    const RunsBeside &beside;
    bool differsInMethod = false; ///< differInMethod() of the two
    [[nodiscard]] const RunOutcome &a() const { return reference.runs.front(); }
    [[nodiscard]] const RunOutcome &b() const { return run.runs.front(); }
    [[nodiscard]] bool isVaried(std::string_view key) const;
};

/// In method or devices: what a contrast is about.
[[nodiscard]] bool differInMethod(const RunOutcome &a, const RunOutcome &b);

/// Which run would settle a difference of settings.
enum class Settled {
    ByReference, ///< the reference again, with the run's value
    ByRun,       ///< the run again, with the reference's
    ByNeither
};

/// A finding with what its control needs.
struct Unlike {
    FairnessFinding finding;
    Settled settled = Settled::ByNeither;
};

/// Findings from the settings; then from measurements. `settings`: so that one cause is not named twice.
[[nodiscard]] std::vector<Unlike> settingDifferences(const Pair &pair);
[[nodiscard]] std::vector<Unlike> conditionDifferences(const Pair &pair, const std::vector<Unlike> &settings);

void compareMachines(const Pair &pair, std::vector<Unlike> &out);
void compareFiles(const Pair &pair, const std::vector<Unlike> &settings, std::vector<Unlike> &out);
void comparePrograms(const Pair &pair, std::vector<Unlike> &out);
[[nodiscard]] bool names(const std::vector<Unlike> &differences, std::string_view key);
/// A value as a finding shows it: what scripts and machines say of themselves may be long.
[[nodiscard]] std::string cutValue(const std::string &value);
/// "LABEL the run's value instead of the reference's: CONSEQUENCE."
[[nodiscard]] std::string sentenceOf(const FairnessFinding &finding, const std::string &consequence);
/// With its sentence.
[[nodiscard]] Unlike difference(std::string key, std::string label, const std::string &reference,
                                const std::string &run, FairnessWeight weight, const std::string &consequence);

/// `from` with `to`'s value of a key in effect: batch_size sets the global batch, lr_rule the rate that results.
void adopt(RunConfig &from, const RunConfig &to, std::string_view key);

/// A RunConfig key's label, else the key.
[[nodiscard]] std::string labelOf(std::string_view key);

} // namespace lockstep::core::fairness
