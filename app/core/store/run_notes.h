// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

/// A person's notes on a run: notes.json in its folder, shared by windows and lockstepctl.
struct RunNotes {
    std::string name;              ///< instead of the run's own, on one line and cut by cutTitle(); empty: its own
    std::vector<std::string> tags; ///< sorted, each once
    std::string note;
    bool starred = false;
    std::int64_t alertsSeenUs = 0; ///< alerts up to this moment, since 1970, have been acknowledged; 0: none
    bool operator==(const RunNotes &) const = default;
};
using NotesChange = std::function<void(RunNotes &)>;

/// Without a file: empty notes. A damaged file is an error.
[[nodiscard]] Result<RunNotes> readRunNotes(const RunFolder &folder);
/// Reads, changes and writes by rename, under a lock on the folder, so that concurrent changes are not lost. Unknown keys
/// are kept. Returns the earlier notes. Waits for the lock and the disk: not for the GUI thread.
[[nodiscard]] Result<RunNotes> changeRunNotes(const RunFolder &folder, const NotesChange &change);

/// "a, b" or "a b" as tags; a tag has no space, comma, quote or control character and at most 64 bytes.
[[nodiscard]] Result<std::vector<std::string>> tagsFrom(std::string_view text);
[[nodiscard]] std::string joinedTags(const std::vector<std::string> &tags); ///< "a, b"

} // namespace lockstep::core
