// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep::core {

/// A lab's or a forecast's record at most. The largest lab that can be measured has 14 MiB and 460,000 values.
inline constexpr std::uint64_t largestRecordFile = 16 << 20;
inline constexpr std::size_t mostRecordValues = 500'000;

/// The first bytes of FOLDER/ID.json, or all if it is shorter. The record's first member is `idKey`, its id: a file that was
/// copied or linked to another name is an error, since it may be large and there may be many.
[[nodiscard]] Result<std::string> readRecordBeginning(const std::string &folder, std::string_view idKey,
                                                      const std::string &id);
/// The whole text, of at most largestRecordFile bytes. Fails as above.
[[nodiscard]] Result<std::string> readRecordFile(const std::string &folder, std::string_view idKey,
                                                 const std::string &id);

} // namespace lockstep::core
