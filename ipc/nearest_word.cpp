// SPDX-License-Identifier: MIT
#include "ipc/nearest_word.h"

#include <algorithm>
#include <utility>

namespace lockstep {

std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
        }
    }
    return row[b.size()];
}

std::string nearestWord(std::string_view word, const std::vector<std::string> &known) {
    std::string best;
    std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 2) + 1;
    for (const std::string &candidate : known) {
        if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= bestDistance)
            continue; // that many letters must be put in or left out: a name of megabytes is compared with none
        if (const std::size_t distance = editDistance(word, candidate); distance < bestDistance) {
            bestDistance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string meantWord(const std::string &near, std::string_view mark, std::string_view otherwise) {
    return near.empty() ? std::string(otherwise) : "did you mean " + std::string(mark) + near + std::string(mark) + "?";
}

} // namespace lockstep
