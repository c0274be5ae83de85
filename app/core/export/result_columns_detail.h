#pragma once
// The columns of the result table, the same in every format. Inside core/export only: it speaks JSON.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/result_table.h"
#include "export/report.h"
#include "ipc/json_or_null.h"

namespace lockstep::core {

using Json = nlohmann::ordered_json;

struct ResultColumn {
    const char *key;  ///< CSV head and JSON key, with its unit
    const char *head; ///< for people
    std::function<Json(const ResultRow &)> value;
    int percentDigits = -1;                                  ///< people read a share in %
    TextColumns least = TextColumns::Paper;                  ///< the narrowest table it is in
    std::function<std::string(const ResultRow &)> text = {}; ///< for people, where the value alone does not say it
};

[[nodiscard]] const std::vector<ResultColumn> &resultColumns();
/// As people read it: three significant digits, "-" when unknown.
[[nodiscard]] std::string peopleText(const ResultRow &row, const ResultColumn &column);

[[nodiscard]] std::string joined(const std::vector<std::string> &texts); ///< with "; "

} // namespace lockstep::core
