// SPDX-License-Identifier: MIT
#include "nodes/sync_transfer.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "base/command_request.h"
#include "base/last_line.h"
#include "nodes/sync_scripts.h"

namespace lockstep::core {
namespace {

constexpr qint64 blockBytes = 256 * 1024;
constexpr qint64 mostWaiting = 4 * 1024 * 1024; ///< bytes buffered for the link, which bounds memory

Error brokeOff(const Transfer &transfer, const QByteArray &said) {
    return interrupted(transfer.shell, "copying to ", said.toStdString());
}

/// A folder of links from the bundle's paths to their sources.
class Stage {
public:
    explicit Stage(const std::vector<const SyncFile *> &files) {
        QByteArray list;
        QDir root(m_folder.path());
        for (const SyncFile *file : files) {
            const QString path = QString::fromStdString(file->path);
            root.mkpath(QStringLiteral("files/") + QFileInfo(path).path());
            QFile::link(QString::fromStdString(file->source), root.filePath(QStringLiteral("files/") + path));
            list += QByteArray::fromStdString(file->path) + '\n';
        }
        QFile names(listPath());
        if (names.open(QIODevice::WriteOnly))
            names.write(list);
    }
    [[nodiscard]] QString files() const { return m_folder.filePath(QStringLiteral("files")); }
    [[nodiscard]] QString listPath() const { return m_folder.filePath(QStringLiteral("list")); }

private:
    QTemporaryDir m_folder;
};

/// Writes as fast as the process reads. False if it has ended, or after a stop.
bool pass(const NodeShell &shell, QProcess &to, const QByteArray &bytes) {
    to.write(bytes);
    while (to.bytesToWrite() > mostWaiting) {
        if (shell.stopped() || to.state() == QProcess::NotRunning)
            return false;
        to.waitForBytesWritten(200);
    }
    return to.state() != QProcess::NotRunning && !shell.stopped();
}

/// Waits until everything is written and the process has ended with code 0.
bool ended(const NodeShell &shell, QProcess &process) {
    while (process.bytesToWrite() > 0 && process.state() != QProcess::NotRunning && !shell.stopped())
        process.waitForBytesWritten(200);
    process.closeWriteChannel();
    while (process.state() != QProcess::NotRunning && !shell.stopped())
        process.waitForFinished(200);
    if (process.state() != QProcess::NotRunning) {
        process.kill();
        process.waitForFinished(1000);
    }
    return process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
}

std::vector<std::string> placeOf(const Transfer &transfer) {
    return {transfer.node.home, transfer.bundle.name, transfer.bundle.version()};
}

Result<double> sendRest(const Transfer &transfer, const SyncPiece &piece, double before) {
    QFile source(QString::fromStdString(piece.file.source));
    if (!source.open(QIODevice::ReadOnly) || !source.seek(piece.there))
        return fail(Error::failed(piece.file.source + " can't be read", "check that it exists and is readable"));
    std::vector<std::string> arguments = placeOf(transfer);
    arguments.push_back(piece.file.path);
    const auto process = transfer.shell.startScript(scripts::append, arguments);
    double sent = 0;
    while (!source.atEnd()) {
        const QByteArray block = source.read(blockBytes);
        if (block.isEmpty() || !pass(transfer.shell, *process, block))
            break;
        sent += double(block.size());
        transfer.moved(before + sent);
    }
    if (!ended(transfer.shell, *process) || !source.atEnd())
        return fail(brokeOff(transfer, endOfStderr(*process)));
    return sent;
}

Result<double> sendWhole(const Transfer &transfer, const std::vector<const SyncFile *> &files, double before) {
    const Stage stage(files);
    QProcess tar;
    tar.start(QStringLiteral("tar"),
              {QStringLiteral("-c"), QStringLiteral("-h"), QStringLiteral("-f"), QStringLiteral("-"),
               QStringLiteral("-C"), stage.files(), QStringLiteral("-T"), stage.listPath()});
    const auto there = transfer.shell.startScript(scripts::unpack, placeOf(transfer));
    double sent = 0;
    bool going = true;
    while (going && (tar.state() != QProcess::NotRunning || tar.bytesAvailable() > 0)) {
        if (tar.bytesAvailable() == 0 && !tar.waitForReadyRead(200) && tar.bytesAvailable() == 0) {
            going = !transfer.shell.stopped() && there->state() != QProcess::NotRunning;
            continue;
        }
        const QByteArray block = tar.read(blockBytes);
        going = pass(transfer.shell, *there, block);
        sent += double(block.size());
        transfer.moved(before + sent);
    }
    if (!going)
        tar.kill();
    tar.waitForFinished(5000);
    const bool over = ended(transfer.shell, *there);
    if (!going || !over || tar.exitCode() != 0)
        return fail(brokeOff(transfer, endOfStderr(*there) + tar.readAllStandardError()));
    return sent;
}

/// ssh with its options as one string for rsync -e, which understands quotes.
QString remoteShell(const CommandPrefix &prefix) {
    QStringList words;
    for (std::size_t i = 0; i + 1 < prefix.words.size(); ++i) { // the last one is the host
        const QString word = QString::fromStdString(prefix.words[i]);
        words << (word.contains(u' ') ? u'"' + word + u'"' : word);
    }
    return words.join(u' ');
}

} // namespace

Error interrupted(const NodeShell &shell, const std::string &what, const std::string &said) {
    const std::string &name = shell.node().name;
    if (said.find("No space left") != std::string::npos)
        return Error::failed("the disk of " + name + " is full",
                             "free some there, or set LOCKSTEP_HOME on it to a folder on another disk");
    if (shell.stopped())
        return Error::failed("the sync of " + name + " was stopped", "start it again: it resumes where it stopped");
    const std::string why = lastLine(said);
    return Error::failed(what + name + " was interrupted" + (why.empty() ? "" : ": " + why),
                         "start it again: it resumes where it stopped");
}

bool mayRsync(const NodeShell &shell, const SyncSurvey &node) {
    const CommandPrefix &prefix = shell.prefix();
    return node.rsync && prefix.shell && !prefix.local() && prefix.host.find_first_of(":[]") == std::string::npos &&
           !QStandardPaths::findExecutable(QStringLiteral("rsync")).isEmpty();
}

Result<double> sendByRsync(const Transfer &transfer) {
    std::vector<const SyncFile *> files;
    for (const SyncPiece &piece : transfer.plan.missing)
        files.push_back(&piece.file);
    const Stage stage(files);
    const QString base = QString::fromStdString(transfer.node.home + "/sync/" + transfer.bundle.name);
    QProcess rsync;
    rsync.start(QStringLiteral("rsync"),
                {QStringLiteral("-rLpts"), QStringLiteral("--partial"), QStringLiteral("--no-inc-recursive"),
                 QStringLiteral("--files-from=") + stage.listPath(),
                 QStringLiteral("--copy-dest=") + base + QStringLiteral("/current"),
                 QStringLiteral("--info=progress2,stats2"), QStringLiteral("--outbuf=N"), QStringLiteral("-e"),
                 remoteShell(transfer.shell.prefix()), stage.files() + u'/',
                 QString::fromStdString(transfer.shell.prefix().host) + u':' + base + QStringLiteral("/incoming-") +
                     QString::fromStdString(transfer.bundle.version()) + u'/'});
    QString said;
    static const QRegularExpression percent(QStringLiteral("(\\d+)%"));
    while (rsync.state() != QProcess::NotRunning && !transfer.shell.stopped()) {
        rsync.waitForReadyRead(200);
        said += QString::fromUtf8(rsync.readAllStandardOutput());
        if (const auto at = said.lastIndexOf(u'%'); at > 0) {
            qsizetype from = at;
            while (from > 0 && said[from - 1].isDigit())
                --from;
            transfer.moved(said.mid(from, at - from).toDouble() / 100 * transfer.plan.bytes());
        }
    }
    if (rsync.state() != QProcess::NotRunning) {
        rsync.terminate();
        rsync.waitForFinished(3000);
    }
    said += QString::fromUtf8(rsync.readAllStandardOutput());
    if (rsync.exitStatus() != QProcess::NormalExit || rsync.exitCode() != 0)
        return fail(brokeOff(transfer, rsync.readAllStandardError()));
    static const QRegularExpression total(QStringLiteral("Total bytes sent: ([\\d,.]+)"));
    return total.match(said).captured(1).remove(u',').remove(u'.').toDouble();
}

Result<double> sendByTar(const Transfer &transfer) {
    double sent = 0;
    std::vector<const SyncFile *> whole;
    for (const SyncPiece &piece : transfer.plan.missing) {
        if (piece.there == 0) {
            whole.push_back(&piece.file);
            continue;
        }
        const auto rest = sendRest(transfer, piece, sent);
        if (!rest)
            return rest;
        sent += *rest;
    }
    if (!whole.empty()) {
        const auto all = sendWhole(transfer, whole, sent);
        if (!all)
            return all;
        sent += *all;
    }
    return sent;
}

std::string beginningSha256(const std::string &file, std::int64_t bytes) {
    QFile source(QString::fromStdString(file));
    return source.open(QIODevice::ReadOnly) ? sha256OfNext(source, bytes) : std::string();
}

} // namespace lockstep::core
