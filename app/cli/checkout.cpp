// SPDX-License-Identifier: MIT
#include "checkout.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>

#include "store/run_data.h"

namespace lockstep::cli {
namespace {

/// git's answer as it is; in this folder, or in another one.
Result<QByteArray> git(const QStringList &words, const QString &folder = {}) {
    QProcess process;
    process.setWorkingDirectory(folder);
    process.start(QStringLiteral("git"), words);
    const bool answered = process.waitForStarted() && process.waitForFinished(-1);
    if (!answered)
        return fail(Error::failed("git can't be run: " + process.errorString().toStdString(), "install git"));
    if (process.exitCode() != 0)
        return fail(Error::badArgument("git " + words.front().toStdString() + ": " +
                                           process.readAllStandardError().trimmed().toStdString(),
                                       "name a revision of the repository in this folder", "--against"));
    return process.readAllStandardOutput();
}

/// A path that git answers, without its newline.
Result<QString> gitPath(const QString &what) {
    Result<QByteArray> said = git({QStringLiteral("rev-parse"), what});
    if (!said)
        return fail(said.error());
    if (said->endsWith('\n'))
        said->chop(1);
    return QFile::decodeName(*said);
}

std::string sha256Of(const QString &path) {
    QFile file(path);
    QCryptographicHash hash(QCryptographicHash::Sha256);
    return file.open(QIODevice::ReadOnly) && hash.addData(&file) ? hash.result().toHex().toStdString() : std::string();
}

} // namespace

Result<void> forgetVariablesOfGit() {
    const auto names = git({QStringLiteral("rev-parse"), QStringLiteral("--local-env-vars")});
    if (!names)
        return fail(names.error());
    for (const QByteArray &name : names->split('\n'))
        if (!name.isEmpty())
            qunsetenv(name.constData());
    return {};
}

Checkout::~Checkout() {
    if (m_made)
        (void)git({QStringLiteral("worktree"), QStringLiteral("remove"), QStringLiteral("--force"), top()});
}

Result<void> Checkout::make(const std::string &revision) {
    m_revision = QString::fromStdString(revision);
    const auto made = git({QStringLiteral("worktree"), QStringLiteral("add"), QStringLiteral("--detach"),
                           QStringLiteral("--quiet"), top(), m_revision});
    if (!made)
        return fail(made.error());
    m_made = true;
    const auto tree = gitPath(QStringLiteral("--show-toplevel"));
    const auto prefix = tree ? gitPath(QStringLiteral("--show-prefix")) : tree;
    if (!prefix)
        return fail(prefix.error());
    m_tree = *tree;
    m_prefix = *prefix;
    return {};
}

QString Checkout::folder() const {
    return top() + u'/' + m_prefix;
}

QString Checkout::pathThere(const QString &path) const {
    if (!path.startsWith(u'/'))
        return path;
    const QFileInfo given(QDir::cleanPath(path));
    if (given.canonicalFilePath() == m_tree)
        return top();
    // The folder's links are followed, not the file's own: an environment's Python is a link that leads out of the tree.
    const QString real = QFileInfo(given.path()).canonicalFilePath() + u'/' + given.fileName();
    if (!real.startsWith(m_tree + u'/'))
        return path;
    QString there = top() + real.mid(m_tree.size());
    return QFileInfo::exists(there) ? there : path;
}

std::string Checkout::leadingThere(const std::string &word) const {
    const QString text = QString::fromStdString(word);
    const qsizetype begin = text.startsWith(u'/') ? 0 : text.indexOf(QStringLiteral("=/")) + 1; // "--config=/…"
    const QStringList given = text.mid(begin).split(u':');
    QStringList paths;
    for (const QString &path : given)
        paths.append(pathThere(path));
    return paths == given ? word : (text.left(begin) + paths.join(u':')).toStdString();
}

/// By their paths in the working tree: those that the revision has with other content, or lacks.
Result<QStringList> Checkout::unlikeFiles() const {
    QStringList out;
    for (const QStringList &words :
         {QStringList{QStringLiteral("diff"), QStringLiteral("--name-only"), QStringLiteral("--no-renames"),
                      QStringLiteral("--diff-filter=AM"), QStringLiteral("-z"), m_revision, QStringLiteral("--")},
          QStringList{QStringLiteral("ls-files"), QStringLiteral("--others"), QStringLiteral("--exclude-standard"),
                      QStringLiteral("-z")}}) {
        const auto said = git(words, m_tree);
        if (!said)
            return fail(said.error());
        for (const QByteArray &path : said->split('\0'))
            if (!path.isEmpty())
                out.append(QFile::decodeName(path));
    }
    return out;
}

Result<std::string> Checkout::readFromHere(const FileDigests &base, const FileDigests &here) const {
    const auto unlike = unlikeFiles();
    if (!unlike)
        return fail(unlike.error());
    const bool allAlike = core::editedBetween(base, here).empty();
    for (const QString &path : *unlike)
        for (const auto &[file, digest] : here) {
            const QString name = QString::fromStdString(file);
            if ((path != name && !path.endsWith(u'/' + name)) || sha256Of(m_tree + u'/' + path) != digest)
                continue;
            const auto own = base.find(file);
            const bool inRevision = QFileInfo::exists(top() + u'/' + path);
            if (own == base.end() ? allAlike && inRevision : own->second == digest)
                return file;
        }
    return std::string();
}

} // namespace lockstep::cli
