// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <QObject>

#include "base/command_prefix.h"
#include "experiment/experiment.h"
#include "ipc/error.h"

class QProcess;

namespace lockstep::core {

/// Asks the agent whether it can start the experiment's scripts: placeholders, files and Python modules. Returns the
/// chosen Pythons ("/usr/bin/python3 (found by PATH)"). Without scripts it returns at once. Blocks up to
/// a minute: not for the GUI thread.
[[nodiscard]] tl::expected<std::vector<std::string>, std::vector<Error>> checkScripts(const CommandPrefix &prefix,
                                                                                      const Experiment &experiment);

/// By command: why it can't start here; empty: it can.
using ScriptTroubles = std::map<std::vector<std::string>, std::string>;

/// The same for a window: asks this machine's agent without waiting, one question at a time.
class ScriptCheck : public QObject {
    Q_OBJECT
public:
    explicit ScriptCheck(QObject *parent = nullptr);
    ~ScriptCheck() override;
    void ask(const Experiment &experiment); ///< nothing while asking()
    [[nodiscard]] bool asking() const { return m_agent != nullptr; }

Q_SIGNALS:
    /// Scripts that the agent did not answer for are left out: all, when there is no agent.
    void answered(const lockstep::core::ScriptTroubles &troubles);

private:
    std::unique_ptr<QProcess> m_agent;
};

} // namespace lockstep::core
