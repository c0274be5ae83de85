// SPDX-License-Identifier: MIT
#include "checkout.h"

#include <algorithm>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QProcess>

#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/sha256.h"
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

/// The paths that git lists in a folder.
Result<QStringList> filesBy(QStringList words, const QString &folder) {
    words.insert(1, QStringLiteral("-z"));
    const auto said = git(words, folder);
    if (!said)
        return fail(said.error());
    QStringList out;
    for (const QByteArray &path : said->split('\0'))
        if (!path.isEmpty())
            out.append(QFile::decodeName(path));
    return out;
}

/// The files that lie below a folder of the tree, by their paths in the tree. What is hidden, as git's own, is left out.
QStringList filesBelow(const QString &tree, const QString &folder) {
    QStringList out;
    for (QDirIterator files(tree + u'/' + folder, QDir::Files, QDirIterator::Subdirectories); files.hasNext();)
        out.append(files.next().mid(tree.size() + 1));
    return out;
}

bool holds(const QString &path, const std::string &digest) {
    const auto content = realFileSystem().readAll(path.toStdString(), longestScriptFile);
    return content && sha256Hex(*content) == digest;
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
    if (revision.starts_with('-') && revision != "-") // which is git's word for the branch before
        return fail(Error::badArgument("\"" + revision.substr(0, 80) + "\" is an option of git's and no revision",
                                       "name a revision of the repository in this folder", "--against"));
    const auto made = git({QStringLiteral("worktree"), QStringLiteral("add"), QStringLiteral("--detach"),
                           QStringLiteral("--quiet"), top(), QString::fromStdString(revision)});
    if (!made)
        return fail(made.error());
    m_made = true;
    const auto commit = git({QStringLiteral("rev-parse"), QStringLiteral("HEAD")}, top());
    if (!commit)
        return fail(commit.error());
    m_commit = QString::fromLatin1(commit->trimmed()); // a branch may move while the runs are made
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

Result<QStringList> Checkout::unlikeFiles() const {
    const auto edited = filesBy({QStringLiteral("diff"), QStringLiteral("--name-only"), QStringLiteral("--no-renames"),
                                 QStringLiteral("--ignore-submodules=none"), QStringLiteral("--diff-filter=AMT"),
                                 m_commit, QStringLiteral("--")},
                                m_tree);
    const auto others =
        filesBy({QStringLiteral("ls-files"), QStringLiteral("--others"), QStringLiteral("--exclude-standard")}, m_tree);
    if (!edited || !others)
        return edited ? others : edited;
    QStringList out;
    for (const QString &path : *edited)
        out.append(QFileInfo(m_tree + u'/' + path).isDir() ? filesBelow(m_tree, path) : QStringList(path));
    for (const QString &path : *others) // a link to a folder of data is not gone through
        out.append(path.endsWith(u'/') ? filesBelow(m_tree, path.chopped(1)) : QStringList(path));
    return out;
}

Result<std::string> Checkout::readFromHere(const FileDigests &base, const FileDigests &here) const {
    const auto unlike = unlikeFiles();
    const auto own = unlike ? filesBy({QStringLiteral("ls-files")}, top()) : unlike;
    if (!own)
        return fail(own.error());
    const bool allAlike = core::editedBetween(base, here).empty();
    for (const auto &[file, digest] : here) {
        const QString name = QString::fromStdString(file);
        const auto called = [&](QStringList files) {
            files.removeIf([&](const QString &path) { return path != name && !path.endsWith(u'/' + name); });
            return files;
        };
        const auto anyHolds = [&](const QString &folder, const QStringList &files) {
            return std::ranges::any_of(files, [&](const QString &path) { return holds(folder + u'/' + path, digest); });
        };
        const QStringList ownCalled = called(*own);
        if (!anyHolds(m_tree, called(*unlike)) || anyHolds(top(), ownCalled)) // else the base may have read its own
            continue;
        const auto read = base.find(file);
        if (read == base.end() ? allAlike && !ownCalled.isEmpty() : read->second == digest)
            return file;
    }
    return std::string();
}

} // namespace lockstep::cli
