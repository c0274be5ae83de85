// SPDX-License-Identifier: MIT
#pragma once
// What follows from a lab's rows: the fit, its error at sizes that it never saw, and ring against server. Pure functions.
#include <optional>
#include <string>
#include <vector>

#include "lab/cost_model.h"
#include "lab/lab_record.h"

namespace lockstep::core {

/// Models of every operation, fitted to the rows that are not held out.
[[nodiscard]] CommunicationModel fitLab(const LabRecord &record);

/// One operation on a number of ranks.
struct LabFit {
    std::string collective;
    int ranks = 2;
    int partner = 1; ///< as LabRow::partner
    std::vector<Regime> regimes;
    int heldOut = 0;                                        ///< sizes never shown to the fit
    std::optional<double> heldOutMedianError, heldOutWorst; ///< |predicted ÷ measured - 1|
    std::optional<double> heldOutWorstBytes;
    std::optional<double> busbwMostBytesS; ///< the largest busbw measured
};
/// What a message between two ranks costs, in a lab between nodes: between ranks of different nodes. Null: it was not measured. Valid as long
/// as the model.
[[nodiscard]] const CostModel *costOfMessages(const LabRecord &record, const CommunicationModel &model);
[[nodiscard]] std::vector<LabFit> labFits(const LabRecord &record, const CommunicationModel &model);

/// All-reduce of K on N ranks by ring and by server, by the published formulas and as measured. Seconds.
struct RingVersusServer {
    int ranks = 2;
    double bytes = 0;
    std::optional<double> ringFormulaS, ringMeasuredS, serverFormulaS, serverMeasuredS, backendMeasuredS;
};
/// At each of `bytes` (as near as was measured), for each number of ranks.
[[nodiscard]] std::vector<RingVersusServer> ringVersusServer(const LabRecord &record, const CommunicationModel &model,
                                                             const std::vector<double> &bytes);

/// "11 sweeps"; "11 to 22 sweeps" where the number differs by ranks; "no rows".
[[nodiscard]] std::string sweepsText(const LabRecord &record);

/// Under which of Linux' policies the ranks' threads were scheduled: "usual scheduling" of "other", "batch scheduling".
[[nodiscard]] std::string schedulingText(const LabRecord &record);

/// Reasons to doubt the lab's times, a sentence each: other programs were busy meanwhile, ranks shared cores. `here`: this machine.
[[nodiscard]] std::vector<std::string> labReservations(const LabRecord &record, const MachineName &here);
/// And to doubt a forecast of such runs by it: it was measured elsewhere, or with other devices.
[[nodiscard]] std::vector<std::string> labReservationsFor(const RunConfig &config, const LabRecord &record,
                                                          const MachineName &here);

/// The formulas as text, the same for window, terminal and documents.
[[nodiscard]] std::string ringFormulaText();
[[nodiscard]] std::string serverFormulaText();
/// What the formulas' letters stand for.
[[nodiscard]] std::string formulaLettersText();

} // namespace lockstep::core
