// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. Energy as JSON, for result.json and for a node's last message.
#include "ipc/document_keys_detail.h"
#include "ipc/run_folder.h"

namespace lockstep::documents {

template <class Keys, Is<Energy> E> void describe(Keys &keys, E &energy, const std::string &) {
    keys("nodes", energy.nodes);
    keys("gpus_j", energy.gpusJ);
    keys("gpus_s", energy.gpusS);
    keys("gpus_from", energy.gpusFrom);
    keys("gpus_unknown", energy.gpusUnknown);
    keys("packages_j", energy.packagesJ);
    keys("packages_s", energy.packagesS);
    keys("packages_unknown", energy.packagesUnknown);
    keys("packages_of", energy.packagesOf);
}

} // namespace lockstep::documents
