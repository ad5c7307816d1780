// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"

#include "scratch.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct ar_error error;
static char written[512];

static enum ar_status write_text(const char *path, const char *text)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes, text, strlen(text));
    memset(error.text, 0, sizeof error.text);

    enum ar_status status = ar_run_write(&bytes, NULL, path, written, sizeof written, &error);

    ar_bytes_free(&bytes);
    return status;
}

static void check_name(const char *wanted, const char *text, const char *expected)
{
    bool good = write_text(scratch_path(wanted), text) == AR_OK &&
                strcmp(written, scratch_path(expected)) == 0 &&
                scratch_holds(written, text, strlen(text));

    if (!tap_ok(good, "%s is written to %s", wanted, expected))
        tap_note("to %s; %s", written, error.text);
}

static void test_names(void)
{
    scratch_make();
    mkdir(scratch_path("v1.2"), 0700);
    check_name("x.allranks", "one", "x.allranks");
    check_name("x.allranks", "two", "x-2.allranks");
    check_name("x.allranks", "three", "x-3.allranks");
    tap_ok(scratch_holds(scratch_path("x.allranks"), "one", 3) &&
               scratch_holds(scratch_path("x-2.allranks"), "two", 3),
           "those before are as they were");
    unlink(scratch_path("x-2.allranks"));
    check_name("x.allranks", "four", "x-2.allranks");
    check_name("plain", "one", "plain");
    check_name("plain", "two", "plain-2");
    check_name("v1.2/plain", "one", "v1.2/plain");
    check_name("v1.2/plain", "two", "v1.2/plain-2");
    check_name("empty.allranks", "", "empty.allranks");
    if (symlink("nowhere", scratch_path("link.allranks")) == 0)
        check_name("link.allranks", "one", "link-2.allranks");
    tap_ok(access(scratch_path("nowhere"), F_OK) != 0, "a link is not followed");
    mkdir(scratch_path("d.allranks"), 0700);
    check_name("d.allranks", "one", "d-2.allranks");
    tap_ok(scratch_count(scratch_dir, ".part") == 0, "no temporary file is left");
    scratch_remove();
}

/* Left by a process that was killed; pids come again, in containers soon. */
static void test_left_over(void)
{
    char name[64];

    scratch_make();
    snprintf(name, sizeof name, "x.allranks.%d.part", (int)getpid());
    scratch_write(scratch_path(name), "half", 4);
    check_name("x.allranks", "whole", "x.allranks");
    scratch_remove();
}

#define N_WRITERS 8

/* All at once: each gets a name of its own. */
static void test_many_writers(void)
{
    bool worked = true;
    int status;

    scratch_make();
    for (int i = 0; i < N_WRITERS; i++)
        if (fork() == 0) {
            char text[16];

            snprintf(text, sizeof text, "writer %d", i);
            _exit(write_text(scratch_path("x.allranks"), text) == AR_OK &&
                          scratch_holds(written, text, strlen(text))
                      ? 0
                      : 1);
        }
    for (int i = 0; i < N_WRITERS; i++)
        worked = wait(&status) > 0 && status == 0 && worked;
    tap_ok(worked, "%d processes write at once", N_WRITERS);
    tap_ok(scratch_count(scratch_dir, ".allranks") == N_WRITERS &&
               scratch_count(scratch_dir, "x-8.allranks") == 1 &&
               scratch_count(scratch_dir, ".part") == 0,
           "there are as many files, the last is x-8, and no other");
    scratch_remove();
}

static void check_refused(const char *path, const char *why)
{
    enum ar_status status = write_text(path, "text");

    tap_ok(status == AR_IO && strncmp(error.text, path, strlen(path)) == 0 &&
               strstr(error.text, why),
           "refused: %s", error.text);
}

static void test_no_such_place(void)
{
    char path[6000];

    scratch_make();
    check_refused(scratch_path("none/x.allranks"), strerror(ENOENT));
    scratch_write(scratch_path("file"), "", 0);
    check_refused(scratch_path("file/x.allranks"), strerror(ENOTDIR));
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    tap_ok(write_text(path, "text") == AR_IO && *error.text, "a name that is too long");
    tap_ok(scratch_count(scratch_dir, "") == 1, "nothing is left");
    scratch_remove();
}

/* The superuser may write anywhere, so for a moment we are somebody else. */
static void test_unwritable_directory(void)
{
    uid_t user = geteuid();

    scratch_make();
    chmod(scratch_dir, 0555);
    if (user != 0 || seteuid(65534) == 0) {
        check_refused(scratch_path("x.allranks"), strerror(EACCES));
        tap_ok(seteuid(user) == 0, "back again");
    }
    tap_ok(scratch_count(scratch_dir, "") == 0, "nothing is left");
    chmod(scratch_dir, 0700);
    scratch_remove();
}

/* A file system that becomes full, as far as we can have one: a limit on the size of files. */
static void test_no_room(void)
{
    struct rlimit before, small = {100, RLIM_INFINITY};
    struct ar_bytes bytes = {0};

    scratch_make();
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    for (int i = 0; i < 1000; i++)
        ar_bytes_u8(&bytes, 'x');
    signal(SIGXFSZ, SIG_IGN);
    fflush(stdout);
    setrlimit(RLIMIT_FSIZE, &small);
    enum ar_status status =
        ar_run_write(&bytes, NULL, scratch_path("x.allranks"), written, sizeof written, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    tap_ok(status == AR_IO && strstr(error.text, strerror(EFBIG)), "no room: %s", error.text);
    tap_ok(scratch_count(scratch_dir, "") == 0, "nothing is left");
    ar_bytes_free(&bytes);
    scratch_remove();
}

int main(void)
{
    test_names();
    test_left_over();
    test_many_writers();
    test_no_such_place();
    test_unwritable_directory();
    test_no_room();
    return tap_done();
}
