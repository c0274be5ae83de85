// SPDX-License-Identifier: MIT
#include "data/file_hash.h"

#include <utility>

namespace lockstep::core {
namespace {

constexpr qint64 chunkBytes = 1 << 20;

} // namespace

FileHash::FileHash(QObject *parent) : QObject(parent) {
    connect(&m_timer, &QTimer::timeout, this, &FileHash::readOn);
}

void FileHash::start(const QString &path, Done done) {
    m_file.close();
    m_file.setFileName(path);
    m_file.open(QIODevice::ReadOnly);
    m_hash = std::make_unique<Sha256>();
    m_done = std::move(done);
    m_timer.start(0);
}

void FileHash::stop() {
    m_timer.stop();
    m_file.close();
    m_done = nullptr;
}

void FileHash::readOn() {
    const QByteArray chunk = m_file.isOpen() ? m_file.read(chunkBytes) : QByteArray();
    if (!chunk.isEmpty())
        return m_hash->add({chunk.constData(), std::size_t(chunk.size())});
    const bool whole = m_file.isOpen() && m_file.error() == QFileDevice::NoError;
    const Done done = std::move(m_done);
    stop();
    done(whole ? std::move(m_hash) : nullptr); // it may start the next file
}

} // namespace lockstep::core

#include "moc_file_hash.cpp"
