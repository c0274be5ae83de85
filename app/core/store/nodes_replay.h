// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/run_folder.h"
#include "store/log_replay.h"

namespace lockstep::core {

/// Reads the logs of all nodes in a run's folder in slices, interleaved by time (corrected by the clock offsets in node 0's
/// log), each node's lines in their own order. Continues where it stopped: files may still grow, and further ones appear.
/// A file that is linked as several nodes' logs is that of the first.
class NodesReplay {
public:
    void open(const RunFolder &folder);
    /// Reads about 1 MiB more of each log, and of many logs less. False: there is no further whole line for now.
    bool slice(const std::function<void(std::string_view line, int node)> &onLine);

private:
    /// Lines that were read and not passed on yet.
    class Lines {
    public:
        void add(std::string_view line);
        void clear();
        [[nodiscard]] bool empty() const { return m_next == m_ends.size(); }
        [[nodiscard]] std::string_view front() const; ///< valid until the next add() or clear()
        [[nodiscard]] std::int64_t frontWallUs() const { return m_wallUs; }
        void pop();

    private:
        void read();
        std::string m_text;
        std::vector<std::uint32_t> m_ends; ///< in the text; a damaged log may have a million empty lines a mebibyte
        std::size_t m_next = 0;
        std::int64_t m_wallUs = 0; ///< of the front
    };
    struct Source {
        LogReplay replay;
        Lines lines;
        std::optional<double> offsetUs; ///< of its clock against node 0's; node 0: 0
        std::optional<double> frontUs;  ///< when its front was written by node 0's clock; absent: not in m_order
    };
    /// Whether the file is read already, as the log of another node: one copy is enough of what is linked often.
    bool isAnothers(const std::string &path, int node);
    /// Whether it read something.
    bool fill(Source &source) const;
    void order(int node, Source &source);
    void orderFilled(int node, Source &source);
    void learnOffset(std::string_view line);

    std::map<int, std::unique_ptr<Source>> m_sources;
    std::map<std::pair<dev_t, ino_t>, int> m_nodeOf; ///< each file's first node
    std::set<std::pair<double, int>> m_order;        ///< whose line is next: Source::frontUs, node
};

} // namespace lockstep::core
