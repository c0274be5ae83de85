// SPDX-License-Identifier: MIT
#pragma once
// The Nodes page's table, from the doctor's snapshot: the same figures as `lockstepctl doctor` prints.
#include "models/cell_table_model.h"
#include "nodes/doctor_snapshot.h"

namespace lockstep::core {

/// One row and one column per node: bandwidth and round trip from the row's node to the column's; "-": not measured.
[[nodiscard]] CellTable linkTable(const DoctorSnapshot &snapshot);

} // namespace lockstep::core
