// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::trainer {

/// Finds the longest of many words that a text begins with: a trie as a double array (Aoe 1989), one look-up a byte.
class PieceTrie {
public:
    using Node = std::uint32_t;
    using Words = std::vector<std::pair<std::string_view, std::int32_t>>;
    static constexpr Node root = 0, none = ~Node{0};
    static constexpr std::int32_t noPiece = -1;

    /// Each word with its number, 0 or more; of equal words the last counts. An empty word is never found.
    explicit PieceTrie(Words words);

    /// Where a text leads from a node, or `none`.
    [[nodiscard]] Node step(Node from, char byte) const {
        const Node to = m_units[from].base ^ static_cast<unsigned char>(byte);
        return m_units[to].parent == from ? to : none;
    }
    [[nodiscard]] Node walk(Node from, std::string_view text) const;
    /// The number of the word that ends at this node, or `noPiece`.
    [[nodiscard]] std::int32_t piece(Node at) const { return m_units[at].piece; }

private:
    /// A node's child for a byte lies at base ^ byte, if that unit's parent is the node.
    struct Unit {
        Node base = 0;
        Node parent = none;
        std::int32_t piece = noPiece;
    };
    class Builder;

    std::vector<Unit> m_units;
};

} // namespace lockstep::trainer
