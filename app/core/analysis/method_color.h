#pragma once
#include <string_view>

namespace lockstep::core {

/// "#0072B2": colour says method, in the window and in every export, and is colour-blind safe (Okabe-Ito). `method` is a
/// config's name; others get the baseline's grey.
[[nodiscard]] std::string_view methodColorName(std::string_view method);

} // namespace lockstep::core
