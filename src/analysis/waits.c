// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/waits.h"

#include "analysis/call_order.h"
#include "analysis/mpi_class.h"
#include "analysis/totals.h"
#include "analysis/wait_follow.h"
#include "analysis/wait_partners.h"

#include <stdlib.h>
#include <string.h>

const char *ar_wait_class_name(enum ar_wait_class class)
{
    static const char *const names[AR_N_WAIT_CLASSES] = {
        [AR_WAIT_BARRIER] = "barrier",
        [AR_WAIT_ALL] = "all",
        [AR_WAIT_LATE_BROADCAST] = "late_broadcast",
        [AR_WAIT_EARLY_REDUCE] = "early_reduce",
        [AR_WAIT_EARLY_SCAN] = "early_scan",
        [AR_WAIT_LATE_SENDER] = "late_sender",
        [AR_WAIT_LATE_RECEIVER] = "late_receiver",
        [AR_WAIT_LATE_MEMBER] = "late_member",
        [AR_WAIT_LATE_PROGRESS] = "late_progress",
    };

    return names[class];
}

/* A thread whose calls are read. */
struct thread {
    uint32_t root;
    bool is_main;
};

struct analysis {
    struct ar_profile *p;
    const struct ar_totals *t;
    struct ar_waits *out;
    const bool *of;         /* by root: whose waits count; NULL: all */
    struct thread *threads; /* one a stream */
    struct ar_call_order order;
    struct ar_partners *partners;
    struct ar_follow *follow;
    struct ar_wait_sums sums;
    double *main_waits, *setup_waits; /* by root, of its main thread */
};

#define SOON 5
#define LATER 10

/* ---- what partners tell ----------------------------------------------------------------------- */

static double waited_ns(const struct ar_arrival *waiting, const struct ar_arrival *late)
{
    int64_t until = late->came_ns < waiting->exit_ns ? late->came_ns : waiting->exit_ns;

    if (waiting->may_pass && until < late->came_ns)
        return 0;
    return until > waiting->waits_ns ? (double)(until - waiting->waits_ns) : 0;
}

static void met(void *who, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n)
{
    struct analysis *a = who;

    for (size_t i = 0; i < n; i++) {
        double ns = waited_ns(waiting[i], late);

        if (ns > 0)
            ar_follow_wait(a->follow, waiting[i]->call, class, late->location, late->point, ns);
    }
}

static double waited(void *who, const struct ar_arrival *arrival)
{
    return ar_follow_waited(((struct analysis *)who)->follow, arrival->call);
}

static void kept(void *who, const struct ar_arrival *arrival)
{
    struct analysis *a = who;

    ar_follow_hold(a->follow, arrival->point);
    ar_follow_hold(a->follow, arrival->again);
}

static void left(void *who, const struct ar_arrival *gone, bool is_resolved)
{
    struct analysis *a = who;

    ar_follow_let_go(a->follow, gone->point);
    ar_follow_let_go(a->follow, gone->again);
    if (!gone->call)
        return;
    a->out->n_resolved += is_resolved;
    a->out->n_unresolved += !is_resolved;
    ar_follow_partner(a->follow, gone->call, is_resolved);
}

/* ---- record by record ------------------------------------------------------------------------- */

/* A thread beside the main one holds its process up while that is blocked as well: see AR_SYNC_HOLDS_UP. */
static bool counts(const struct analysis *a, const struct ar_ordered_call *record)
{
    return a->threads[record->thread].is_main || (record->flags & AR_SYNC_HOLDS_UP);
}

static uint32_t begin_call(struct analysis *a, const struct ar_ordered_call *record)
{
    bool is_posted_send = record->kind == AR_SYNC_SEND && record->flags & AR_SYNC_NONBLOCKING;

    return ar_follow_add(
        a->follow, record->thread,
        &(struct ar_follow_call){
            .enter_ns = record->enter_ns,
            .exit_ns = record->exit_ns,
            .node = record->node,
            .nonblocking = record->was_posted,
            .is_post = record->kind == AR_SYNC_POST || is_posted_send,
            .is_setup = record->kind == AR_SYNC_START || record->kind == AR_SYNC_END,
            .counts = counts(a, record),
            .work = record->work,
        });
}

/* What was posted is there from when it was posted on; a send of which others wait for the end is not. */
static bool came_when_posted(const struct ar_ordered_call *record)
{
    return record->was_posted && record->kind != AR_SYNC_TAKEN;
}

static enum ar_status add_record(struct analysis *a, const struct ar_ordered_call *record,
                                 uint32_t call)
{
    struct ar_arrival *arrival = ar_partners_new_arrival(a->partners);

    if (!arrival)
        return AR_NOMEM;
    *arrival = (struct ar_arrival){
        .location = record->location,
        .process = a->threads[record->thread].root,
        .node = record->node,
        .call = call,
        .came_ns = record->was_posted ? record->post_ns : record->enter_ns,
        .waits_ns = record->enter_ns,
        .exit_ns = record->exit_ns,
        .is_posted = record->flags & AR_SYNC_NONBLOCKING && !record->was_posted,
    };
    if (came_when_posted(record))
        arrival->point = ar_follow_post(a->follow, record->thread, arrival->came_ns, call,
                                        &arrival->again_ns, &arrival->again);
    else
        arrival->point = ar_follow_point(a->follow, call);
    if (arrival->again &&
        record->kind >= AR_SYNC_SEND) { /* messages are there as soon as they are posted */
        ar_follow_let_go(a->follow, arrival->again);
        arrival->again = 0;
    }
    a->out->n_calls++;
    return ar_partners_add(a->partners, record, arrival);
}

/* It waits for no rank; its point is held by the thread's posts. */
static bool is_only_post(const struct ar_ordered_call *record)
{
    return record->kind == AR_SYNC_POST;
}

/* All of its records have been read. */
static enum ar_status end_call(struct analysis *a, uint32_t call)
{
    if (call)
        ar_follow_partner(a->follow, call, true);
    return ar_follow_on(a->follow);
}

/* Of so many threads, none is in the cache when its turn comes. */
#define MANY_THREADS 512

static void expect(const struct analysis *a)
{
    if (a->p->n_streams < MANY_THREADS)
        return;

    const struct ar_ordered_call *soon = ar_call_order_later(&a->order, SOON);
    const struct ar_ordered_call *later = ar_call_order_later(&a->order, LATER);

    if (later)
        ar_follow_expect_thread(a->follow, later);
    if (soon)
        ar_follow_expect_call(a->follow, soon);
}

static enum ar_status read_all(struct analysis *a)
{
    enum ar_status status = AR_OK;
    uint32_t call = 0;

    for (const struct ar_ordered_call *record;
         status == AR_OK && (record = ar_call_order_next(&a->order));) {
        expect(a);
        if (!record->is_same_call) {
            status = end_call(a, call);
            call = begin_call(a, record);
        }
        if (!call)
            status = AR_NOMEM;
        else if (status == AR_OK && !is_only_post(record))
            status = add_record(a, record, call);
    }
    if (status == AR_OK)
        status = end_call(a, call);
    if (status < 0)
        return status;
    ar_partners_end(a->partners);
    return ar_follow_end(a->follow);
}

/* ---- the time of ranks ------------------------------------------------------------------------ */

static void add_row(const struct ar_profile *p, struct ar_row row, double *mpi_ns)
{
    for (size_t i = 0; i < row.n; i++) {
        const struct ar_location *l = &p->locations[row.values[i].location];

        if (l->thread == 0 && l->process < p->n_roots)
            mpi_ns[l->process] += (double)row.values[i].value;
    }
}

/* In MPI, by root, of its main thread: MPI calls do not contain each other but in callbacks. */
static enum ar_status find_mpi_times(const struct ar_profile *p, const struct ar_totals *t,
                                     double *mpi_ns, double *setup_ns)
{
    struct ar_selves selves;
    enum ar_status status = ar_selves_open(&selves, t, p);

    for (uint32_t i = 0; status == AR_OK && i < p->n_nodes; i++)
        if (ar_totals_is_mpi(t, p, i)) {
            struct ar_row row = ar_selves_get(&selves, i);

            add_row(p, row, mpi_ns);
            if (ar_mpi_is_setup(p, i))
                add_row(p, row, setup_ns);
        }
    if (status == AR_OK)
        ar_selves_close(&selves);
    return status;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static enum ar_status divide_times(struct analysis *a)
{
    double *mpi_ns = calloc(2 * a->p->n_roots + 2, sizeof *mpi_ns);
    double *setup_ns = mpi_ns ? mpi_ns + a->p->n_roots : NULL;
    enum ar_status status = mpi_ns ? find_mpi_times(a->p, a->t, mpi_ns, setup_ns) : AR_NOMEM;

    a->out->times = calloc(a->p->n_roots + 1, sizeof *a->out->times);
    if (!a->out->times)
        status = AR_NOMEM;
    for (size_t i = 0; status == AR_OK && i < a->p->n_roots; i++) {
        struct ar_wait_times *times = &a->out->times[i];
        double wall_ns = (double)a->p->processes[i].wall_ns, in_mpi_ns = less(mpi_ns[i], wall_ns);

        times->computing_ns = wall_ns - in_mpi_ns;
        times->waiting_ns = less(a->main_waits[i], in_mpi_ns);
        times->communicating_ns = in_mpi_ns - times->waiting_ns;
        times->setting_up_ns =
            less(setup_ns[i] - less(a->setup_waits[i], setup_ns[i]), times->communicating_ns);
        times->caused_ns = a->sums.caused_ns[i];
    }
    free(mpi_ns);
    return status;
}

/* ---- all together ----------------------------------------------------------------------------- */

static enum ar_status open_threads(struct analysis *a)
{
    const struct ar_profile *p = a->p;

    a->threads = calloc(p->n_streams + 1, sizeof *a->threads);
    for (size_t i = 0; a->threads && i < p->n_streams; i++) {
        const struct ar_location *location = &p->locations[p->streams[i].location];

        a->threads[i].root = ar_profile_root(p, p->streams[i].location);
        a->threads[i].is_main = location->thread == 0 && location->process < p->n_roots;
    }
    return a->threads ? AR_OK : AR_NOMEM;
}

static enum ar_status open_follow(struct analysis *a)
{
    const struct ar_profile *p = a->p;
    const struct ar_call_order *o = &a->order;
    struct ar_follow_results results = {.of = a->of,
                                        .main_waits = a->main_waits,
                                        .setup_waits = a->setup_waits,
                                        .node_ns = a->out->node_ns,
                                        .waited_ns = &a->out->waited_ns};
    enum ar_status status = AR_OK;

    a->follow = ar_follow_new(a->p, &a->sums, &results,
                              p->n_streams ? (double)(o->last_ns - o->first_ns) : 0);
    if (!a->follow)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_streams && status == AR_OK; i++)
        status = ar_follow_thread(a->follow, i, &p->streams[i], a->threads[i].is_main, o->first_ns,
                                  ar_call_order_start(o, i));
    return status;
}

static enum ar_status analyse(struct analysis *a)
{
    a->main_waits = calloc(a->p->n_processes + 1, sizeof *a->main_waits);
    a->setup_waits = calloc(a->p->n_processes + 1, sizeof *a->setup_waits);
    a->partners = ar_partners_new(a->p, (struct ar_partners_tell){a, met, waited, kept, left});
    if (!a->main_waits || !a->setup_waits || !a->partners)
        return AR_NOMEM;

    enum ar_status status = ar_wait_sums_open(&a->sums, a->p);

    if (status == AR_OK)
        status = open_threads(a);
    if (status == AR_OK)
        status = open_follow(a);
    if (status == AR_OK)
        status = read_all(a);
    if (status == AR_OK)
        status = ar_wait_sums_take(&a->sums, ar_follow_paths(a->follow), a->out);
    if (status == AR_OK)
        status = divide_times(a);
    return status;
}

static void release(struct analysis *a)
{
    free(a->threads);
    if (a->partners)
        ar_partners_delete(a->partners);
    if (a->follow)
        ar_follow_delete(a->follow);
    ar_wait_sums_close(&a->sums);
    free(a->main_waits);
    free(a->setup_waits);
}

enum ar_status ar_waits_build(struct ar_waits *out, struct ar_profile *p, const bool *of)
{
    struct ar_totals t;

    *out = (struct ar_waits){0};
    if (ar_totals_build(&t, p) < 0)
        return AR_NOMEM;

    enum ar_status status = ar_waits_build_with(out, p, &t, of);

    ar_totals_free(&t);
    return status;
}

static enum ar_status build(struct ar_waits *out, struct ar_profile *p, const struct ar_totals *t,
                            const bool *of)
{
    struct analysis a = {.p = p, .t = t, .out = out, .of = of};
    enum ar_status status = ar_profile_sort(p);

    out->n_lost = ar_profile_lost(p, AR_NO_ID, AR_LOST_SYNCS);
    if (status == AR_OK) {
        status = ar_call_order_open(&a.order, p);
        if (status == AR_OK)
            status = analyse(&a);
        ar_call_order_close(&a.order);
    }
    release(&a);
    if (status < 0)
        ar_waits_free(out);
    return status;
}

enum ar_status ar_waits_build_with(struct ar_waits *out, struct ar_profile *p,
                                   const struct ar_totals *t, const bool *of)
{
    *out = (struct ar_waits){0};
    return build(out, p, t, of);
}

enum ar_status ar_waits_build_by_node(struct ar_waits *out, struct ar_profile *p,
                                      const struct ar_totals *t)
{
    *out = (struct ar_waits){.node_ns = calloc(p->n_nodes + 1, sizeof *out->node_ns),
                             .n_nodes = p->n_nodes};
    return out->node_ns ? build(out, p, t, NULL) : AR_NOMEM;
}

void ar_waits_free(struct ar_waits *w)
{
    for (size_t i = 0; i < w->n_sites; i++) {
        free(w->sites[i].waiting);
        free(w->sites[i].late);
        free(w->sites[i].causes);
    }
    for (size_t i = 0; w->node_ns && i < w->n_nodes; i++)
        free(w->node_ns[i]);
    free(w->node_ns);
    free(w->sites);
    free(w->times);
    *w = (struct ar_waits){0};
}
