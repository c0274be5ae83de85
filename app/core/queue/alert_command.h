// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

#include "follow/alert_feed.h"
#include "ipc/error.h"

namespace lockstep::core {

/// The environment variable that holds the person's own command for alerts; the queue's owner runs it (alertCommand()).
inline constexpr char alertCommandVariable[] = "LOCKSTEP_ON_ALERT";

/// For this process and those that it starts; empty: theirs stays.
void setAlertCommand(const std::string &command);

/// Of this process's environment; empty: none. It never comes from a run's folder, an experiment or a recipe.
[[nodiscard]] QString alertCommand();

/// Starts `/bin/sh -c command`, by itself and with nothing on its stdin, and does not wait for it. What happened is in its
/// environment, since a rank chooses the words: LOCKSTEP_ALERT (one sentence), LOCKSTEP_ALERT_KIND, _SEVERITY, _RUN (id), _TITLE and
/// _ADVICE.
[[nodiscard]] Result<void> startAlertCommand(const QString &command, const RaisedAlert &raised);

/// A feed for whose alerts the command is started; `parent` owns it.
[[nodiscard]] AlertFeed *feedOfAlertCommand(const QString &command, QObject *parent);

} // namespace lockstep::core
