// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/identity.h"

#include "base/idmap.h"
#include "base/process.h"
#include "format/livefile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * In the order in which they are believed. Slurm sets its own even where another launcher runs
 * below it.
 */
static const char *const rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                             "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
#define N_SLURM_VARIABLES 1 /* the last of each list; Slurm sets them in batch scripts too */
static const char *const size_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS"};
static const char *const job_variables[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
                                            "PMI_JOBID"};

static const char *first_set(const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return value;
    }
    return NULL;
}

#define N_OF(names) (sizeof(names) / sizeof *(names))

/* Only a step of a Slurm job has ranks. */
static size_t n_believed(size_t n_names)
{
    return getenv("SLURM_STEP_ID") ? n_names : n_names - N_SLURM_VARIABLES;
}

static uint32_t number_or(const char *text, uint32_t otherwise)
{
    char *end;

    if (!text)
        return otherwise;
    unsigned long value = strtoul(text, &end, 10);

    return *end == '\0' && value < UINT32_MAX ? (uint32_t)value : otherwise;
}

/*
 * Ranks may be started through a shell or another wrapper: then their parents differ, but not what
 * is above.
 */
static uint32_t launcher_above(uint32_t parent)
{
    static const char *const launchers[] = {"hydra_pmi_proxy", "hydra_bstrap_pr", "mpiexec",
                                            "mpirun", "pmi_proxy"};
    struct ar_process_stat stat;
    uint32_t pid = parent;

    for (int depth = 0; depth < 16 && pid > 1 && ar_process_read(pid, &stat); depth++) {
        for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
            if (strncmp(stat.name, launchers[i], strlen(launchers[i])) == 0)
                return pid;
        pid = stat.parent;
    }
    return parent;
}

static bool has_live_file(const char *job_dir, uint32_t pid)
{
    char mark[32];
    bool found = false;
    DIR *dir = opendir(job_dir);

    if (!dir)
        return false;
    snprintf(mark, sizeof mark, "p%u-", pid);
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        const char *at = strstr(entry->d_name, mark);

        found = at && (at == entry->d_name || at[-1] == '-');
    }
    closedir(dir);
    return found;
}

/* Started by a recorded process, which passed its launcher's environment on: a child, not a rank. */
static bool is_below_recorded(const struct ar_identity *id)
{
    struct ar_process_stat stat;
    uint32_t pid = id->parent_pid;

    for (int depth = 0; depth < 16 && pid > 1 && ar_process_read(pid, &stat); depth++) {
        if (has_live_file(id->job_dir, pid))
            return true;
        pid = stat.parent;
    }
    return false;
}

/* A file name: whatever else a job id may hold becomes '_'. */
static void clean_name(char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '.')
            *name = '_';
}

static void find_job(struct ar_identity *id)
{
    const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    const char *job = first_set(job_variables, N_OF(job_variables));

    if (id->world_rank == AR_RANK_NONE)
        snprintf(id->job, sizeof id->job, "pid%u-%llu", id->pid, (unsigned long long)id->pid_start);
    else if (job && strlen(job) <= 40)
        snprintf(id->job, sizeof id->job, "job%s", job);
    else if (job) /* what tells jobs apart may stand at the end */
        snprintf(id->job, sizeof id->job, "job-%016llx",
                 (unsigned long long)ar_hash_bytes(job, strlen(job)));
    else if (slurm && step)
        snprintf(id->job, sizeof id->job, "slurm%.24s.%.24s", slurm, step);
    else {
        uint32_t launcher = launcher_above(id->parent_pid);

        snprintf(id->job, sizeof id->job, "launcher%u-%llu", launcher,
                 (unsigned long long)ar_process_start(launcher));
    }
    clean_name(id->job);
}

/* A directory that is ours alone; made if need be. */
static enum ar_status own_directory(const char *path, struct ar_error *err)
{
    struct stat st;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (lstat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return ar_fail(err, AR_IO,
                       "%s: not a directory that only you can write to (remove it, or choose "
                       "another with --live-dir)",
                       path);
    return AR_OK;
}

/* Twice: the last rank of another job may remove the parent between our two calls. */
static enum ar_status make_job_dir(struct ar_identity *id, const char *parent, bool parent_is_ours,
                                   struct ar_error *err)
{
    enum ar_status status = AR_OK;

    if (snprintf(id->job_dir, sizeof id->job_dir, "%s/%s", parent, id->job) >=
        (int)sizeof id->job_dir - 64)
        return ar_fail(err, AR_IO, "%s: name too long", parent);
    for (int i = 0; i < 2; i++) {
        status = AR_OK;
        if (parent_is_ours)
            status = own_directory(parent, err);
        else if (mkdir(parent, 0700) < 0 && errno != EEXIST)
            return ar_fail(err, AR_IO, "%s: %s (choose another with --live-dir)", parent,
                           strerror(errno));
        if (status == AR_OK)
            status = own_directory(id->job_dir, err);
        if (status == AR_OK)
            break;
    }
    return status;
}

static enum ar_status default_job_dir(struct ar_identity *id, struct ar_error *err)
{
    const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    enum ar_status status = AR_IO;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char parent[AR_PATH_BYTES];

        if (!places[i] || !*places[i] || access(places[i], W_OK) != 0)
            continue;
        snprintf(parent, sizeof parent, "%s/allranks-%u", places[i], (unsigned)geteuid());
        status = make_job_dir(id, parent, true, err);
        if (status == AR_OK)
            return AR_OK;
    }
    return status;
}

static enum ar_status find_job_dir(struct ar_identity *id, const char *live_dir,
                                   struct ar_error *err)
{
    ar_fail(err, AR_IO, "no directory for live files (choose one with --live-dir)");
    if (live_dir && *live_dir)
        return make_job_dir(id, live_dir, false, err);
    return default_job_dir(id, err);
}

enum ar_status ar_identity_find(struct ar_identity *out, const char *live_dir, struct ar_error *err)
{
    enum ar_status status;

    *out = (struct ar_identity){
        .pid = (uint32_t)getpid(),
        .parent_pid = (uint32_t)getppid(),
        .world_rank =
            number_or(first_set(rank_variables, n_believed(N_OF(rank_variables))), AR_RANK_NONE),
        .world_size = number_or(first_set(size_variables, n_believed(N_OF(size_variables))), 0),
    };
    out->pid_start = ar_process_start(out->pid);
    if (gethostname(out->host, sizeof out->host) < 0)
        snprintf(out->host, sizeof out->host, "unknown");
    out->host[sizeof out->host - 1] = '\0';
    find_job(out);
    status = find_job_dir(out, live_dir, err);
    if (status == AR_OK && out->world_rank != AR_RANK_NONE && is_below_recorded(out)) {
        out->world_rank = AR_RANK_NONE;
        out->world_size = 0;
        find_job(out);
        status = find_job_dir(out, live_dir, err);
    }
    if (status < 0)
        return status;

    char *at = out->live_path;
    char *end = at + sizeof out->live_path;

    at += snprintf(at, (size_t)(end - at), "%s/", out->job_dir);
    if (out->world_rank != AR_RANK_NONE)
        at += snprintf(at, (size_t)(end - at), "r%u-", out->world_rank);
    snprintf(at, (size_t)(end - at), "p%u-%llu.live", out->pid, (unsigned long long)out->pid_start);
    return AR_OK;
}

/* The parent directory too, when it is the one we made: rmdir only removes what is empty. */
void ar_identity_leave(const struct ar_identity *identity)
{
    char parent[AR_PATH_BYTES], own_name[64];

    rmdir(identity->job_dir);
    snprintf(parent, sizeof parent, "%s", identity->job_dir);
    snprintf(own_name, sizeof own_name, "/allranks-%u", (unsigned)geteuid());

    char *slash = strrchr(parent, '/');

    if (!slash)
        return;
    *slash = '\0';

    size_t n = strlen(parent), n_own = strlen(own_name);

    if (n >= n_own && strcmp(parent + n - n_own, own_name) == 0)
        rmdir(parent);
}
