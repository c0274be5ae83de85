// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Where a PyTorch is looked for; tests name their own places.
struct TorchPlaces {
    std::string named;        ///< LOCKSTEP_TORCH: a site-packages folder or the torch folder in it; empty: look on
    std::string imported;     ///< the torch folder that python3 imports; empty: none
    std::string own;          ///< what `lockstepctl setup-torch` makes for this line of PyTorch: a Python environment
    std::string synced;       ///< what `lockstepctl nodes sync` brought: a site-packages folder
    bool syncedFirst = false; ///< whoever synced wants that one rather than another that is here
};
/// This process's: asks python3 unless one is named.
[[nodiscard]] TorchPlaces torchPlaces();

/// The torch folder to use, in the order of TorchPlaces. The error names what was found instead and the way out.
[[nodiscard]] Result<std::string> findTorch(const TorchPlaces &places);
/// Folders of libtorch and of the libraries that came beside it, in the order they are searched.
[[nodiscard]] std::vector<std::string> libraryFolders(const std::string &torch);

} // namespace lockstep::trainer
