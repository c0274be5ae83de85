// SPDX-License-Identifier: MIT
#pragma once
// lockstepctl as a process, for tests of what it says.
#include <string>

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>

#include "tests/qt_test.h"

namespace lockstep::test {

struct Said {
    int code = -1;
    QString out, error;
    [[nodiscard]] QJsonObject json() const { return QJsonDocument::fromJson(out.toUtf8()).object(); }
};

inline Said control(const QStringList &arguments) {
    QProcess process;
    process.start(QStringLiteral(LOCKSTEP_BIN "/lockstepctl"), arguments);
    if (!process.waitForFinished(hangLimitMs))
        return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

inline QString id(const std::string &run) {
    return QString::fromStdString(run);
}

} // namespace lockstep::test
