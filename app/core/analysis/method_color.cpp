#include "analysis/method_color.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::core {

std::string_view methodColorName(std::string_view method) {
    using Named = std::pair<std::string_view, std::string_view>;
    static constexpr std::array<Named, 6> colors = {{{"baseline", "#6B7280"},
                                                     {"dp", "#E69F00"},
                                                     {"ddp", "#0072B2"},
                                                     {"ps-sync", "#8B5CF6"},
                                                     {"ps-async", "#8B5CF6"},
                                                     {"pipeline", "#009E73"}}};
    const auto *const found = std::ranges::find(colors, method, &Named::first);
    return found == colors.end() ? colors.front().second : found->second;
}

} // namespace lockstep::core
