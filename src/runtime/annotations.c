// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/annotations.h"

#include "base/arena.h"
#include "runtime/functions.h"
#include "runtime/measures.h"
#include "runtime/pyframe.h"
#include "runtime/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program that never ends what it begins. */
#define MOST_OPEN 4096
/* What a program counts itself may be infinite. */
#define MOST_WORK 1e18

/* In a page: the region has been begun by Python, so that it stays open. */
#define STAYS 0x80000000u

/* A region that has begun, recorded or not: begin and end are paired in any case. */
struct opened {
    const struct ar_annotator *annotator;
    uint32_t id;
    bool stays;
    struct ar_node *node; /* NULL: it is not recorded */
    double work[AR_MOST_WORK];
};

struct ar_annotated {
    struct opened *opened; /* the innermost last */
    size_t n, cap;
};

/* ---- names ------------------------------------------------------------------------------------ */

static uint32_t *slot_of(struct ar_annotator *a, uint32_t id)
{
    uint32_t page = id / AR_ANNOTATIONS_PER_PAGE;
    uint32_t *slots =
        page < AR_ANNOTATION_PAGES ? __atomic_load_n(&a->pages[page], __ATOMIC_ACQUIRE) : NULL;

    return slots ? &slots[id % AR_ANNOTATIONS_PER_PAGE] : NULL;
}

/* Another thread may be faster. A page that is there stays. */
static uint32_t *make_slot(struct ar_annotator *a, uint32_t id)
{
    uint32_t page = id / AR_ANNOTATIONS_PER_PAGE, *none = NULL;
    uint32_t *made =
        page < AR_ANNOTATION_PAGES ? calloc(AR_ANNOTATIONS_PER_PAGE, sizeof *made) : NULL;

    if (made && !__atomic_compare_exchange_n(&a->pages[page], &none, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
        free(made);
    return slot_of(a, id);
}

/* Some names are filled up with blanks, for columns. 0: there is no name, or no room. */
static uint32_t number_named(const char *name)
{
    char text[256] = "";
    size_t n = (size_t)snprintf(text, sizeof text, "%s", name ? name : "");

    n = n < sizeof text ? n : sizeof text - 1;
    while (n && text[n - 1] == ' ')
        text[--n] = '\0';
    return n ? ar_function_named(AR_FUNCTION_REGION, text) : 0;
}

/* 0: it cannot be recorded. */
static uint32_t first_number(struct ar_annotator *a, uint32_t id, bool stays)
{
    uint32_t number = number_named(a->name_of(id));
    uint32_t *slot = number ? make_slot(a, id) : NULL;

    if (!slot)
        return 0;
    ar_tree_mark(number, AR_MARK_IN_CALL | AR_MARK_COUNTED | (stays ? AR_MARK_REGION : 0));
    __atomic_store_n(slot, number | (stays ? STAYS : 0), __ATOMIC_RELEASE);
    return number;
}

static uint32_t number_of(struct ar_annotator *a, uint32_t id, bool stays)
{
    const uint32_t *slot = slot_of(a, id);
    uint32_t known = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : 0;

    if (__builtin_expect(!known || (stays && !(known & STAYS)), 0))
        return first_number(a, id, stays);
    return known & ~STAYS;
}

void ar_annotator_forget(struct ar_annotator *a)
{
    for (size_t i = 0; i < AR_ANNOTATION_PAGES; i++)
        if (a->pages[i])
            memset(a->pages[i], 0, AR_ANNOTATIONS_PER_PAGE * sizeof *a->pages[i]);
}

void ar_annotator_begin(struct ar_annotator *a)
{
    struct ar_measure measure = {
        .form = AR_MEASURE_METRICS, .n_words = AR_BLOCK_WORDS, .n_fields = (uint8_t)a->n_work};

    for (size_t i = 0; i < a->n_work; i++) {
        measure.metrics[i] = &a->metrics[i];
        measure.fields[i] = (struct ar_row_field){.word = (uint8_t)(1 + i), .n_bits = 64};
    }
    a->measure = ar_measure_begin(&measure);
}

/* ---- open regions ----------------------------------------------------------------------------- */

static bool has_ended(const struct opened *o)
{
    return o->node && !o->stays && o->node->ticks >= 0;
}

/* NULL: there is no room. Those that were closed with the call around them are dropped first. */
static struct opened *push(struct ar_thread *t)
{
    struct ar_annotated *open = t->annotated;

    if (!open)
        open = t->annotated = calloc(1, sizeof *open);
    while (open && open->n && has_ended(&open->opened[open->n - 1]))
        open->n--;
    if (!open || open->n == MOST_OPEN ||
        ar_grow((void **)&open->opened, &open->cap, open->n + 1, sizeof *open->opened) < 0) {
        ar_livemap_lost(AR_LOST_REGIONS, 1);
        return NULL;
    }
    return &open->opened[open->n++];
}

/* Works without the GIL, and after the interpreter is gone. */
static uint64_t python_place(const struct ar_node *current)
{
    PyThreadState *ts = PyGILState_GetThisThreadState();

    return ts ? ar_call_place(ar_frame_innermost(ts), current) : 0;
}

/* What MPI calls by itself is not recorded, nor is anything in a pause; what another thread asks for is left to the next function. */
static bool is_seen(struct ar_thread *t)
{
    return !t->in_mpi && !(__atomic_load_n(&t->n_unseen, __ATOMIC_RELAXED) & AR_UNSEEN_CALLS);
}

/*
 * Some functions of PETSc begin an event and call each other: begun directly within itself it is one event. With anything in
 * between, as a solver that is the preconditioner of another one, it is one more.
 */
static bool is_open_already(const struct ar_thread *t, const struct opened *o)
{
    const struct opened *outer = o > t->annotated->opened ? o - 1 : NULL;

    while (outer && outer > t->annotated->opened && !outer->node)
        outer--;
    return outer && outer->annotator == o->annotator && outer->id == o->id && outer->node &&
           outer->node == t->current;
}

static void begin(struct ar_thread *t, struct ar_annotator *a, struct opened *o)
{
    uint32_t number = number_of(a, o->id, o->stays);

    if (number && o->stays)
        ar_tree_pass_builtins(t, ar_ticks());

    uint64_t place = number ? python_place(t->current) : 0;

    a->read_work(o->work);
    o->node = number ? ar_tree_enter(t, place | number, ar_ticks()) : NULL;
    if (o->node && o->stays)
        o->node->flags |= AR_MARK_REGION; /* it may be from before the first that stays */
}

void ar_annotation_begin(struct ar_annotator *a, uint32_t id, bool stays)
{
    int saved_errno = errno;
    struct ar_thread *t = ar_live_base ? ar_thread_self() : NULL;
    struct opened *o = t ? push(t) : NULL;

    if (o) {
        *o = (struct opened){.annotator = a, .id = id, .stays = stays};
        if (is_seen(t) && !is_open_already(t, o))
            begin(t, a, o);
    }
    errno = saved_errno;
}

/* An event without any work has 0, which is known, too. */
static void add_work(struct ar_thread *t, const struct ar_annotator *a, const struct opened *o,
                     const double *work)
{
    uint64_t *words = a->measure ? ar_measure_block(t, o->node, a->measure) : NULL;

    for (size_t i = 0; words && i < a->n_work; i++) {
        double done = work[i] - o->work[i]; /* less than nothing: the library counts anew */

        if (done > 0 && done < MOST_WORK)
            __atomic_store_n(&words[1 + i], words[1 + i] + (uint64_t)(done + 0.5),
                             __ATOMIC_RELAXED);
    }
}

static void end(struct ar_thread *t, struct ar_annotator *a, const struct opened *o)
{
    uint64_t now = ar_ticks();
    double work[AR_MOST_WORK];

    a->read_work(work);
    if (o->stays)
        ar_tree_pass_builtins(t, now);
    if (o->node == t->current)
        ar_tree_leave(t, o->node, now);
    else
        ar_tree_end_region(t, (uint32_t)o->node->key, now);
    add_work(t, a, o, work);
}

/* Takes the innermost out of the list; false: there is none. */
static bool take(struct ar_annotated *open, const struct ar_annotator *a, uint32_t id,
                 uint32_t bits, struct opened *out)
{
    for (size_t i = open ? open->n : 0; i-- > 0;) {
        struct opened *o = &open->opened[i];

        if (o->annotator != a || (o->id & bits) != id || has_ended(o))
            continue;
        *out = *o;
        memmove(o, o + 1, (--open->n - i) * sizeof *o);
        return true;
    }
    return false;
}

void ar_annotation_end(struct ar_annotator *a, uint32_t id, uint32_t bits)
{
    int saved_errno = errno;
    struct ar_thread *t = ar_live_base ? ar_self : NULL;
    struct opened o;

    if (t && take(t->annotated, a, id, bits, &o) && o.node && !t->in_mpi)
        end(t, a, &o);
    errno = saved_errno;
}

/* ---- the source ------------------------------------------------------------------------------- */

static void thread_ends(struct ar_thread *t)
{
    if (!t->annotated)
        return;
    free(t->annotated->opened);
    free(t->annotated);
    t->annotated = NULL;
}

/* What was done before is the parent's, and of nodes there are only those that are open. */
static void on_fork(enum ar_fork_step step)
{
    struct ar_annotated *open = step == AR_FORK_CHILD && ar_self ? ar_self->annotated : NULL;

    for (size_t i = 0; open && i < open->n; i++) {
        struct opened *o = &open->opened[i];

        if (o->node && o->node->ticks >= 0)
            o->node = ar_tree_find_open(ar_self, (uint32_t)o->node->key);
        o->annotator->read_work(o->work);
    }
}

const struct ar_source ar_source_annotations = {
    .name = "annotations",
    .thread_ends = thread_ends,
    .fork = on_fork,
};
