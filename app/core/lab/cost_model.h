// SPDX-License-Identifier: MIT
#pragma once
// What a message costs. A model of one operation on a number of ranks: pieces ("regimes") of t = α + β·bytes, each fitted by least
// relative squares with α, β ≥ 0, and joined by straight lines in log-log between the last size of one and the first of the next.
// One line for all sizes is off by up to 40 %: small messages pay for wake-ups, large ones outgrow a cache. The number of pieces
// and their ends are chosen by leaving each size out in turn. Hockney's α-β model: R. Hockney, "The
// communication challenge for MPP", Parallel Computing 20 (1994). Pure functions; seconds and bytes.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::core {

struct TimePoint {
    double bytes = 0, seconds = 0; ///< both positive and finite
    bool operator==(const TimePoint &) const = default;
};

/// One piece: t = alphaS + betaSPerByte · bytes, from its first measured size to its last.
struct Regime {
    double fromBytes = 0, toBytes = 0;
    double alphaS = 0, betaSPerByte = 0;
    int points = 0;
    [[nodiscard]] double seconds(double bytes) const { return alphaS + betaSPerByte * bytes; }
    bool operator==(const Regime &) const = default;
};

class CostModel {
public:
    /// Absent with fewer than two sizes. Points that are not positive and finite are left out; the same size twice counts by
    /// its geometric mean. `pieces`: this number of pieces instead of choosing.
    [[nodiscard]] static std::optional<CostModel> fit(std::vector<TimePoint> points, std::optional<int> pieces = {});

    /// Beyond the measured sizes, the outermost regime is extended.
    [[nodiscard]] double seconds(double bytes) const;
    [[nodiscard]] const std::vector<Regime> &regimes() const { return m_regimes; }
    [[nodiscard]] double fromBytes() const { return m_regimes.front().fromBytes; }
    [[nodiscard]] double toBytes() const { return m_regimes.back().toBytes; }
    /// |predicted ÷ measured - 1| of the sizes left out in turn: median, and the one that 9 of 10 stay below. Absent with fewer
    /// than four sizes.
    [[nodiscard]] std::optional<double> crossErrorMedian() const { return m_crossMedian; }
    [[nodiscard]] std::optional<double> crossErrorMost() const { return m_crossMost; }

private:
    std::vector<Regime> m_regimes;
    std::optional<double> m_crossMedian, m_crossMost;
};

/// |predicted ÷ measured - 1|.
[[nodiscard]] double relativeError(double predicted, double measured);

struct Prediction {
    double seconds = 0, low = 0, high = 0;
    bool ranksMeasured = true; ///< else carried over from another number of ranks by the algorithm's own formula
    bool bytesMeasured = true; ///< else beyond the sizes that were measured
    bool operator==(const Prediction &) const = default;
};

/// The models of operations as they occur in training: means after work, not medians of back-to-back calls.
inline constexpr const char *inTraining = "all_reduce_in_training", *messageInTraining = "send_recv_in_training";
/// A message between two ranks, back to back; between two ranks on different nodes; and such a one as in training.
inline constexpr const char *pairOfRanks = "send_recv", *pairBetweenNodes = "send_recv_between_nodes",
                            *messageBetweenNodes = "send_recv_in_training_between_nodes";
/// The processor time of a rank in it.
inline constexpr const char *workInTraining = "all_reduce_work_in_training";

/// Models of all operations of a lab by name and ranks.
class CommunicationModel {
public:
    void add(const std::string &collective, int ranks, CostModel model);
    [[nodiscard]] const CostModel *find(const std::string &collective, int ranks) const;
    [[nodiscard]] bool empty() const { return m_models.empty(); }
    [[nodiscard]] std::vector<int> ranksOf(const std::string &collective) const; ///< measured, ascending

    /// Absent where the operation was not measured at all. One rank talks to nobody: 0 s. Other ranks than measured: N ranks
    /// of a ring are 2(N-1) steps of K/N bytes and each step costs what it cost the nearest measured N0, so
    /// t_N(K) = (N-1)/(N0-1) · t_N0(K·N0/N); a server's link carries N-1 messages of K: t_N(K) = (N-1)/(N0-1) · t_N0(K);
    /// a tree has ⌈log2 N⌉ levels; a message is between two ranks, however many there are. The interval is what sizes left
    /// out were missed by, ×÷1.5 where ranks were not measured.
    [[nodiscard]] std::optional<Prediction> predict(const std::string &collective, int ranks, double bytes) const;

private:
    std::map<std::string, std::map<int, CostModel>, std::less<>> m_models;
};

/// The published formulas with the measured time of one message of so many bytes for "the time to send K":
/// a parameter server T = 2(N-1)·p2p(K), a ring T = 2(N-1)·p2p(K/N).
[[nodiscard]] double serverFormulaS(const CostModel &pointToPoint, int ranks, double bytes);
[[nodiscard]] double ringFormulaS(const CostModel &pointToPoint, int ranks, double bytes);

} // namespace lockstep::core
