// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <torch/types.h>

namespace lockstep::trainer {

/// Texts as tokens that lie one after another: a long text among short ones takes no more room than it has tokens. Any number of
/// threads may read.
class PackedTexts {
public:
    explicit PackedTexts(std::int32_t padding = 0) : m_padding(padding) {}
    /// All texts of the parts, which have the same padding, in their order.
    [[nodiscard]] static PackedTexts joined(std::vector<PackedTexts> parts);

    void add(std::span<const std::int32_t> tokens);

    [[nodiscard]] bool empty() const { return m_lengths.empty(); }
    /// The tokens of one text, good until the next add().
    [[nodiscard]] std::span<const std::int32_t> operator[](std::int64_t text) const;
    /// How many tokens each text has.
    [[nodiscard]] std::span<const std::int64_t> lengths() const { return m_lengths; }
    [[nodiscard]] std::int64_t longest() const { return m_longest; }
    [[nodiscard]] std::size_t tokens() const { return m_tokens.size(); } ///< of all texts
    [[nodiscard]] std::int32_t padding() const { return m_padding; }

    /// The chosen texts as int64 [texts, width], filled up with the padding. None of them may be longer than `width`.
    [[nodiscard]] torch::Tensor padded(std::span<const std::int64_t> texts, std::int64_t width,
                                       const torch::TensorOptions &options = {}) const;

private:
    std::int32_t m_padding;
    std::int64_t m_longest = 0;
    std::vector<std::int32_t> m_tokens;
    std::vector<std::int64_t> m_begins, m_lengths; ///< of each text
};

} // namespace lockstep::trainer
