// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output.h"

#include "base/limits.h"
#include "base/text.h"
#include "format/runfile.h"
#include "runtime/family.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_RUNS 100 /* of the same name: looking for ours among them has an end */

static struct {
    char name[AR_PATH_BYTES];
    bool per_rank;
    bool had_slash; /* at its end */
} output;

void ar_output_set(const char *name, bool per_rank)
{
    snprintf(output.name, sizeof output.name, "%s", name);
    output.per_rank = per_rank;

    size_t n = strlen(output.name);

    output.had_slash = n > 1 && output.name[n - 1] == '/';
    while (n > 1 && output.name[n - 1] == '/')
        output.name[--n] = '\0';
}

bool ar_output_is_per_rank(void)
{
    return output.per_rank;
}

/* ---- its name --------------------------------------------------------------------------------- */

/* As the scheduler calls it, for the user's eyes; ours where there is none. */
static const char *job_of(const struct ar_identity *identity)
{
    static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *job = getenv(variables[i]);

        if (job && *job)
            return job;
    }
    return identity->job;
}

/* What the word in braces stands for; returns how long that word is, 0: it is none of ours. */
static size_t word_at(const char *at, const struct ar_identity *identity, char *value,
                      size_t n_value)
{
    size_t n_word = strcspn(at, "}") + 1;

    if (strncmp(at, "{rank}", 6) == 0)
        snprintf(value, n_value, "%u",
                 identity->root_rank == AR_RANK_NONE ? 0 : identity->root_rank);
    else if (strncmp(at, "{pid}", 5) == 0)
        snprintf(value, n_value, "%u", identity->root_pid);
    else if (strncmp(at, "{host}", 6) == 0)
        snprintf(value, n_value, "%s", identity->host);
    else if (strncmp(at, "{job}", 5) == 0)
        snprintf(value, n_value, "%s", job_of(identity));
    else
        return 0;
    for (char *c = value; *c; c++) /* none of them may lead to another directory */
        if (*c == '/' || !isprint((unsigned char)*c))
            *c = '_';
    return n_word;
}

static bool names_rank(const char *name)
{
    for (const char *at = name; (at = strchr(at, '{')); at++) {
        if (strncmp(at, "{rank}", 6) == 0)
            return true;
        at += at[1] == '{';
    }
    return false;
}

/* Where the ending of the file's name begins; its end if there is none. */
static const char *ending_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');

    return dot && dot > base ? dot : base + strlen(base);
}

void ar_output_name(const struct ar_identity *identity, char *path)
{
    bool numbered =
        output.per_rank && identity->root_rank != AR_RANK_NONE && !names_rank(output.name);
    const char *at = output.name, *ending = numbered ? ending_of(at) : NULL;
    size_t n = 0;

    for (;;) {
        char value[128];

        if (at == ending)
            n += (size_t)snprintf(path + n, AR_PATH_BYTES - n, ".%u", identity->root_rank);
        if (*at == '\0' || n >= AR_PATH_BYTES - 1)
            break;

        size_t n_word = word_at(at, identity, value, sizeof value);

        if (n_word) {
            n += (size_t)snprintf(path + n, AR_PATH_BYTES - n, "%s", value);
        } else {
            n_word = (*at == '{' || *at == '}') && at[1] == *at ? 2 : 1;
            path[n++] = *at;
        }
        if (n >= AR_PATH_BYTES - 1)
            break;
        at += n_word;
    }
    path[n < AR_PATH_BYTES ? n : AR_PATH_BYTES - 1] = '\0';
}

static void cut_to_directory(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        slash[slash == path] = '\0';
    else
        snprintf(path, AR_PATH_BYTES, ".");
}

void ar_output_directory(const struct ar_identity *identity, char *path)
{
    ar_output_name(identity, path);
    cut_to_directory(path);
}

/* ---- whether it can be written ----------------------------------------------------------------- */

#define PROBE_BYTES 4096

static bool has_room(int fd)
{
    static const char zeros[PROBE_BYTES];

    return !ar_file_may_have(PROBE_BYTES) || write(fd, zeros, PROBE_BYTES) == PROBE_BYTES;
}

/* Why no file can be made; other errors say only that there are no files without names here. */
static bool is_final(int error)
{
    static const int errors[] = {ENOENT, ENOTDIR, EACCES, EPERM,       EROFS,
                                 ENOSPC, EDQUOT,  ELOOP,  ENAMETOOLONG};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (error == errors[i])
            return true;
    return false;
}

/*
 * By a file without a name, of which nothing can stay. File systems that have no such files say only
 * what we may do. errno tells why not.
 */
static bool can_write_in(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0)
        return !is_final(errno) && faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0;

    bool can = has_room(fd);
    int error = errno;

    close(fd);
    errno = error;
    return can;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum ar_status ar_output_check(const struct ar_identity *identity, struct ar_error *err)
{
    char path[AR_PATH_BYTES], directory[AR_PATH_BYTES];

    ar_output_name(identity, path);
    ar_output_directory(identity, directory);
    if (!can_write_in(directory))
        return ar_fail(err, AR_IO,
                       "%.300s: %s (the program is recorded all the same; if the run cannot be "
                       "written when it ends, a line says how to recover it)",
                       directory, strerror(errno));
    if (is_directory(path))
        return ar_fail(err, AR_EXISTS,
                       "%.300s: is a directory (the run gets that name with -2 or the next number "
                       "that is free)",
                       path);
    if (output.had_slash)
        return ar_fail(err, AR_EXISTS,
                       "%.300s/: not the name of a file (the run gets it without the slash)", path);
    return AR_OK;
}

/* `path` becomes the file of that name there. */
static bool move_to(const char *directory, const char *name, char *path)
{
    if (!directory || *directory != '/' || strlen(directory) + 1 + strlen(name) >= AR_PATH_BYTES ||
        !can_write_in(directory))
        return false;
    stpcpy(stpcpy(stpcpy(path, directory), "/"), name);
    return true;
}

void ar_output_name_elsewhere(const struct ar_identity *identity, char *path)
{
    char name[AR_PATH_BYTES], directory[AR_PATH_BYTES], here[AR_PATH_BYTES];

    ar_output_name(identity, path);
    ar_output_directory(identity, directory);
    if (can_write_in(directory))
        return;
    snprintf(name, sizeof name, "%s", ar_base_name(path));
    if (move_to(getcwd(here, sizeof here), name, path) || move_to(getenv("HOME"), name, path) ||
        move_to(getenv("TMPDIR"), name, path))
        return;
    move_to("/tmp", name, path);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static enum ar_status encode(struct ar_profile *p, struct ar_bytes *bytes, struct ar_error *err)
{
    enum ar_status status = ar_run_encode(p, bytes);

    return status < 0 ? ar_fail(err, status, "%s", ar_status_text(status)) : status;
}

enum ar_status ar_output_write_to(struct ar_profile *p, const char *path, char *written,
                                  struct ar_error *err)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = encode(p, &bytes, err);

    if (status == AR_OK)
        status = ar_run_write(&bytes, &p->bulks, path, written, AR_PATH_BYTES, err);
    ar_bytes_free(&bytes);
    return status;
}

enum ar_status ar_output_write(const struct ar_identity *identity, struct ar_profile *p,
                               char *written, struct ar_error *err)
{
    char path[AR_PATH_BYTES];

    ar_output_name(identity, path);
    return ar_output_write_to(p, path, written, err);
}

/* ---- adding ----------------------------------------------------------------------------------- */

/* It was written while others still ran: they are in it as they were then, or not yet. */
static enum ar_status add_to_run(const char *path, struct ar_profile *run, struct ar_profile *p,
                                 struct ar_error *err)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = ar_profile_merge(run, p);

    if (status == AR_OK)
        status = encode(run, &bytes, err);
    if (status == AR_OK)
        status = ar_run_replace(&bytes, &run->bulks, path, err);
    ar_bytes_free(&bytes);
    return status;
}

/* The file may have been moved, and another one may have its name: what is in it tells. */
enum ar_status ar_output_add(const struct ar_identity *identity, struct ar_profile *p,
                             char *written, struct ar_error *err)
{
    char path[AR_PATH_BYTES];

    ar_output_name(identity, path);
    for (int n = 1; n < MAX_RUNS && ar_run_numbered(path, n, written, AR_PATH_BYTES) &&
                    access(written, F_OK) == 0;
         n++) {
        struct ar_profile run;

        if (ar_run_read(&run, written, err) < 0)
            continue;
        if (!ar_family_wrote(identity, &run)) {
            ar_profile_free(&run);
            continue;
        }

        enum ar_status status = add_to_run(written, &run, p, err);

        ar_profile_free(p);
        *p = run;
        return status;
    }
    return ar_fail(err, AR_BAD, "%s: it is not there any more", path);
}
