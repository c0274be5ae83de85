// SPDX-License-Identifier: MIT
#include "ipc/messages.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "ipc/frames.h"
#include "ipc/json_writer.h"
#include "ipc/printable.h"

namespace lockstep {

namespace {

using nlohmann::json;

/// A peer's sentence, as far as it is passed on: it ends on a terminal.
std::string passedOn(std::string_view text) {
    constexpr std::size_t longest = 500;
    return onOneLine(printable(validUtf8(text.substr(0, utf8Boundary(text, longest)))));
}

std::string inQuotes(std::string_view text) {
    return "\"" + passedOn(text.substr(0, 80)) + "\"";
}

/// Parses the object on a line and checks its type. An error line from the peer becomes that error.
Result<json> parseMessage(std::string_view line, std::string_view type) {
    if (line.size() >= maxFrameBytes)
        return fail(Error::failed("a line of " + std::to_string(line.size()) + " bytes is no " + std::string(type)));
    // Bound the nesting before parsing: no message of ours is deeper than one object.
    std::size_t depth = 0;
    const auto shallow = [&](int, json::parse_event_t event, json &) {
        if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start)
            ++depth;
        return depth <= 16;
    };
    const json object = json::parse(line.begin(), line.end(), shallow, false);
    if (!object.is_object() || !object.contains("type") || !object["type"].is_string())
        return fail(Error::failed("expected a " + std::string(type) + ", got " + inQuotes(line)));
    const auto &got = object["type"].get_ref<const std::string &>();
    if (got == "error" && type != "error") {
        const auto message = object.find("message");
        return fail(Error::failed(message != object.end() && message->is_string()
                                      ? passedOn(message->get<std::string>())
                                      : "the peer refused"));
    }
    if (got != type)
        return fail(Error::failed("expected a " + std::string(type) + ", got a " + inQuotes(got)));
    return object;
}

std::string textOf(const json &object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

template <class T> Result<void> readNumber(const json &object, const char *key, std::optional<T> &value) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null())
        return {};
    const bool whole = found->is_number_unsigned() &&
                       found->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (!whole)
        return fail(Error::failed(std::string("the key \"") + key + "\" should be a whole number from 0 on"));
    value = found->get<T>();
    return {};
}

Result<void> readSeqs(const json &object, Hello &hello) {
    const auto found = object.find("next_seqs");
    if (found == object.end() || found->is_null())
        return {};
    const auto wrong = [] { return fail(Error::failed("the key \"next_seqs\" should hold whole numbers by node")); };
    if (!found->is_object())
        return wrong();
    hello.nextSeqs.emplace();
    for (const auto &[key, value] : found->items()) {
        int node = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), node);
        if (error != std::errc{} || end != key.data() + key.size() || node < 0 || !value.is_number_unsigned())
            return wrong();
        (*hello.nextSeqs)[node] = value.get<std::uint64_t>();
    }
    return {};
}

Result<void> readVersion(const std::string &text, Hello &hello) {
    const auto dot = text.find('.');
    const auto read = [&](std::size_t from, std::size_t to, int &number) {
        const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, number);
        return error == std::errc{} && end == text.data() + to && number >= 0;
    };
    if (dot == std::string::npos || !read(0, dot, hello.major) || !read(dot + 1, text.size(), hello.minor))
        return fail(Error::failed("a hello's protocol " + inQuotes(text) + " should look like 1.0"));
    if (hello.major == protocolMajor)
        return {};
    const bool theirsIsNewer = hello.major > protocolMajor;
    return fail(Error::failed("the peer speaks protocol " + text + ", this side " + std::to_string(protocolMajor) +
                                  "." + std::to_string(protocolMinor),
                              std::string("upgrade Lockstep on ") + (theirsIsNewer ? "this side" : "the peer's side")));
}

} // namespace

std::string encode(const Hello &hello) {
    JsonWriter out;
    out.beginObject()
        .field("type", "hello")
        .field("protocol", std::to_string(hello.major) + "." + std::to_string(hello.minor))
        .field("role", hello.role);
    if (!hello.run.empty())
        out.field("run", hello.run);
    if (hello.rank)
        out.field("rank", *hello.rank);
    if (hello.node)
        out.field("node", *hello.node);
    out.field("next_seq", hello.nextSeq);
    if (hello.nextSeqs) {
        out.key("next_seqs").beginObject();
        for (const auto &[node, seq] : *hello.nextSeqs)
            out.field(std::to_string(node), seq);
        out.endObject();
    }
    if (!hello.token.empty())
        out.field("token", hello.token);
    if (hello.pid)
        out.field("pid", *hello.pid);
    if (!hello.name.empty())
        out.field("name", hello.name);
    if (hello.ownsQueue)
        out.field("owns_queue", true);
    if (hello.role == "agent")
        out.field("live", hello.live);
    if (!hello.agent.empty())
        out.field("agent", hello.agent);
    if (hello.ranksStarted)
        out.field("ranks_started", true);
    if (!hello.refused.empty())
        out.field("refused", hello.refused);
    out.endObject();
    return out.take();
}

std::string encode(const Control &control) {
    JsonWriter out;
    out.beginObject().field("type", "control").field("command", control.command).field("by", control.by);
    if (control.steps)
        out.field("steps", *control.steps);
    out.endObject();
    return out.take();
}

std::string encodeProtocolError(std::string_view message) {
    JsonWriter out;
    out.beginObject().field("type", "error").field("message", message).endObject();
    return out.take();
}

Result<Hello> decodeHello(std::string_view line) {
    auto object = parseMessage(line, "hello");
    if (!object)
        return fail(object.error());
    Hello hello;
    if (auto version = readVersion(textOf(*object, "protocol"), hello); !version)
        return fail(version.error());
    hello.role = textOf(*object, "role");
    if (hello.role != "rank" && hello.role != "follower" && hello.role != "agent")
        return fail(Error::failed("a hello's role " + inQuotes(hello.role) + " should be rank, follower or agent"));
    std::optional<std::uint64_t> nextSeq;
    for (const auto &read : {readNumber(*object, "rank", hello.rank), readNumber(*object, "node", hello.node),
                             readNumber(*object, "pid", hello.pid), readNumber(*object, "next_seq", nextSeq)})
        if (!read)
            return fail(read.error());
    if (hello.role == "rank" && !hello.rank)
        return fail(Error::failed("a rank's hello should say its rank"));
    hello.nextSeq = nextSeq.value_or(0);
    hello.run = textOf(*object, "run");
    hello.name = textOf(*object, "name");
    hello.token = textOf(*object, "token");
    if (auto read = readSeqs(*object, hello); !read)
        return fail(read.error());
    const auto isTrue = [&](const char *key) {
        const auto found = object->find(key);
        return found != object->end() && found->is_boolean() && found->get<bool>();
    };
    hello.live = isTrue("live");
    hello.ownsQueue = isTrue("owns_queue");
    hello.ranksStarted = isTrue("ranks_started");
    hello.agent = textOf(*object, "agent");
    hello.refused = passedOn(textOf(*object, "refused"));
    return hello;
}

std::string shortAsker(std::string by) {
    by.resize(utf8Boundary(by, longestAsker));
    return by;
}

Result<Control> decodeControl(std::string_view line) {
    auto object = parseMessage(line, "control");
    if (!object)
        return fail(object.error());
    Control control{textOf(*object, "command"), shortAsker(textOf(*object, "by")), {}};
    if (auto read = readNumber(*object, "steps", control.steps); !read)
        return fail(read.error());
    if (control.command.empty())
        return fail(Error::failed("a control line should name its command"));
    return control;
}

} // namespace lockstep
