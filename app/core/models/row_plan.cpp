// SPDX-License-Identifier: MIT
#include "models/row_plan.h"

#include <algorithm>
#include <unordered_map>

namespace lockstep::core {
namespace {

constexpr std::size_t mostSingly = 64; ///< rows that are inserted or removed one by one; each costs a view a layout

} // namespace

RowPlan planRows(std::size_t had, const RowKey &keyBefore, std::size_t has, const RowKey &keyAfter) {
    RowPlan plan;
    if (std::max(had, has) - std::min(had, has) > mostSingly)
        return plan;
    std::unordered_map<std::string, int> places;
    for (std::size_t i = 0; i < has; ++i)
        places.emplace(keyAfter(i), int(i));
    plan.to.assign(had, -1);
    std::size_t kept = 0;
    int last = -1;
    bool inOrder = true;
    for (std::size_t i = 0; i < had; ++i) {
        const auto found = places.find(keyBefore(i));
        if (found == places.end())
            continue;
        plan.to[i] = found->second;
        inOrder = inOrder && found->second > last;
        last = found->second;
        ++kept;
    }
    if (inOrder && had - kept <= mostSingly && has - kept <= mostSingly)
        plan.kind = RowPlan::Kind::Singly;
    else if (kept == had && kept == has)
        plan.kind = RowPlan::Kind::Reorder;
    return plan;
}

} // namespace lockstep::core
