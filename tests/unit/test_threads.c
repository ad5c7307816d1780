// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that record side by side, for ThreadSanitizer to watch (`make test-unit` runs it in a build
 * of its own): they come and go, make functions, marks, nodes and values, and lose some, while others
 * do; none of them waits for another, as in MPI wrappers, which run without the GIL. Pauses are asked
 * for by one thread and followed by the others, all under a lock that stands for the GIL.
 *
 *     test_threads [--without-gil]     the pauses without that lock: MPI wrappers look for them, too
 */
#include "runtime/tree.h"

#include "format/profile.h"
#include "runtime/identity.h"
#include "scratch.h"
#include "tap.h"

#include <pthread.h>

#define N_THREADS 8
#define N_ROUNDS 20
#define N_FUNCTIONS 40
#define N_CALLS 200
#define N_PAUSES 2000

static bool has_gil = true;
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;

static void take_gil(void)
{
    if (has_gil)
        pthread_mutex_lock(&gil);
}

static void drop_gil(void)
{
    if (has_gil)
        pthread_mutex_unlock(&gil);
}

static uint32_t new_function(enum ar_function_kind kind, const char *name)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = (uint8_t)kind,
                             .n_name = (uint32_t)strlen(name)};

    return ar_livemap_record(&head, name, "", NULL);
}

/* ---- what threads do --------------------------------------------------------------------------- */

/* As many calls of each function, below one another, with a mark and values now and then. */
static void *records(void *unused)
{
    struct ar_thread *t = ar_thread_self();

    (void)unused;
    for (uint32_t i = 0; t && i < N_FUNCTIONS; i++) {
        uint32_t function = new_function(AR_FUNCTION_MPI, "made by a thread");
        struct ar_node *outer = ar_tree_enter(t, 1, ar_ticks());

        if (i % 8 == 0)
            ar_tree_mark(function, AR_MARK_KEEP_PLACE);
        for (uint64_t call = 0; call < N_CALLS; call++) {
            struct ar_node *node = ar_tree_enter(t, (call % 3) << 32 | function, ar_ticks());
            struct ar_values *values = ar_tree_values(t, node, AR_VALUES_MPI);

            values->words[AR_MPI_BYTES_OUT] += 1;
            ar_tree_leave(t, node, ar_ticks());
        }
        ar_livemap_lost(AR_LOST_FUNCTIONS, 1);
        ar_livemap_stamp();
        ar_tree_leave(t, outer, ar_ticks());
    }
    return t;
}

/* Python functions: each event under the GIL. */
static void *records_pausable(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2 * N_PAUSES; i++) {
        struct ar_node *node = NULL;

        take_gil();
        struct ar_thread *t = ar_thread_self();
        if (t && !(t->n_unseen && ar_tree_is_unseen(t, ar_ticks())))
            node = ar_tree_enter(t, 2, ar_ticks());
        drop_gil();
        take_gil();
        if (node)
            ar_tree_leave(t, node, ar_ticks());
        drop_gil();
    }
    return NULL;
}

static void *pauses(void *paused_function)
{
    for (int i = 0; i < N_PAUSES; i++) {
        take_gil();
        ar_threads_pause(i % 2 == 0, *(const uint32_t *)paused_function);
        drop_gil();
    }
    return NULL;
}

/* ---- side by side ------------------------------------------------------------------------------ */

static void run_all(void *(*body)(void *), void *(*other)(void *), void *context)
{
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, i == 0 && other ? other : body, context) != 0)
            exit(2);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Calls of all functions of that kind, or of that one, in all threads. */
static uint64_t n_calls_of(const struct ar_live *live, uint32_t least, uint32_t most)
{
    uint64_t n_calls = 0;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_NODES));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_node)); i++) {
            const struct ar_node *node = ar_extent_item(e, i, sizeof *node);

            if ((uint32_t)node->key >= least && (uint32_t)node->key <= most)
                n_calls += node->n_calls;
        }
    return n_calls;
}

static void check_counts(uint32_t n_first)
{
    struct ar_live live;
    struct ar_error err;
    const uint64_t n_runs = (uint64_t)N_ROUNDS * N_THREADS;

    if (!tap_ok(ar_live_from_bytes(&live, ar_live_base, ar_livemap_allocated(), "mapping", &err) ==
                    AR_OK,
                "what they left can be read"))
        return;
    tap_ok(n_calls_of(&live, 1, 1) == n_runs * N_FUNCTIONS, "no call of the common one is missing");
    tap_ok(n_calls_of(&live, n_first, UINT32_MAX) == n_runs * N_FUNCTIONS * N_CALLS,
           "nor of those that threads made");
    tap_ok(live.header->n_lost[AR_LOST_FUNCTIONS] == n_runs * N_FUNCTIONS, "losses are counted");
    ar_live_close(&live);
}

int main(int argc, char **argv)
{
    struct ar_identity identity;
    struct ar_error err;
    uint32_t paused;

    has_gil = argc < 2 || strcmp(argv[1], "--without-gil") != 0;
    ar_clock_choose();
    scratch_make();
    if (ar_identity_find(&identity, scratch_dir, &err) < 0 ||
        ar_livemap_create(&identity, (uint64_t)64 << 20, &err) < 0)
        return 2;
    new_function(AR_FUNCTION_PYTHON, "common");
    new_function(AR_FUNCTION_PYTHON, "pausable");
    paused = new_function(AR_FUNCTION_REGION, "(paused)");
    ar_tree_mark(paused, AR_MARK_REGION);
    for (int round = 0; round < N_ROUNDS; round++)
        run_all(records, NULL, NULL);
    check_counts(paused + 1);
    run_all(records_pausable, pauses, &paused);
    tap_ok(true, "pauses are followed");
    ar_livemap_remove();
    scratch_remove();
    return tap_done();
}
