// SPDX-License-Identifier: MIT
#include "faulty_file_system.h"

#include <cerrno>
#include <fstream>

namespace lockstep::test {

class FaultyFileSystem::File final : public AppendFile {
public:
    File(FaultyFileSystem &disk, std::unique_ptr<AppendFile> real) : m_disk(disk), m_real(std::move(real)) {}

    Result<void> append(std::string_view bytes) override {
        ++m_disk.appends;
        const bool reported = m_disk.failAppend > 0 && --m_disk.failAppend == 0;
        const bool full = m_disk.freeBytes >= 0 && static_cast<std::int64_t>(bytes.size()) > m_disk.freeBytes;
        if (!reported && !full) {
            if (m_disk.freeBytes >= 0)
                m_disk.freeBytes -= static_cast<std::int64_t>(bytes.size());
            return m_real->append(bytes);
        }
        const auto fits = full ? static_cast<std::size_t>(m_disk.freeBytes) : m_disk.shortBytes;
        const std::uint64_t before = m_real->size();
        static_cast<void>(m_real->append(bytes.substr(0, fits)));
        if (!m_disk.failTruncate)
            static_cast<void>(m_real->truncate(before));
        return fail(Error::system("can't write the log", ENOSPC));
    }

    Result<void> sync() override {
        ++m_disk.syncs;
        if (m_disk.failSync > 0 && --m_disk.failSync == 0) {
            // As Linux does: the dirty pages are gone and count as clean.
            std::fstream file(m_disk.m_path, std::ios::binary | std::ios::in | std::ios::out);
            file.seekp(static_cast<std::streamoff>(m_disk.m_synced));
            file << std::string(m_real->size() - m_disk.m_synced, '\0');
            return fail(Error::system("can't sync the log", EIO));
        }
        auto synced = m_real->sync();
        if (synced)
            m_disk.m_synced = m_real->size();
        return synced;
    }

    Result<void> truncate(std::uint64_t size) override {
        if (m_disk.failTruncate)
            return fail(Error::system("can't truncate the log", EIO));
        return m_real->truncate(size);
    }

    [[nodiscard]] std::uint64_t size() const override { return m_real->size(); }

private:
    FaultyFileSystem &m_disk;
    std::unique_ptr<AppendFile> m_real;
};

Result<std::unique_ptr<AppendFile>> FaultyFileSystem::openAppend(const std::string &path) {
    auto real = realFileSystem().openAppend(path);
    if (!real)
        return real;
    m_path = path;
    return std::make_unique<File>(*this, std::move(*real));
}

void FaultyFileSystem::losePower(const std::function<std::size_t(std::size_t)> &random) {
    std::string bytes = realFileSystem().readAll(m_path).value();
    const std::size_t synced = static_cast<std::size_t>(m_synced), loose = bytes.size() - synced;
    bytes.resize(synced + random(loose + 1));
    // A file system may have grown the file before it wrote the pages.
    if (bytes.size() > synced && random(2) == 0) {
        const std::size_t zerosFrom = synced + random(bytes.size() - synced);
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(zerosFrom), bytes.end(), '\0');
    }
    std::ofstream(m_path, std::ios::binary | std::ios::trunc) << bytes;
}

} // namespace lockstep::test
