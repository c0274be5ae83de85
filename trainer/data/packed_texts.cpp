// SPDX-License-Identifier: MIT
#include "trainer/data/packed_texts.h"

#include <algorithm>

#include <torch/torch.h>

namespace lockstep::trainer {

PackedTexts PackedTexts::joined(std::vector<PackedTexts> parts) {
    PackedTexts all(parts.empty() ? 0 : parts.front().m_padding);
    std::size_t tokens = 0, texts = 0;
    for (const PackedTexts &part : parts) {
        tokens += part.m_tokens.size();
        texts += part.m_lengths.size();
    }
    all.m_tokens.reserve(tokens);
    all.m_begins.reserve(texts);
    all.m_lengths.reserve(texts);
    for (PackedTexts &part : parts) {
        for (std::int64_t text = 0; text < std::ssize(part.m_lengths); ++text)
            all.add(part[text]);
        part = PackedTexts(); // its memory is free for the rest
    }
    return all;
}

void PackedTexts::add(std::span<const std::int32_t> tokens) {
    m_begins.push_back(std::ssize(m_tokens));
    m_lengths.push_back(std::ssize(tokens));
    m_longest = std::max(m_longest, m_lengths.back());
    m_tokens.insert(m_tokens.end(), tokens.begin(), tokens.end());
}

std::span<const std::int32_t> PackedTexts::operator[](std::int64_t text) const {
    const auto number = static_cast<std::size_t>(text);
    return std::span(m_tokens).subspan(static_cast<std::size_t>(m_begins[number]),
                                       static_cast<std::size_t>(m_lengths[number]));
}

torch::Tensor PackedTexts::padded(std::span<const std::int64_t> texts, std::int64_t width,
                                  const torch::TensorOptions &options) const {
    auto rows = torch::empty({std::ssize(texts), width}, options.dtype(torch::kInt64));
    auto *out = rows.data_ptr<std::int64_t>();
    for (const std::int64_t text : texts) {
        const auto tokens = (*this)[text];
        out = std::copy(tokens.begin(), tokens.end(), out);
        out = std::fill_n(out, width - std::ssize(tokens), std::int64_t{m_padding});
    }
    return rows;
}

} // namespace lockstep::trainer
