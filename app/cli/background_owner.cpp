// SPDX-License-Identifier: MIT
#include "background_owner.h"

#include <fcntl.h>

#include <QCoreApplication>
#include <QProcess>

#include "experiment/experiment.h"
#include "ipc/regular_file.h"

namespace lockstep::cli {

Result<qint64> startOwner(const std::string &experiment, const QStringList &words) {
    const Result<Fd> console = openToWrite(core::experimentFolder(experiment).console(), O_WRONLY | O_APPEND);
    if (!console)
        return fail(console.error());
    const QString file =
        QStringLiteral("/proc/self/fd/%1").arg(console->get()); // what was opened, not what lies there by now
    QProcess process;
    process.setProgram(QCoreApplication::applicationFilePath());
    process.setArguments(words);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(file, QIODevice::Append);
    process.setStandardErrorFile(file, QIODevice::Append);
    qint64 pid = 0;
    if (!process.startDetached(&pid)) // Qt starts it in a new session
        return fail(Error::failed(process.errorString().toStdString()));
    return pid;
}

} // namespace lockstep::cli
