// SPDX-License-Identifier: MIT
#pragma once
// The differences between the lines of PyTorch that the trainer supports. No other file tests PyTorch's version.
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <torch/version.h>

#define LOCKSTEP_TORCH_SINCE(major, minor)                                                                             \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace lockstep::trainer {

/// Whether TCPStore's libuv server can listen on a given socket. In older versions only the older server can.
inline constexpr bool libuvTakesListener = LOCKSTEP_TORCH_SINCE(2, 11);

/// A reducer for dense gradients, all of which are used. Gradients are views of the buckets.
inline std::shared_ptr<c10d::Reducer> makeReducer(std::vector<at::Tensor> parameters,
                                                  std::vector<std::vector<std::size_t>> buckets,
                                                  c10::intrusive_ptr<c10d::ProcessGroup> group, std::int64_t capBytes,
                                                  std::int64_t firstCapBytes,
                                                  std::unordered_map<std::size_t, std::string> names) {
    std::vector<bool> sparse(parameters.size(), false);
    return std::make_shared<c10d::Reducer>(std::move(parameters), std::move(buckets), std::move(group),
                                           std::move(sparse), capBytes, /*find_unused_parameters=*/false,
                                           /*gradient_as_bucket_view=*/true, std::move(names), firstCapBytes
#if LOCKSTEP_TORCH_SINCE(2, 11)
                                           ,
                                           /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
                                           std::vector<std::int64_t>{}
#endif
    );
}

} // namespace lockstep::trainer
