// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace lockstep::core {

/// How a table goes over to other rows in the way that disturbs a view least: a selection and the scroll position stay.
struct RowPlan {
    enum class Kind {
        Singly,  ///< few rows come or go, the others keep their order
        Reorder, ///< the same rows in another order
        Reset    ///< so much changes that a view had better start anew
    };
    Kind kind = Kind::Reset;
    std::vector<int> to; ///< where each present row goes; -1: nowhere
};

/// What a row speaks of, by its place: equal before and after for the same thing.
using RowKey = std::function<std::string(std::size_t row)>;

[[nodiscard]] RowPlan planRows(std::size_t had, const RowKey &keyBefore, std::size_t has, const RowKey &keyAfter);

} // namespace lockstep::core
