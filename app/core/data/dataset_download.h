// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>

#include <QCryptographicHash>
#include <QFile>
#include <QNetworkAccessManager>
#include <QObject>
#include <QPointer>
#include <QStringList>

#include "data/dataset_source.h"
#include "ipc/unix_socket.h"

class QNetworkReply;

namespace lockstep::core {

/// Downloads a data set's files, one after another, from the first mirror that has them. A file counts only when size
/// and sha256 are right; until then it is NAME.part, which a later download resumes. Correct files are not fetched
/// again; a damaged file is kept as NAME.damaged. Event loop only, never blocks; one use.
class DatasetDownload : public QObject {
    Q_OBJECT
public:
    DatasetDownload(DatasetSource source, std::string folder, QObject *parent = nullptr);
    ~DatasetDownload() override;
    void start();
    void cancel(); ///< what has arrived is kept for the next download; failed() follows

Q_SIGNALS:
    void progressed(const QString &file, qint64 received, qint64 total); ///< bytes over all files
    void finished();
    void failed(const lockstep::Error &error);

private:
    void nextFile();
    void request();
    void answered();
    void takeBytes();
    void replyEnded();
    void mirrorFailed(const QString &why);
    void keep();
    void end(std::optional<Error> error);
    [[nodiscard]] bool openPart();
    [[nodiscard]] bool alreadyRight(const QString &path);
    [[nodiscard]] const DatasetFile &file() const { return m_source.files[m_index]; }
    [[nodiscard]] QString path() const;

    DatasetSource m_source;
    std::string m_folder;
    std::optional<FileLock> m_lock;
    QNetworkAccessManager m_network;
    QPointer<QNetworkReply> m_reply;
    QFile m_part;
    std::unique_ptr<QCryptographicHash> m_hash;
    std::size_t m_index = 0, m_mirror = 0;
    qint64 m_before = 0; ///< bytes of the finished files
    qint64 m_got = 0;    ///< of the current file
    bool m_answered = false, m_over = false;
    QStringList m_whys; ///< why each mirror failed for this file
};

} // namespace lockstep::core
