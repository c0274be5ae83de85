// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/run_folder.h"
#include "store/log_replay.h"

namespace lockstep::core {

/// Reads the logs of all nodes in a run's folder in slices, interleaved by time (corrected by the clock offsets in node 0's
/// log), each node's lines in their own order. Continues where it stopped: files may still grow, and further ones appear.
class NodesReplay {
public:
    void open(const RunFolder &folder);
    /// Reads about 1 MiB more. False: there is no further whole line for now.
    bool slice(const std::function<void(std::string_view line, int node)> &onLine);

private:
    struct Source {
        LogReplay replay;
        std::deque<std::string> lines;
        std::optional<double> offsetUs; ///< of its clock against node 0's; node 0: 0
    };
    /// Whether it read something.
    static bool fill(Source &source);
    [[nodiscard]] Source *earliest();
    void learnOffset(std::string_view line);

    std::map<int, std::unique_ptr<Source>> m_sources;
};

} // namespace lockstep::core
