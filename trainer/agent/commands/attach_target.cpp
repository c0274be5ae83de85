// SPDX-License-Identifier: MIT
#include "trainer/agent/commands/attach_target.h"

#include <chrono>
#include <filesystem>
#include <thread>

namespace lockstep::agent {

Result<AttachTarget> AttachTarget::find(const std::string &runId) {
    AttachTarget target;
    std::error_code ignored;
    if (isRunId(runId))
        target.folder = runFolder(runId);
    if (target.folder.path.empty() || !std::filesystem::exists(target.folder.config(), ignored))
        return fail(Error::badArgument("there is no run '" + runId + "' in " + runsFolder(),
                                       "lockstepctl list shows the runs there are"));
    constexpr auto patience = std::chrono::seconds(5);
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const auto path = runSocketPath(runId, ownNode(target.folder));
        if (!path)
            return fail(path.error());
        if (auto socket = connectUnix(*path, false)) {
            target.socket = std::move(*socket);
            return target;
        }
        const bool alive = FileLock::isHeld(target.folder.lock(ownNode(target.folder)));
        const bool ended = std::filesystem::exists(target.folder.result(), ignored);
        if (!alive || ended || std::chrono::steady_clock::now() > until)
            return target;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

} // namespace lockstep::agent
