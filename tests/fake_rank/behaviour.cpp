// SPDX-License-Identifier: MIT
#include "tests/fake_rank/behaviour.h"

#include <cstdlib>
#include <sstream>

Behaviour Behaviour::fromEnvironment(int rank) {
    Behaviour behaviour;
    behaviour.read(std::getenv("FAKE_RANK"));
    behaviour.read(std::getenv(("FAKE_RANK_" + std::to_string(rank)).c_str()));
    return behaviour;
}

void Behaviour::read(const char *list) {
    std::istringstream entries(list ? list : "");
    for (std::string entry; std::getline(entries, entry, ';');) {
        const auto equals = entry.find('=');
        if (!entry.empty())
            m_values[entry.substr(0, equals)] = equals == std::string::npos ? "" : entry.substr(equals + 1);
    }
}

std::string Behaviour::text(const std::string &key) const {
    const auto found = m_values.find(key);
    return found == m_values.end() ? std::string() : found->second;
}

long Behaviour::number(const std::string &key, long otherwise) const {
    const std::string value = text(key);
    return value.empty() ? otherwise : std::atol(value.c_str());
}
