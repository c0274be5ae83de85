// SPDX-License-Identifier: MIT
#include "trainer/agent/net/secrets.h"

#include <sys/random.h>

#include <cstdint>
#include <random>

#include "ipc/crc32c.h"

namespace lockstep::agent {

std::string makeToken() {
    std::string token;
    for (int i = 0; i < 4; ++i) {
        std::uint32_t random = 0;
        if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
            random = std::random_device{}();
        token += crcText(random);
    }
    return token;
}

bool sameSecret(std::string_view secret, std::string_view given) {
    if (secret.empty() || secret.size() != given.size())
        return false;
    unsigned different = 0;
    for (std::size_t i = 0; i < secret.size(); ++i)
        different |= static_cast<unsigned char>(secret[i]) ^ static_cast<unsigned char>(given[i]);
    return different == 0;
}

} // namespace lockstep::agent
