#include "ipc/node_messages.h"

#include <array>
#include <utility>

#include "ipc/document_reader_detail.h"
#include "ipc/frames.h"
#include "ipc/machine_document_detail.h"

namespace lockstep {

namespace {

using documents::Json;
using What = NodeMessage::What;

constexpr std::string_view start = "{\"type\":\"node\",";
constexpr std::array<std::pair<What, std::string_view>, 15> names{{
    {What::Join, "join"},
    {What::Ack, "ack"},
    {What::Ping, "ping"},
    {What::Pong, "pong"},
    {What::Go, "go"},
    {What::Abort, "abort"},
    {What::Stop, "stop"},
    {What::Trace, "trace"},
    {What::Failed, "failed"},
    {What::Gone, "gone"},
    {What::Settle, "settle"},
    {What::Over, "over"},
    {What::TracePart, "trace_part"},
    {What::TraceKept, "trace_kept"},
    {What::End, "end"},
}};

std::string nameOf(What what) {
    for (const auto &[value, name] : names)
        if (value == what)
            return std::string(name);
    return {};
}

std::string lineOf(const NodeMessage &message) {
    documents::DocumentWriter out;
    out.put("type", std::string("node"))
        .put("what", nameOf(message.what))
        .put("processes", message.processes)
        .put("world_size", message.worldSize)
        .put("first_rank", message.firstRank)
        .put("master_addr", message.masterAddress)
        .put("master_port", message.masterPort)
        .put("exit_code", message.exitCode)
        .put("rank", message.rank)
        .put("code", message.code)
        .put("signal", message.signal)
        .put("state", message.state)
        .put("reason", message.reason)
        .put("by", message.by)
        .put("next_seq", message.nextSeq)
        .put("steps", message.steps)
        .put("number", message.number)
        .put("mono_ns", message.monoNs)
        .put("wall_us", message.wallUs)
        .put("restarts", message.restarts)
        .put("offset", message.offset)
        .put("total", message.total)
        .put("crc", message.crc)
        .put("text", message.text);
    if (message.peerLost)
        out.put("peer_lost", true);
    if (message.what == What::Join)
        out.put("shared", message.shared).put("devices", Json(message.devices));
    if (message.machine)
        out.put("machine", documents::fromMachine(*message.machine));
    return documents::line(out.take());
}

} // namespace

std::string encode(const NodeMessage &message) {
    std::string line = lineOf(message);
    if (line.size() < maxFrameBytes)
        return line;
    NodeMessage shorter = message; // the only parts of any length
    if (shorter.machine)
        shorter.machine->devices.clear();
    shorter.reason.resize(std::min<std::size_t>(shorter.reason.size(), 1024));
    return lineOf(shorter);
}

bool isNodeMessage(std::string_view line) {
    return line.starts_with(start);
}

Result<NodeMessage> decodeNodeMessage(std::string_view line) {
    if (line.size() >= maxFrameBytes)
        return fail(Error::failed("a message of " + std::to_string(line.size()) + " bytes is too long"));
    const auto object = documents::parseObject(line, "a node's message");
    if (!object)
        return fail(object.error());
    documents::DocumentReader reader(*object, "a node's message");
    NodeMessage message;
    std::string what;
    reader.get("what", what);
    bool known = false;
    for (const auto &[value, name] : names)
        if (name == what) {
            message.what = value;
            known = true;
        }
    if (!known)
        reader.mistake("what", "the name of a message");
    reader.get("processes", message.processes);
    reader.get("world_size", message.worldSize);
    reader.get("first_rank", message.firstRank);
    reader.get("master_addr", message.masterAddress);
    reader.get("master_port", message.masterPort);
    reader.get("exit_code", message.exitCode);
    reader.get("rank", message.rank);
    reader.get("code", message.code);
    reader.get("signal", message.signal);
    reader.get("state", message.state);
    reader.get("reason", message.reason);
    reader.get("by", message.by);
    reader.get("next_seq", message.nextSeq);
    reader.get("steps", message.steps);
    reader.get("number", message.number);
    reader.get("mono_ns", message.monoNs);
    reader.get("wall_us", message.wallUs);
    reader.get("restarts", message.restarts);
    reader.get("offset", message.offset);
    reader.get("total", message.total);
    reader.get("crc", message.crc);
    reader.get("text", message.text);
    reader.get("peer_lost", message.peerLost);
    reader.get("shared", message.shared);
    reader.get("devices", message.devices);
    if (const Json *machine = reader.object("machine")) {
        auto read = documents::toMachine(*machine, "a node's machine");
        if (!read)
            reader.adopt(read.error());
        else
            message.machine = std::move(*read);
    }
    return reader.finish(std::move(message));
}

} // namespace lockstep
