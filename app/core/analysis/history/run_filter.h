// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <string>

#include <QString>

#include "ipc/error.h"
#include "store/run_index.h"

namespace lockstep::core {
struct RunColumn;

/// What is wrong with a filter, and where: characters from 0.
struct FilterMistake {
    qsizetype at = 0, length = 0;
    Error error;
    /// "at 12: there is no column …", counted from 1.
    [[nodiscard]] std::string message() const;
};

/// Which runs to show:
///   method=ddp devices>=2 accuracy>88%     columns of runColumns(), all of them true
///   training<2min memory>500MiB started>=2026-01-02
///   throughput>21,345                      digits may stand in groups; after = in quotes, since a comma parts values
///   devices=2..4   state=failed,stopped   name=DDP*   tag!=old   note~slow   accuracy=-   (- is unknown)
///   lenet "two words"                      words found in name, recipe, tags, note or id
///   (method=dp or method=ddp) not tag=old
/// = compares a number to as many digits as are given, and texts whatever the case. A value, cheap to copy; thread safe.
class RunFilter {
public:
    RunFilter() = default; ///< accepts every run
    /// `invented`: further columns that may be compared (inventedColumns()).
    [[nodiscard]] static tl::expected<RunFilter, FilterMistake> parse(const QString &line,
                                                                      std::span<const RunColumn> invented = {});
    [[nodiscard]] bool accepts(const IndexedRun &run) const;
    [[nodiscard]] bool empty() const { return !m_root; }

    struct Node; ///< of the expression's tree
private:
    std::shared_ptr<const Node> m_root;
};

} // namespace lockstep::core
