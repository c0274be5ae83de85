// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace lockstep {

/// The two clocks that every frame carries. It is an interface, so that tests can fake time. Thread safe.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual std::int64_t monoNs() const = 0; ///< CLOCK_MONOTONIC, nanoseconds
    [[nodiscard]] virtual std::int64_t wallUs() const = 0; ///< CLOCK_REALTIME, microseconds since the Unix epoch
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] std::int64_t monoNs() const override;
    [[nodiscard]] std::int64_t wallUs() const override;
};

} // namespace lockstep
