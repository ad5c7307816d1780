// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/hang.h"

#include "analysis/hang_parts.h"
#include "analysis/mpi_class.h"
#include "analysis/stacks.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEAST_NS 1000000000u /* ranks are apart by less than that in programs that move */

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, function_of(p, node)->name);
}

/* ---- where threads are ------------------------------------------------------------------------ */

/* The method of mpi4py around an MPI call, which may be made of messages; or else the call itself. */
static uint32_t find_call(const struct ar_profile *p, uint32_t node)
{
    uint32_t call = AR_NO_ID;

    for (; node != AR_NO_ID && node != 0; node = p->nodes[node].parent) {
        uint32_t kind = function_of(p, node)->kind;

        if (kind == AR_FUNCTION_OPERATION)
            return node;
        if (kind == AR_FUNCTION_MPI)
            call = node;
        else if (kind != AR_FUNCTION_BUILTIN)
            break;
    }
    return call;
}

bool ar_hang_is_collective(const struct ar_profile *p, uint32_t call)
{
    static const char *const methods[] = {"barrier",  "bcast",  "gather",    "scatter", "allgather",
                                          "alltoall", "reduce", "allreduce", "scan",    "exscan"};
    const char *name = name_of(p, call), *dot = strrchr(name, '.');

    if (function_of(p, call)->kind == AR_FUNCTION_MPI)
        return strcmp(ar_mpi_class_of(name).name, "collective") == 0;
    for (size_t i = 0; dot && i < sizeof methods / sizeof *methods; i++)
        if (strncasecmp(dot + 1, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

/* Functions that do nothing but wait: the standard library's own, and functions in C. */
static bool is_blocking(const struct ar_profile *p, uint32_t node)
{
    static const char *const names[] = {"sleep", "acquire", "join", "get",  "select",
                                        "poll",  "wait",    "read", "recv", "accept"};
    static const char *const files[] = {"/threading.py", "/queue.py", "/selectors.py"};
    const struct ar_function *f = function_of(p, node);
    const char *name = ar_strtab_text(&p->strings, f->name);
    const char *file = ar_strtab_text(&p->strings, f->file);

    for (size_t i = 0; f->kind == AR_FUNCTION_PYTHON && i < sizeof files / sizeof *files; i++)
        if (ar_ends_with(file, files[i]))
            return true;
    for (size_t i = 0; f->kind == AR_FUNCTION_BUILTIN && i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i]))
            return true;
    return false;
}

/* A process that was killed waits no longer, however short it was: then this is where the job stopped. */
static struct ar_hang_thread thread_at(const struct ar_profile *p, uint32_t location)
{
    const struct ar_location *at = &p->locations[location];
    uint32_t node = at->current - 1, call = find_call(p, node);
    bool is_running = p->processes[at->process].state == AR_PROCESS_RUNNING;
    const struct ar_open_call *open = ar_profile_open_call(p, location);
    struct ar_hang_thread thread = {.process = at->process,
                                    .location = location,
                                    .node = node,
                                    .call = call,
                                    .still_ns = ar_stacks_still_ns(p, location),
                                    .is_blocked = call == AR_NO_ID && is_blocking(p, node),
                                    .peer = AR_NO_ID,
                                    .turn = AR_NO_ID,
                                    .beside = AR_NO_ID,
                                    .open = open ? *open : (struct ar_open_call){0}};

    thread.waits = call != AR_NO_ID && (!is_running || thread.still_ns >= LEAST_NS);
    return thread;
}

static int by_process(const void *a, const void *b)
{
    const struct ar_hang_thread *x = a, *y = b;

    return (x->process > y->process) - (x->process < y->process);
}

/* A process of another host cannot be told to be dead. */
static bool runs_on(const struct ar_profile *p, uint32_t host)
{
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].host == host && p->processes[i].state == AR_PROCESS_RUNNING)
            return true;
    return false;
}

static void find_dead(struct ar_hang *out, const struct ar_profile *p)
{
    for (size_t i = 0; i < out->n_ranks; i++) {
        struct ar_hang_thread *t = &out->threads[i];
        const struct ar_process *process = &p->processes[t->process];

        out->is_running = out->is_running || process->state == AR_PROCESS_RUNNING;
        t->is_dead = process->state == AR_PROCESS_SILENT && runs_on(p, process->host);
        if (t->is_dead)
            t->waits = false;
    }
}

static void list_ranks(struct ar_hang *out, const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].state == AR_PROCESS_FINISHED)
            out->threads[out->n_ranks++] = (struct ar_hang_thread){.process = i,
                                                                   .location = AR_NO_ID,
                                                                   .node = AR_NO_ID,
                                                                   .call = AR_NO_ID,
                                                                   .peer = AR_NO_ID,
                                                                   .turn = AR_NO_ID,
                                                                   .beside = AR_NO_ID};
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct ar_location *at = &p->locations[i];

        if (at->thread == 0 && at->process < p->n_roots && at->current &&
            p->processes[at->process].state != AR_PROCESS_FINISHED)
            out->threads[out->n_ranks++] = thread_at(p, i);
    }
    qsort(out->threads, out->n_ranks, sizeof *out->threads, by_process);
    out->n_threads = out->n_ranks;
    find_dead(out, p);
}

uint32_t ar_hang_rank_of(const struct ar_hang *hang, uint32_t process)
{
    struct ar_hang_thread key = {.process = process};
    const struct ar_hang_thread *found =
        bsearch(&key, hang->threads, hang->n_ranks, sizeof key, by_process);

    return found ? (uint32_t)(found - hang->threads) : AR_NO_ID;
}

/* Other threads that wait. What a rank does whose main thread is blocked, one of these may say. */
static void list_others(struct ar_hang *out, const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct ar_location *at = &p->locations[i];
        uint32_t rank = at->process < p->n_roots ? ar_hang_rank_of(out, at->process) : AR_NO_ID;

        if (at->thread == 0 || !at->current || rank == AR_NO_ID ||
            out->threads[rank].node == AR_NO_ID || out->threads[rank].is_dead)
            continue;

        struct ar_hang_thread thread = thread_at(p, i);

        if (!thread.waits)
            continue;
        if (out->threads[rank].is_blocked && out->threads[rank].beside == AR_NO_ID)
            out->threads[rank].beside = (uint32_t)out->n_threads;
        out->threads[out->n_threads++] = thread;
    }
}

bool ar_hang_has_left(const struct ar_profile *p, const struct ar_hang_thread *t)
{
    return t->node == AR_NO_ID || t->is_dead ||
           (t->call != AR_NO_ID && strcmp(name_of(p, t->call), "MPI_Finalize") == 0);
}

/* ---- members ---------------------------------------------------------------------------------- */

static int by_comm(const void *a, const void *b)
{
    const struct ar_member *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_world(const struct ar_profile *p, uint32_t comm)
{
    return p->comms[comm].origin == AR_COMM_WORLD;
}

static void take_members(struct ar_hang *out, const struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (ar_members_at(p, i)->process < p->n_roots)
            out->members[out->n_members++] = *ar_members_at(p, i);
}

/* All ranks are members of the world, also one that has not recorded it. `is_there` has room for all ranks. */
static void complete_world(struct ar_hang *out, const struct ar_profile *p, uint32_t comm,
                           bool *is_there)
{
    memset(is_there, 0, p->n_roots);
    for (size_t i = 0; i < out->n_members; i++)
        if (out->members[i].comm == comm)
            is_there[out->members[i].process] = true;
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (!is_there[i] && p->processes[i].world_rank != AR_RANK_NONE)
            out->members[out->n_members++] = (struct ar_member){
                .comm = comm, .process = i, .rank = AR_OWN_RANK(p->processes[i].world_rank, 0)};
}

static enum ar_status list_members(struct ar_hang *out, const struct ar_profile *p)
{
    bool *is_there = malloc(p->n_roots + 1);
    uint32_t world = 0;

    while (world < p->n_comms && !is_world(p, world))
        world++;
    out->members = calloc(p->n_members + p->n_roots + 1, sizeof *out->members);
    if (!out->members || !is_there) {
        free(is_there);
        return AR_NOMEM;
    }
    take_members(out, p);
    if (world < p->n_comms)
        complete_world(out, p, world, is_there);
    qsort(out->members, out->n_members, sizeof *out->members, by_comm);
    free(is_there);
    return AR_OK;
}

/* The members of a communicator (number plus 1), and how many there are. */
const struct ar_member *ar_hang_members_of(const struct ar_hang *hang, uint32_t comm, size_t *n)
{
    size_t low = 0, high = hang->n_members;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hang->members[middle].comm + 1 < comm)
            low = middle + 1;
        else
            high = middle;
    }
    *n = 0;
    while (comm && low + *n < hang->n_members && hang->members[low + *n].comm + 1 == comm)
        ++*n;
    return hang->members + low;
}

size_t ar_hang_members(const struct ar_hang *hang, uint32_t comm, uint32_t *out)
{
    size_t n;
    const struct ar_member *members = ar_hang_members_of(hang, comm, &n);

    for (size_t i = 0; i < n && out; i++)
        out[i] = members[i].process;
    return n;
}

/* ---- all together ----------------------------------------------------------------------------- */

enum ar_status ar_hang_find(struct ar_hang *out, const struct ar_profile *p)
{
    size_t n = p->n_locations + p->n_roots + 1;
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_hang){.threads = calloc(n, sizeof *out->threads),
                            .turns = calloc(n, sizeof *out->turns)};
    if (out->threads && out->turns) {
        list_ranks(out, p);
        list_others(out, p);
        status = list_members(out, p);
    }
    if (status == AR_OK)
        status = ar_hang_find_turns(out, p);
    if (status == AR_OK)
        status = ar_hang_find_messages(out, p);
    if (status < 0) {
        ar_hang_free(out);
        return status;
    }
    ar_hang_find_movers(out, p);
    ar_hang_drop_usual_waits(out);
    return AR_OK;
}

void ar_hang_free(struct ar_hang *hang)
{
    for (size_t i = 0; hang->turns && i < hang->n_turns; i++)
        ar_hang_free_turn(&hang->turns[i]);
    free(hang->threads);
    free(hang->turns);
    free(hang->messages);
    free(hang->members);
    *hang = (struct ar_hang){0};
}
