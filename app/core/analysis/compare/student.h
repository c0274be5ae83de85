// SPDX-License-Identifier: MIT
#pragma once
// Student's t distribution. Pure functions; `degrees` above 0 and not necessarily whole.

namespace lockstep::core {

/// Student's t below which a share of 1 - (1 - confidence)/2 lies: 0.95 and 4 degrees give 2.776. `confidence` from 0 to
/// below 1; to some 1e-12.
[[nodiscard]] double studentQuantile(double confidence, double degrees);

/// The share of Student's t outside -t..t.
[[nodiscard]] double studentTails(double t, double degrees);

} // namespace lockstep::core
