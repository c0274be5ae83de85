// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace lockstep::core {

/// How a table changes to other rows with the least effect on a view: selection and scroll position stay.
struct RowPlan {
    enum class Kind {
        Singly,  ///< few rows are inserted or removed, the others keep their order
        Reorder, ///< the same rows in another order
        Reset    ///< too much changes: the model is reset
    };
    Kind kind = Kind::Reset;
    std::vector<int> to; ///< the new position of each current row; -1: removed
};

/// The identity of the row at a position: equal before and after for the same subject.
using RowKey = std::function<std::string(std::size_t row)>;

[[nodiscard]] RowPlan planRows(std::size_t had, const RowKey &keyBefore, std::size_t has, const RowKey &keyAfter);

} // namespace lockstep::core
