// SPDX-License-Identifier: MIT
#include "store/log_replay.h"

#include "ipc/frames.h"
#include "ipc/regular_file.h"

namespace lockstep::core {

void LogReplay::open(const QString &path) {
    if (m_file.isOpen())
        return;
    m_file.setFileName(path);
    if (Result<Fd> fd = openRegular(path.toStdString()))
        m_file.open(fd->release(), QIODevice::ReadOnly | QIODevice::Unbuffered, QFileDevice::AutoCloseHandle);
}

bool LogReplay::slice(const std::function<void(std::string_view)> &onLine, std::size_t most) {
    if (!m_file.isOpen())
        return false;
    const QByteArray bytes = m_partial + m_file.read(qint64(most));
    const bool more = bytes.size() > m_partial.size();
    qsizetype from = 0;
    for (qsizetype end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', from)) {
        onLine({bytes.constData() + from, std::size_t(end - from)});
        from = end + 1;
    }
    m_partial = bytes.mid(from);
    if (m_partial.size() > qsizetype(maxFrameBytes)) {
        onLine(
            {m_partial.constData(), std::size_t(m_partial.size())}); // no frame is that long: counted as a damaged line
        m_partial.clear();
        m_file.seek(nextData(m_file.handle(), m_file.pos()));
    }
    return more;
}

} // namespace lockstep::core
