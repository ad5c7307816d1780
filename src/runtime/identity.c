// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/identity.h"

#include "base/idmap.h"
#include "base/process.h"
#include "base/text.h"
#include "format/live_names.h"
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
#include <sys/statvfs.h>
#include <unistd.h>

#define LEAST_FREE_BYTES ((uint64_t)1 << 20)

/*
 * In the order in which they are believed, with the sizes that may go with each: PMIx names none,
 * but who uses it does. Slurm sets its own even where another launcher runs below it.
 */
static const struct {
    const char *rank, *sizes[2];
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}},
    {"PMIX_RANK", {"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}},
    {"PMI_RANK", {"PMI_SIZE"}},
    {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}},
    {"SLURM_PROCID", {"SLURM_NTASKS"}},
};
/* How many of the ranks are on this node. */
static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                          "MV2_COMM_WORLD_LOCAL_SIZE"};
#define FIRST_SPECIAL_STEP 0xfffffff0u /* of Slurm: the batch script, a shell that salloc starts */
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

static uint32_t number_or(const char *text, uint32_t otherwise)
{
    char *end;

    if (!text || !*text)
        return otherwise;
    unsigned long value = strtoul(text, &end, 10);

    return *end == '\0' && value < UINT32_MAX ? (uint32_t)value : otherwise;
}

/*
 * Only a step of a Slurm job has ranks; and one with a terminal is a shell, in which a user types
 * commands that are none.
 */
static bool slurm_is_believed(void)
{
    uint32_t step = number_or(getenv("SLURM_STEP_ID"), UINT32_MAX);

    return step < FIRST_SPECIAL_STEP && !getenv("SLURM_PTY_PORT");
}

/* As a number; `otherwise` where it is not set, or not to be believed. */
static uint32_t variable(const char *name, uint32_t otherwise)
{
    if (!name || (strncmp(name, "SLURM_", 6) == 0 && !slurm_is_believed()))
        return otherwise;
    return number_or(getenv(name), otherwise);
}

/* What the launcher says; AR_RANK_NONE and 0 where none does, or what it says cannot be. */
static void find_rank(uint32_t *rank, uint32_t *size)
{
    for (size_t i = 0; i < N_OF(launchers); i++) {
        *rank = variable(launchers[i].rank, AR_RANK_NONE);
        *size = variable(launchers[i].sizes[0], variable(launchers[i].sizes[1], 0));
        if (*rank != AR_RANK_NONE && (*size == 0 || *rank < *size))
            return;
    }
    *rank = AR_RANK_NONE;
    *size = 0;
}

/* Of a list with the tasks of each node, such as 2(x3),1; 0: it has no such node. */
static uint32_t tasks_of_node(const char *list, uint32_t node)
{
    while (list && isdigit((unsigned char)*list)) {
        char *end;
        unsigned long n_tasks = strtoul(list, &end, 10), n_nodes = 1;

        if (strncmp(end, "(x", 2) == 0) {
            n_nodes = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < n_nodes)
            return n_tasks < UINT32_MAX ? (uint32_t)n_tasks : 0;
        node -= (uint32_t)n_nodes;
        list = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

/* A launcher below Slurm says it itself: the tasks of Slurm may then be no ranks. */
static uint32_t find_local_size(void)
{
    const char *said = first_set(local_sizes, N_OF(local_sizes));

    if (said || !slurm_is_believed())
        return number_or(said, 0);
    return tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"),
                         number_or(getenv("SLURM_NODEID"), UINT32_MAX));
}

/* By MPI_Comm_spawn, into a world of its own. */
static bool is_spawned(void)
{
    return getenv("PMI_SPAWNED") || getenv("OMPI_PARENT_PORT");
}

/*
 * Ranks may be started through a shell or another wrapper: then their parents differ, but not what
 * is above.
 */
static uint32_t launcher_above(uint32_t parent)
{
    static const char *const names[] = {"hydra_pmi_proxy", "hydra_bstrap_pr", "mpiexec", "mpirun",
                                        "pmi_proxy"};
    struct ar_process_stat stat;
    uint32_t pid = parent;

    for (int depth = 0; depth < 16 && pid > 1 && ar_process_read(pid, &stat); depth++) {
        for (size_t i = 0; i < N_OF(names); i++)
            if (strncmp(stat.name, names[i], strlen(names[i])) == 0)
                return pid;
        pid = stat.parent;
    }
    return parent;
}

static bool has_live_file(const char *job_dir, uint32_t pid)
{
    bool found = false;
    DIR *dir = opendir(job_dir);

    if (!dir)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        struct ar_live_name name;

        found = ar_live_name_parse(entry->d_name, &name) && name.root_pid == pid;
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

static void find_job(struct ar_identity *id)
{
    const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    const char *job = first_set(job_variables, N_OF(job_variables));

    if (id->world_rank == AR_RANK_NONE)
        ar_live_name_job_of_process(id->job, sizeof id->job, id->pid, id->pid_start);
    else if (job)
        ar_live_name_job_called(id->job, sizeof id->job, job);
    else if (slurm && step)
        ar_live_name_job_of_slurm(id->job, sizeof id->job, slurm, step);
    else {
        uint32_t launcher = launcher_above(id->parent_pid);

        /* hydra gives a world that was spawned no name of its own */
        ar_live_name_job_of_launcher(id->job, sizeof id->job, launcher, ar_process_start(launcher),
                                     is_spawned());
    }
}

/* Is it a directory that only we can write to? */
static enum ar_status check_directory(const char *path, struct ar_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return ar_fail(err, AR_IO,
                       "%s: not a directory that only you can write to (remove it, or choose "
                       "another with --live-dir)",
                       path);
    return AR_OK;
}

/* A directory that is ours alone; made if need be. */
static enum ar_status own_directory(const char *path, struct ar_error *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    return check_directory(path, err);
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

/* A file system that is full, or as good as full, is left to those who need it. 0 blocks: no limit. */
static bool has_room(const char *place)
{
    struct statvfs fs;

    return statvfs(place, &fs) < 0 || fs.f_blocks == 0 ||
           (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_FREE_BYTES;
}

static enum ar_status default_job_dir(struct ar_identity *id, struct ar_error *err)
{
    enum ar_status status = AR_IO;

    for (unsigned i = 0; i < AR_N_LIVE_PLACES; i++) {
        const char *place = ar_live_place(i);
        char home[AR_PATH_BYTES];

        if (!place || access(place, W_OK) != 0 || !has_room(place) ||
            !ar_live_name_home(home, sizeof home, place))
            continue;
        status = make_job_dir(id, home, true, err);
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

/* What this process knows by itself, and what the launcher says. */
static void find_self(struct ar_identity *out)
{
    *out = (struct ar_identity){
        .pid = (uint32_t)getpid(),
        .parent_pid = (uint32_t)getppid(),
    };
    find_rank(&out->world_rank, &out->world_size);
    out->local_size = find_local_size();
    out->pid_start = ar_process_start(out->pid);
    if (gethostname(out->host, sizeof out->host) < 0)
        snprintf(out->host, sizeof out->host, "unknown");
    out->host[sizeof out->host - 1] = '\0';
    find_job(out);
}

static void name_root(struct ar_identity *out)
{
    char name[64];

    out->root_pid = out->pid;
    out->root_rank = out->world_rank;
    out->root_start = out->pid_start;
    ar_live_name_stem(name, sizeof name, out->root_rank, out->root_pid, out->root_start);
    snprintf(out->stem, sizeof out->stem, "%.4000s/%s", out->job_dir, name);
    ar_live_name_file(out->live_path, sizeof out->live_path, out->stem, AR_NAME_LIVE);
}

static void name_child(struct ar_identity *out)
{
    char process[AR_PATH_BYTES];

    out->is_child = true;
    ar_live_name_child(process, sizeof process, out->stem, out->pid, out->pid_start);
    ar_live_name_file(out->live_path, sizeof out->live_path, process, AR_NAME_LIVE);
}

enum ar_status ar_identity_find(struct ar_identity *out, const char *live_dir, struct ar_error *err)
{
    enum ar_status status;

    find_self(out);
    status = find_job_dir(out, live_dir, err);
    if (status == AR_OK && out->world_rank != AR_RANK_NONE && is_below_recorded(out)) {
        out->world_rank = AR_RANK_NONE;
        out->world_size = 0;
        find_job(out);
        status = find_job_dir(out, live_dir, err);
    }
    if (status == AR_OK)
        name_root(out);
    return status;
}

bool ar_identity_default_place(struct ar_identity *identity)
{
    struct ar_error err;

    return default_job_dir(identity, &err) == AR_OK;
}

/* The root may have ended meanwhile, and left nothing. */
static enum ar_status make_job_dir_again(const struct ar_identity *identity, struct ar_error *err)
{
    char parent[AR_PATH_BYTES];

    snprintf(parent, sizeof parent, "%s", identity->job_dir);
    *strrchr(parent, '/') = '\0';
    mkdir(parent, 0700);
    return own_directory(identity->job_dir, err);
}

enum ar_status ar_identity_fork(struct ar_identity *identity, struct ar_error *err)
{
    identity->parent_pid = identity->pid;
    identity->parent_start = identity->pid_start;
    identity->pid = (uint32_t)getpid();
    identity->pid_start = ar_process_start(identity->pid);
    name_child(identity);
    return make_job_dir_again(identity, err);
}

/* It comes from the environment, where anything may stand. */
static bool read_stem(struct ar_identity *out, const char *stem)
{
    const char *slash = strrchr(stem, '/');
    struct ar_live_name name;

    if (stem[0] != '/' || slash == stem || strlen(stem) >= sizeof out->stem - 64 ||
        !ar_live_name_parse_stem(stem, &name))
        return false;
    snprintf(out->stem, sizeof out->stem, "%s", stem);
    snprintf(out->job_dir, sizeof out->job_dir, "%.*s", (int)(slash - stem), stem);
    out->root_rank = name.rank;
    out->root_pid = name.root_pid;
    out->root_start = name.root_start;
    return true;
}

/*
 * The launcher's variables are passed on to everything below a rank: they are the root's, unless
 * they name another job, which the root has started. But in a world that MPI has started there are
 * the same ranks once more.
 */
static void choose_rank(struct ar_identity *out)
{
    const char *slash = strrchr(out->job_dir, '/');
    const char *job = slash ? slash + 1 : out->job_dir;

    if (out->world_rank == AR_RANK_NONE || is_spawned() || strcmp(out->job, job) == 0) {
        out->world_rank = out->root_rank;
        if (out->root_rank == AR_RANK_NONE || is_spawned())
            out->world_size = 0;
    }
    snprintf(out->job, sizeof out->job, "%.63s", job);
}

enum ar_status ar_identity_join(struct ar_identity *out, const char *stem, struct ar_error *err)
{
    find_self(out);
    if (!read_stem(out, stem))
        return ar_fail(err, AR_BAD, "%s: not the name of a recording", stem);
    if (check_directory(out->job_dir, err) < 0)
        return AR_IO;
    out->parent_start = ar_process_start(out->parent_pid);
    if (ar_identity_is_root(out)) {
        out->parent_pid = out->pid;
        out->parent_start = out->pid_start;
    }
    choose_rank(out);
    name_child(out);
    return AR_OK;
}

bool ar_identity_is_root(const struct ar_identity *identity)
{
    return identity->pid == identity->root_pid && identity->pid_start == identity->root_start;
}

/* Without a name it is called after the launcher's process, which is another one on each node. */
uint64_t ar_identity_common_job(const struct ar_identity *identity)
{
    if (ar_live_name_is_job_of_launcher(identity->job))
        return 0;
    return ar_hash_bytes(identity->job, strlen(identity->job));
}

/* The parent directory too, when it is the one we made: rmdir only removes what is empty. */
void ar_identity_leave(const struct ar_identity *identity)
{
    char parent[AR_PATH_BYTES];

    rmdir(identity->job_dir);
    snprintf(parent, sizeof parent, "%s", identity->job_dir);

    char *slash = strrchr(parent, '/');

    if (!slash)
        return;
    *slash = '\0';
    if (ar_live_name_is_home(parent))
        rmdir(parent);
}
