// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"

#include "scratch.h"
#include "tap.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HOLE ((off_t)1 << 30)

static struct ar_error error;

/* ---- what is opened -------------------------------------------------------------------------- */

static bool is_refused(const char *name, int flags)
{
    int fd = ar_file_open(AT_FDCWD, scratch_path(name), flags, NULL);

    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EINVAL && ar_file_refuse(name, &error) == AR_BAD &&
           strstr(error.text, "not a regular file");
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        perror(path);
    close(fd);
}

static void test_only_regular_files(void)
{
    static const int ways[] = {O_RDONLY, O_RDWR, O_WRONLY | O_APPEND | O_CREAT,
                               O_RDONLY | O_NOFOLLOW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW};
    static const char *const names[] = {"fifo", "socket", "directory", "device"};
    bool good = true;

    mkfifo(scratch_path("fifo"), 0600);
    make_socket(scratch_path("socket"));
    mkdir(scratch_path("directory"), 0700);
    if (symlink("/dev/zero", scratch_path("device")) < 0)
        perror("device");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            good &= is_refused(names[i], ways[k]);
    tap_ok(good, "nothing else than a regular file is opened, nor waited for");
}

static void test_links(void)
{
    struct stat st;
    int fd;

    scratch_write(scratch_path("file"), "abc", 3);
    if (symlink("file", scratch_path("link")) < 0)
        perror("link");
    tap_ok(is_refused("link", O_RDONLY | O_NOFOLLOW), "a link is not followed if nobody wants it");
    fd = ar_file_open(AT_FDCWD, scratch_path("link"), O_RDONLY, &st);
    tap_ok(fd >= 0 && st.st_size == 3, "a link that was named is");
    close(fd);
    tap_ok(ar_file_check_found(scratch_path("file"), &error) == AR_OK &&
               ar_file_check_found(scratch_path("link"), &error) == AR_BAD,
           "nor is one that was found");
    tap_ok(ar_file_is_own(scratch_path("file")) && !ar_file_is_own(scratch_path("link")) &&
               !ar_file_is_own(scratch_path("fifo")) && !ar_file_is_own(scratch_path("none")),
           "only a file itself is one's own");
    tap_ok(ar_file_is_own_directory(scratch_dir) &&
               !ar_file_is_own_directory(scratch_path("file")) &&
               chmod(scratch_path("directory"), 0770) == 0 &&
               !ar_file_is_own_directory(scratch_path("directory")),
           "a directory that others can write to is not");
}

/* ---- what is read ---------------------------------------------------------------------------- */

static void make_sparse(const char *path, off_t at, const char *text)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || pwrite(fd, "begin", 5, 0) != 5 ||
        pwrite(fd, text, strlen(text), at) != (ssize_t)strlen(text))
        perror(path);
    close(fd);
}

static void test_holes(void)
{
    unsigned char *bytes = calloc(HOLE + 100, 1);
    struct stat st;
    int fd;

    make_sparse(scratch_path("sparse"), HOLE, "the end");
    fd = ar_file_open(AT_FDCWD, scratch_path("sparse"), O_RDONLY, &st);
    tap_ok(ar_file_is_sparse(&st, (uint64_t)st.st_size), "it is sparse");

    int64_t n = ar_file_read_sparse(fd, bytes, (size_t)st.st_size, 0, true, "x", &error);

    tap_ok(n > 0 && n < 1 << 20 && memcmp(bytes, "begin", 5) == 0 &&
               memcmp(bytes + HOLE, "the end", 7) == 0,
           "of a hole nothing is written");
    tap_ok(ar_file_read_sparse(fd, bytes, (size_t)st.st_size + 1, 0, true, "x", &error) == AR_BAD &&
               strstr(error.text, "shorter"),
           "refused: %s", error.text);
    tap_ok(ftruncate(fd, 100) < 0 && truncate(scratch_path("sparse"), 100000) == 0 &&
               ar_file_read_sparse(fd, bytes, 200000, 0, true, "x", &error) == AR_BAD,
           "a hole at the end does not hide that it is shorter");
    close(fd);
    free(bytes);
}

static void test_whole_files(void)
{
    unsigned char *bytes;
    struct stat st;

    tap_ok(ar_file_read(scratch_path("file"), &bytes, &st, &error) == AR_OK && st.st_size == 3 &&
               memcmp(bytes, "abc", 3) == 0,
           "a file is read");
    free(bytes);
    make_sparse(scratch_path("small"), 1 << 20, "the end");
    tap_ok(ar_file_read(scratch_path("small"), &bytes, &st, &error) == AR_OK &&
               memcmp(bytes + (1 << 20), "the end", 7) == 0,
           "as one with a hole is");
    free(bytes);
    make_sparse(scratch_path("large"), HOLE, "the end");
    tap_ok(ar_file_read(scratch_path("large"), &bytes, &st, &error) == AR_BAD && !bytes,
           "refused: %s", error.text);
    tap_ok(ar_file_read(scratch_path("fifo"), &bytes, &st, &error) == AR_BAD && !bytes,
           "refused: %s", error.text);
    tap_ok(ar_file_read(scratch_path("none"), &bytes, &st, &error) == AR_IO && !bytes,
           "refused: %s", error.text);
}

int main(void)
{
    scratch_make();
    test_only_regular_files();
    test_links();
    test_holes();
    test_whole_files();
    scratch_remove();
    return tap_done();
}
