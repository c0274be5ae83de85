// SPDX-License-Identifier: MIT
#include "ipc/node_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ipc/document_keys_detail.h"
#include "ipc/energy_document_detail.h"
#include "ipc/frames.h"
#include "ipc/json_writer.h"
#include "ipc/machine_document_detail.h"
#include "ipc/messages.h"
#include "ipc/sound_values.h"
#include "ipc/surroundings_document_detail.h"

namespace lockstep {

namespace {

using What = NodeMessage::What;

constexpr std::string_view start = "{\"type\":\"node\",";
constexpr std::array<std::pair<What, std::string_view>, 16> names{{
    {What::Join, "join"},
    {What::Ack, "ack"},
    {What::Ping, "ping"},
    {What::Pong, "pong"},
    {What::Go, "go"},
    {What::Abort, "abort"},
    {What::Stop, "stop"},
    {What::Trace, "trace"},
    {What::Stacks, "stacks"},
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

} // namespace

namespace documents {

void nameOfMessage(WritingKeys &keys, What what) {
    keys("type", std::string("node"));
    keys("what", nameOf(what));
}
void nameOfMessage(ReadingKeys &keys, What &what) {
    std::string wanted;
    keys("what", wanted);
    const auto found = std::ranges::find(names, wanted, [](const auto &entry) { return entry.second; });
    if (found != names.end())
        what = found->first;
    else
        keys.reader().mistake("what", "the name of a message");
}

void machineOfMessage(WritingKeys &keys, const std::optional<MachineRecord> &machine) {
    if (machine)
        keys("machine", fromMachine(*machine));
}
void machineOfMessage(ReadingKeys &keys, std::optional<MachineRecord> &machine) {
    const Json *found = keys.reader().object("machine");
    if (!found)
        return;
    auto read = toMachine(*found, "a node's machine");
    if (read)
        machine = std::move(*read);
    else
        keys.reader().adopt(read.error());
}

template <class Keys, Is<NodeMessage> M> void describe(Keys &keys, M &message, const std::string &) {
    nameOfMessage(keys, message.what);
    keys("processes", message.processes);
    keys("world_size", message.worldSize);
    keys("first_rank", message.firstRank);
    keys("master_addr", message.masterAddress);
    keys("master_port", message.masterPort);
    keys("exit_code", message.exitCode);
    keys("rank", message.rank);
    keys("code", message.code);
    keys("signal", message.signal);
    keys("state", message.state);
    keys("reason", message.reason);
    keys("by", message.by);
    keys("next_seq", message.nextSeq);
    keys("steps", message.steps);
    keys("number", message.number);
    keys("mono_ns", message.monoNs);
    keys("wall_us", message.wallUs);
    keys("restarts", message.restarts);
    keys("epochs", message.epochs);
    keys("offset", message.offset);
    keys("total", message.total);
    keys("crc", message.crc);
    keys("text", message.text);
    keys.sparse("peer_lost", message.peerLost);
    if (std::same_as<Keys, ReadingKeys> || message.what == What::Join) {
        keys("shared", message.shared);
        keys("devices", message.devices);
    }
    machineOfMessage(keys, message.machine);
    keys.object("energy", message.energy, "a node's energy");
    keys.object("surroundings", message.surroundings, "a node's surroundings");
    keys.object("watching", message.watching, "a node's watching");
}

} // namespace documents

namespace {

std::string lineOf(const NodeMessage &message) {
    return documents::line(documents::WritingKeys::written(message));
}

} // namespace

std::string encode(const NodeMessage &message) {
    std::string line = lineOf(message);
    if (line.size() < maxFrameBytes)
        return line;
    NodeMessage shorter = message; // these are the only parts that may be long
    if (shorter.machine)
        shorter.machine->devices.clear();
    shorter.reason.resize(utf8Boundary(shorter.reason, longestReason));
    return lineOf(shorter);
}

namespace {

/// Agents compute with what was made before a start, and every reader of the log with what comes of it.
Result<void> checkMade(const NodeMessage &message) {
    const std::int64_t epochs = message.epochs.value_or(0), steps = message.steps.value_or(0);
    if (message.what != What::Gone && message.what != What::Go)
        return {};
    if (epochs >= 0 && epochs <= highestEpoch && steps >= 0 && steps <= mostCounted)
        return {};
    return fail(Error::failed("a node's message '" + nameOf(message.what) + "' says that " + std::to_string(epochs) +
                              " epochs and " + std::to_string(steps) + " steps were made, which no run can have"));
}

} // namespace

bool isNodeMessage(std::string_view line) {
    return line.starts_with(start);
}

Result<NodeMessage> decodeNodeMessage(std::string_view line) {
    if (line.size() >= maxFrameBytes)
        return fail(Error::failed("a message of " + std::to_string(line.size()) + " bytes is too long"));
    const auto object = documents::parseObject(line, "a node's message");
    if (!object)
        return fail(object.error());
    auto message = documents::toObject<NodeMessage>(*object, "a node's message", documents::UnknownKeys::Ignore);
    if (message) {
        if (const auto sound = checkMade(*message); !sound)
            return fail(sound.error());
        message->by = shortAsker(std::move(message->by));
        message->reason.resize(utf8Boundary(message->reason, longestReason));
    }
    return message;
}

} // namespace lockstep
