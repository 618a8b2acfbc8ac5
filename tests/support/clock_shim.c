// SPDX-License-Identifier: MIT
//
// For LD_PRELOAD under a redis-server: shifts its wall clock by the nanoseconds in the file that
// DISTLOCK_CLOCK_OFFSET_FILE names, which may change at any time. Calls nothing that could allocate or ask
// for the time itself: jemalloc does both while it starts.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t zero;
static const int64_t* offset = &zero;

__attribute__((constructor)) static void map_offset(void) {
    const char* name = getenv("DISTLOCK_CLOCK_OFFSET_FILE");
    const int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void* memory = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (memory != MAP_FAILED) {
        offset = memory;
    }
}

int clock_gettime(clockid_t clock, struct timespec* out) {
    const int64_t second = 1000000000;
    const long result = syscall(SYS_clock_gettime, clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        const int64_t now = out->tv_sec * second + out->tv_nsec + __atomic_load_n(offset, __ATOMIC_RELAXED);
        out->tv_sec = now / second;
        out->tv_nsec = now % second;
    }
    return (int)result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
    (void)zone;
    struct timespec now;
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
