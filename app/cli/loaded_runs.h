#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/export.h"
#include "ipc/error.h"
#include "launch/experiment.h"
#include "store/run_store.h"

namespace lockstep::cli {

/// Runs read whole from disk, and the experiment they belong to when one was asked for.
struct LoadedRuns {
    std::optional<core::Experiment> experiment;
    std::vector<std::unique_ptr<core::RunStore>> stores;

    [[nodiscard]] core::Report report() const;           ///< judged, with curves
    [[nodiscard]] std::vector<core::Cell> cells() const; ///< the table's settings with their done repeats
    [[nodiscard]] std::string exported(core::ExportFormat format) const;
    /// result_text.h, judgement and all; `all`: every row of a large result.
    [[nodiscard]] std::string text(bool all = false) const;
    [[nodiscard]] std::vector<core::ExportedCurve> curves() const;

private:
    [[nodiscard]] std::vector<core::RunOutcome> outcomes() const;
    [[nodiscard]] core::ResultTable table() const;
};

/// The runs meant by run ids, or by one experiment id: those that have begun.
[[nodiscard]] Result<std::vector<std::string>> runsOf(const std::vector<std::string> &ids);
/// Run ids, or one experiment id.
[[nodiscard]] Result<LoadedRuns> loadRuns(const std::vector<std::string> &ids);
[[nodiscard]] bool isExperiment(const std::string &id);

} // namespace lockstep::cli
