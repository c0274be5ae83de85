// SPDX-License-Identifier: MIT
#pragma once
// Only for .cpp files: what is said of a script, as keys of a run in JSON.
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/script_claims.h"

namespace lockstep::core {

template <class Json> void putClaims(const ScriptClaims &claims, Json &json) {
    if (!claims.flags.empty())
        json["flags"] = claims.flags;
    if (claims.known)
        json["known"] = *claims.known;
}

/// Throws for a wrong type, as json.at() does.
template <class Json> [[nodiscard]] ScriptClaims claimsIn(const Json &json) {
    ScriptClaims claims;
    if (json.contains("flags"))
        claims.flags = json.at("flags").template get<std::map<std::string, std::string>>();
    if (json.contains("known"))
        claims.known = json.at("known").template get<std::vector<std::string>>();
    return claims;
}

} // namespace lockstep::core
