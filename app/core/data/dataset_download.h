// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include <QFile>
#include <QNetworkAccessManager>
#include <QPointer>
#include <QStringList>

#include "data/data_download.h"
#include "ipc/sha256.h"

class QNetworkReply;

namespace lockstep::core {

/// Downloads a data set's files, one after another, from the first mirror that has them. Until a file is complete it is
/// NAME.part, which a later download resumes.
class DatasetDownload : public DataDownload {
    Q_OBJECT
public:
    DatasetDownload(DatasetSource source, std::string folder, QObject *parent = nullptr);
    ~DatasetDownload() override;

private:
    void fetch() override;
    void stop() override;
    [[nodiscard]] std::string afterwards() override;
    void openPart();
    void request();
    void answered();
    void takeBytes();
    void replyEnded();
    void mirrorFailed(const QString &why);
    void refusedBy(int status); ///< of HTTP
    void partFailed();
    void keep();
    [[nodiscard]] const DatasetFile &file() const { return source().files[m_index]; }

    QNetworkAccessManager m_network;
    QPointer<QNetworkReply> m_reply;
    QFile m_part;
    std::unique_ptr<Sha256> m_sum; ///< of what m_part holds
    std::size_t m_index = 0, m_mirror = 0;
    qint64 m_before = 0; ///< bytes of the finished files
    qint64 m_got = 0;    ///< of the current file
    bool m_answered = false;
    QStringList m_whys; ///< why each mirror failed for this file
};

} // namespace lockstep::core
