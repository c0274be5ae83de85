// SPDX-License-Identifier: MIT
#include "app/ui/shell/request_words.h"

#include <QObject>
#include <QStringList>

#include "queue/experiment_follower.h"

namespace lockstep::ui {
namespace {

/// Where its runs are asked, or its queue.
QString hostOf(const core::ExperimentFollower &follower) {
    return follower.queueHost().isEmpty() ? QString::fromStdString(follower.experiment().host) : follower.queueHost();
}

} // namespace

QString idOf(const core::ExperimentFollower &follower) {
    return QString::fromStdString(follower.experiment().id);
}

QString namedOn(const QString &name, const QString &host) {
    return host.isEmpty() ? name : QObject::tr("%1 on %2").arg(name, host);
}

QString currentsOf(const core::ExperimentFollower &follower) {
    QStringList names;
    for (const int current : follower.experiment().currents())
        names << QString::fromStdString(follower.experiment().entries[std::size_t(current)].planned.name);
    names.removeDuplicates();
    const QString title = QString::fromStdString(follower.experiment().title);
    return namedOn(names.isEmpty() ? title : names.join(QStringLiteral(" | ")), hostOf(follower));
}

QString sentenceOf(const core::QueueRequest &request, const core::ExperimentFollower &follower) {
    using Kind = core::QueueRequest::Kind;
    const auto &entries = follower.experiment().entries;
    const bool known = request.entry >= 0 && request.entry < int(entries.size());
    const QString run = namedOn(
        known ? QString::fromStdString(entries[std::size_t(request.entry)].planned.name) : QString(), hostOf(follower));
    const QString queue = namedOn(QObject::tr("the queue"), follower.queueHost());
    switch (request.kind) {
    case Kind::Stop:
        return QObject::tr("Stopping %1…").arg(currentsOf(follower));
    case Kind::Pause:
        return QObject::tr("Pausing %1…").arg(queue);
    case Kind::Resume:
        return QObject::tr("Resuming %1…").arg(queue);
    case Kind::Skip:
        return QObject::tr("Skipping %1…").arg(run);
    case Kind::Retry:
        return QObject::tr("Queueing %1 again…").arg(run);
    case Kind::Move:
        return QObject::tr("Moving %1…").arg(run);
    case Kind::Add:
    case Kind::Repeat:
        return QObject::tr("Adding to %1…").arg(queue);
    }
    return {};
}

} // namespace lockstep::ui
