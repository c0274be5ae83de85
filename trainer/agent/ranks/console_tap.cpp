// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/console_tap.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "ipc/clock.h"
#include "ipc/printable.h"

namespace lockstep::agent {

namespace {
constexpr std::size_t longestLine = 4096;
constexpr std::size_t readSize = 65536;
/// How many reads finish() and drain() do at most, so that a process that floods its output cannot hold up the loop.
constexpr int mostReads = 64;

/// Length of the valid UTF-8 character at the start; 0 if there is none.
std::size_t characterLength(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xC2 && first < 0xE0 ? 2
                               : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) || (first == 0xF0 && byte(1) < 0x90) ||
        (first == 0xF4 && byte(1) >= 0x90))
        return 0;
    return length;
}

/// Length of the terminal escape sequence at the start, which begins with ESC.
std::size_t escapeLength(std::string_view text) {
    if (text.size() < 2)
        return 1;
    if (text[1] == ']') { // operating system command: ends with BEL or ESC backslash
        for (std::size_t i = 2; i < text.size(); ++i)
            if (text[i] == '\a' || (text[i] == '\\' && text[i - 1] == '\x1b'))
                return i + 1;
        return text.size();
    }
    if (text[1] != '[')
        return 2;
    std::size_t i = 2;
    while (i < text.size() && !(text[i] >= '@' && text[i] <= '~'))
        ++i;
    return i < text.size() ? i + 1 : i;
}

constexpr std::string_view tapBlanks = " \t", tapDigits = "0123456789";

/// A letter, a digit, or a character of any other script.
bool hasWords(std::string_view line) {
    return std::ranges::any_of(line, [](unsigned char c) { return c >= 0x80 || std::isalnum(c); });
}

std::string trimmed(std::string_view line) {
    const auto first = line.find_first_not_of(tapBlanks);
    return std::string(line.substr(first, line.find_last_not_of(tapBlanks) - first + 1));
}

/// "W1130 12:00:00 …", with or without the bracket and the rank before it.
bool isLoggedWarning(std::string_view line) {
    if (constexpr std::string_view rank = "[rank"; line.starts_with(rank))
        line.remove_prefix(std::min(line.size(), line.find("]:") + 2));
    line.remove_prefix(line.starts_with('[') ? 1 : 0);
    constexpr std::size_t monthAndDay = 4;
    return line.starts_with('W') && line.find_first_not_of(tapDigits, 1) == 1 + monthAndDay &&
           line[1 + monthAndDay] == ' ';
}
} // namespace

/// Python's has the place, the category and the message, with ": " between them.
bool isWarning(std::string_view line) {
    if (isLoggedWarning(line))
        return true;
    const auto end = line.find("Warning: ");
    const auto colon = end == std::string_view::npos ? end : line.rfind(": ", end);
    if (colon == std::string_view::npos || line.substr(colon + 2, end - colon - 2).find(' ') != std::string_view::npos)
        return false;
    const std::string_view place = line.substr(0, colon);
    const auto number = place.find_last_not_of(tapDigits);
    return number != std::string_view::npos && number + 1 < place.size() && place[number] == ':';
}

std::string cleanLine(std::string_view raw) {
    while (!raw.empty() && (raw.back() == '\r' || raw.back() == '\n'))
        raw.remove_suffix(1);
    if (const auto redrawn = raw.rfind('\r'); redrawn != std::string_view::npos)
        raw.remove_prefix(redrawn + 1);
    std::string clean;
    while (!raw.empty()) {
        if (clean.size() >= longestLine) {
            clean += "…";
            break;
        }
        if (raw.front() == '\x1b') {
            raw.remove_prefix(escapeLength(raw));
            continue;
        }
        const std::size_t length = characterLength(raw);
        if (length == 0)
            clean += "\xEF\xBF\xBD";
        else if (length > 1)
            clean += printable(raw.substr(0, length));
        else if (raw.front() == '\t' || (raw.front() >= 0x20 && raw.front() != 0x7f))
            clean += raw.front();
        raw.remove_prefix(length == 0 ? 1 : length);
    }
    return clean;
}

ConsoleTap::ConsoleTap(EventLoop &loop, LogDisk &disk, std::string path, Fd out, Fd err, OnLine onLine, OnLine onEvery)
    : m_loop(loop), m_path(std::move(path)), m_disk(disk),
      m_file(disk.openText(m_path)), m_out{Stream::Out, std::move(out), 0, {}}, m_err{Stream::Err,
                                                                                      std::move(err),
                                                                                      0,
                                                                                      {}},
      m_onLine(std::move(onLine)), m_onEvery(std::move(onEvery)) {
    for (Source *source : {&m_out, &m_err})
        source->token = m_loop.watch(source->fd.get(), EPOLLIN, [this, source](std::uint32_t) { readOnce(*source); });
    m_timer = m_loop.every(std::chrono::seconds(1), [this] { flushLeftOut(); });
}

ConsoleTap::~ConsoleTap() {
    m_loop.cancel(m_timer);
    close(m_out);
    close(m_err);
    m_disk.retry(m_file);
}

void ConsoleTap::close(Source &source) {
    m_loop.unwatch(source.token);
    source.fd.close();
}

bool ConsoleTap::readOnce(Source &source) {
    if (!source.fd.valid())
        return false;
    char buffer[readSize];
    const ssize_t n = ::read(source.fd.get(), buffer, sizeof buffer);
    if (n > 0) {
        take(source, {buffer, static_cast<std::size_t>(n)});
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close(source);
    return false;
}

void ConsoleTap::take(Source &source, std::string_view bytes) {
    m_disk.write(m_file, std::string(bytes));
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
        source.partial.append(bytes.substr(0, end));
        takeLine(source.stream, source.partial);
        source.partial.clear();
        bytes.remove_prefix(end + 1);
    }
    source.partial.append(bytes);
    if (source.partial.size() > 2 * readSize) { // a very long line is cut, so that memory stays bounded
        takeLine(source.stream, source.partial);
        source.partial.clear();
    }
}

void ConsoleTap::takeLine(Stream stream, std::string_view raw) {
    const std::string line = cleanLine(raw);
    noteWords(stream, line);
    m_onEvery(stream, line);
    if (m_linesThisSecond < linesPerSecond) {
        ++m_linesThisSecond;
        m_onLine(stream, line);
    } else {
        ++m_leftOut;
    }
}

void ConsoleTap::noteWords(Stream stream, const std::string &line) {
    if (!hasWords(line))
        return;
    const bool isError = stream == Stream::Err;
    if (isError && isWarning(line)) {
        m_beforeWarning = m_last;
        return;
    }
    if (isError && m_beforeWarning && (line.front() == ' ' || line.front() == '\t')) {
        m_last =
            *std::exchange(m_beforeWarning, std::nullopt); // further lines of the warning's text were none of these
        return;
    }
    m_last.line = trimmed(line);
    if (isError) {
        m_last.errorLine = m_last.line;
        m_last.errorNs = SystemClock().monoNs();
    } else if (m_beforeWarning) {
        m_beforeWarning->line = m_last.line;
    }
}

void ConsoleTap::flushLeftOut() {
    m_linesThisSecond = 0;
    m_disk.retry(m_file);
    if (m_leftOut == 0)
        return;
    const auto name = m_path.substr(m_path.rfind('/', m_path.rfind('/') - 1) + 1);
    m_onLine(Stream::Out, std::to_string(m_leftOut) + (m_leftOut == 1 ? " line" : " lines") + " more in " + name);
    m_leftOut = 0;
}

void ConsoleTap::appendText(std::string_view line) {
    for (Source *source : {&m_out, &m_err}) // once: a pipe holds no more than readSize
        readOnce(*source);
    m_disk.write(m_file, std::string(line) + "\n");
}

void ConsoleTap::drain() {
    for (Source *source : {&m_out, &m_err})
        for (int reads = 0; reads < mostReads && readOnce(*source); ++reads) {
        }
}

void ConsoleTap::finish() {
    drain();
    for (Source *source : {&m_out, &m_err}) {
        if (!source->partial.empty())
            takeLine(source->stream, std::exchange(source->partial, {}));
        close(*source);
    }
    flushLeftOut();
    m_loop.cancel(m_timer);
}

} // namespace lockstep::agent
