// SPDX-License-Identifier: MIT
// stacks: asks the ranks of a running script where they are, and prints what they answer.
#include <map>
#include <memory>

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QTimer>

#include "commands.h"
#include "follow/run_follower.h"
#include "ipc/printable.h"
#include "output.h"
#include "queue/named_places.h"
#include "store/run_store.h"

namespace lockstep::cli {
namespace {

constexpr int lookMs = 100, answerMs = 5000; ///< ranks answer with their next heartbeat, a second later at most

/// As resources/python/lockstep/stacks.py writes it, a log frame a line: "MainThread (1 of 3, 8 lines)", then its calls.
struct ThreadStack {
    int number = 0, of = 0, count = 0;
    std::vector<std::string> lines;
    [[nodiscard]] bool isWhole() const { return int(lines.size()) > count; }
};

std::optional<ThreadStack> headOf(const std::string &line) {
    ThreadStack out;
    const std::size_t bracket = line.rfind('(');
    if (bracket == std::string::npos || line.starts_with(' ') ||
        std::sscanf(line.c_str() + bracket, "(%d of %d, %d lines)", &out.number, &out.of, &out.count) != 3)
        return std::nullopt;
    return out;
}

/// Asks once the link is live, and ends when every rank has answered or none does any more.
class StacksJob : public QObject {
public:
    StacksJob(const std::string &run, bool all)
        : m_run(run), m_all(all), m_store(QString::fromStdString(run)),
          m_follower(&m_store, QString::fromStdString(run)) {
        connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
        connect(&m_follower, &core::RunFollower::ended, this, [this] { end(); });
    }
    int run() {
        m_limit.setRemainingTime(answerMs * 2);
        m_follower.start();
        m_timer.start(lookMs);
        return QCoreApplication::exec();
    }

private:
    void look() {
        if (!m_asked && m_store.lifecycle().link() == core::LinkState::Live) {
            m_seen = m_store.messages().consoleDropped() + m_store.messages().console().size();
            m_limit.setRemainingTime(answerMs);
            m_asked = true;
            if (auto asked = m_follower.requestStacks(QString::fromStdString(whoAsks())); !asked)
                return fail(asked.error());
            else
                m_request = std::move(*asked);
        }
        if (m_asked)
            take();
        if (m_limit.hasExpired() || isComplete())
            end();
    }
    void take() {
        const core::RunMessages &messages = m_store.messages();
        for (std::size_t i = 0; i < messages.console().size(); ++i) {
            const core::ConsoleLine &line = messages.console()[i];
            if (messages.consoleDropped() + i < m_seen || line.source != "stack" || !line.rank)
                continue;
            std::vector<ThreadStack> &stacks = m_stacks[*line.rank];
            if (auto head = headOf(line.message))
                stacks.push_back(std::move(*head));
            if (!stacks.empty())
                stacks.back().lines.push_back(line.message);
        }
        m_seen = messages.consoleDropped() + messages.console().size();
    }
    [[nodiscard]] bool isComplete() const {
        if (!m_asked || m_store.ranks().all().empty())
            return false;
        for (const auto &[rank, info] : m_store.ranks().all()) {
            const auto found = m_stacks.find(rank);
            const bool whole = found != m_stacks.end() && !found->second.empty() &&
                               found->second.back().number == found->second.back().of && found->second.back().isWhole();
            if (!info.exit && !whole)
                return false;
        }
        return true;
    }
    void fail(const Error &error) {
        m_timer.stop();
        QCoreApplication::exit(complain(error));
    }
    void end() {
        m_timer.stop();
        if (!m_asked)
            return QCoreApplication::exit(complain(
                Error::failed("run " + m_run + " does not run: " + m_store.lifecycle().sentence().toStdString())));
        std::string text;
        bool any = false;
        for (const auto &[rank, info] : m_store.ranks().all()) {
            const auto found = m_stacks.find(rank);
            any = any || found != m_stacks.end();
            text += "rank " + std::to_string(rank) + (info.host.empty() ? "" : " on " + info.host);
            if (found == m_stacks.end())
                text +=
                    info.exit
                        ? "  has ended"
                        : "  has not answered within 5 s: it reports by neither lockstep-trainer nor Lockstep's Python "
                          "package, or its process is stopped";
            else
                for (const ThreadStack &stack : found->second)
                    if (m_all || stack.number == 1)
                        for (const std::string &line : stack.lines)
                            text += "\n" + line;
            text += "\n";
        }
        print(text);
        QCoreApplication::exit(any ? Done : Failed);
    }

    std::string m_run;
    bool m_all;
    core::RunStore m_store;
    core::RunFollower m_follower;
    std::unique_ptr<core::Request> m_request;
    std::map<int, std::vector<ThreadStack>> m_stacks;
    std::uint64_t m_seen = 0; ///< console lines
    bool m_asked = false;
    QDeadlineTimer m_limit;
    QTimer m_timer;
};

} // namespace

int stacksCommand(const std::string &run, bool all) {
    if (!isRunId(run) || !isThere(runFolder(run).path))
        return complain(Error::badArgument("there is no run " + run.substr(0, 80), "lockstepctl list shows them"));
    if (const auto places = core::checkPlacesOf(run); !places)
        return complain(places.error());
    return StacksJob(run, all).run();
}

} // namespace lockstep::cli
