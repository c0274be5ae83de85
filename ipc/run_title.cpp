// SPDX-License-Identifier: MIT
#include "ipc/run_title.h"

#include <utility>

#include "ipc/printable.h"

namespace lockstep {
namespace {

constexpr std::string_view on = " on ", formerOn = " ×";

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// How many digits begin there.
std::size_t digitsAt(std::string_view text, std::size_t at) {
    std::size_t count = 0;
    while (at + count < text.size() && isDigit(text[at + count]))
        ++count;
    return count;
}

std::string devicesText(std::string_view count) {
    return std::string(count) + (count == "1" ? " device" : " devices");
}

/// Where a name says its devices, and the number among it; empty where it does not.
struct DevicesPart {
    std::string_view all, count;
};
DevicesPart devicesPartOf(std::string_view name) {
    for (std::size_t at = name.find(on); at != std::string_view::npos; at = name.find(on, at + 1)) {
        const std::size_t number = at + on.size();
        const std::string_view count = name.substr(number, digitsAt(name, number));
        const std::string said = devicesText(count);
        if (at > 0 && !count.empty() && name.substr(number).starts_with(said))
            return {name.substr(at, on.size() + said.size()), count};
    }
    return {};
}

/// With `before` the number of devices and `after` it instead of words; other names stay as they are.
std::string withoutWords(std::string_view name, std::string_view before, std::string_view after) {
    const DevicesPart part = devicesPartOf(name);
    std::string out(name);
    if (!part.all.empty())
        out.replace(std::size_t(part.all.data() - name.data()), part.all.size(),
                    std::string(before) + std::string(part.count) + std::string(after));
    return out;
}

} // namespace

std::string titleOn(std::string_view what, int devices) {
    return std::string(what) + std::string(on) + devicesText(std::to_string(devices));
}

std::string titleOf(const MethodSpec &method, int devices) {
    return method.severalDevices ? titleOn(method.title, devices) : std::string(method.title);
}

bool isTitledAs(std::string_view name, const MethodSpec &method) {
    if (!name.starts_with(method.title))
        return false;
    const std::string_view rest = name.substr(method.title.size());
    return rest.empty() || rest.starts_with(", ") || rest.starts_with(on);
}

std::string devicesIn(std::string_view name) {
    return std::string(devicesPartOf(name).all);
}

std::string shortTitle(std::string_view name) {
    return withoutWords(name, " (", ")");
}

std::string plainTitle(std::string_view name) {
    return withoutWords(name, " x", "");
}

std::string cutTitle(std::string name) {
    return cutUnlike(name, longestTitle);
}

std::string presentTitle(std::string name) {
    name = cutTitle(onOneLine(name));
    for (std::size_t at = name.find(formerOn); at != std::string::npos; at = name.find(formerOn, at + 1)) {
        const std::size_t number = at + formerOn.size(), digits = digitsAt(name, number), end = number + digits;
        if (at == 0 || !isLetter(name[at - 1]) || digits == 0 || (end < name.size() && isLetter(name[end])))
            continue; // a factor, or somebody's own word
        const bool backend = end + 1 < name.size() && name[end] == ' ' && isLetter(name[end + 1]);
        const std::string_view whole = name;
        name = std::string(whole.substr(0, at)) + std::string(on) + devicesText(whole.substr(number, digits)) +
               (backend ? "," : "") + std::string(whole.substr(end));
    }
    return cutTitle(std::move(name));
}

} // namespace lockstep
