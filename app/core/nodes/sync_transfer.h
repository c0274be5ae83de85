// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "nodes/sync.h"

namespace lockstep::core {

/// A file to copy from byte `there` on. The bytes before are on the node already, verified.
struct SyncPiece {
    SyncFile file;
    std::int64_t there = 0;
};
struct SyncPlan {
    bool present = false; ///< the whole version is there
    std::vector<SyncPiece> missing;
    [[nodiscard]] double bytes() const; ///< to copy
};

struct Transfer {
    NodeShell &shell;
    const SyncSurvey &node;
    const SyncBundle &bundle;
    const SyncPlan &plan;
    std::function<void(double)> moved; ///< bytes so far
};

/// Why a step of a sync ended too soon. `what`: "comparing programs on ", before the node's name; `said`: by the program there.
[[nodiscard]] Error interrupted(const NodeShell &shell, const std::string &what, const std::string &said);
/// Whether rsync is on both sides and can use the connection.
[[nodiscard]] bool mayRsync(const NodeShell &shell, const SyncSurvey &node);
/// Returns the bytes that were sent. rsync finds changes within a file; an interrupted file is resumed.
[[nodiscard]] Result<double> sendByRsync(const Transfer &transfer);
/// The same with tar: whole files in one stream, then the rests of interrupted ones, appended.
[[nodiscard]] Result<double> sendByTar(const Transfer &transfer);

/// sha256 of a file's first bytes, as hex; empty if it can't be read.
[[nodiscard]] std::string beginningSha256(const std::string &file, std::int64_t bytes);

} // namespace lockstep::core
