// SPDX-License-Identifier: MIT
#pragma once
// A lab's measurements on disk: dataHome()/labs/ID.json, one JSON object, written whole at the end. ID as a run's.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/placement.h"
#include "store/run_index.h"

namespace lockstep::core {

/// One operation at one size on a number of ranks: medians over sweeps, as lockstep-trainer lab reports them.
struct LabRow {
    std::string collective; ///< send_recv, all_reduce, ring_all_reduce, …
    int ranks = 2;
    double bytes = 0;
    bool heldOut = false; ///< measured to check a fit, and kept out of it
    int sweeps = 0, repeats = 0;
    double medianS = 0, minS = 0, p90S = 0;
    double algbwBytesS = 0, busbwBytesS = 0; ///< nccl-tests' definitions
    double meanS = 0;                        ///< stalls included; 0: unknown
    std::optional<double> cpuS = {}; ///< processor time of one operation on the rank that uses most; absent: unknown
    int partner = 1;                 ///< of point to point: the rank with which rank 0 exchanges messages
    bool operator==(const LabRow &) const = default;
};

struct LabRecord {
    std::string id, host, cpuModel, backend, device, scheduling, lockstepVersion;
    std::int64_t startWallUs = 0;
    double durationS = 0;
    int coresPerDevice = 1, threads = 1, cores = 0; ///< cores: physical cores of the machine; 0: unknown
    bool quick = false, oversubscribed = false;
    std::optional<double>
        otherCores; ///< cores that other programs used on this machine meanwhile, on average; absent: unknown
    std::vector<NodePlace> nodes; ///< between whose devices it was measured; empty: those of `host`
    std::vector<LabRow> rows;
    std::vector<std::string> leftOut;    ///< sentences: "all-reduce, 2 ranks: from 8.0 MiB on, …"
    std::vector<std::string> notOffered; ///< sentences: "reduce_scatter, 2 ranks: …"
    std::vector<std::string> notRun;     ///< sentences: "nccl: needs a GPU a rank, this machine has none"
    bool operator==(const LabRecord &) const = default;
};

inline constexpr const char *messageAfterWork = "send_recv_after_work"; ///< a collective's name

/// "send_recv" → "point to point", "ring_all_reduce" → "our ring", …; an unknown name as it is.
[[nodiscard]] std::string collectiveTitle(const std::string &collective);

[[nodiscard]] std::string labsFolder(); ///< dataHome()/labs
[[nodiscard]] std::string toJson(const LabRecord &record);
/// Refuses one with many times the rows or values that a lab of ours has. Leaves out rows of earlier versions that measured nothing.
[[nodiscard]] Result<LabRecord> labRecordFromJson(std::string_view text);
/// Refuses a line where the record is as large as any of ours may be, or that is longer than any of ours.
[[nodiscard]] Result<void> checkLabRoom(const LabRecord &record, std::string_view line);
/// Adds a line that `lockstep-trainer lab` wrote: a row, an operation that is not offered, or the head. Other lines change
/// nothing; a damaged one, or one
/// that checkLabRoom() refuses, is an error.
[[nodiscard]] Result<void> takeLabLine(LabRecord &record, std::string_view line);
[[nodiscard]] Result<void> writeLab(const LabRecord &record);
/// Refuses a file that doesn't begin with that id.
[[nodiscard]] Result<LabRecord> readLab(const std::string &id);
/// Newest first; files with other names are ignored.
[[nodiscard]] std::vector<std::string> listLabs();
inline constexpr std::size_t mostLabsSearched = 100; ///< the newest
/// The newest that can be read and is wanted, among mostLabsSearched; absent: none. `wanted` may look at what stands before a record's
/// lists only, since it is first asked without them: most records needn't be read further. The search ends after 16 MiB
/// that were parsed in vain.
[[nodiscard]] std::optional<LabRecord> newestLabThat(const std::function<bool(const LabRecord &)> &wanted);
/// The newest that can be read; absent: none.
[[nodiscard]] std::optional<LabRecord> newestLab();
/// The newest that was measured between these places (placesOf()), empty: on a single machine, on this one if there is any; absent: none.
[[nodiscard]] std::optional<LabRecord> newestLabOf(const std::vector<NodePlace> &nodes);
/// The newest of such labs for runs of that config, without nodes of its kind of device (nodes say their own). Before others comes one of
/// this machine, of these one whose ranks had cores of their own, and of these one with as many cores a device.
[[nodiscard]] std::optional<LabRecord> newestLabFor(const RunConfig &config);
/// "on hostX", "between hostA%eth0:0 and hostB%bond0:0"
[[nodiscard]] std::string whereMeasured(const LabRecord &record);
/// "The lab was measured on hostX (Xeon 8592+), not here."; empty: it was measured on `here`, or between nodes.
[[nodiscard]] std::string measuredElsewhere(const LabRecord &record, const MachineName &here);

} // namespace lockstep::core
