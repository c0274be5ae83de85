// SPDX-License-Identifier: MIT
#pragma once
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::trainer {

/// The parameters of each bucket, by their places among all.
using BucketOrder = std::vector<std::vector<std::size_t>>;

/// Reads Strategy::bucketOrder(), "4,3;2,1,0"; of an empty text no buckets. Absent: it is no such list.
[[nodiscard]] inline std::optional<BucketOrder> parseBucketOrder(std::string_view text) {
    BucketOrder buckets;
    for (bool begins = true; !text.empty();) {
        std::size_t parameter = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parameter);
        if (error != std::errc())
            return std::nullopt;
        if (begins)
            buckets.emplace_back();
        buckets.back().push_back(parameter);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.empty())
            return buckets;
        begins = text.front() == ';';
        if ((!begins && text.front() != ',') || text.size() == 1)
            return std::nullopt;
        text.remove_prefix(1);
    }
    return buckets;
}

} // namespace lockstep::trainer
