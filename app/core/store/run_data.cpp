#include "store/run_data.h"

namespace lockstep::core {

std::string_view toString(LinkState state) {
    switch (state) {
    case LinkState::Idle:
        return "not followed";
    case LinkState::Replaying:
        return "reading the log";
    case LinkState::Connecting:
        return "connecting";
    case LinkState::Live:
        return "live";
    case LinkState::Lost:
        return "link lost, training state unknown";
    case LinkState::Finished:
        return "finished";
    case LinkState::AgentDied:
        return "failed: agent died";
    case LinkState::Failed:
        return "can't be read";
    }
    return "";
}

} // namespace lockstep::core
