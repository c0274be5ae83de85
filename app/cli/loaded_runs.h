// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "export/export.h"
#include "ipc/error.h"
#include "store/run_store.h"

namespace lockstep::cli {

/// Runs read completely from disk, and their experiment if one was given.
struct LoadedRuns {
    std::optional<core::Experiment> experiment;
    std::vector<std::unique_ptr<core::RunStore>> stores;
    std::vector<std::string>
        unreadable; ///< a sentence for each run of the experiment that is left out, for the result's notes

    [[nodiscard]] core::Report report() const; ///< with verdict and curves
    [[nodiscard]] std::vector<core::RepeatGroup>
    groups() const; ///< the table's configurations with their finished repeats
    [[nodiscard]] std::string exported(core::ExportFormat format) const;
    /// result_text.h with the judgement; `all`: every row of a large result.
    [[nodiscard]] std::string text(bool all = false) const;
    [[nodiscard]] std::vector<core::ExportedCurve> curves() const;

private:
    [[nodiscard]] std::vector<core::RunOutcome> outcomes() const;
    [[nodiscard]] core::ResultTable table(const std::vector<core::RunOutcome> &outcomes) const;
};

/// The runs with these ids, each once, or those of one experiment that have begun.
[[nodiscard]] Result<std::vector<std::string>> runsOf(const std::vector<std::string> &ids);
/// Loads run ids, or one experiment id. A run that can't be read is an error where it was named itself.
[[nodiscard]] Result<LoadedRuns> loadRuns(const std::vector<std::string> &ids);
[[nodiscard]] bool isExperiment(const std::string &id);

} // namespace lockstep::cli
