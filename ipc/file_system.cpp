// SPDX-License-Identifier: MIT
#include "ipc/file_system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "ipc/regular_file.h"
#include "ipc/unix_socket.h"
#include "ipc/write_place.h"

namespace lockstep {

bool isThere(const std::string &path) {
    return ::access(path.c_str(), F_OK) == 0;
}

/// A rename gives another inode; the time covers inodes that are used again.
std::string fileStamp(const std::string &path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
        return {};
    return std::to_string(info.st_ino) + "/" + std::to_string(info.st_mtim.tv_sec) + "." +
           std::to_string(info.st_mtim.tv_nsec) + "/" + std::to_string(info.st_size);
}

namespace {

constexpr std::string_view temporaryMark = ".tmp-";

/// NAME.tmp-PID-NUMBER, where NAME is cut so that a file may have the longest name that there is.
std::string temporaryName(const std::string &name, unsigned number) {
    constexpr std::size_t longestBeginning = 200;
    return name.substr(0, longestBeginning) + std::string(temporaryMark) + std::to_string(::getpid()) + "-" +
           std::to_string(number);
}

/// The process that makes or made this temporary file; 0: the name is none of a temporary file.
pid_t writerOf(std::string_view temporary) {
    const std::size_t mark = temporary.rfind(temporaryMark);
    if (mark == std::string_view::npos)
        return 0;
    pid_t pid = 0;
    const char *end = temporary.data() + temporary.size();
    const auto [rest, error] = std::from_chars(temporary.data() + mark + temporaryMark.size(), end, pid);
    return error == std::errc() && rest != end && *rest == '-' && pid > 0 ? pid : 0;
}

/// Writes everything; returns 0 or errno.
int writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// The owner of a link that leads elsewhere at another user's will; 0: it is none. Links of root's or this user's own are
/// followed: a home may lie on another disk.
uid_t foreignLink(const std::string &path) {
    struct stat status {};
    const bool link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
    return link && status.st_uid != ::geteuid() ? status.st_uid : 0;
}

/// "64 MiB", or "128 KiB" where it is less than one.
std::string limitInWords(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1024, mib = kib * kib;
    return bytes < mib ? std::to_string(bytes / kib) + " KiB" : std::to_string(bytes / mib) + " MiB";
}

/// A new name is durable only after its folder was synced.
int syncFolder(const Fd &folder) {
    const Fd fd(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        return errno;
    return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno;
}

class RealAppendFile final : public AppendFile {
public:
    RealAppendFile(Fd fd, std::string path, std::uint64_t size)
        : m_fd(std::move(fd)), m_path(std::move(path)), m_size(size) {}

    Result<void> append(std::string_view bytes) override {
        const int error = writeAll(m_fd.get(), bytes);
        if (error == 0) {
            m_size += bytes.size();
            return {};
        }
        if (::ftruncate(m_fd.get(), static_cast<off_t>(m_size)) != 0) {
            struct stat status {};
            if (::fstat(m_fd.get(), &status) == 0)
                m_size = static_cast<std::uint64_t>(status.st_size);
        }
        return fail(Error::system("can't write " + m_path, error));
    }

    Result<void> sync() override {
        if (::fdatasync(m_fd.get()) != 0)
            return fail(Error::system("can't sync " + m_path, errno));
        return {};
    }

    Result<void> truncate(std::uint64_t size) override {
        if (::ftruncate(m_fd.get(), static_cast<off_t>(size)) != 0)
            return fail(Error::system("can't truncate " + m_path, errno));
        m_size = size;
        return {};
    }

    [[nodiscard]] std::uint64_t size() const override { return m_size; }

private:
    Fd m_fd;
    std::string m_path;
    std::uint64_t m_size;
};

class RealFileSystem final : public FileSystem {
public:
    Result<std::unique_ptr<AppendFile>> openAppend(const std::string &path) override {
        Result<Fd> fd = openToWrite(path, O_WRONLY | O_APPEND);
        if (!fd)
            return fail(fd.error());
        struct stat status {};
        if (::fstat(fd->get(), &status) != 0)
            return fail(Error::system("can't open " + path, errno));
        if (status.st_size == 0)
            if (const auto place = writePlace(path))
                static_cast<void>(syncFolder(place->folder)); // best effort: the log works without it
        return std::make_unique<RealAppendFile>(std::move(*fd), path, static_cast<std::uint64_t>(status.st_size));
    }

    Result<std::string> readAll(const std::string &path, std::uint64_t largest) override {
        const Result<Fd> file = openRegular(path);
        if (!file)
            return fail(file.error());
        const Fd &fd = *file;
        struct stat status {};
        if (::fstat(fd.get(), &status) != 0)
            return fail(Error::system("can't read " + path, errno));
        const Error tooLarge = Error::failed("can't read " + path + ": it is larger than " + limitInWords(largest) +
                                             ", which no such file is");
        if (static_cast<std::uint64_t>(status.st_size) > largest)
            return fail(tooLarge);
        std::string text;
        text.reserve(static_cast<std::size_t>(status.st_size));
        char buffer[64 * 1024];
        while (true) {
            const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return fail(Error::system("can't read " + path, errno));
            if (got == 0)
                return text;
            text.append(buffer, static_cast<std::size_t>(got));
            if (text.size() > largest) // it grew meanwhile, or is one of /proc, whose sizes are 0
                return fail(tooLarge);
        }
    }

    Result<void> writeAtomically(const std::string &path, std::string_view bytes) override {
        static std::atomic<unsigned> serial{0};
        const Result<WritePlace> place = writePlace(path);
        if (!place)
            return fail(place.error());
        const int folder = place->folder.get();
        std::string temporary;
        Fd fd;
        do { // one of that name may be left over from a dead process with this one's number
            temporary = temporaryName(place->name, serial.fetch_add(1));
            fd = Fd(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        } while (!fd.valid() && errno == EEXIST);
        if (!fd.valid())
            return fail(Error::system("can't write " + path, errno));
        int error = writeAll(fd.get(), bytes);
        if (error == 0 && ::fsync(fd.get()) != 0)
            error = errno;
        if (error == 0 && ::renameat(folder, temporary.c_str(), folder, place->name.c_str()) != 0)
            error = errno;
        if (error != 0) {
            ::unlinkat(folder, temporary.c_str(), 0);
            return fail(Error::system("can't write " + path, error));
        }
        if (const int folderError = syncFolder(place->folder))
            return fail(Error::system("can't sync the folder of " + path, folderError));
        return {};
    }

    Result<void> makeFolders(const std::string &path) override {
        for (std::size_t end = 1; end != std::string::npos && !path.empty();) {
            end = path.find('/', end);
            const std::string part = path.substr(0, end);
            if (end != std::string::npos)
                ++end;
            if (part.ends_with('/'))
                continue;
            if (const uid_t owner = foreignLink(part); owner != 0)
                return fail(Error::failed("can't make the folder " + path + ": " + part + " is a link of uid " +
                                              std::to_string(owner),
                                          "remove it, or choose another folder"));
            const Result<WritePlace> place = writePlace(part);
            if (!place)
                return fail(place.error());
            if (::mkdirat(place->folder.get(), place->name.c_str(), 0700) == 0)
                continue;
            const int error = errno;
            if (const Result<Fd> there = openFolderToWrite(part); !there) // a link, a file or nothing
                return fail(error == EEXIST ? there.error() : Error::system("can't make the folder " + part, error));
        }
        return {};
    }
};

} // namespace

void removeLeftTemporaries(const std::string &folder, std::string_view prefix) {
    const Result<Fd> opened = openFolderToWrite(folder);
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; opened && !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const pid_t writer = name.starts_with(prefix) ? writerOf(name) : 0;
        if (writer > 0 && (writer == ::getpid() || (::kill(writer, 0) != 0 && errno == ESRCH)))
            ::unlinkat(opened->get(), name.c_str(), 0);
    }
}

FileSystem &realFileSystem() {
    static RealFileSystem fileSystem;
    return fileSystem;
}

} // namespace lockstep
