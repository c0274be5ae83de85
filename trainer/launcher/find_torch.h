// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Where to look for PyTorch; tests pass their own places.
struct TorchPlaces {
    /// LOCKSTEP_TORCH: a site-packages folder or the torch folder in it; empty: try the others.
    std::string named;
    std::string imported;     ///< the torch folder that python3 would import; empty: none
    std::string own;          ///< the Python environment that `lockstepctl setup-torch` makes for this line of PyTorch
    std::string synced;       ///< the site-packages folder that `lockstepctl nodes sync` copied
    bool syncedFirst = false; ///< the sync wants its PyTorch preferred to others on this machine
};
/// The places for this process. Runs python3 unless LOCKSTEP_TORCH is set.
[[nodiscard]] TorchPlaces torchPlaces();

/// The torch folder to use: the first usable one in the order of TorchPlaces. The error says what was found instead,
/// and what to do.
[[nodiscard]] Result<std::string> findTorch(const TorchPlaces &places);
/// Folders of libtorch and of the libraries that came with it, in search order.
[[nodiscard]] std::vector<std::string> libraryFolders(const std::string &torch);

} // namespace lockstep::trainer
