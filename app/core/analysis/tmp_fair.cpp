#include "analysis/fairness.h"
namespace lockstep::core {
std::string_view toString(FairnessWeight w) { return w == FairnessWeight::Minor ? "minor" : w == FairnessWeight::Notable ? "notable" : "decisive"; }
std::vector<FairnessFinding> fairnessOf(const Cell &, const Cell &, const std::vector<std::string> &, const std::vector<Cell> &) { return {}; }
}
