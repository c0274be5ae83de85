// SPDX-License-Identifier: MIT
#include "ipc/alerts.h"

#include <utility>

namespace lockstep {

AlertFrame makeAlert(AlertName name, std::string message, std::optional<std::int64_t> step) {
    return {std::string(name.row().severity), std::string(name.row().kind), std::move(message), step};
}

bool isRestart(const AlertFrame &alert) {
    return alert.kind == ranksRestarted.row().kind;
}

std::string adviceFor(std::string_view kind) {
    const AlertKind *row = findAlert(kind);
    return row ? std::string(row->advice) : std::string();
}

} // namespace lockstep
