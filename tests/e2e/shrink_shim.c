// SPDX-License-Identifier: BSD-3-Clause
/*
 * For LD_PRELOAD, made by the tests: a file becomes shorter while it is read.
 *
 *     SHRINK_PATH=job/r0-p1-2.live  SHRINK_TO=4096   this file, to so many bytes
 *     SHRINK_AFTER=3                                 after the third call that read, mapped or looked at it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void shrink(int fd)
{
    const char *path = getenv("SHRINK_PATH"), *after = getenv("SHRINK_AFTER");
    struct stat named, opened;
    static int n_calls, is_busy;

    if (!path || !after || fd < 0 || is_busy)
        return;
    is_busy = 1;

    int is_it = stat(path, &named) == 0 && fstat(fd, &opened) == 0 &&
                named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;

    is_busy = 0;
    if (is_it && ++n_calls == atoi(after) && truncate(path, atol(getenv("SHRINK_TO"))) < 0)
        abort();
}

#define AROUND(type, name, parameters, arguments)                                                  \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
                                                                                                   \
        if (!real)                                                                                 \
            real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                    \
        type result = real arguments;                                                              \
        shrink(fd);                                                                                \
        return result;                                                                             \
    }

AROUND(int, fstat, (int fd, struct stat *st), (fd, st))
AROUND(int, fstat64, (int fd, struct stat64 *st), (fd, st))
AROUND(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
AROUND(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
AROUND(ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
AROUND(void *, mmap, (void *to, size_t n, int may, int flags, int fd, off_t at),
       (to, n, may, flags, fd, at))
AROUND(void *, mmap64, (void *to, size_t n, int may, int flags, int fd, off_t at),
       (to, n, may, flags, fd, at))
