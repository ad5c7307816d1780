// SPDX-License-Identifier: BSD-3-Clause
#include "export/trace_tracks.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEYOND_PIDS ((uint32_t)1 << 22) /* the largest pid that Linux gives */
#define MOST_NAME_BYTES 80              /* of a command: some are whole programs */

void ar_tracks_free(struct ar_tracks *tracks)
{
    free(tracks->processes);
    free(tracks->threads);
    ar_arena_free(&tracks->names);
    *tracks = (struct ar_tracks){0};
}

/* ---- names ------------------------------------------------------------------------------------ */

static void put(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static void put_numbered(struct ar_bytes *out, const char *what, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%" PRIu32, number);
    put(out, what);
    put(out, text);
}

/* "solve.py -n 4" of "/home/me/solve.py -n 4". */
static const char *without_directory(const char *command)
{
    const char *name = command;

    for (const char *at = command; *at && *at != ' '; at++)
        if (*at == '/' && at[1] && at[1] != ' ')
            name = at + 1;
    return name;
}

static void put_command(const struct ar_profile *p, const struct ar_process *process,
                        struct ar_bytes *out)
{
    const char *command = without_directory(ar_strtab_text(&p->strings, process->command));
    size_t n = 0, n_all = strlen(command);

    while (n < n_all && n < MOST_NAME_BYTES)
        n += ar_text_step(command + n, n_all - n);
    if (n)
        ar_text_put(out, command, n);
    else
        put_numbered(out, "pid ", process->pid);
}

void ar_track_name(const struct ar_profile *p, uint32_t process, struct ar_bytes *out)
{
    const struct ar_process *it = &p->processes[process];
    uint32_t rank = p->processes[it->root].world_rank;

    if (rank == AR_RANK_NONE)
        put_command(p, it, out);
    else
        put_numbered(out, "rank ", rank);
    if (it->root != process)
        put_numbered(out, " child ", it->pid);
}

static const char *keep(struct ar_tracks *tracks, struct ar_bytes *text)
{
    const char *kept = text->bad ? NULL : ar_arena_copy(&tracks->names, text->data, text->n);

    text->n = 0;
    return kept;
}

static const char *thread_name(struct ar_tracks *tracks, const struct ar_profile *p,
                               const struct ar_location *location, struct ar_bytes *room)
{
    const char *name = ar_strtab_text(&p->strings, location->name);

    if (*name)
        ar_text_put(room, name, strlen(name));
    else if (location->thread)
        put_numbered(room, "thread ", location->thread);
    else
        put(room, "main");
    return keep(tracks, room);
}

static bool are_on_several_hosts(const struct ar_profile *p)
{
    for (size_t i = 1; i < p->n_processes; i++)
        if (p->processes[i].host != p->processes[0].host)
            return true;
    return false;
}

static enum ar_status name_all(struct ar_tracks *tracks, const struct ar_traces *traces)
{
    const struct ar_profile *p = traces->profile;
    bool has_hosts = are_on_several_hosts(p), is_bad = false;
    struct ar_bytes room = {0};

    for (size_t i = 0; i < tracks->n_processes; i++) {
        struct ar_track_process *it = &tracks->processes[i];
        const char *host = ar_strtab_text(&p->strings, p->processes[it->process].host);

        ar_track_name(p, it->process, &room);
        it->name = keep(tracks, &room);
        ar_text_put(&room, host, has_hosts ? strlen(host) : 0);
        it->host = keep(tracks, &room);
        is_bad = is_bad || !it->name || !it->host;
    }
    for (size_t i = 0; i < tracks->n_threads; i++) {
        const struct ar_location *location = &p->locations[traces->items[i].location];

        tracks->threads[i].name = thread_name(tracks, p, location, &room);
        is_bad = is_bad || !tracks->threads[i].name;
    }
    ar_bytes_free(&room);
    return is_bad ? AR_NOMEM : AR_OK;
}

/* ---- order and numbers ------------------------------------------------------------------------ */

/* What an order is made by; the greater comes later. */
struct rank_of_process {
    uint32_t process, world_rank, root;
    bool is_child;
    uint64_t start_real_ns;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_of_process *x = a, *y = b;
    int differ = compare(x->world_rank, y->world_rank); /* AR_RANK_NONE is the greatest */

    differ = differ ? differ : compare(x->root, y->root);
    differ = differ ? differ : compare(x->is_child, y->is_child);
    differ = differ ? differ : compare(x->start_real_ns, y->start_real_ns);
    return differ ? differ : compare(x->process, y->process);
}

static struct rank_of_process rank_of(const struct ar_profile *p, uint32_t process)
{
    const struct ar_process *it = &p->processes[process];

    return (struct rank_of_process){.process = process,
                                    .world_rank = p->processes[it->root].world_rank,
                                    .root = it->root,
                                    .is_child = it->root != process,
                                    .start_real_ns = it->start_real_ns};
}

/* `places` becomes, by process, where it stands plus 1. */
static enum ar_status put_in_order(struct ar_tracks *tracks, const struct ar_traces *traces,
                                   uint32_t *places)
{
    const struct ar_profile *p = traces->profile;
    struct rank_of_process *order = calloc(traces->n + 1, sizeof *order);
    size_t n = 0;

    if (!order)
        return AR_NOMEM;
    for (size_t i = 0; i < traces->n; i++) {
        uint32_t process = p->locations[traces->items[i].location].process;

        if (!places[process]++)
            order[n++] = rank_of(p, process);
    }
    qsort(order, n, sizeof *order, by_rank);
    for (size_t i = 0; i < n; i++) {
        tracks->processes[i].process = order[i].process;
        places[order[i].process] = (uint32_t)i + 1;
    }
    tracks->n_processes = n;
    free(order);
    return AR_OK;
}

static enum ar_status number_processes(struct ar_tracks *tracks, const struct ar_profile *p)
{
    struct ar_idmap used = {0};
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < tracks->n_processes && status == AR_OK; i++) {
        uint32_t pid = p->processes[tracks->processes[i].process].pid;

        if (!pid || pid > BEYOND_PIDS || ar_idmap_get(&used, pid, 0))
            pid = BEYOND_PIDS + 1 + (uint32_t)i;
        tracks->processes[i].pid = pid;
        status = ar_idmap_put(&used, pid, 1);
    }
    ar_idmap_free(&used);
    return status;
}

static void number_threads(struct ar_tracks *tracks, const struct ar_traces *traces,
                           const uint32_t *places)
{
    tracks->n_threads = traces->n;
    for (size_t i = 0; i < traces->n; i++) {
        const struct ar_location *l = &traces->profile->locations[traces->items[i].location];
        struct ar_track_thread *thread = &tracks->threads[i];

        thread->process = places[l->process] - 1;
        thread->tid = l->thread ? l->thread : tracks->processes[thread->process].pid;
    }
}

enum ar_status ar_tracks_build(struct ar_tracks *out, const struct ar_traces *traces)
{
    uint32_t *places = calloc(traces->profile->n_processes + 1, sizeof *places);
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_tracks){.processes = calloc(traces->n + 1, sizeof *out->processes),
                              .threads = calloc(traces->n + 1, sizeof *out->threads)};
    if (places && out->processes && out->threads)
        status = put_in_order(out, traces, places);
    if (status == AR_OK)
        status = number_processes(out, traces->profile);
    if (status == AR_OK) {
        number_threads(out, traces, places);
        status = name_all(out, traces);
    }
    free(places);
    if (status < 0)
        ar_tracks_free(out);
    return status;
}
