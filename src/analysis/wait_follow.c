// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_follow.h"

#include "analysis/wait_charge.h"
#include "analysis/wait_short.h"
#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_POSTS 8
/* A post that left no record of its own was made so soon after another one. */
#define SAME_POST_NS 100000

/* Of a thread that has posted something: where, and when it called MPI again. */
struct post {
    int64_t at_ns, again_ns;
    uint32_t point, again;
};

struct thread {
    uint32_t location, root;
    bool is_main, is_ready;
    uint32_t tip;
    bool
        is_at_point; /* its tip is a point, which others hold: it does not go on from there before it leaves */
    uint32_t head, tail, n_queued; /* calls */
    uint32_t next_ready;           /* plus 1 */
    uint32_t next_waiting;         /* for the same point, plus 1 */
    int64_t exit_ns;               /* of the last call that was left */
    uint32_t *whats;               /* by item of the stream */
    /* What was done before the last call that said so: until the next, it goes on like that. */
    struct ar_work_shares work;
    struct post posts[N_POSTS];
    uint32_t n_posts; /* ever */
};

struct call {
    struct ar_follow_call read;
    uint32_t thread, next; /* of its queue */
    uint32_t n_open;
    uint32_t point;      /* its own */
    uint32_t late_point; /* held; 0: it has not waited, or it is not known where the late one was */
    uint32_t late_location; /* AR_NO_ID: it has not waited */
    uint32_t class;
    double waited_ns;
    bool is_known, has_come, has_left;
};

struct point {
    uint32_t trail;         /* held; 0: its thread has not come there yet */
    uint32_t n_held;        /* then the next one that is free */
    uint32_t first_waiting; /* thread plus 1 */
    bool is_passed;         /* its thread has come there, when no other call held it */
};

struct ar_follow {
    const struct ar_profile *p;
    struct ar_wait_sums *sums;
    struct ar_follow_results results;
    struct ar_call_paths paths;
    struct ar_trails trails;
    struct thread *threads;
    uint32_t n_threads, longest_queue;
    uint32_t first_ready; /* plus 1 */
    struct call *calls;   /* from 1 */
    size_t n_calls, cap_calls;
    uint32_t free_call;
    struct point *points; /* from 1 */
    size_t n_points, cap_points;
    uint32_t free_point;
    double least_ns; /* from where on a wait is charged by itself */
    struct ar_walk walk;
    struct ar_stretch late_only, waiting_only, charged;
    struct ar_short_waits short_waits;
    bool failed;
};

/* About so many charges at most. */
#define MOST_CHARGES 500000.0
/* Of all threads together, and of each at least and at most. */
#define MOST_QUEUED 4000000
#define LEAST_QUEUE 64
#define LONGEST_QUEUE 4096

struct ar_follow *ar_follow_new(const struct ar_profile *p, struct ar_wait_sums *sums,
                                const struct ar_follow_results *results, double wall_ns)
{
    struct ar_follow *f = calloc(1, sizeof *f);
    size_t n = p->n_streams + 1, share = MOST_QUEUED / n;

    if (!f)
        return NULL;
    f->p = p;
    f->sums = sums;
    f->results = *results;
    f->least_ns = (double)p->n_streams * wall_ns / MOST_CHARGES;
    f->n_threads = (uint32_t)p->n_streams;
    f->longest_queue = share < LEAST_QUEUE     ? LEAST_QUEUE
                       : share < LONGEST_QUEUE ? (uint32_t)share
                                               : LONGEST_QUEUE;
    f->threads = calloc(n, sizeof *f->threads);
    if (!f->threads || ar_call_paths_open(&f->paths, p) < 0 ||
        ar_trails_open(&f->trails, &f->paths, n) < 0) {
        ar_follow_delete(f);
        return NULL;
    }
    ar_short_waits_open(&f->short_waits, &f->trails, sums, f->least_ns);
    return f;
}

void ar_follow_delete(struct ar_follow *f)
{
    for (uint32_t i = 0; f->threads && i < f->n_threads; i++)
        free(f->threads[i].whats);
    ar_short_waits_close(&f->short_waits);
    free(f->threads);
    free(f->calls);
    free(f->points);
    ar_trails_close(&f->trails);
    ar_call_paths_close(&f->paths);
    free(f);
}

const struct ar_call_paths *ar_follow_paths(const struct ar_follow *f)
{
    return &f->paths;
}

/* ---- points ----------------------------------------------------------------------------------- */

static uint32_t new_point(struct ar_follow *f)
{
    uint32_t id = f->free_point;

    if (id) {
        f->free_point = f->points[id].n_held;
    } else {
        if (ar_grow((void **)&f->points, &f->cap_points, f->n_points + 2, sizeof *f->points) < 0)
            return 0;
        id = (uint32_t)++f->n_points;
    }
    f->points[id] = (struct point){.n_held = 1};
    return id;
}

void ar_follow_hold(struct ar_follow *f, uint32_t point)
{
    if (point)
        f->points[point].n_held++;
}

void ar_follow_let_go(struct ar_follow *f, uint32_t id)
{
    struct point *point = &f->points[id];

    if (!id || --point->n_held)
        return;
    if (point->trail)
        ar_trail_let_go(&f->trails, point->trail);
    point->n_held = f->free_point;
    f->free_point = id;
}

uint32_t ar_follow_point(struct ar_follow *f, uint32_t call)
{
    f->calls[call].n_open++;
    ar_follow_hold(f, f->calls[call].point);
    return f->calls[call].point;
}

/* ---- posts ------------------------------------------------------------------------------------ */

static void called_again(struct ar_follow *f, struct thread *t, int64_t at_ns, uint32_t point)
{
    struct post *last = t->n_posts ? &t->posts[(t->n_posts - 1) % N_POSTS] : NULL;

    if (!last || last->again)
        return;
    last->again_ns = at_ns;
    last->again = point;
    ar_follow_hold(f, point);
}

static void add_post(struct ar_follow *f, struct thread *t, int64_t at_ns, uint32_t point)
{
    struct post *post = &t->posts[t->n_posts++ % N_POSTS];

    ar_follow_let_go(f, post->point);
    ar_follow_let_go(f, post->again);
    *post = (struct post){.at_ns = at_ns, .point = point};
    ar_follow_hold(f, point);
}

static void forget_posts(struct ar_follow *f, struct thread *t)
{
    for (int i = 0; i < N_POSTS; i++) {
        ar_follow_let_go(f, t->posts[i].point);
        ar_follow_let_go(f, t->posts[i].again);
        t->posts[i] = (struct post){0};
    }
}

/* Both are rounded. */
#define ROUNDING_NS 2

uint32_t ar_follow_post(struct ar_follow *f, uint32_t thread, int64_t post_ns, uint32_t call,
                        int64_t *again_ns, uint32_t *again)
{
    struct thread *t = &f->threads[thread];
    const struct post *found = NULL;

    f->calls[call].n_open++;
    *again = 0;
    for (int i = 0; i < N_POSTS; i++)
        if (t->posts[i].point && t->posts[i].at_ns <= post_ns + ROUNDING_NS &&
            (!found || t->posts[i].at_ns > found->at_ns))
            found = &t->posts[i];
    if (!t->n_posts) { /* of an earlier version: nothing is known of it */
        ar_follow_hold(f, f->calls[call].point);
        return f->calls[call].point;
    }
    if (!found || post_ns - found->at_ns > SAME_POST_NS)
        return 0;
    *again = found->again;
    *again_ns = found->again_ns;
    ar_follow_hold(f, found->point);
    ar_follow_hold(f, found->again);
    return found->point;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static uint32_t new_call(struct ar_follow *f)
{
    uint32_t id = f->free_call;

    if (id) {
        f->free_call = f->calls[id].next;
    } else {
        if (ar_grow((void **)&f->calls, &f->cap_calls, f->n_calls + 2, sizeof *f->calls) < 0)
            return 0;
        id = (uint32_t)++f->n_calls;
    }
    return id;
}

static void make_ready(struct ar_follow *f, uint32_t thread)
{
    struct thread *t = &f->threads[thread];

    if (t->is_ready)
        return;
    t->is_ready = true;
    t->next_ready = f->first_ready;
    f->first_ready = thread + 1;
}

void ar_follow_expect_thread(const struct ar_follow *f, const struct ar_ordered_call *call)
{
    const char *thread = (const char *)&f->threads[call->thread];

    __builtin_prefetch(thread, 1);
    __builtin_prefetch(thread + 64, 1);
    if (call->work.shares)
        __builtin_prefetch(call->work.shares);
}

void ar_follow_expect_call(const struct ar_follow *f, const struct ar_ordered_call *call)
{
    const struct thread *t = &f->threads[call->thread];
    const char *tip = (const char *)&f->trails.nodes[t->tip];

    __builtin_prefetch(tip, 1);
    __builtin_prefetch(tip + 64, 1);
    __builtin_prefetch(&t->whats[call->work.first]);
}

static void give_up_first(struct ar_follow *f, uint32_t thread);

uint32_t ar_follow_add(struct ar_follow *f, uint32_t thread, const struct ar_follow_call *call)
{
    struct thread *t = &f->threads[thread];
    uint32_t point = new_point(f), id = point ? new_call(f) : 0;

    if (!id)
        return 0;
    f->calls[id] = (struct call){.read = *call,
                                 .thread = thread,
                                 .n_open = 1,
                                 .point = point,
                                 .late_location = AR_NO_ID,
                                 .is_known = true};
    called_again(f, t, call->enter_ns, point);
    if (call->is_post)
        add_post(f, t, call->exit_ns, point);
    if (t->tail)
        f->calls[t->tail].next = id;
    else
        t->head = id;
    t->tail = id;
    if (++t->n_queued > f->longest_queue)
        give_up_first(f, thread);
    return id;
}

static void free_call(struct ar_follow *f, uint32_t id)
{
    struct call *call = &f->calls[id];

    ar_follow_let_go(f, call->late_point);
    ar_follow_let_go(f, call->point);
    call->next = f->free_call;
    f->free_call = id;
}

double ar_follow_waited(const struct ar_follow *f, uint32_t call)
{
    return f->calls[call].waited_ns;
}

void ar_follow_wait(struct ar_follow *f, uint32_t id, enum ar_wait_class class,
                    uint32_t late_location, uint32_t point, double ns)
{
    struct call *call = &f->calls[id];

    if (call->has_left || ns <= call->waited_ns)
        return;
    call->waited_ns = ns;
    call->class = class;
    call->late_location = late_location;
    ar_follow_hold(f, point);
    ar_follow_let_go(f, call->late_point);
    call->late_point = point;
}

void ar_follow_partner(struct ar_follow *f, uint32_t id, bool is_known)
{
    struct call *call = &f->calls[id];

    call->is_known = call->is_known && is_known;
    if (--call->n_open)
        return;
    if (call->has_left)
        free_call(f, id);
    else if (f->threads[call->thread].head == id)
        make_ready(f, call->thread);
}

/* ---- coming ----------------------------------------------------------------------------------- */

#define LEAST_PART 32 /* what is smaller is in a rest: see runtime/mpi_syncs.h */
#define ALL_SHARES 255.0

static void add_unknown(struct ar_follow *f, const struct thread *t, double ns)
{
    if (ns > 0)
        ar_trail_put(&f->trails, t->tip, t->location, AR_WHAT_UNKNOWN, ns, HUGE_VAL);
}

/* How long a gap was is exact; what was done in it is as the last one who said so. */
static void add_gap(struct ar_follow *f, struct thread *t, double gap_ns)
{
    if (gap_ns <= 0)
        return;
    if (!t->work.shares) {
        add_unknown(f, t, gap_ns);
        return;
    }

    double least = (double)t->work.ns / LEAST_PART, share_ns = gap_ns / ALL_SHARES;

    for (uint32_t i = 0; i < t->work.n; i++) {
        uint32_t what = t->whats[t->work.first + i];
        double most = what == AR_WHAT_UNKNOWN  ? HUGE_VAL
                      : !(what & AR_WHAT_REST) ? 0
                      : least < gap_ns         ? least
                                               : gap_ns;

        ar_trail_put(&f->trails, t->tip, t->location, what, share_ns * t->work.shares[i], most);
    }
}

static uint32_t what_of(struct ar_follow *f, const struct ar_stream *stream, uint32_t item)
{
    if (item == AR_ITEM_UNKNOWN)
        return AR_WHAT_UNKNOWN;

    uint32_t path = ar_call_path_of(&f->paths, stream->nodes[(item >> 1) - 1]);

    return AR_WHAT(path, item & 1 ? AR_WHAT_REST : 0);
}

enum ar_status ar_follow_thread(struct ar_follow *f, uint32_t thread,
                                const struct ar_stream *stream, bool is_main, int64_t first_ns,
                                int64_t start_ns)
{
    struct thread *t = &f->threads[thread];

    t->location = stream->location;
    t->root = ar_profile_root(f->p, stream->location);
    t->is_main = is_main;
    t->whats = malloc((stream->n_items + 1) * sizeof *t->whats);
    t->tip = ar_trail_go_on(&f->trails, AR_TRAIL_START);
    if (!t->whats || !t->tip)
        return AR_NOMEM;
    t->exit_ns = start_ns;
    add_unknown(f, t, (double)(start_ns - first_ns));
    for (size_t i = 0; i < stream->n_items; i++)
        t->whats[i] = what_of(f, stream, stream->items[i]);
    return f->paths.failed ? AR_NOMEM : AR_OK;
}

/* Those who wait for this point can be followed further. */
static void come(struct ar_follow *f, struct thread *t, struct call *call)
{
    struct point *point = &f->points[call->point];

    if (call->read.work.shares)
        t->work = call->read.work;
    add_gap(f, t, (double)(call->read.enter_ns - t->exit_ns));
    ar_trail_squeeze(&f->trails, t->tip);
    call->has_come = true;
    point->is_passed = true;
    if (point->n_held > 1) {
        point->trail = t->tip;
        ar_trail_hold(&f->trails, t->tip);
        t->is_at_point = true;
    }
    for (uint32_t waiting = point->first_waiting; waiting;) {
        uint32_t next = f->threads[waiting - 1].next_waiting;

        make_ready(f, waiting - 1);
        waiting = next;
    }
    point->first_waiting = 0;
}

/* ---- leaving ---------------------------------------------------------------------------------- */

static void add_to_node(struct ar_follow *f, const struct call *call, uint32_t root)
{
    double **by_root = &f->results.node_ns[call->read.node];

    if (!*by_root)
        *by_root = calloc(f->p->n_roots, sizeof **by_root);
    if (*by_root)
        (*by_root)[root] += call->waited_ns;
    else
        f->failed = true;
}

/* Whether it counts for anybody who asked. */
static bool count_wait(struct ar_follow *f, const struct thread *t, const struct call *call)
{
    if (t->is_main) {
        f->results.main_waits[t->root] += call->waited_ns;
        if (call->read.is_setup)
            f->results.setup_waits[t->root] += call->waited_ns;
        if (f->results.node_ns)
            add_to_node(f, call, t->root);
    }
    if ((f->results.of && !f->results.of[t->root]) || !call->read.counts)
        return false;
    *f->results.waited_ns += call->waited_ns;
    return true;
}

/* What was too long is known to be so from here on; and what was done meanwhile is remembered. */
static void mark(struct ar_follow *f, uint32_t tip, const struct ar_stretch *charged)
{
    for (uint32_t i = 0; i < charged->n; i++) {
        const struct ar_piece *piece = &charged->pieces[i];

        if (piece->what & (AR_WHAT_REST | AR_WHAT_CAUSE))
            continue;
        ar_trail_put(&f->trails, tip, piece->location, piece->what, -piece->ns, piece->most);
        ar_trail_put(&f->trails, tip, piece->location, piece->what | AR_WHAT_CAUSE, piece->ns,
                     piece->most);
    }
    ar_trail_credit(&f->trails, tip, charged->credits, charged->n_credits);
}

/* It is not known where the late one was, so nor what it did. */
static void wait_for_unknown(struct ar_follow *f, struct thread *t, const struct call *call,
                             uint32_t site, bool counts)
{
    struct ar_piece piece = {
        .location = call->late_location, .what = AR_WHAT_UNKNOWN, .ns = call->waited_ns};

    if (counts && ar_wait_sums_charge(f->sums, site, &piece, false) < 0)
        f->failed = true;
    add_unknown(f, t, call->waited_ns);
}

/* Its old tip is of no further use, or a point. */
static void go_on_from(struct ar_follow *f, struct thread *t, uint32_t trail)
{
    uint32_t old = t->tip;

    t->tip = ar_trail_go_on(&f->trails, trail);
    f->failed |= !t->tip;
    if (!t->is_at_point)
        ar_trail_drop(&f->trails, old);
    t->is_at_point = false;
}

/* Of those who wait together for one it does not matter who of them did what. */
static uint32_t waiting_for_itself(const struct thread *t, const struct call *call)
{
    bool is_message = call->class == AR_WAIT_LATE_SENDER || call->class == AR_WAIT_LATE_RECEIVER;

    return is_message ? t->location : AR_NO_ID;
}

static void wait_for_known(struct ar_follow *f, struct thread *t, const struct call *call,
                           uint32_t site, bool counts)
{
    bool is_long = call->waited_ns >= f->least_ns;
    enum ar_status status = AR_OK;

    ar_trail_walk(&f->trails, f->points[call->late_point].trail, t->tip, &f->walk);
    if (is_long) {
        ar_trail_stretch(&f->trails, f->walk.late, f->walk.n_late, &f->late_only);
        ar_trail_stretch(&f->trails, f->walk.waiting, f->walk.n_waiting, &f->waiting_only);
        ar_charge(&f->paths, &f->late_only, &f->waiting_only, call->late_location, call->waited_ns,
                  &f->charged);
        if (counts)
            status = ar_wait_sums_charge_all(f->sums, site, call->late_location, &f->charged);
    } else if (counts) {
        status = ar_short_waits_add(&f->short_waits,
                                    &(struct ar_short_wait){
                                        .site = site,
                                        .late = call->late_location,
                                        .waiting = waiting_for_itself(t, call),
                                        .ns = call->waited_ns,
                                    },
                                    &f->walk);
    }
    go_on_from(f, t, f->points[call->late_point].trail);
    f->failed |= status < 0;
    if (is_long && t->tip)
        mark(f, t->tip, &f->charged);
}

/* It goes on from its own. */
static void leave_point(struct ar_follow *f, struct thread *t)
{
    if (t->is_at_point)
        go_on_from(f, t, t->tip);
}

static void leave_wait(struct ar_follow *f, struct thread *t, const struct call *call)
{
    bool counts = count_wait(f, t, call);
    uint32_t site = AR_NO_ID;

    if (counts) {
        site = ar_wait_sums_site(f->sums, call->read.node, (enum ar_wait_class)call->class,
                                 call->read.nonblocking);
        if (site == AR_NO_ID) {
            f->failed = true;
            return;
        }
        ar_wait_sums_add(f->sums, site, t->root, ar_profile_root(f->p, call->late_location),
                         call->waited_ns);
    }
    if (call->late_point && f->points[call->late_point].trail) {
        wait_for_known(f, t, call, site, counts);
    } else {
        leave_point(f, t);
        wait_for_unknown(f, t, call, site, counts);
    }
}

static void leave(struct ar_follow *f, struct thread *t, struct call *call)
{
    double moving_ns = (double)(call->read.exit_ns - call->read.enter_ns) - call->waited_ns;

    if (call->late_location != AR_NO_ID)
        leave_wait(f, t, call);
    leave_point(f, t);
    if (moving_ns > 0 && !f->failed) {
        if (call->is_known || call->waited_ns > 0)
            ar_trail_put(&f->trails, t->tip, t->location,
                         AR_WHAT(ar_call_path_of(&f->paths, call->read.node), 0), moving_ns, 0);
        else
            add_unknown(f, t, moving_ns);
    }
    t->exit_ns = call->read.exit_ns;
    call->has_left = true;
}

/* ---- following -------------------------------------------------------------------------------- */

static void pop(struct ar_follow *f, struct thread *t)
{
    uint32_t id = t->head;
    struct call *call = &f->calls[id];

    t->head = call->next;
    if (!t->head)
        t->tail = 0;
    t->n_queued--;
    if (!call->n_open)
        free_call(f, id);
}

/* The late one's trail is not known yet: it is told when it is. */
static bool has_to_wait(struct ar_follow *f, uint32_t thread, const struct call *call)
{
    struct point *point = &f->points[call->late_point];

    if (!call->late_point || point->trail || point->is_passed)
        return false;
    f->threads[thread].next_waiting = point->first_waiting;
    point->first_waiting = thread + 1;
    return true;
}

static void follow(struct ar_follow *f, uint32_t thread)
{
    struct thread *t = &f->threads[thread];

    while (t->head && !f->failed) {
        struct call *call = &f->calls[t->head];

        if (!call->has_come)
            come(f, t, call);
        if (call->n_open || has_to_wait(f, thread, call))
            return;
        leave(f, t, call);
        pop(f, t);
    }
}

enum ar_status ar_follow_on(struct ar_follow *f)
{
    while (f->first_ready && !f->failed) {
        uint32_t thread = f->first_ready - 1;

        f->first_ready = f->threads[thread].next_ready;
        f->threads[thread].is_ready = false;
        follow(f, thread);
    }
    return f->failed || f->trails.failed || f->paths.failed ? AR_NOMEM : AR_OK;
}

/* ---- giving up -------------------------------------------------------------------------------- */

static void stop_waiting(struct ar_follow *f, uint32_t thread, uint32_t point)
{
    uint32_t *link = &f->points[point].first_waiting;

    while (*link && *link != thread + 1)
        link = &f->threads[*link - 1].next_waiting;
    if (*link)
        *link = f->threads[thread].next_waiting;
}

/* A send that no rank has received is through: it has not waited. Of all else nothing is known. */
static void give_up_first(struct ar_follow *f, uint32_t thread)
{
    struct thread *t = &f->threads[thread];
    struct call *call = &f->calls[t->head];

    if (!call->has_come)
        come(f, t, call);
    if (call->late_point && !f->points[call->late_point].trail) {
        stop_waiting(f, thread, call->late_point);
        ar_follow_let_go(f, call->late_point);
        call->late_point = 0;
    }
    leave(f, t, call);
    pop(f, t);
    if (t->head)
        make_ready(f, thread);
}

/* Where clocks disagree, threads may wait for each other in a circle. */
static uint32_t earliest_left(const struct ar_follow *f)
{
    uint32_t found = AR_NO_ID;

    for (uint32_t i = 0; i < f->n_threads; i++)
        if (f->threads[i].head &&
            (found == AR_NO_ID || f->calls[f->threads[i].head].read.enter_ns <
                                      f->calls[f->threads[found].head].read.enter_ns))
            found = i;
    return found;
}

enum ar_status ar_follow_end(struct ar_follow *f)
{
    enum ar_status status = ar_follow_on(f);

    for (uint32_t i = 0; status == AR_OK && (i = earliest_left(f)) != AR_NO_ID;) {
        give_up_first(f, i);
        status = ar_follow_on(f);
    }
    for (uint32_t i = 0; i < f->n_threads; i++)
        forget_posts(f, &f->threads[i]);
    return status == AR_OK ? ar_short_waits_end(&f->short_waits) : status;
}
