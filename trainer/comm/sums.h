// SPDX-License-Identifier: MIT
#pragma once
// Ways to add a buffer up over the ranks by sends and receives alone. Strategies train with them and the lab measures them.
#include <cstdint>
#include <functional>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace lockstep::trainer {

/// Called after each transfer of a sum that consists of steps; `name` lives forever.
using OnTransfer =
    std::function<void(const char *name, std::int64_t startNs, std::int64_t endNs, std::int64_t sentBytes)>;

/// As a synchronous parameter server does it, in place. Rank 0 is the server: every other rank sends it its K bytes, it adds them in
/// rank order, so that the sum is the same each time, and sends the sum back. Its one link carries 2(N-1)K; each link of a ring
/// carries 2(N-1)/N·K. `arriving`: of the same shape, used by the server. Waits; throws what c10d throws.
void sumThroughServer(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag);

/// As a ring does it, in place: each rank sends to the next one and receives from the one before, a share of K/N bytes at a time.
/// N-1 steps of reduce-scatter leave each rank with one share of the sum, N-1 steps of all-gather pass the shares on (Patarasuk and
/// Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). A share of 512 KiB or more on CPUs leaves in up to
/// four segments, each a transfer of its own, which are added up and passed on one by one. `arriving`: holds at least one share,
/// ringShare() numbers. All ranks end with the same bits. Waits; throws what c10d throws.
void sumAroundRing(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag,
                   const OnTransfer &onTransfer = {});

/// Numbers in a share of a buffer with so many; the last shares may be shorter, or empty.
[[nodiscard]] std::int64_t ringShare(std::int64_t numbers, int ranks);

} // namespace lockstep::trainer
