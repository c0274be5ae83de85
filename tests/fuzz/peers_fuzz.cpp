// SPDX-License-Identifier: MIT
// What an agent hears from another node: the messages of the link, those of discovery and its file, and bytes that claim to be TLS.
#include <nlohmann/json.hpp>

#include "ipc/node_messages.h"
#include "tests/fuzz/target.h"
#include "trainer/agent/net/tls_session.h"
#include "trainer/agent/nodes/discovery_file.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace lockstep::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view bytes = textOf(data, size);
    static_cast<void>(isNodeMessage(bytes));
    requireStable(bytes, decodeNodeMessage, [](const NodeMessage &message) { return encode(message); });
    const DiscoveryJson line = decodeDiscoveryLine(bytes);
    static_cast<void>(textOf(line, "what"));
    static_cast<void>(numberOf(line, "node"));
    for (const auto side : {TlsSession::Side::Server, TlsSession::Side::Client}) {
        TlsSession session(side, "20260101T000000Z-0badcafe", "a secret");
        std::string plain, outgoing;
        session.send("what nobody may read");
        for (const std::string_view part : {bytes.substr(0, size / 2), bytes.substr(size / 2)})
            if (const Result<void> taken = session.receive(part, plain); !taken) {
                requireOneSentence(taken.error());
                break;
            }
        session.takeOutgoing(outgoing);
        require(!session.established() && plain.empty());
        require(outgoing.find("nobody") == std::string::npos);
    }
    return 0;
}
