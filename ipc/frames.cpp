// SPDX-License-Identifier: MIT
#include "ipc/frames.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ipc/alerts.h"
#include "ipc/sound_values.h"

namespace lockstep {

namespace {
constexpr std::array<std::pair<RunState, std::string_view>, 7> stateNames{{
    {RunState::Init, "init"},
    {RunState::Training, "training"},
    {RunState::Evaluating, "evaluating"},
    {RunState::Checkpointing, "checkpointing"},
    {RunState::Done, "done"},
    {RunState::Failed, "failed"},
    {RunState::Stopped, "stopped"},
}};

// In the order of FrameBody's types.
constexpr std::array<std::string_view, std::variant_size_v<FrameBody> - 1> typeNames{
    "header", "state", "steps", "epoch", "eval", "device", "comm", "log", "alert", "heartbeat", "exit", "link"};
} // namespace

std::string_view toString(RunState state) {
    for (const auto &[value, name] : stateNames)
        if (value == state)
            return name;
    return "unknown";
}

void takeNew(std::map<std::string, std::string, std::less<>> &known,
             const std::map<std::string, std::string, std::less<>> &more, std::size_t most) {
    for (const auto &[key, value] : more) {
        if (known.size() >= most)
            return;
        known.try_emplace(key, value);
    }
}

bool keepsPhase(std::string_view name, std::size_t known) {
    return known < mostPhases || std::ranges::find(additivePhases(), name) != additivePhases().end();
}

std::int64_t wallUsOf(std::string_view line) {
    constexpr std::string_view key = "\"wall_us\"";
    const auto at = line.find(key); // among the first keys of every frame
    if (at == std::string_view::npos)
        return 0;
    line.remove_prefix(std::min(line.find_first_not_of(": ", at + key.size()), line.size())); // scripts write spaces
    std::int64_t wall = 0;
    std::from_chars(line.data(), line.data() + line.size(), wall);
    return wall;
}

std::optional<RunState> runStateFrom(std::string_view text) {
    for (const auto &[value, name] : stateNames)
        if (name == text)
            return value;
    return std::nullopt;
}

bool isFinal(RunState state) {
    return state == RunState::Done || state == RunState::Failed || state == RunState::Stopped;
}

const std::vector<std::string_view> &additivePhases() {
    static const std::vector<std::string_view> phases{phase::load,    phase::h2d,       phase::forward, phase::backward,
                                                      phase::exposed, phase::optimizer, phase::other};
    return phases;
}

std::optional<double> notFiniteIn(const LossWindow &loss) {
    for (const double value : {loss.mean, loss.last, loss.min, loss.max})
        if (!isFiniteValue(value))
            return value;
    return std::nullopt;
}

std::string_view typeOf(const Frame &frame) {
    if (const auto *unknown = std::get_if<UnknownFrame>(&frame.body))
        return unknown->type;
    return typeNames[frame.body.index()];
}

bool canBeOf(int node, const Frame &frame) {
    const std::string_view type = typeOf(frame);
    if (type == "header")
        return !frame.rank && frame.seq.value_or(0) == 0;
    if (type == "steps" || type == "epoch" || type == "eval" || type == "comm" || type == "exit")
        return frame.rank.has_value();
    if (type == "device")
        return !frame.rank;
    if (type == "link")
        return !frame.rank && node == 0;
    const auto *alert = std::get_if<AlertFrame>(&frame.body);
    return !alert || frame.rank || node == 0 || !isRestart(*alert);
}

std::string placeInWords(const RankPosition &at) {
    std::string text = at.step ? "step " + std::to_string(*at.step) : std::string();
    if (!at.phase.empty())
        text += (text.empty() ? "phase " : ", phase ") + at.phase;
    return text;
}

} // namespace lockstep
