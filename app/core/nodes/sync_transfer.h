#pragma once
#include <functional>

#include "nodes/sync.h"

namespace lockstep::core {

/// A file that has to travel, from byte `there` on: its beginning is on the node already, and right.
struct SyncPiece {
    SyncFile file;
    std::int64_t there = 0;
};
struct SyncPlan {
    bool present = false; ///< the version is there, whole
    std::vector<SyncPiece> missing;
    [[nodiscard]] double bytes() const; ///< that have to travel
};

struct Transfer {
    NodeShell &shell;
    const SyncSurvey &node;
    const SyncBundle &bundle;
    const SyncPlan &plan;
    std::function<void(double)> moved; ///< bytes so far
};

/// Whether rsync is on both sides and understands the way there.
[[nodiscard]] bool mayRsync(const NodeShell &shell, const SyncSurvey &node);
/// Bytes that were sent. Changes within a file are found by rsync; the beginning of a cut-off file is gone on with.
[[nodiscard]] Result<double> sendByRsync(const Transfer &transfer);
/// The same with tar: whole files in one stream, the rest of cut-off ones by appending.
[[nodiscard]] Result<double> sendByTar(const Transfer &transfer);

/// sha256 of the first bytes of a file, as hex; empty when it can't be read.
[[nodiscard]] std::string beginningSha256(const std::string &file, std::int64_t bytes);

} // namespace lockstep::core
