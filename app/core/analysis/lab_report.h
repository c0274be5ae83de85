#pragma once
// What a lab's rows amount to: the fit, how it predicts sizes that it never saw, and ring against server. Pure functions.
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost_model.h"
#include "store/lab_record.h"

namespace lockstep::core {

/// Models of every operation, made of the rows that are not held out.
[[nodiscard]] CommunicationModel fitLab(const LabRecord &record);

/// One operation on so many ranks.
struct LabFit {
    std::string collective;
    int ranks = 2;
    std::vector<Regime> regimes;
    int heldOut = 0;                                        ///< sizes never shown to the fit
    std::optional<double> heldOutMedianError, heldOutWorst; ///< |predicted ÷ measured - 1|
    std::optional<double> heldOutWorstBytes;
    std::optional<double> busbwMostBytesS; ///< the largest busbw measured
};
[[nodiscard]] std::vector<LabFit> labFits(const LabRecord &record, const CommunicationModel &model);

/// The two ways to sum up K on N ranks, by the published formulas and as measured. Seconds.
struct RingVersusServer {
    int ranks = 2;
    double bytes = 0;
    std::optional<double> ringFormulaS, ringMeasuredS, serverFormulaS, serverMeasuredS, backendMeasuredS;
};
/// At each of `bytes` (as near as was measured), for each number of ranks.
[[nodiscard]] std::vector<RingVersusServer> ringVersusServer(const LabRecord &record, const CommunicationModel &model,
                                                             const std::vector<double> &bytes);

/// "11 sweeps"; "11 to 22 sweeps" where ranks needed unlike many; "no rows".
[[nodiscard]] std::string sweepsText(const LabRecord &record);

/// What speaks against the lab's times, a sentence each: other programs that were busy meanwhile, ranks that shared cores.
[[nodiscard]] std::vector<std::string> labReservations(const LabRecord &record);

/// The formulas in words, for window, terminal and docs alike.
[[nodiscard]] std::string ringFormulaText();
[[nodiscard]] std::string serverFormulaText();

} // namespace lockstep::core
