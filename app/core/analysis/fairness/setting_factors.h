// SPDX-License-Identifier: MIT
#pragma once
// Settings in which two groups differ, and configs that lie between them.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "experiment/script_flags.h"
#include "ipc/cores.h"

namespace lockstep::core {

/// Settings that are changed together: method, devices and backend are one, loading workers and their cores another.
struct SettingFactor {
    std::string key;               ///< method, workers, loader, batch_size, …; program: a script or lockstep-trainer
    std::vector<std::string> keys; ///< RunConfig's
    std::string label;             ///< "4 loading workers instead of 0"
    std::string ofRun;             ///< "4 workers", for a control's name
    std::string ofReference;       ///< "0 workers"
    std::string flag = {};         ///< a script's own flag, which is no key; empty: none
    bool operator==(const SettingFactor &) const = default;
};

/// In what the two differ that can change a time; empty when a config is unknown. Seeds, files and folders are left out.
[[nodiscard]] std::vector<SettingFactor> factorsBetween(const RepeatGroup &reference, const RepeatGroup &run);

/// How many these are, which takes no texts: for many pairs.
[[nodiscard]] std::size_t countOfFactors(const RepeatGroup &reference, const RepeatGroup &run);

/// What a group was measured with.
struct GroupSetting {
    RunConfig config;
    bool script = false; ///< a script runs it instead of lockstep-trainer
    Flags flags = {};    ///< of that script
};
/// The reference's setting with the factors whose bit is set in `mask` taken from the run.
[[nodiscard]] GroupSetting settingBetween(const RepeatGroup &reference, const RepeatGroup &run,
                                          const std::vector<SettingFactor> &factors, std::uint32_t mask);
/// Whether the group was measured with it (isSameSetting()).
[[nodiscard]] bool hasSetting(const RepeatGroup &group, const GroupSetting &setting);
/// A run with that setting, to be started; absent when it can't be: an invalid config, or a script whose command does not ask for what
/// was changed.
[[nodiscard]] std::optional<SuggestedRun> controlBetween(const RepeatGroup &reference, const RepeatGroup &run,
                                                         const std::vector<SettingFactor> &factors, std::uint32_t mask);

/// The same work by another seed or into other files counts as the same, and with loading workers on cores of their own,
/// whichever those are.
[[nodiscard]] bool isSameSetting(const RunConfig &a, const RunConfig &b);
/// Equal of two configs if they are the same setting. Not for people.
[[nodiscard]] std::string settingKey(const RunConfig &config);
[[nodiscard]] bool isScript(const RepeatGroup &group);
/// Whether the group's program takes `config`, which differs from its own in these keys: a script only what its command asks for.
[[nodiscard]] bool takesChange(const RepeatGroup &group, const std::vector<std::string> &changedKeys,
                               const RunConfig &config);
/// The group's setting with one change, as its program takes it; absent when that can't be started, or is no change. Its name
/// says what changes and, where a reference is given, in what else it differs from that.
[[nodiscard]] std::optional<SuggestedRun> withChange(const RepeatGroup &group,
                                                     const std::vector<std::string> &changedKeys,
                                                     const RunConfig &config, const RepeatGroup *reference = nullptr);

/// Cores of the group's machine that no device of `config` trains on; absent where they are unknown: none recorded, or of
/// several nodes.
[[nodiscard]] std::optional<CoreList> coresBesideDevices(const RepeatGroup &group, const RunConfig &config);
/// Gives each loading worker of `config` a core that trains nothing, as a plan does; false where there are too few. Where the
/// machine's cores are unknown, it names none.
[[nodiscard]] bool fitWorkerCores(const RepeatGroup &group, RunConfig &config);

} // namespace lockstep::core
