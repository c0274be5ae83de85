// SPDX-License-Identifier: MIT
#pragma once
// What a window has asked of a queue, as the queue's owner would find it.
#include "queue/queue_request.h"

namespace lockstep::test {

inline std::vector<core::QueueRequest> takeRequests(const core::ExperimentFolder &folder) {
    std::vector<core::QueueRequest> requests;
    for (const core::PendingRequest &pending : core::pendingRequests(folder)) {
        requests.push_back(pending.request);
        core::forgetRequest(folder, pending.name);
    }
    return requests;
}

} // namespace lockstep::test
