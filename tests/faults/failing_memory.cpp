// SPDX-License-Identifier: MIT
// For a program that is started with LD_PRELOAD=libfailing_memory.so: the n-th large allocation and all after it fail.
//   FAILING_MEMORY_FROM=BYTES       smaller ones are left alone
//   FAILING_MEMORY_PROGRAM=NAME     the program whose allocations count; what it starts under other names is left alone
//   FAILING_MEMORY_COUNT=FILE       eight bytes of zeros, in which all its processes count together
//   FAILING_MEMORY_LOG=FILE         gets a line an allocation: number, bytes
//   FAILING_MEMORY_AT=N             the first that fails, from 1; 0: none
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// glibc's own names of its functions: to look them up would allocate.
void *__libc_malloc(size_t size);                     // NOLINT(bugprone-reserved-identifier)
void *__libc_calloc(size_t count, size_t size);       // NOLINT(bugprone-reserved-identifier)
void *__libc_realloc(void *old, size_t size);         // NOLINT(bugprone-reserved-identifier)
void *__libc_memalign(size_t alignment, size_t size); // NOLINT(bugprone-reserved-identifier)
}

namespace {

struct Orders {
    size_t from = 0;
    long at = 0;
    int log = -1;
    std::atomic<long> *counter = nullptr; ///< null: this program is left alone

    Orders() {
        const char *program = ::getenv("FAILING_MEMORY_PROGRAM"), *count = ::getenv("FAILING_MEMORY_COUNT");
        if (!program || !count || std::strcmp(program, program_invocation_short_name) != 0)
            return;
        from = std::strtoull(::getenv("FAILING_MEMORY_FROM"), nullptr, 10);
        at = std::atol(::getenv("FAILING_MEMORY_AT"));
        log = ::open(::getenv("FAILING_MEMORY_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        const int file = ::open(count, O_RDWR | O_CLOEXEC);
        void *shared = ::mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED)
            counter = static_cast<std::atomic<long> *>(shared);
        ::close(file);
    }
};

/// Counts the allocation, and says whether it fails.
bool fails(size_t size) {
    if (size < 4096) // no orders are read for the many small ones
        return false;
    static const Orders given;
    if (!given.counter || size < given.from)
        return false;
    const long number = ++*given.counter;
    char line[64];
    const int length = std::snprintf(line, sizeof line, "%ld %zu\n", number, size);
    if (::write(given.log, line, std::size_t(length)) < 0)
        std::abort();
    if (given.at == 0 || number < given.at)
        return false;
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" {

void *malloc(size_t size) {
    return fails(size) ? nullptr : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails(count * size) ? nullptr : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return fails(size) ? nullptr : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    return fails(size) ? nullptr : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **where, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (!memory)
        return ENOMEM;
    *where = memory;
    return 0;
}

} // extern "C"
