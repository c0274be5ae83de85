// SPDX-License-Identifier: MIT
#include "data/dataset_download.h"

#include <utility>

#include <QNetworkReply>
#include <QTimer>
#include <QUrl>

namespace lockstep::core {
namespace {

constexpr int silenceMs = 20'000;
constexpr int httpPartial = 206, httpNotSatisfiable = 416, httpFirstError = 400;

QString hostOf(const std::string &mirror) {
    return QUrl(QString::fromStdString(mirror)).host();
}

} // namespace

DatasetDownload::DatasetDownload(DatasetSource source, std::string folder, QObject *parent)
    : DataDownload(std::move(source), std::move(folder), parent) {
    m_network.setRedirectPolicy(QNetworkRequest::NoLessSafeRedirectPolicy);
    m_network.setTransferTimeout(silenceMs);
}

DatasetDownload::~DatasetDownload() {
    if (m_reply)
        m_reply->disconnect(this);
}

void DatasetDownload::fetch() {
    for (; m_index < source().files.size() && !isMissing(m_index); ++m_index) {
        m_before += file().bytes;
        Q_EMIT progressed(QString::fromStdString(file().name), m_before, source().bytes());
    }
    if (m_index == source().files.size())
        return end(std::nullopt);
    m_mirror = 0;
    m_whys.clear();
    openPart();
}

/// Hashes what an earlier download left, since it may have changed since.
void DatasetDownload::openPart() {
    if (isOver())
        return;
    m_part.close();
    m_part.setFileName(pathOf(file()) + QStringLiteral(".part"));
    if (!m_part.open(QIODevice::ReadWrite | QIODevice::Unbuffered))
        return partFailed();
    if (m_part.size() >= file().bytes && !m_part.resize(0)) // complete but never accepted: it was damaged
        return partFailed();
    hash(m_part.fileName(), [this](auto sum) {
        m_sum = std::move(sum);
        m_got = m_part.size();
        if (!m_sum || !m_part.seek(m_got))
            return partFailed();
        request();
    });
}

void DatasetDownload::partFailed() {
    end(Error::failed(m_part.fileName().toStdString() + " can't be written: " + m_part.errorString().toStdString(),
                      "choose another folder with --dir"));
}

void DatasetDownload::request() {
    m_answered = false;
    QNetworkRequest asked(QUrl(QString::fromStdString(source().mirrors[m_mirror] + file().name)));
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
    *m_sum = Sha256();
    m_got = 0;
}

void DatasetDownload::takeBytes() {
    answered();
    if (!m_answered)
        return;
    if (const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
        status >= httpFirstError) { // an error's page may go on without end
        m_reply->disconnect(this);
        m_reply->abort();
        return refusedBy(status);
    }
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
    m_sum->add({bytes.constData(), std::size_t(bytes.size())});
    m_got += bytes.size();
    Q_EMIT progressed(QString::fromStdString(file().name), m_before + m_got, source().bytes());
}

void DatasetDownload::refusedBy(int status) {
    if (status != httpNotSatisfiable)
        return mirrorFailed(tr("HTTP %1").arg(status));
    m_part.resize(0);
    mirrorFailed(tr("it could not resume from byte %1").arg(m_got));
}

void DatasetDownload::replyEnded() {
    m_reply->deleteLater();
    const auto error = m_reply->error();
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status == httpNotSatisfiable)
        return refusedBy(status);
    if (error == QNetworkReply::OperationCanceledError)
        return mirrorFailed(tr("no answer for %1 s").arg(silenceMs / 1000));
    if (error != QNetworkReply::NoError)
        return status >= httpFirstError ? refusedBy(status) : mirrorFailed(m_reply->errorString());
    takeBytes();
    if (isOver() || !m_reply)
        return;
    if (m_got < file().bytes)
        return mirrorFailed(tr("cut off after %L1 of %L2 bytes").arg(m_got).arg(file().bytes));
    keep();
}

void DatasetDownload::keep() {
    const std::string sum = m_sum->hex();
    if (sum != file().sha256) {
        m_part.resize(0);
        return mirrorFailed(
            tr("the file there differs (sha256 %1…, expected %2…)")
                .arg(QString::fromStdString(sum.substr(0, 12)), QString::fromStdString(file().sha256.substr(0, 12))));
    }
    m_part.flush();
    m_part.close();
    if (!place(m_part.fileName(), file()))
        return;
    m_before += file().bytes;
    ++m_index;
    fetch();
}

void DatasetDownload::mirrorFailed(const QString &why) {
    if (isOver())
        return;
    m_whys << hostOf(source().mirrors[m_mirror]) + QStringLiteral(": ") + why;
    if (++m_mirror < source().mirrors.size()) {
        QTimer::singleShot(0, this, &DatasetDownload::openPart);
        return;
    }
    end(Error::failed(file().name + " of " + source().title + " can't be downloaded (" +
                          m_whys.join(QStringLiteral("; ")).toStdString() + ")",
                      "check the network and start again, it resumes where it stopped; " + byHand()));
}

void DatasetDownload::stop() {
    if (m_reply) {
        m_reply->disconnect(this);
        m_reply->abort();
    }
    cancelled();
}

std::string DatasetDownload::afterwards() {
    return "it resumes where it stopped";
}

} // namespace lockstep::core

#include "moc_dataset_download.cpp"
