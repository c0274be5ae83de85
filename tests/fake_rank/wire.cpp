// SPDX-License-Identifier: MIT
#include "tests/fake_rank/wire.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "ipc/clock.h"
#include "ipc/messages.h"

using namespace lockstep;

void Wire::open(bool hello) {
    const char *address = std::getenv("LOCKSTEP_FRAMES");
    const std::string text = address ? address : "";
    if (!text.starts_with("unix:"))
        return;
    auto fd = connectUnix(text.substr(5), false);
    if (!fd)
        return;
    m_fd = std::move(*fd);
    if (!hello)
        return;
    Hello words;
    words.role = "rank";
    words.rank = m_rank;
    words.pid = ::getpid();
    sendRaw(encode(words));
}

void Wire::send(FrameBody body) {
    const SystemClock clock;
    Frame frame;
    frame.rank = m_rank;
    frame.rseq = m_rseq++;
    frame.monoNs = clock.monoNs();
    frame.wallUs = clock.wallUs();
    frame.body = std::move(body);
    std::string line = encode(frame);
    if (m_blanks)
        line.insert(line.find(':') + 1, " ");
    sendRaw(line);
    if (!m_tallyFolder.empty() && m_fd.valid())
        tally(frame.monoNs);
}

void Wire::tally(std::int64_t monoNs) {
    if (!m_tally.valid()) {
        const std::string path = m_tallyFolder + "/" + std::to_string(::getpid()) + "-" + std::to_string(monoNs);
        m_tally = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
    if (::write(m_tally.get(), &monoNs, sizeof monoNs) < 0)
        std::abort();
}

void Wire::sendRaw(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    std::string_view left = text;
    while (m_fd.valid() && !left.empty()) {
        const ssize_t n = ::send(m_fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return m_fd.close(); // the agent has closed: train on without it
        left.remove_prefix(static_cast<std::size_t>(n));
    }
}

bool Wire::stopAsked() {
    char buffer[4096];
    while (m_fd.valid()) {
        const ssize_t n = ::recv(m_fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n <= 0)
            break;
        (void)m_framer.feed({buffer, static_cast<std::size_t>(n)}, [this](std::string_view line) {
            const auto control = decodeControl(line);
            m_stop = m_stop || (control && control->command == "stop");
        });
    }
    return m_stop;
}
