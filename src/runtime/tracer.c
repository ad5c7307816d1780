// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tracer.h"

#include "base/room.h"
#include "runtime/budget.h"
#include "runtime/recording_options.h"
#include "runtime/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One reader can decode a chunk in 0.1 ms; larger ones save nothing. */
#define LARGEST_CHUNK_BYTES ((uint64_t)64 << 10)
/* A unit takes at most this long: half of what a look at the clock takes. */
#define UNIT_NS 4.0
/* At the end of a chunk there is always room to say that there are no more. */
#define ROOM_AT_END 24
#define MOST_SHORT 256
/* After so long without an event, the next one looks whether it was switched from outside. */
#define GAP_NS 500000
/* What a trace leaves to others, of memory and where the live file lies; it looks now and then. */
#define LEAST_LEFT_BYTES ((uint64_t)256 << 20)
#define LOOK_EVERY_BYTES ((uint64_t)16 << 20)
#define NEXT_REF                                                                                   \
    3 /* word of a chunk's header that only the writer uses: the next one, in use or not */

static struct {
    pthread_mutex_t lock; /* for switching */
    uint32_t generation;  /* odd: a trace is on */
    uint32_t n_forks;
    /* Threads whose own is the same have nothing to catch up with, and take the short way; 0: none may. */
    uint32_t stamp;
    uint32_t wish; /* the last one that was followed */
    unsigned shift;
    uint64_t n_bytes, n_bytes_max; /* of all chunks */
    uint64_t last_units;           /* 0: all of it is kept */
    uint64_t min_units;
    uint32_t most_depth; /* 0: any */
    double last_s, min_s;
    const char *why_full;
    uint64_t switched_ticks; /* when it was switched last: threads notice later */
    uint32_t n_traced;       /* threads that took part when they looked last */
    uint32_t n_regions;      /* that are to be traced and open */
    bool is_wanted;          /* from the start */
    bool is_announced;       /* by an option: it is said of the run */
    bool is_at;              /* where regions are */
    bool is_full;
    bool is_short; /* less than the last seconds are kept */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A call that has recorded nothing but its beginning, which is taken back if it proves short. */
struct begun {
    unsigned char *at;
    uint64_t units_before;
};

/* What a thread writes. */
struct ar_tracer {
    /* All that the short way needs: */
    uint32_t stamp;
    uint32_t current_ref, parent_ref; /* of `current`, and of its parent */
    unsigned shift;
    unsigned char *at,
        *end; /* at `end` there is room for one more short event, and to say that there are no more */
    uint64_t units;          /* of the last event */
    struct ar_extent *chunk; /* NULL: there is none */
    struct ar_extent *oldest;
    struct ar_node *current; /* where the trace says the thread is */
    struct ar_node *actual;  /* where it is: below, where calls are too deep to be recorded */
    uint32_t n_below;        /* how far */
    uint32_t depth;          /* of `current`, where that is limited */
    uint32_t generation, n_forks, sequence;
    bool is_full;
    uint32_t n_begun;
    struct begun begun[MOST_SHORT];
};

bool ar_trace_is_expected;

static bool is_on(uint32_t generation)
{
    return generation & 1;
}

static struct ar_node *parent_of(const struct ar_node *node)
{
    return node && node->parent_ref ? ar_live_ptr(node->parent_ref) : NULL;
}

/* ---- chunks ----------------------------------------------------------------------------------- */

static uint64_t chunk_word(const struct ar_extent *chunk, unsigned word)
{
    return chunk->spare[word];
}

static struct ar_extent *next_of(const struct ar_extent *chunk)
{
    return chunk->spare[NEXT_REF] ? ar_live_ptr((uint32_t)chunk->spare[NEXT_REF]) : NULL;
}

static void publish(const struct ar_tracer *r)
{
    __atomic_store_n(&r->chunk->n_bytes_used, (uint64_t)(r->at - (const unsigned char *)r->chunk),
                     __ATOMIC_RELEASE);
}

/* What is left belongs to the program and its neighbours. NULL: there is enough. A small file system keeps a quarter. */
static const char *find_shortage(void)
{
    uint64_t n_all, n_left = ar_disk_left(ar_livemap_path(), &n_all);

    if (n_left < LEAST_LEFT_BYTES && n_left < n_all / 4)
        return "the file system of the live file is nearly full, see --live-dir";
    return ar_memory_left() < LEAST_LEFT_BYTES ? "there is little memory left" : NULL;
}

/* Room for the whole process, in steps of chunks. */
static bool may_take(uint64_t n_bytes)
{
    uint64_t n_all = __atomic_add_fetch(&trace.n_bytes, n_bytes, __ATOMIC_RELAXED);
    const char *why = NULL;

    if (n_all > trace.n_bytes_max)
        why = "the limit was reached, see --trace-limit";
    else if (n_all / LOOK_EVERY_BYTES != (n_all - n_bytes) / LOOK_EVERY_BYTES)
        why = find_shortage();
    if (!why)
        return true;
    trace.why_full = why;
    __atomic_sub_fetch(&trace.n_bytes, n_bytes, __ATOMIC_RELAXED);
    return false;
}

static struct ar_extent *new_chunk(const struct ar_thread *t)
{
    const struct ar_tracer *r = t->tracer;
    uint64_t n_bytes = r->chunk ? 2 * r->chunk->n_bytes : AR_LIVE_PAGE_BYTES;

    if (n_bytes > LARGEST_CHUNK_BYTES)
        n_bytes = LARGEST_CHUNK_BYTES;
    if (!may_take(n_bytes))
        return NULL;
    return ar_livemap_extent(AR_EXTENT_TRACE, t->slot->number, n_bytes - sizeof *r->chunk);
}

/* With --trace-last: the oldest one, if all in it is older than what is to be kept, or if there is no room for another. */
static struct ar_extent *take_oldest(struct ar_tracer *r, bool must)
{
    struct ar_extent *oldest = r->oldest, *second = oldest ? next_of(oldest) : NULL;
    uint64_t horizon = r->units > trace.last_units ? r->units - trace.last_units : 0;

    if (!trace.last_units || !second || oldest == r->chunk)
        return NULL;
    if (chunk_word(second, AR_TRACE_FIRST_TICKS) >> trace.shift > horizon) {
        if (!must)
            return NULL;
        if (!__atomic_exchange_n(&trace.is_short, true, __ATOMIC_RELAXED))
            ar_livemap_fact(AR_FACT_TRACE_SHORT, AR_TRACE_IS_SHORT);
    }
    r->oldest = second;
    return oldest;
}

/* A reader that copies the chunk meanwhile sees that its number has changed. */
static void begin_chunk(struct ar_tracer *r, struct ar_extent *chunk)
{
    __atomic_store_n(&chunk->n_bytes_used, sizeof *chunk, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->spare[AR_TRACE_SEQUENCE], ++r->sequence, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    chunk->spare[AR_TRACE_FIRST_TICKS] = r->units << trace.shift;
    chunk->spare[AR_TRACE_FIRST_REF] = (uint64_t)trace.shift << 32 | r->current_ref;
    if (!r->chunk || next_of(r->chunk) != chunk) /* else it was taken back, and others may follow */
        chunk->spare[NEXT_REF] = 0;
    if (r->chunk)
        r->chunk->spare[NEXT_REF] = ar_live_ref(chunk);
    else
        r->oldest = chunk;
    r->chunk = chunk;
    r->at = (unsigned char *)(chunk + 1);
    r->end = (unsigned char *)chunk + chunk->n_bytes - ROOM_AT_END;
    r->shift = trace.shift;
    r->n_begun = 0;
}

static unsigned char *put_number(unsigned char *to, uint64_t number, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        *to++ = (unsigned char)(number >> 8 * i);
    return to;
}

static unsigned char *put_head(unsigned char *to, enum ar_trace_code code, size_t n_payload)
{
    *to++ = (unsigned char)(AR_TRACE_MORE | code << 2);
    *to++ = (unsigned char)((n_payload + 1) / 2);
    return to;
}

/* The chunk that is open always has room for it. */
static void stop_for_want_of_room(struct ar_tracer *r)
{
    if (r->chunk) {
        r->at = put_number(put_head(r->at, AR_TRACE_FULL, 8), 0, 8);
        publish(r);
    }
    r->is_full = true;
    r->stamp = 0;
    ar_livemap_lost(AR_LOST_TRACE, 1);
    ar_live_header()->trace_state = AR_TRACE_IS_FULL;
    if (!__atomic_exchange_n(&trace.is_full, true, __ATOMIC_RELAXED))
        ar_livemap_fact(AR_FACT_TRACE_FULL,
                        trace.why_full ? trace.why_full : "no room in the live file");
}

/* In front of `n_bytes` more; false: there is no room any more. */
static bool make_room(struct ar_thread *t, size_t n_bytes)
{
    struct ar_tracer *r = t->tracer;
    struct ar_extent *chunk;

    if (r->chunk && r->at + n_bytes <= r->end)
        return true;
    chunk = r->chunk ? next_of(r->chunk) : NULL; /* one that was taken back */
    if (!chunk)
        chunk = take_oldest(r, false);
    if (!chunk)
        chunk = new_chunk(t);
    if (!chunk)
        chunk = take_oldest(r, true);
    if (!chunk) {
        stop_for_want_of_room(r);
        return false;
    }
    begin_chunk(r, chunk);
    return true;
}

/* ---- events ----------------------------------------------------------------------------------- */

static void set_current(struct ar_tracer *r, struct ar_node *node)
{
    r->current = node;
    r->current_ref = ar_live_ref(node);
    r->parent_ref = node->parent_ref;
}

static uint32_t number_of(const struct ar_node *node)
{
    return node->flags >> (32 - AR_TRACE_NUMBER_BITS);
}

/* With the time, and a ref where there is one. */
static void put_more(struct ar_thread *t, enum ar_trace_code code, uint64_t units,
                     const struct ar_node *node, const void *payload, size_t n_payload)
{
    struct ar_tracer *r = t->tracer;
    size_t n = 8 + (node ? 4 : 0) + n_payload;

    if (!make_room(t, 2 + n + n % 2))
        return;

    unsigned char *to = put_head(r->at, code, n);

    to = put_number(to, units - r->units, 8);
    if (node)
        to = put_number(to, ar_live_ref(node), 4);
    if (n_payload)
        memcpy(to, payload, n_payload);
    if (n % 2)
        to[n_payload] = 0;
    r->at += 2 + n + n % 2;
    r->units = units;
    r->n_begun = 0;
    publish(r);
}

static uint32_t depth_of(const struct ar_node *node)
{
    uint32_t depth = 0;

    for (; node->parent_ref; node = ar_live_ptr(node->parent_ref))
        depth++;
    return depth;
}

/* Anywhere: C stacks were switched, or the node is too far for a number. */
static __attribute__((noinline)) void go(struct ar_thread *t, struct ar_node *next, uint64_t units)
{
    struct ar_tracer *r = t->tracer;

    r->actual = next;
    r->depth = trace.most_depth ? depth_of(next) : 0; /* else deep recursion takes its square */
    for (r->n_below = 0; trace.most_depth && r->depth > trace.most_depth; r->depth--) {
        next = ar_live_ptr(next->parent_ref);
        r->n_below++;
    }
    if (next == r->current)
        return;
    put_more(t, AR_TRACE_GO, units, next, NULL, 0);
    set_current(r, next);
}

static void put_short(struct ar_tracer *r, uint64_t word, size_t n_bytes, uint64_t units)
{
    memcpy(r->at, &word, sizeof word); /* there is room for that in any chunk */
    r->at += n_bytes;
    r->units = units;
    publish(r);
}

static inline uint64_t delta_of(const struct ar_tracer *r, uint64_t units)
{
    return units > r->units ? units - r->units : 0;
}

static void down(struct ar_thread *t, struct ar_node *next, uint64_t units)
{
    struct ar_tracer *r = t->tracer;
    uint32_t number = number_of(next);
    uint64_t delta = delta_of(r, units);

    if (trace.most_depth && r->depth >= trace.most_depth) {
        r->n_below = 1;
        r->actual = next;
        return;
    }
    if (__builtin_expect(!number || delta >= AR_TRACE_LONG_TIME, 0)) {
        go(t, next, r->units + delta);
        return;
    }
    if (!make_room(t, 6))
        return;
    if (trace.min_units) {
        if (r->n_begun == MOST_SHORT)
            r->n_begun = 0; /* those around it are kept: counting tells which one ends */
        r->begun[r->n_begun++] = (struct begun){r->at, r->units};
    }
    if (__builtin_expect(delta < AR_TRACE_DOWN_TIME, 1))
        put_short(r, AR_TRACE_DOWN | delta << 2 | (uint64_t)number << 15, 4, r->units + delta);
    else
        put_short(r, AR_TRACE_LONG | delta << 2 | (uint64_t)number << 31, 6, r->units + delta);
    set_current(r, next);
    r->actual = next;
    r->depth++;
}

/* Was the call that ends begun by the last event, and is it too short? Then it has never been. */
static bool takes_back(struct ar_tracer *r, struct ar_node *parent, uint64_t units)
{
    struct begun begun = r->begun[--r->n_begun];

    if (units - r->units >= trace.min_units) {
        r->n_begun = 0; /* the calls around it contain something now */
        return false;
    }
    r->at = begun.at;
    r->units = begun.units_before;
    set_current(r, parent);
    r->actual = parent;
    r->depth--;
    publish(r);
    return true;
}

static void up(struct ar_thread *t, struct ar_node *parent, uint64_t units)
{
    struct ar_tracer *r = t->tracer;
    uint64_t delta = delta_of(r, units);

    if (r->n_begun && takes_back(r, parent, r->units + delta))
        return;
    if (__builtin_expect(delta >= AR_TRACE_LONG_TIME, 0)) {
        go(t, parent, r->units + delta);
        return;
    }
    if (!make_room(t, 6))
        return;
    if (__builtin_expect(delta < AR_TRACE_UP_TIME, 1))
        put_short(r, AR_TRACE_UP | delta << 2, 2, r->units + delta);
    else
        put_short(r, AR_TRACE_LONG | delta << 2, 6, r->units + delta);
    set_current(r, parent);
    r->actual = parent;
    r->depth--;
}

/* Inside a call that is too deep to be recorded. false: it is over, or something else has happened. */
static bool is_below(struct ar_tracer *r, struct ar_node *next)
{
    if (parent_of(next) == r->actual)
        r->n_below++;
    else if (parent_of(r->actual) == next)
        r->n_below--;
    else
        return false;
    r->actual = next;
    return true;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static uint64_t units_of(uint64_t ticks)
{
    return ticks >> trace.shift;
}

/* From where the thread is: it has been there since its last event. */
static void start_at(struct ar_thread *t, struct ar_node *node, uint64_t units)
{
    struct ar_tracer *r = t->tracer;

    r->actual = node;
    r->depth = depth_of(node);
    r->n_below = 0;
    r->units = units;
    for (; trace.most_depth && r->depth > trace.most_depth; r->depth--) {
        node = ar_live_ptr(node->parent_ref);
        r->n_below++;
    }
    set_current(r, node);
}

static bool attach(struct ar_thread *t)
{
    t->tracer = calloc(1, sizeof *t->tracer);
    if (!t->tracer)
        return false;
    t->tracer->n_forks = trace.n_forks;
    return true;
}

/* A forked child has no chunk of its own yet. */
static void adopt(struct ar_tracer *r)
{
    r->chunk = r->oldest = NULL;
    r->at = r->end = NULL;
    r->sequence = 0;
    r->n_begun = 0;
    r->is_full = false;
    r->n_forks = trace.n_forks;
    r->generation = 0;
    r->stamp = 0;
}

/* It was switched between two events of the thread: nothing happened meanwhile, so that is the time. */
static uint64_t units_of_switch(const struct ar_thread *t, uint64_t now)
{
    const struct ar_live_thread *slot = t->slot;
    uint64_t ticks = __atomic_load_n(&trace.switched_ticks, __ATOMIC_RELAXED);

    if (ticks < slot->latest_ticks)
        ticks = slot->latest_ticks;
    if (ticks < slot->start_ticks)
        ticks = slot->start_ticks;
    return units_of(ticks < now ? ticks : now);
}

static void count_traced(uint32_t by)
{
    __atomic_add_fetch(&trace.n_traced, by, __ATOMIC_RELAXED);
}

static void take_part(struct ar_thread *t, uint64_t now)
{
    struct ar_tracer *r = t->tracer;
    uint64_t units = units_of_switch(t, now);

    count_traced(1);
    if (!r->chunk) {
        start_at(t, t->current, units);
    } else if (!r->is_full) {
        start_at(t, t->current, r->units);
        put_more(t, AR_TRACE_ON, r->units + delta_of(r, units), r->current, NULL, 0);
    }
}

static void take_no_part(struct ar_thread *t, uint64_t now)
{
    struct ar_tracer *r = t->tracer;

    count_traced(UINT32_MAX);
    if (r->chunk && !r->is_full)
        put_more(t, AR_TRACE_OFF, r->units + delta_of(r, units_of_switch(t, now)), NULL, NULL, 0);
}

/* The trace was switched, or this is the thread's first event since it began or was forked. */
static __attribute__((noinline)) bool catch_up(struct ar_thread *t, uint64_t now)
{
    uint32_t generation = __atomic_load_n(&trace.generation, __ATOMIC_ACQUIRE);

    if (!t->tracer && (!is_on(generation) || !attach(t)))
        return false;

    struct ar_tracer *r = t->tracer;

    if (r->n_forks != trace.n_forks)
        adopt(r);

    bool was_on = is_on(r->generation);

    r->generation = generation;
    if (is_on(generation) && !was_on)
        take_part(t, now);
    else if (!is_on(generation) && was_on)
        take_no_part(t, now);
    return is_on(generation);
}

/* Once no trace is on and every thread has seen that, events do not come here. */
static void rest(void)
{
    if (ar_look_ticks || __atomic_load_n(&trace.n_traced, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&trace.lock);
    if (!is_on(trace.generation))
        ar_look_ticks = ar_gap_ticks;
    pthread_mutex_unlock(&trace.lock);
}

/* Whatever does not happen nearly always. `next` and what the short way knows need not fit. */
static __attribute__((noinline)) void step_anywhere(struct ar_thread *t, struct ar_node *next,
                                                    uint64_t now)
{
    struct ar_tracer *r = t->tracer;

    ar_trace_poll();
    if (!r || r->generation != trace.generation || r->n_forks != trace.n_forks) {
        if (!catch_up(t, now)) {
            rest();
            return;
        }
        r = t->tracer;
    }
    if (!is_on(r->generation) || r->is_full)
        return;
    if (r->n_below && is_below(r, next))
        return;
    /* After steps on the short way only `current` is known. */
    if (r->stamp && !r->n_below)
        r->actual = r->current = ar_live_ptr(r->current_ref);
    /* Of a C function that is cheap one call in 16 is timed, and the others are not seen here: it is in no trace. */
    if (next == r->actual || next->flags & AR_NODE_SAMPLED)
        return;

    uint64_t units = units_of(now);

    if (next->parent_ref == ar_live_ref(r->actual) && !r->n_below)
        down(t, next, units);
    else if (parent_of(r->actual) == next && !r->n_below)
        up(t, next, units);
    else
        go(t, next, r->units + delta_of(r, units));
    r->stamp = r->is_full ? 0 : trace.stamp;
}

/*
 * The thread is about to be in `next`. A step down or up that comes soon after the last one, where every call is kept, is four or two
 * bytes and no call: everything else is a slow function in its place.
 */
static void step(struct ar_thread *t, struct ar_node *next, uint64_t now)
{
    struct ar_tracer *r = t->tracer;

    if (__builtin_expect(!r || !r->stamp || r->stamp != trace.stamp, 0)) {
        step_anywhere(t, next, now);
        return;
    }

    uint64_t units = now >> r->shift, delta = units - r->units;
    uint32_t ref = ar_live_ref(next), number = number_of(next);
    bool is_sample = next->flags & AR_NODE_SAMPLED;
    bool is_down = next->parent_ref == r->current_ref;
    unsigned char *at = r->at;

    if (__builtin_expect(delta >= AR_TRACE_DOWN_TIME || at > r->end || !number || is_sample ||
                             !(is_down || ref == r->parent_ref),
                         0)) {
        step_anywhere(t, next, now);
        return;
    }

    /* Up only the first half counts. */
    uint32_t word = is_down ? AR_TRACE_DOWN | (uint32_t)delta << 2 | number << 15
                            : AR_TRACE_UP | (uint32_t)delta << 2;

    memcpy(at, &word, sizeof word);
    at += is_down ? 4 : 2;
    r->at = at;
    r->units = units;
    r->current_ref = ref;
    r->parent_ref = next->parent_ref;
    __atomic_store_n(&r->chunk->n_bytes_used, (uint64_t)(at - (unsigned char *)r->chunk),
                     __ATOMIC_RELEASE);
}

/* ---- switching -------------------------------------------------------------------------------- */

bool ar_trace_is_on(void)
{
    return is_on(__atomic_load_n(&trace.generation, __ATOMIC_ACQUIRE));
}

static void note_state(void)
{
    bool is_full = __atomic_load_n(&trace.is_full, __ATOMIC_RELAXED);

    __atomic_store_n(&ar_live_header()->trace_state,
                     !is_on(trace.generation) ? AR_TRACE_IS_OFF
                     : is_full                ? AR_TRACE_IS_FULL
                                              : AR_TRACE_IS_ON,
                     __ATOMIC_RELEASE);
}

/* Under the lock. Threads that have not had an event since it was switched off still come here: see rest. */
static void set_generation(bool on)
{
    if (!ar_live_base)
        return;
    if (on != is_on(trace.generation)) {
        ar_tree_traced = step;
        ar_look_ticks = 0;
        trace.stamp = 0;
        __atomic_store_n(&trace.switched_ticks, ar_ticks(), __ATOMIC_RELAXED);
        __atomic_store_n(&trace.generation, trace.generation + 1, __ATOMIC_RELEASE);
        if (on && !trace.min_units && !trace.most_depth)
            __atomic_store_n(&trace.stamp, trace.generation, __ATOMIC_RELEASE);
    }
    note_state();
}

/* This thread need not wait for its next event. */
static void see_that_it_is_off(void)
{
    if (ar_self && ar_self->tracer)
        catch_up(ar_self, ar_ticks());
    rest();
}

void ar_trace_switch(bool on)
{
    pthread_mutex_lock(&trace.lock);
    set_generation(on);
    pthread_mutex_unlock(&trace.lock);
    if (!on)
        see_that_it_is_off();
}

void ar_trace_poll(void)
{
    uint32_t wish = ar_live_base ? __atomic_load_n(&ar_live_header()->trace_wish, __ATOMIC_RELAXED)
                                 : trace.wish;

    if (wish == trace.wish)
        return;
    trace.wish = wish;
    ar_trace_switch(is_on(wish));
    __atomic_store_n(&ar_live_header()->trace_heard, wish, __ATOMIC_RELEASE);
}

/* Counts the calls of functions that are to be traced and open, on all threads. */
static void follow_region(struct ar_node *node)
{
    bool is_entered = node->ticks >= 0, switches;

    pthread_mutex_lock(&trace.lock);
    if (is_entered)
        switches = trace.n_regions++ == 0;
    else
        switches = trace.n_regions && --trace.n_regions == 0;
    if (switches)
        set_generation(is_entered);
    pthread_mutex_unlock(&trace.lock);
    if (switches && !is_entered)
        see_that_it_is_off();
}

/* ---- messages and parameters ------------------------------------------------------------------ */

static bool is_traced(const struct ar_thread *t)
{
    const struct ar_tracer *r = t ? t->tracer : NULL;

    return r && r->chunk && r->generation == trace.generation && is_on(r->generation) &&
           r->n_forks == trace.n_forks && !r->is_full;
}

void ar_trace_keep(struct ar_thread *t)
{
    if (t->tracer)
        t->tracer->n_begun = 0;
}

void ar_trace_message(struct ar_thread *t, const struct ar_trace_message *message)
{
    unsigned char payload[AR_TRACE_MOST_PAYLOAD];
    size_t n, n_bytes;

    if (!is_traced(t) || t->tracer->n_below)
        return;
    n = ar_trace_message_put(message, payload);
    n_bytes = 2 + n + n % 2;
    if (!make_room(t, n_bytes))
        return;

    struct ar_tracer *r = t->tracer;
    unsigned char *to = put_head(r->at, AR_TRACE_MESSAGE, n);

    payload[n] = 0;
    memcpy(to, payload, n + n % 2);
    r->at += n_bytes;
    r->n_begun = 0;
    publish(r);
}

/* Its trace may begin with this. */
static bool can_write(struct ar_thread *t, uint64_t now)
{
    return ar_trace_is_on() && t && (is_traced(t) || (catch_up(t, now) && !t->tracer->is_full));
}

void ar_trace_parameter(struct ar_thread *t, const struct ar_trace_parameter *parameter)
{
    unsigned char payload[AR_TRACE_MOST_PAYLOAD];
    uint64_t now = ar_ticks();

    if (!can_write(t, now))
        return;
    put_more(t, AR_TRACE_PARAMETER, t->tracer->units + delta_of(t->tracer, units_of(now)), NULL,
             payload, ar_trace_parameter_put(parameter, payload));
}

void ar_trace_counter(struct ar_thread *t, const char *name, uint64_t value)
{
    const struct ar_trace_parameter counter = {
        .type = AR_TRACE_COUNTER, .value = value, .name = name, .n_name = strlen(name)};
    unsigned char payload[AR_TRACE_MOST_PAYLOAD];

    if (is_traced(t) && !t->tracer->n_below)
        put_more(t, AR_TRACE_PARAMETER, t->tracer->units, NULL, payload,
                 ar_trace_parameter_put(&counter, payload));
}

/* ---- taking back ------------------------------------------------------------------------------ */

/* A place is a byte of the live file, which is unique as long as its chunk is not used again; a forked child has another file. */
#define FORK_SHIFT 48

static uint64_t fork_bits(void)
{
    return (uint64_t)(uint16_t)trace.n_forks << FORK_SHIFT;
}

uint64_t ar_trace_place(struct ar_thread *t)
{
    return is_traced(t) ? (uint64_t)(t->tracer->at - ar_live_base) | fork_bits() : 0;
}

static struct ar_extent *chunk_with(struct ar_extent *chunk, const unsigned char *place)
{
    for (; chunk; chunk = next_of(chunk))
        if (place >= (unsigned char *)(chunk + 1) &&
            place < (unsigned char *)chunk + chunk->n_bytes)
            return chunk;
    return NULL;
}

/* Adds up the times of the events in front of it. */
static uint64_t units_at(const struct ar_extent *chunk, const unsigned char *place)
{
    struct ar_trace_chunk_reader reader = {.at = (const unsigned char *)(chunk + 1), .end = place};
    struct ar_trace_item item = {0};

    while (ar_trace_chunk_next(&reader, &item))
        continue;
    return (chunk_word(chunk, AR_TRACE_FIRST_TICKS) >> trace.shift) + reader.units;
}

void ar_trace_take_back(struct ar_thread *t, uint64_t place)
{
    struct ar_tracer *r = t ? t->tracer : NULL;
    bool is_here = place && place >> FORK_SHIFT == fork_bits() >> FORK_SHIFT && is_traced(t);
    unsigned char *at = ar_live_base + (place & ((UINT64_C(1) << FORK_SHIFT) - 1));
    struct ar_extent *chunk = is_here ? chunk_with(r->oldest, at) : NULL;

    if (!chunk || at > (unsigned char *)chunk + chunk->n_bytes_used)
        return;
    /* Chunks that follow are empty, and used next. */
    for (struct ar_extent *later = next_of(chunk); later; later = next_of(later))
        __atomic_store_n(&later->n_bytes_used, sizeof *later, __ATOMIC_RELEASE);
    r->chunk = chunk;
    r->at = at;
    r->end = (unsigned char *)chunk + chunk->n_bytes - ROOM_AT_END;
    r->units = units_at(chunk, at);
    publish(r);
    start_at(t, t->current, r->units);
    put_more(t, AR_TRACE_REWOUND, units_of(ar_ticks()), r->current, NULL, 0);
}

/* ---- the source ------------------------------------------------------------------------------- */

static uint64_t units_of_seconds(double seconds, double ns_per_tick)
{
    return (uint64_t)(seconds * 1e9 / ns_per_tick) >> trace.shift;
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)err;
    ar_tree_polled = ar_trace_poll;
    trace.is_wanted = options->trace;
    trace.is_announced = options->trace || options->trace_later;
    ar_trace_is_expected = options->trace || options->trace_later || options->trace_at.n;
    trace.n_bytes_max = options->trace_limit;
    if (!options->trace && !options->trace_later && trace.n_bytes_max > options->n_bytes_max / 2)
        trace.n_bytes_max = options->n_bytes_max / 2;
    trace.last_s = options->trace_last_s;
    trace.min_s = options->trace_min_s;
    trace.most_depth = (uint32_t)options->trace_depth;
    if (options->trace_at.n) {
        trace.is_wanted = false;
        trace.is_at = true;
        ar_tree_switches = follow_region;
    }
    return AR_OK;
}

void ar_trace_begin(void)
{
    double ns_per_tick = ar_costs.ns_per_tick > 0 ? ar_costs.ns_per_tick : 1;

    for (trace.shift = 0; ns_per_tick * (double)(2 << trace.shift) <= UNIT_NS; trace.shift++)
        continue;
    trace.last_units = units_of_seconds(trace.last_s, ns_per_tick);
    trace.min_units = units_of_seconds(trace.min_s, ns_per_tick);
    if (ar_gap_ticks == UINT64_MAX) /* nothing else needs to know of gaps */
        ar_look_ticks = ar_gap_ticks = ar_ticks_of_ns(GAP_NS);
    if (trace.is_wanted)
        ar_trace_switch(true);
}

void ar_trace_follow(uint32_t wish)
{
    if (wish)
        trace.is_wanted = is_on(wish);
}

static void stop(enum ar_source_end why)
{
    if (why == AR_SOURCE_CANCELLED)
        ar_trace_switch(false);
}

/* Also of threads that a fork did not take along, in the child, which counts anew. */
static void thread_ends(struct ar_thread *t)
{
    const struct ar_tracer *r = t->tracer;

    if (r && is_on(r->generation) && r->n_forks == trace.n_forks)
        count_traced(UINT32_MAX);
    free(t->tracer);
    t->tracer = NULL;
}

/* What the parent was asked and has not done yet is done first: the child's own file does not know of it. */
static void fork_trace(enum ar_fork_step step_of_fork)
{
    if (step_of_fork == AR_FORK_BEFORE)
        ar_trace_poll();
    ar_fork_lock(&trace.lock, step_of_fork);
    if (step_of_fork == AR_FORK_CHILD) {
        trace.n_forks++;
        trace.n_bytes = 0;
        trace.is_full = trace.is_short = false;
        trace.wish = 0;
        trace.stamp += trace.stamp ? 2 : 0; /* no thread has that one */
        trace.generation += 2;
    }
}

static uint32_t count_regions(const struct ar_thread *t)
{
    uint32_t n = 0;

    for (const struct ar_node *node = t ? t->current : NULL; node; node = parent_of(node))
        n += ar_tree_is_marked((uint32_t)node->key, AR_MARK_TRACED);
    return n;
}

/* Of all threads this one alone goes on. */
void ar_trace_forked(void)
{
    uint32_t n_before = trace.n_regions;

    trace.n_traced = 0;
    trace.n_regions = trace.is_at ? count_regions(ar_self) : 0;
    pthread_mutex_lock(&trace.lock);
    if (n_before && !trace.n_regions)
        set_generation(false);
    else if (is_on(trace.generation))
        note_state();
    pthread_mutex_unlock(&trace.lock);
    rest();
}

static void describe(ar_fact_fn *fact)
{
    char text[64];

    if (!trace.is_announced)
        return;
    snprintf(text, sizeof text, "%sup to %llu MiB per process",
             trace.is_wanted ? "" : "when it is switched on, ",
             (unsigned long long)trace.n_bytes_max >> 20);
    fact("trace", text);
}

const struct ar_source ar_source_trace = {
    .name = "trace",
    .start = start,
    .stop = stop,
    .thread_ends = thread_ends,
    .fork = fork_trace,
    .describe = describe,
};
