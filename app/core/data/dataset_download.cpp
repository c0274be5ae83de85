// SPDX-License-Identifier: MIT
#include "data/dataset_download.h"

#include <utility>

#include <QNetworkReply>
#include <QStorageInfo>
#include <QTimer>
#include <QUrl>

#include "ipc/file_system.h"

namespace lockstep::core {
namespace {

constexpr int silenceMs = 20'000;
constexpr int httpPartial = 206, httpNotSatisfiable = 416, httpFirstError = 400;
constexpr qint64 chunkBytes = 1 << 20;

/// Hashes the file's contents; false if it can't be read.
bool hashFile(QFile &file, QCryptographicHash &hash) {
    for (QByteArray chunk = file.read(chunkBytes); !chunk.isEmpty(); chunk = file.read(chunkBytes))
        hash.addData(chunk);
    return file.error() == QFileDevice::NoError;
}

QString hostOf(const std::string &mirror) {
    return QUrl(QString::fromStdString(mirror)).host();
}

} // namespace

DatasetDownload::DatasetDownload(DatasetSource source, std::string folder, QObject *parent)
    : QObject(parent), m_source(std::move(source)), m_folder(std::move(folder)) {
    m_network.setRedirectPolicy(QNetworkRequest::NoLessSafeRedirectPolicy);
    m_network.setTransferTimeout(silenceMs);
}

DatasetDownload::~DatasetDownload() {
    if (m_reply)
        m_reply->disconnect(this);
}

QString DatasetDownload::path() const {
    return QString::fromStdString(m_folder + "/" + file().name);
}

void DatasetDownload::start() {
    if (const Result<void> made = realFileSystem().makeFolders(m_folder); !made)
        return end(Error::badArgument("the folder " + m_folder + " can't be created: " + made.error().message(),
                                      "choose another one with --dir", "dir"));
    Result<FileLock> lock = FileLock::acquire(m_folder + "/.get-data.lock");
    if (!lock)
        return end(Error::failed(m_source.title + " is already being downloaded (" + lock.error().message() + ")",
                                 "wait for it"));
    m_lock = std::move(*lock);
    const QStorageInfo disk(QString::fromStdString(m_folder));
    if (disk.isValid() && disk.bytesAvailable() < m_source.bytes())
        return end(Error::failed(m_source.title + " needs " + std::to_string(m_source.bytes() / 1'000'000 + 1) +
                                     " MB, but " + m_folder + " has " +
                                     std::to_string(disk.bytesAvailable() / 1'000'000) + " MB left",
                                 "free some, or choose another folder with --dir"));
    nextFile();
}

/// True if the file is there and correct; a damaged one is renamed.
bool DatasetDownload::alreadyRight(const QString &path) {
    QFile there(path);
    if (!there.open(QIODevice::ReadOnly))
        return false;
    QCryptographicHash hash(QCryptographicHash::Sha256);
    if (hashFile(there, hash) && hash.result().toHex().toStdString() == file().sha256)
        return true;
    QFile::remove(path + QStringLiteral(".damaged"));
    QFile::rename(path, path + QStringLiteral(".damaged"));
    return false;
}

void DatasetDownload::nextFile() {
    while (m_index < m_source.files.size() && alreadyRight(path())) {
        m_before += file().bytes;
        Q_EMIT progressed(QString::fromStdString(file().name), m_before, m_source.bytes());
        ++m_index;
    }
    if (m_index == m_source.files.size())
        return end(std::nullopt);
    m_mirror = 0;
    m_whys.clear();
    request();
}

/// Hashes what an earlier download left, since it may have changed since.
bool DatasetDownload::openPart() {
    m_part.close();
    m_part.setFileName(path() + QStringLiteral(".part"));
    if (!m_part.open(QIODevice::ReadWrite))
        return false;
    m_hash = std::make_unique<QCryptographicHash>(QCryptographicHash::Sha256);
    if (m_part.size() >= file().bytes && !m_part.resize(0)) // complete but never accepted: it was damaged
        return false;
    if (!hashFile(m_part, *m_hash))
        return false;
    m_got = m_part.size();
    return m_part.seek(m_got);
}

void DatasetDownload::request() {
    if (!openPart())
        return end(
            Error::failed(m_part.fileName().toStdString() + " can't be written: " + m_part.errorString().toStdString(),
                          "choose another folder with --dir"));
    m_answered = false;
    QNetworkRequest asked(QUrl(QString::fromStdString(m_source.mirrors[m_mirror] + file().name)));
    asked.setRawHeader("Accept-Encoding", "identity"); // no compression in transit
    if (m_got > 0)
        asked.setRawHeader("Range", "bytes=" + QByteArray::number(m_got) + "-");
    m_reply = m_network.get(asked);
    connect(m_reply, &QNetworkReply::metaDataChanged, this, &DatasetDownload::answered);
    connect(m_reply, &QNetworkReply::readyRead, this, &DatasetDownload::takeBytes);
    connect(m_reply, &QNetworkReply::finished, this, &DatasetDownload::replyEnded);
}

/// A server that ignores the range sends the whole file.
void DatasetDownload::answered() {
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (m_answered || status < 200 || (status >= 300 && status < httpFirstError))
        return; // a redirect
    m_answered = true;
    const QByteArray range = "bytes " + QByteArray::number(m_got) + "-";
    if (m_got == 0 || (status == httpPartial && m_reply->rawHeader("Content-Range").startsWith(range)))
        return;
    m_part.resize(0);
    m_part.seek(0);
    m_hash->reset();
    m_got = 0;
}

void DatasetDownload::takeBytes() {
    answered();
    if (!m_answered || m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt() >= httpFirstError)
        return; // the body of an error page
    const QByteArray bytes = m_reply->readAll();
    if (m_got + bytes.size() > file().bytes) {
        m_reply->disconnect(this);
        m_reply->abort();
        m_part.resize(0);
        return mirrorFailed(tr("the file there is larger than it should be"));
    }
    if (m_part.write(bytes) != bytes.size()) {
        m_reply->disconnect(this);
        m_reply->abort();
        return end(
            Error::failed(m_part.fileName().toStdString() + " can't be written: " + m_part.errorString().toStdString(),
                          "free some room, then start again: it resumes where it stopped"));
    }
    m_hash->addData(bytes);
    m_got += bytes.size();
    Q_EMIT progressed(QString::fromStdString(file().name), m_before + m_got, m_source.bytes());
}

void DatasetDownload::replyEnded() {
    m_reply->deleteLater();
    const auto error = m_reply->error();
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status == httpNotSatisfiable) {
        m_part.resize(0);
        return mirrorFailed(tr("it could not resume from byte %1").arg(m_got));
    }
    if (error == QNetworkReply::OperationCanceledError)
        return mirrorFailed(tr("no answer for %1 s").arg(silenceMs / 1000));
    if (error != QNetworkReply::NoError)
        return mirrorFailed(status >= httpFirstError ? tr("HTTP %1").arg(status) : m_reply->errorString());
    takeBytes();
    if (m_over || !m_reply)
        return;
    if (m_got < file().bytes)
        return mirrorFailed(tr("cut off after %L1 of %L2 bytes").arg(m_got).arg(file().bytes));
    keep();
}

void DatasetDownload::keep() {
    const std::string sum = m_hash->result().toHex().toStdString();
    if (sum != file().sha256) {
        m_part.resize(0);
        return mirrorFailed(
            tr("the file there differs (sha256 %1…, expected %2…)")
                .arg(QString::fromStdString(sum.substr(0, 12)), QString::fromStdString(file().sha256.substr(0, 12))));
    }
    m_part.flush();
    m_part.close();
    QFile::remove(path());
    if (!QFile::rename(m_part.fileName(), path()))
        return end(Error::failed(path().toStdString() + " can't be written", "choose another folder with --dir"));
    m_before += file().bytes;
    ++m_index;
    nextFile();
}

void DatasetDownload::mirrorFailed(const QString &why) {
    if (m_over)
        return;
    m_whys << hostOf(m_source.mirrors[m_mirror]) + QStringLiteral(": ") + why;
    if (++m_mirror < m_source.mirrors.size()) {
        QTimer::singleShot(0, this, &DatasetDownload::request);
        return;
    }
    end(Error::failed(file().name + " of " + m_source.title + " can't be downloaded (" +
                          m_whys.join(QStringLiteral("; ")).toStdString() + ")",
                      "check the network and start again, it resumes where it stopped; or copy the " +
                          std::to_string(m_source.files.size()) + " files into " + m_folder + " yourself"));
}

void DatasetDownload::cancel() {
    if (m_over)
        return;
    if (m_reply) {
        m_reply->disconnect(this);
        m_reply->abort();
    }
    end(Error::failed("the download of " + m_source.title + " was cancelled",
                      "start it again: it resumes where it stopped"));
}

void DatasetDownload::end(std::optional<Error> error) {
    if (std::exchange(m_over, true))
        return;
    m_part.close();
    m_lock.reset();
    QTimer::singleShot(0, this, [this, error = std::move(error)] { // never from inside start()
        if (error)
            Q_EMIT failed(*error);
        else
            Q_EMIT finished();
    });
}

} // namespace lockstep::core
