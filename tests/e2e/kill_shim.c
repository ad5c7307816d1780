// SPDX-License-Identifier: BSD-3-Clause
/*
 * For LD_PRELOAD, made by the tests: ends the process by SIGKILL at the n-th call of a function of
 * the C library, before or after it did its work; or lets CLOCK_REALTIME go back and forth.
 *
 *     KILL_AT=link:1:before  KILL_PATH=.allranks    of calls with a path only those that hold this
 *     CLOCK_STEPS=1
 *     INTERRUPTED=1          large allocations of files are
 *     FILE_SYSTEM=0x6969     what statfs says that every file is on
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void end_if(const char *function, const char *path, int *n_calls, const char *when)
{
    const char *at = getenv("KILL_AT"), *part = getenv("KILL_PATH");
    char name[64] = "", place[16] = "";
    int n = 0;

    if (!at || sscanf(at, "%63[^:]:%d:%15s", name, &n, place) != 3 || strcmp(name, function) != 0)
        return;
    if (path && part && !strstr(path, part))
        return;
    if (strcmp(when, "before") == 0)
        ++*n_calls;
    if (*n_calls == n && strcmp(when, place) == 0)
        kill(getpid(), SIGKILL);
}

/* `label` is what KILL_AT calls it: programs with large files have other names for some. */
#define AROUND(label, type, name, path, parameters, arguments)                                     \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        static int n_calls;                                                                        \
                                                                                                   \
        if (!real)                                                                                 \
            real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                    \
        end_if(label, path, &n_calls, "before");                                                   \
        type result = real arguments;                                                              \
        end_if(label, path, &n_calls, "after");                                                    \
        return result;                                                                             \
    }

/* INTERRUPTED: as with kernels where a signal undoes what has been done, and another always comes. */
#define ALLOCATE(name)                                                                             \
    int name(int fd, off_t from, off_t n)                                                          \
    {                                                                                              \
        static int n_calls;                                                                        \
        int result = EINTR;                                                                        \
                                                                                                   \
        end_if("posix_fallocate", NULL, &n_calls, "before");                                       \
        if (!getenv("INTERRUPTED") || n <= 100000)                                                 \
            result = fallocate(fd, 0, from, n) == 0 ? 0 : errno;                                   \
        end_if("posix_fallocate", NULL, &n_calls, "after");                                        \
        return result;                                                                             \
    }

ALLOCATE(posix_fallocate)
ALLOCATE(posix_fallocate64)
AROUND("fsync", int, fsync, NULL, (int fd), (fd))
AROUND("msync", int, msync, NULL, (void *at, size_t n, int flags), (at, n, flags))
AROUND("link", int, link, to, (const char *from, const char *to), (from, to))
AROUND("link", int, linkat, to,
       (int from_fd, const char *from, int to_fd, const char *to, int flags),
       (from_fd, from, to_fd, to, flags))
AROUND("rename", int, rename, to, (const char *from, const char *to), (from, to))
AROUND("unlink", int, unlink, path, (const char *path), (path))
AROUND("unlinkat", int, unlinkat, path, (int fd, const char *path, int flags), (fd, path, flags))
AROUND("rmdir", int, rmdir, path, (const char *path), (path))
AROUND("mkdir", int, mkdir, path, (const char *path, mode_t mode), (path, mode))

/* As on file systems that have no files without a name: there run files are ".part" first. */
static int is_refused(int flags)
{
    const char *part = getenv("KILL_PATH");

    return (flags & O_TMPFILE) == O_TMPFILE && part && strcmp(part, ".part") == 0;
}

static int n_opened; /* by whichever of its names */

#define OPEN(name, directory, ...)                                                                 \
    int name(__VA_ARGS__ const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, flags);                                                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;                      \
        va_end(ap);                                                                                \
        if (is_refused(flags)) {                                                                   \
            errno = EOPNOTSUPP;                                                                    \
            return -1;                                                                             \
        }                                                                                          \
        end_if("open", path, &n_opened, "before");                                                 \
        int fd = (int)syscall(SYS_openat, directory, path, flags, mode);                           \
        end_if("open", path, &n_opened, "after");                                                  \
        return fd;                                                                                 \
    }

#define WITH ,
OPEN(open, AT_FDCWD)
OPEN(open64, AT_FDCWD)
OPEN(openat, directory, int directory WITH)
OPEN(openat64, directory, int directory WITH)

int clock_gettime(clockid_t id, struct timespec *out)
{
    static unsigned n_calls;
    int status = (int)syscall(SYS_clock_gettime, id, out);

    if (id == CLOCK_REALTIME && getenv("CLOCK_STEPS"))
        out->tv_sec += n_calls++ % 2 ? 3600 : -3600;
    return status;
}

#define STATFS(name)                                                                               \
    int name(const char *path, struct name *out)                                                   \
    {                                                                                              \
        const char *type = getenv("FILE_SYSTEM");                                                  \
        int status = (int)syscall(SYS_statfs, path, out);                                          \
                                                                                                   \
        if (status == 0 && type)                                                                   \
            out->f_type = strtol(type, NULL, 0);                                                   \
        return status;                                                                             \
    }

STATFS(statfs)
STATFS(statfs64)
