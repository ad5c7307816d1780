// SPDX-License-Identifier: BSD-3-Clause
#include "cli/hang_json.h"

#include "analysis/hang.h"
#include "analysis/place.h"

#include <stdlib.h>

static void put_rank(struct ar_json *j, const char *key, const struct ar_profile *p,
                     uint32_t process)
{
    if (process == AR_NO_ID || p->processes[process].world_rank == AR_RANK_NONE)
        ar_json_null(j, key);
    else
        ar_json_integer(j, key, p->processes[process].world_rank);
}

/* ---- what a thread does ----------------------------------------------------------------------- */

static const char *name_of_wait(const struct ar_open_call *open)
{
    if (open->n_requests > 1)
        return "requests";
    switch (open->kind) {
    case AR_SYNC_SEND:
        return "send";
    case AR_SYNC_RECEIVE:
        return "receive";
    case AR_SYNC_PROBE:
        return "probe";
    case AR_SYNC_NONE:
        return "mpi";
    case AR_SYNC_UNKNOWN:
        return "requests";
    default:
        return "collective";
    }
}

static const char *name_of_activity(const struct ar_profile *p, const struct ar_hang_thread *t)
{
    if (t->node == AR_NO_ID)
        return "finished";
    if (t->is_dead)
        return "dead";
    if (ar_hang_has_left(p, t))
        return "finalize";
    if (t->call == AR_NO_ID)
        return t->is_blocked ? "blocked" : "computing";
    return name_of_wait(&t->open);
}

/* An MPI call with the line that made it; of other functions the first line. */
static void put_function(struct ar_json *j, const struct ar_profile *p,
                         const struct ar_hang_thread *t)
{
    uint32_t node = t->call == AR_NO_ID ? t->node : t->call;

    if (node == AR_NO_ID) {
        ar_json_null(j, "function");
        return;
    }

    const struct ar_function *f = &p->functions[p->nodes[node].function];
    struct ar_place place = ar_place_of_call(p, node);
    bool has_place = t->call != AR_NO_ID || f->kind != AR_FUNCTION_PYTHON;

    ar_json_open(j, "function", '{');
    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", ar_strtab_text(&p->strings, f->name));
    ar_json_text(j, "file",
                 has_place ? ar_place_file(p, place) : ar_strtab_text(&p->strings, f->file));
    ar_json_integer(j, "line", has_place ? place.line : f->first_line);
    ar_json_close(j, '}');
}

static bool has_tag(const struct ar_open_call *open)
{
    return (open->kind == AR_SYNC_SEND || open->kind == AR_SYNC_RECEIVE ||
            open->kind == AR_SYNC_PROBE) &&
           (int32_t)open->sequence >= 0;
}

static void put_open_call(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p,
                          const struct ar_hang_thread *t)
{
    bool is_receive = t->open.kind == AR_SYNC_RECEIVE || t->open.kind == AR_SYNC_PROBE;
    bool is_rooted = t->open.kind == AR_SYNC_FROM_ROOT || t->open.kind == AR_SYNC_TO_ROOT;

    put_rank(j, "peer", p, t->peer == AR_NO_ID ? AR_NO_ID : hang->threads[t->peer].process);
    ar_json_bool(j, "any_source", is_receive && t->open.peer == AR_PEER_UNKNOWN);
    if (has_tag(&t->open))
        ar_json_integer(j, "tag", t->open.sequence);
    else
        ar_json_null(j, "tag");
    if (is_rooted && t->open.peer < AR_PEER_UNKNOWN)
        ar_json_integer(j, "root", t->open.peer);
    else
        ar_json_null(j, "root");
    ar_json_integer(j, "requests", t->open.n_requests);
}

static void put_thread(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p,
                       uint32_t i)
{
    const struct ar_hang_thread *t = &hang->threads[i];

    ar_json_open(j, NULL, '{');
    ar_json_integer(j, "process", t->process);
    put_rank(j, "rank", p, t->process);
    ar_json_integer(j, "thread", t->location == AR_NO_ID ? 0 : p->locations[t->location].thread);
    ar_json_text(j, "activity", name_of_activity(p, t));
    put_function(j, p, t);
    ar_json_integer(j, "still_ns", t->still_ns);
    put_open_call(j, hang, p, t);
    ar_json_close(j, '}');
}

static void put_threads(struct ar_json *j, const char *key, const struct ar_hang *hang,
                        const struct ar_profile *p, const uint32_t *threads, size_t n)
{
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        put_thread(j, hang, p, threads[i]);
    ar_json_close(j, ']');
}

/* ---- collective calls ------------------------------------------------------------------------- */

static void put_comm(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p,
                     uint32_t comm)
{
    size_t n = ar_hang_members(hang, comm, NULL);
    uint32_t *members = malloc((n + 1) * sizeof *members);

    if (!comm || !members) {
        ar_json_null(j, "communicator");
        j->out->bad = j->out->bad || !members;
        free(members);
        return;
    }
    ar_hang_members(hang, comm, members);
    ar_json_open(j, "communicator", '{');
    ar_json_text(j, "name", ar_strtab_text(&p->strings, p->comms[comm - 1].name));
    ar_json_text(j, "origin", ar_comm_origin_name(p->comms[comm - 1].origin));
    ar_json_integer(j, "size", p->comms[comm - 1].size + p->comms[comm - 1].remote_size);
    ar_json_open(j, "ranks", '[');
    for (size_t i = 0; i < n; i++)
        put_rank(j, NULL, p, members[i]);
    ar_json_close(j, ']');
    ar_json_close(j, '}');
    free(members);
}

static void put_turn(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p,
                     const struct ar_hang_turn *turn)
{
    ar_json_open(j, NULL, '{');
    put_comm(j, hang, p, turn->comm);
    if (turn->has_number)
        ar_json_integer(j, "number", turn->number);
    else
        ar_json_null(j, "number");
    ar_json_bool(j, "mismatch", turn->is_mismatch);
    ar_json_integer(j, "still_ns", turn->most_ns);
    put_threads(j, "present", hang, p, turn->in, turn->n_in);
    put_threads(j, "missing", hang, p, turn->missing, turn->n_missing);
    ar_json_close(j, '}');
}

/* ---- all together ----------------------------------------------------------------------------- */

/* Ranks of a circle in the order in which they wait for each other, from the lowest on. */
static void put_circles(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p)
{
    uint32_t n_seen = 0;

    ar_json_open(j, "circles", '[');
    for (uint32_t i = 0; i < hang->n_ranks; i++) {
        uint32_t at = i;

        if (hang->threads[i].circle <= n_seen) /* they are numbered in this order */
            continue;
        n_seen = hang->threads[i].circle;
        ar_json_open(j, NULL, '[');
        do {
            put_rank(j, NULL, p, hang->threads[at].process);
            at = ar_hang_waiting(hang, at)->peer;
        } while (at != i);
        ar_json_close(j, ']');
    }
    ar_json_close(j, ']');
}

static void put_hang(struct ar_json *j, const struct ar_hang *hang, const struct ar_profile *p)
{
    ar_json_open(j, "hang", '{');
    ar_json_text(j, "state", !hang->is_running ? "killed" : hang->is_certain ? "hangs" : "waits");
    ar_json_open(j, "calls", '[');
    for (size_t i = 0; i < hang->n_turns; i++)
        put_turn(j, hang, p, &hang->turns[i]);
    ar_json_close(j, ']');
    put_threads(j, "messages", hang, p, hang->messages, hang->n_messages);
    put_circles(j, hang, p);
    ar_json_close(j, '}');
}

void ar_json_hang(struct ar_json *j, const struct ar_profile *p)
{
    struct ar_hang hang;

    if (ar_hang_find(&hang, p) < 0) {
        j->out->bad = true;
        return;
    }
    if (hang.n_turns || hang.n_messages)
        put_hang(j, &hang, p);
    else
        ar_json_null(j, "hang");
    ar_hang_free(&hang);
}
