// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::agent {

/// 128 random bits in hexadecimal digits.
[[nodiscard]] std::string makeToken();
/// Compares in constant time: how long it takes does not reveal how many characters match. An empty secret matches nothing.
[[nodiscard]] bool sameSecret(std::string_view secret, std::string_view given);

} // namespace lockstep::agent
