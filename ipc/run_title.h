// SPDX-License-Identifier: MIT
#pragma once
// How runs are named. A name begins with the method and its devices: "baseline", "DDP on 2 devices". What else distinguishes runs follows
// after commas. "×" stands for factors alone, never for a number of devices.
#include <cstddef>
#include <string>
#include <string_view>

#include "ipc/methods.h"

namespace lockstep {

/// "DDP on 2 devices", "server on 1 device"; `what` is a method's title or a script's own word.
[[nodiscard]] std::string titleOn(std::string_view what, int devices);
/// "baseline" for a method that has one device whatever is there, else "DDP on 2 devices".
[[nodiscard]] std::string titleOf(const MethodSpec &method, int devices);
/// Whether a run of this name may be one of that method's that nobody named: "DDP on 2 devices, 4 workers", whatever the number is.
[[nodiscard]] bool isTitledAs(std::string_view name, const MethodSpec &method);

/// The part of a name that says its devices, " on 2 devices"; empty where it says none.
[[nodiscard]] std::string devicesIn(std::string_view name);
/// The name where space is short, in charts: "DDP (2), 4 workers" for "DDP on 2 devices, 4 workers". Other names stay as they are.
[[nodiscard]] std::string shortTitle(std::string_view name);
/// The name for names of files and jobs, in which few characters are allowed: "DDP x2, 4 workers". Every version has named them so.
[[nodiscard]] std::string plainTitle(std::string_view name);
/// Bytes that are kept of a run's name: more than anybody reads, and few enough to lay out and to repeat in each sentence about the run.
inline constexpr std::size_t longestTitle = 400;
/// A longer name without its middle, in longestTitle bytes. A checksum of all of it stands there, so that unlike names stay unlike.
[[nodiscard]] std::string cutTitle(std::string name);
/// A name that an older version gave, as it is given now: "DDP ×2 gloo" is "DDP on 2 devices, gloo". Every document is read with it. Cut by cutTitle().
[[nodiscard]] std::string presentTitle(std::string name);

} // namespace lockstep
