// SPDX-License-Identifier: MIT
#pragma once
// A real HTTP server on this machine that cuts, lies and resumes.
#include <QCryptographicHash>
#include <QHash>
#include <QStringList>
#include <QTcpServer>
#include <QTcpSocket>

#include "data/dataset_source.h"

namespace lockstep::test {

/// Serves bodies by path, with Range, and misbehaves on request.
class HttpServer : public QTcpServer {
public:
    HttpServer() {
        listen(QHostAddress::LocalHost);
        connect(this, &QTcpServer::newConnection, this, [this] {
            QTcpSocket *socket = nextPendingConnection();
            connect(socket, &QTcpSocket::readyRead, this, [this, socket] { answer(socket); });
            connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
        });
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(serverPort()) + "/"; }

    QHash<QString, QByteArray> bodies;
    QStringList ranges;       ///< the Range header of each request, "" without one
    qsizetype cutAfter = -1;  ///< bytes of a body after which the connection breaks
    bool honoursRange = true; ///< otherwise all is sent anew

private:
    void answer(QTcpSocket *socket) {
        m_got[socket] += socket->readAll();
        if (!m_got[socket].contains("\r\n\r\n"))
            return;
        const QString head = QString::fromLatin1(m_got.take(socket));
        const QString path = head.section(u' ', 1, 1).mid(1);
        const QString range = head.section(QStringLiteral("Range: "), 1, 1).section(u'\r', 0, 0);
        ranges << range;
        if (!bodies.contains(path)) {
            socket->write("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\nnot here\n");
            return socket->disconnectFromHost();
        }
        QByteArray body = bodies[path];
        const qsizetype all = body.size();
        const qsizetype from = honoursRange && !range.isEmpty() ? range.mid(6).chopped(1).toLongLong() : 0;
        body = body.mid(from);
        QByteArray out = from > 0 ? QByteArray("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ") +
                                        QByteArray::number(from) + "-" + QByteArray::number(all - 1) + "/" +
                                        QByteArray::number(all) + "\r\n"
                                  : QByteArray("HTTP/1.1 200 OK\r\n");
        out += "Content-Length: " + QByteArray::number(body.size()) + "\r\nConnection: close\r\n\r\n";
        const bool cut = cutAfter >= 0 && cutAfter < body.size();
        socket->write(out + (cut ? body.left(cutAfter) : body));
        if (cut)
            cutAfter = -1; // once
        socket->flush();
        socket->disconnectFromHost();
    }
    QHash<QTcpSocket *, QByteArray> m_got;
};

inline std::string sha256(const QByteArray &bytes) {
    return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString();
}

/// Both files of `server`, from these mirrors.
inline core::DatasetSource sourceOf(const HttpServer &server, const std::vector<std::string> &mirrors) {
    core::DatasetSource source{"digits", "Digits", mirrors, {}};
    QStringList names = server.bodies.keys();
    names.sort();
    for (const QString &name : names)
        source.files.push_back({name.toStdString(), server.bodies[name].size(), sha256(server.bodies[name])});
    return source;
}

} // namespace lockstep::test
