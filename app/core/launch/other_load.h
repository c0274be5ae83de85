#pragma once
#include <optional>
#include <string>

namespace lockstep::core {

/// What other programs take of this machine's cores, those that this process may use, from here on. Begin before children are
/// started and ask when they have ended: processor time of running ones would count as others'.
class OtherLoad {
public:
    OtherLoad();
    /// Processor time of others ÷ time passed: 1.5 is one core and a half. Interrupts count for nobody. Absent: unknown.
    [[nodiscard]] std::optional<double> cores() const;

private:
    struct Look {
        double atS = 0, ownS = 0;
        std::optional<double> busyS;
    };
    [[nodiscard]] static Look look();
    Look m_begun;
};

/// "Other programs took 1.3 cores of this machine meanwhile: …"; empty when unknown, or at most a tenth of a core.
[[nodiscard]] std::string otherLoadSentence(std::optional<double> cores, const std::string &what);

} // namespace lockstep::core
