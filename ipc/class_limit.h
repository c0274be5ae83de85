// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace lockstep {

/// The most numbers in an eval frame's per_class_accuracy. Readers keep them for each epoch, and tables have a column for each class; of data
/// of more classes the accuracy over all is reported alone.
inline constexpr std::size_t mostClasses = 1000;
/// Bytes that are kept of a class's name, which heads a column.
inline constexpr std::size_t longestClassName = 64;

} // namespace lockstep
