// SPDX-License-Identifier: MIT
#include "trainer/data/piece_trie.h"

#include <algorithm>
#include <string>

namespace lockstep::trainer {

/// Places node after node: free units are in a list, so that one with a single child, as most are, takes the first. One with more looks
/// through the newest units only: older ones are crowded, and looking through all of them again for each node would take their square.
class PieceTrie::Builder {
public:
    Builder(const Words &words, std::vector<Unit> &units) : m_words(words), m_units(units) {
        grow();
        take(root);
        m_units[root].parent = none - 1; // taken, but nothing leads there
    }

    void build() {
        std::vector<Group> open{{root, 0, m_words.size(), 0}};
        while (!open.empty()) {
            const Group group = open.back();
            open.pop_back();
            for (const Group &child : place(group))
                open.push_back(child);
        }
    }

private:
    /// The words [first, last) begin alike for `depth` bytes, and so lead to `node`.
    struct Group {
        Node node;
        std::size_t first, last, depth;
    };
    struct Link {
        Node before, after;
    };

    /// Gives the node's children units, and says which words each has.
    std::vector<Group> place(Group group) {
        for (; group.first < group.last && m_words[group.first].first.size() == group.depth; ++group.first)
            if (group.depth > 0)
                m_units[group.node].piece = m_words[group.first].second;
        std::vector<Group> children;
        std::string labels;
        for (std::size_t at = group.first; at < group.last; ++at) {
            const char label = m_words[at].first[group.depth];
            if (labels.empty() || labels.back() != label) {
                labels += label;
                children.push_back({0, at, at, group.depth + 1});
            }
            children.back().last = at + 1;
        }
        if (labels.empty())
            return children;
        const Node base = baseFor(labels);
        m_units[group.node].base = base;
        for (std::size_t child = 0; child < children.size(); ++child) {
            const Node unit = base ^ static_cast<unsigned char>(labels[child]);
            take(unit);
            m_units[unit].parent = group.node;
            children[child].node = unit;
        }
        return children;
    }

    /// One whose units for all these bytes are free.
    Node baseFor(const std::string &labels) {
        while (true) {
            for (Node free = labels.size() == 1 ? m_firstFree : m_firstSearched; free != none;
                 free = m_links[free].after) {
                const Node base = free ^ static_cast<unsigned char>(labels.front());
                if (std::all_of(labels.begin(), labels.end(), [this, base](char label) {
                        return m_units[base ^ static_cast<unsigned char>(label)].parent == none;
                    }))
                    return base;
            }
            grow();
        }
    }

    /// 256 more units: base ^ byte stays within the 256 of its base.
    void grow() {
        const auto old = static_cast<Node>(m_units.size());
        m_units.resize(old + 256);
        m_links.resize(old + 256);
        for (Node unit = old; unit < old + 256; ++unit) {
            m_links[unit] = {m_lastFree, none};
            (m_lastFree == none ? m_firstFree : m_links[m_lastFree].after) = unit;
            m_lastFree = unit;
        }
        if (m_firstSearched == none)
            m_firstSearched = old;
        while (m_firstSearched + searched < old + 256)
            m_firstSearched =
                m_links[m_firstSearched].after; // the list is in the units' order, and ends with the new ones
    }

    void take(Node unit) {
        const auto [before, after] = m_links[unit];
        (before == none ? m_firstFree : m_links[before].after) = after;
        (after == none ? m_lastFree : m_links[after].before) = before;
        if (unit == m_firstSearched)
            m_firstSearched = after;
    }

    const Words &m_words;
    std::vector<Unit> &m_units;
    std::vector<Link> m_links;
    static constexpr Node searched = 16 * 256; ///< how many of the newest units, free or not
    Node m_firstFree = none, m_lastFree = none, m_firstSearched = none;
};

PieceTrie::PieceTrie(Words words) {
    std::stable_sort(words.begin(), words.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    Builder(words, m_units).build();
}

PieceTrie::Node PieceTrie::walk(Node from, std::string_view text) const {
    for (std::size_t at = 0; at < text.size() && from != none; ++at)
        from = step(from, text[at]);
    return from;
}

} // namespace lockstep::trainer
