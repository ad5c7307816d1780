// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/look.h"

#include "analysis/load.h"
#include "analysis/stacks.h"
#include "base/file.h"
#include "format/live_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum ar_status ar_watch_init(struct ar_watch *w)
{
    *w = (struct ar_watch){0};
    return ar_profile_init(&w->names);
}

void ar_watch_free(struct ar_watch *w)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        free(w->processes[i].now.shares);
        free(w->processes[i].before.shares);
    }
    free(w->processes);
    ar_profile_free(&w->names);
    *w = (struct ar_watch){0};
}

/* ---- names ------------------------------------------------------------------------------------ */

static enum ar_status give_string(struct ar_watch *w, const struct ar_profile *p, uint32_t *string)
{
    return ar_profile_string(&w->names, ar_strtab_get(&p->strings, *string), string);
}

/* The numbers that the functions of a profile have in the watch. */
static enum ar_status give_numbers(struct ar_watch *w, const struct ar_profile *p, uint32_t *ids)
{
    for (size_t i = 0; i < p->n_functions; i++) {
        struct ar_function function = p->functions[i];

        if (give_string(w, p, &function.name) < 0 || give_string(w, p, &function.file) < 0 ||
            ar_profile_function(&w->names, function, &ids[i]) < 0)
            return AR_NOMEM;
    }
    for (size_t i = 0; i < p->n_facts; i++)
        if (ar_profile_fact(&w->names, ar_strtab_get(&p->strings, p->facts[i].key),
                            ar_strtab_get(&p->strings, p->facts[i].value)) < 0)
            return AR_NOMEM;
    return AR_OK;
}

/* ---- one process ------------------------------------------------------------------------------ */

static bool is_same(const struct ar_process *a, const struct ar_process *b)
{
    return a->pid == b->pid && a->host == b->host && a->start_real_ns == b->start_real_ns;
}

static struct ar_watched *find_process(struct ar_watch *w, const struct ar_process *process)
{
    for (size_t i = 0; i < w->n_processes; i++)
        if (is_same(&w->processes[i].process, process))
            return &w->processes[i];
    if (ar_grow((void **)&w->processes, &w->cap, w->n_processes + 1, sizeof *w->processes) < 0)
        return NULL;
    w->processes[w->n_processes] = (struct ar_watched){.is_new = true};
    return &w->processes[w->n_processes++];
}

static enum ar_status sum_up(const struct ar_watch *w, struct ar_profile *p, const uint32_t *ids,
                             struct ar_look *look)
{
    struct ar_totals t;
    struct ar_by_function b = {0};
    struct ar_shares shares = {0};

    if (ar_totals_build(&t, p) < 0)
        return AR_NOMEM;

    enum ar_status status = ar_by_function_build(&b, p, &t);

    if (status == AR_OK)
        status = ar_shares_open(&shares, &b);
    if (status == AR_OK) {
        look->n_shares = w->names.n_functions;
        look->shares = calloc(look->n_shares + 1, sizeof *look->shares);
        if (!look->shares)
            status = AR_NOMEM;
        for (uint32_t f = 0; f < p->n_functions && look->shares; f++) {
            ar_shares_get(&shares, f, &look->shares[ids[f]]);
            if (p->functions[f].kind == AR_FUNCTION_MPI)
                look->mpi_ns += look->shares[ids[f]].self_ns;
        }
    }
    ar_shares_close(&shares);
    ar_by_function_free(&b);
    look->wall_ns = p->processes[0].wall_ns;
    ar_totals_free(&t);
    return status;
}

/* The innermost frames of the main thread. */
static void find_place(const struct ar_profile *p, const struct ar_stacks *s, const uint32_t *ids,
                       struct ar_watched *to)
{
    uint32_t node = s->n_groups && s->groups[0].is_main ? s->groups[0].node : 0;

    for (; node != 0 && to->function == AR_NO_ID; node = s->nodes[node].parent) {
        struct ar_frame frame = s->nodes[node].frame;
        uint32_t kind = p->functions[frame.function].kind;

        if (kind == AR_FUNCTION_PYTHON) {
            to->function = ids[frame.function];
            to->line = frame.line;
        } else if ((kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_BUILTIN ||
                    kind == AR_FUNCTION_OPERATION) &&
                   to->leaf == AR_NO_ID) {
            to->leaf = ids[frame.function];
        }
    }
}

static enum ar_status find_signs(const struct ar_profile *p, const uint32_t *ids,
                                 struct ar_watched *to)
{
    struct ar_stacks s;

    to->function = to->leaf = AR_NO_ID;
    to->line = 0;
    to->still_ns = p->n_locations ? UINT64_MAX : 0;
    if (ar_stacks_build(&s, p, false) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (ar_stacks_still_ns(p, i) < to->still_ns)
            to->still_ns = ar_stacks_still_ns(p, i);
    to->n_threads = (uint32_t)s.n_threads;
    find_place(p, &s, ids, to);
    ar_stacks_free(&s);
    return AR_OK;
}

static enum ar_status take_over(struct ar_watch *w, struct ar_profile *p, const uint32_t *ids)
{
    struct ar_process process = p->processes[0];
    struct ar_look look = {0};

    if (give_string(w, p, &process.host) < 0 || give_string(w, p, &process.command) < 0)
        return AR_NOMEM;

    struct ar_watched *to = find_process(w, &process);

    if (!to || sum_up(w, p, ids, &look) < 0 || find_signs(p, ids, to) < 0) {
        free(look.shares);
        return AR_NOMEM;
    }
    free(to->before.shares);
    to->is_new = to->now.shares == NULL;
    to->before = to->now;
    to->now = look;
    to->process = process;
    to->was_seen = true;
    return AR_OK;
}

static enum ar_status look_at(struct ar_watch *w, const char *path, struct ar_error *err)
{
    struct ar_profile p;
    uint32_t *ids = NULL;
    enum ar_status status = ar_profile_init(&p);

    if (status == AR_OK)
        status = ar_file_check_found(path, err);
    if (status == AR_OK)
        status = ar_load_live(&p, path, err);
    if (status == AR_OK) {
        ids = calloc(p.n_functions + 1, sizeof *ids);
        status = ids ? give_numbers(w, &p, ids) : AR_NOMEM;
    }
    if (status == AR_OK)
        status = take_over(w, &p, ids);
    free(ids);
    ar_profile_free(&p);
    return status == AR_NOMEM ? ar_fail(err, status, "%s: out of memory", path) : status;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* In a directory, and in those of jobs below it. What cannot be read is counted; memory is needed. */
static enum ar_status look_into(struct ar_watch *w, const char *path, int depth,
                                struct ar_error *err)
{
    DIR *dir = opendir(path);
    enum ar_status status = AR_OK;

    if (!dir)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    for (struct dirent *entry; status != AR_NOMEM && (entry = readdir(dir));) {
        char full[8192];
        struct stat st;

        snprintf(full, sizeof full, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(full, &st) < 0)
            continue; /* also one that has just gone */
        status = AR_OK;
        if (S_ISDIR(st.st_mode) && depth == 0)
            status = look_into(w, full, depth + 1, err);
        else if (!S_ISDIR(st.st_mode) && ar_live_name_is_live(entry->d_name))
            status = look_at(w, full, err);
        w->n_unreadable += status < 0 && !S_ISDIR(st.st_mode);
    }
    closedir(dir);
    return status == AR_NOMEM ? status : AR_OK;
}

/* One whose file has gone is as it was; it has not done anything since. */
static void keep_gone(struct ar_watched *gone)
{
    free(gone->before.shares);
    gone->before = gone->now;
    gone->now.shares = malloc((gone->now.n_shares + 1) * sizeof *gone->now.shares);
    if (gone->now.shares)
        memcpy(gone->now.shares, gone->before.shares,
               gone->now.n_shares * sizeof *gone->now.shares);
    else
        gone->now.n_shares = 0;
    gone->is_new = false;
    gone->n_threads = 0;
    gone->function = gone->leaf = AR_NO_ID;
    if (gone->process.state == AR_PROCESS_RUNNING)
        gone->process.state = AR_PROCESS_FINISHED;
}

static int by_rank(const void *a, const void *b)
{
    const struct ar_process *x = &((const struct ar_watched *)a)->process;
    const struct ar_process *y = &((const struct ar_watched *)b)->process;

    if (x->world_rank != y->world_rank)
        return x->world_rank < y->world_rank ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static enum ar_status list_processes(struct ar_watch *w)
{
    uint32_t id;

    w->names.n_processes = 0;
    for (size_t i = 0; i < w->n_processes; i++)
        if (ar_profile_process(&w->names, &w->processes[i].process, &id) < 0)
            return AR_NOMEM;
    return AR_OK;
}

enum ar_status ar_watch_look(struct ar_watch *w, const char *path, struct ar_error *err)
{
    struct ar_error trouble = {0};
    enum ar_status status;

    w->n_unreadable = 0;
    for (size_t i = 0; i < w->n_processes; i++)
        w->processes[i].was_seen = false;
    status = look_into(w, path, 0, &trouble);
    if (status == AR_NOMEM || w->n_processes == 0) {
        if (!*trouble.text)
            ar_fail(&trouble, AR_BAD, "%s: no live files in this directory", path);
        return ar_fail(err, status < 0 ? status : AR_BAD, "%s", trouble.text);
    }
    for (size_t i = 0; i < w->n_processes; i++)
        if (!w->processes[i].was_seen)
            keep_gone(&w->processes[i]);
    qsort(w->processes, w->n_processes, sizeof *w->processes, by_rank);
    return list_processes(w) < 0 ? ar_fail(err, AR_NOMEM, "%s: out of memory", path) : AR_OK;
}

bool ar_watch_any_running(const struct ar_watch *w)
{
    for (size_t i = 0; i < w->n_processes; i++)
        if (w->processes[i].process.state == AR_PROCESS_RUNNING)
            return true;
    return false;
}
