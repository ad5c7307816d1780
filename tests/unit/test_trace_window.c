// SPDX-License-Identifier: BSD-3-Clause
/*
 * Windows of traces that were made by hand, against what the test itself has written down: in which node each thread was, and when.
 *
 * Events go into a live file in memory, as format/trace_bytes.h has them: chunk after chunk, calls and returns of random lengths, pauses, and what was
 * taken back. Of each window the times of classes are added up from the test's own list.
 */
#define IMAGE_BYTES (2 << 20)
#include "analysis/trace_window.h"
#include "format/live_profile.h"
#include "format/runfile.h"

#include "dice.h"
#include "live_image.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS 3
#define MOST_STAYS 400000
#define TICKS_PER_UNIT 2
#define NS_PER_UNIT 4

enum { MAIN = 1, SOLVE, SEND, ALLREDUCE, WAIT, SLEEP, DOT, WRITE, LOOP, PICKLED, N_FUNCTIONS };

static const struct {
    enum ar_function_kind kind;
    const char *name;
    enum ar_trace_class class;
} functions[N_FUNCTIONS] = {
    [MAIN] = {AR_FUNCTION_PYTHON, "main", AR_CLASS_PYTHON},
    [SOLVE] = {AR_FUNCTION_PYTHON, "solve", AR_CLASS_PYTHON},
    [SEND] = {AR_FUNCTION_MPI, "MPI_Send", AR_CLASS_P2P},
    [ALLREDUCE] = {AR_FUNCTION_MPI, "MPI_Allreduce_c", AR_CLASS_COLLECTIVE},
    [WAIT] = {AR_FUNCTION_MPI, "MPI_Waitall", AR_CLASS_WAIT},
    [SLEEP] = {AR_FUNCTION_BUILTIN, "<built-in method time.sleep>", AR_CLASS_SLEEP},
    [DOT] = {AR_FUNCTION_BUILTIN, "<built-in method numpy.dot>", AR_CLASS_C},
    [WRITE] = {AR_FUNCTION_BUILTIN, "<method 'write' of '_io.BufferedWriter' objects>",
               AR_CLASS_IO},
    [LOOP] = {AR_FUNCTION_REGION, "loop", AR_CLASS_REGION},
    [PICKLED] = {AR_FUNCTION_OPERATION, "allreduce", AR_CLASS_MPI4PY},
};

/* A thread was in a node. */
struct stay {
    uint64_t from, to; /* units */
    uint32_t ref;      /* 0: nothing is known */
};

struct thread {
    uint32_t root, refs[N_FUNCTIONS]; /* `main`, and the others below it */
    uint32_t path[2];                 /* where it is: `main`, and what is below; 0: not there */
    struct stay *stays;
    size_t n_stays, chunk;
    uint32_t sequence;
    uint64_t units; /* now */
};

static struct thread threads[N_THREADS];
static struct ar_profile profile;
static struct ar_traces traces;
static struct dice dice;

static void must(enum ar_status status, const struct ar_error *err)
{
    if (status < 0) {
        printf("Bail out! %s\n", err ? err->text : ar_status_text(status));
        exit(2);
    }
}

/* ---- writing events --------------------------------------------------------------------------- */

static uint32_t current(const struct thread *t)
{
    return t->path[1] ? t->path[1] : t->path[0] ? t->path[0] : t->root;
}

static void begin_chunk(struct thread *t)
{
    uint32_t owner = (uint32_t)(t - threads);
    /* The first ones are small, as those of the recording. */
    size_t n_pages = t->sequence < 4 ? (size_t)1 << t->sequence : 16;

    t->chunk = image_extent(AR_EXTENT_TRACE, owner, n_pages);
    image_at(t->chunk)->spare[AR_TRACE_SEQUENCE] = ++t->sequence;
    image_at(t->chunk)->spare[AR_TRACE_FIRST_TICKS] = t->units * TICKS_PER_UNIT;
    image_at(t->chunk)->spare[AR_TRACE_FIRST_REF] = UINT64_C(1) << 32 | current(t);
}

static void put(struct thread *t, const void *bytes, size_t n)
{
    const struct ar_extent *e = image_at(t->chunk);

    if (e->n_bytes - e->n_bytes_used < n) {
        begin_chunk(t);
        e = image_at(t->chunk);
    }
    memcpy(image.bytes + image_room(t->chunk, n), bytes, n);
}

static void put_code(struct thread *t, enum ar_trace_code code, uint64_t units, uint32_t ref)
{
    unsigned char bytes[14] = {(unsigned char)(code << 2), ref ? 6 : 4};

    memcpy(bytes + 2, &units, 8);
    memcpy(bytes + 10, &ref, 4);
    put(t, bytes, ref ? 14 : 10);
}

static uint32_t number_of(uint32_t ref)
{
    return image_node_at(ref)->flags >> AR_NODE_NUMBER_SHIFT;
}

static void put_step(struct thread *t, uint64_t units, uint32_t down_to)
{
    uint32_t number = down_to ? number_of(down_to) : 0;
    uint64_t word;

    if (units >= AR_TRACE_LONG_TIME) {
        put_code(t, AR_TRACE_GO, units, down_to ? down_to : image_node_at(current(t))->parent_ref);
    } else if (units < (down_to ? AR_TRACE_DOWN_TIME : AR_TRACE_UP_TIME)) {
        word = down_to ? AR_TRACE_DOWN | units << 2 | (uint64_t)number << 15
                       : AR_TRACE_UP | units << 2;
        put(t, &word, down_to ? 4 : 2);
    } else {
        word = AR_TRACE_LONG | units << 2 | (uint64_t)number << 31;
        put(t, &word, 6);
    }
}

/* Time goes on; `ref` 0: nothing is known of it. */
static void stay(struct thread *t, uint64_t units, uint32_t ref)
{
    if (t->n_stays == MOST_STAYS)
        abort();
    t->stays[t->n_stays++] = (struct stay){t->units, t->units + units, ref};
    t->units += units;
}

/* ---- random programs -------------------------------------------------------------------------- */

/* Mostly short; now and then long, and very long. */
static uint64_t random_units(void)
{
    switch (dice_below(&dice, 400)) {
    case 0:
        return dice_below(&dice, 20000000);
    case 1:
    case 2:
    case 3:
        return dice_below(&dice, 300000);
    default:
        return dice_below(&dice, 300);
    }
}

static void pause_it(struct thread *t)
{
    uint64_t before = random_units(), off = random_units();

    put_code(t, AR_TRACE_OFF, before, 0);
    stay(t, before, current(t));
    put_code(t, AR_TRACE_ON, off, t->root);
    stay(t, off, 0);
    t->path[0] = t->path[1] = 0;
}

static void take_back(struct thread *t)
{
    uint64_t units = random_units();

    put_code(t, AR_TRACE_REWOUND, units, current(t));
    stay(t, units, 0);
}

static void step(struct thread *t)
{
    uint64_t units = random_units();
    uint32_t here = current(t);

    if (t->path[1] || (t->path[0] && dice_below(&dice, 10) == 0)) {
        put_step(t, units, 0);
        stay(t, units, here);
        t->path[t->path[1] ? 1 : 0] = 0;
    } else {
        uint32_t which = t->path[0] ? 2 + dice_below(&dice, N_FUNCTIONS - 2) : MAIN;

        put_step(t, units, t->refs[which]);
        stay(t, units, here);
        t->path[t->path[0] ? 1 : 0] = t->refs[which];
    }
}

static void run_thread(struct thread *t, uint32_t n_steps)
{
    t->units = 500 + 1000 * (uint64_t)(t - threads); /* the process began at tick 1000 */
    begin_chunk(t);
    for (uint32_t i = 0; i < n_steps; i++)
        if (dice_below(&dice, 300) == 0)
            pause_it(t);
        else if (dice_below(&dice, 500) == 0)
            take_back(t);
        else
            step(t);
    /* What is lost between two chunks. */
    if (dice_below(&dice, 2)) {
        stay(t, 5000, 0);
        t->sequence += 3;
        begin_chunk(t);
        for (uint32_t i = 0; i < 1000; i++)
            step(t);
    }
}

static void add_nodes(struct thread *t)
{
    uint32_t number = (uint32_t)(t - threads);
    size_t extent = image_extent(AR_EXTENT_NODES, number, 1);

    t->root = image_node(extent, 0, 0, -1000, 1);
    for (uint32_t i = MAIN; i < N_FUNCTIONS; i++) {
        t->refs[i] = image_node(extent, i, i == MAIN ? t->root : t->refs[MAIN], 10, 1);
        image_node_at(t->refs[i])->flags |= i << AR_NODE_NUMBER_SHIFT;
    }
}

static enum ar_status read_image(const struct ar_bulk_source *source, uint64_t id, void *to,
                                 size_t n, uint64_t at, struct ar_error *err)
{
    (void)source;
    (void)id;
    if (at > image.n_bytes || n > image.n_bytes - at)
        return ar_fail(err, AR_BAD, "outside");
    memcpy(to, image.bytes + at, n);
    return AR_OK;
}

/* The image as a profile that went through a run file, as one does that is opened. */
static void make_profile(void)
{
    struct ar_live live;
    struct ar_error err;
    uint64_t end = 0;

    for (int i = 0; i < N_THREADS; i++)
        end = threads[i].units > end ? threads[i].units : end;
    image_header()->latest.ticks = (end + 100) * TICKS_PER_UNIT;
    image_header()->latest.mono_ns = 50000 + 2 * (image_header()->latest.ticks - 1000);
    must(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &err), &err);
    live.with_trace = true;
    live.trace_source = (struct ar_bulk_source){.read = read_image};
    must(ar_profile_init(&profile), NULL);
    must(ar_profile_add_live(&profile, &live, 0, &err), &err);
    ar_live_close(&live);
    for (int i = 0; i < N_THREADS; i++)
        stay(&threads[i], end + 100 - threads[i].units, current(&threads[i]));
}

static void start(uint64_t seed, uint32_t n_steps)
{
    size_t records, extent;
    struct ar_error err;

    dice = (struct dice){seed};
    image_start();
    records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    for (uint32_t i = MAIN; i < N_FUNCTIONS; i++)
        image_function(records, functions[i].kind, functions[i].name);
    extent = image_extent(AR_EXTENT_THREADS, 0, 1);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        struct stay *stays =
            threads[i].stays ? threads[i].stays : malloc(MOST_STAYS * sizeof *stays);

        threads[i] = (struct thread){.stays = stays};
        add_nodes(&threads[i]);
        image_thread(extent, i, threads[i].root, "");
        run_thread(&threads[i], n_steps);
    }
    make_profile();
    must(ar_traces_open(&traces, &profile, &err), &err);
}

static void stop(void)
{
    ar_traces_close(&traces);
    ar_profile_free(&profile);
}

/* ---- what is right ---------------------------------------------------------------------------- */

static double ns_of(uint64_t units)
{
    return NS_PER_UNIT * ((double)units - 500);
}

static uint32_t function_of(const struct thread *t, uint32_t ref)
{
    for (uint32_t i = MAIN; i < N_FUNCTIONS; i++)
        if (t->refs[i] == ref)
            return i;
    return 0;
}

static enum ar_trace_class class_of(uint32_t function, uint32_t ref)
{
    return !ref ? AR_CLASS_NONE : function ? functions[function].class : AR_CLASS_OTHER;
}

struct truth {
    double classes[AR_N_WINDOW_CLASSES], nodes[N_FUNCTIONS];
};

/* Of a part of time, all as shares of it. */
static void find_truth(const struct thread *t, double from, double to, struct truth *out)
{
    size_t first = 0, end = t->n_stays;

    *out = (struct truth){.classes = {0}};
    while (end - first > 1) {
        size_t middle = (first + end) / 2;

        if (ns_of(t->stays[middle].from) <= from)
            first = middle;
        else
            end = middle;
    }
    for (size_t i = first; i < t->n_stays && ns_of(t->stays[i].from) < to; i++) {
        double a = fmax(from, ns_of(t->stays[i].from)), b = fmin(to, ns_of(t->stays[i].to));
        uint32_t function = function_of(t, t->stays[i].ref);

        if (b <= a)
            continue;
        out->classes[class_of(function, t->stays[i].ref)] += (b - a) / (to - from);
        if (t->stays[i].ref)
            out->nodes[function] += (b - a) / (to - from);
    }
    out->classes[AR_CLASS_NONE] = 1;
    for (unsigned kind = 1; kind < AR_N_WINDOW_CLASSES; kind++)
        out->classes[AR_CLASS_NONE] -= out->classes[kind];
}

static const char *name_of_node(uint32_t node)
{
    return ar_strtab_text(&profile.strings, profile.functions[profile.nodes[node].function].name);
}

static double share_of_node(const struct truth *truth, uint32_t node)
{
    for (uint32_t i = MAIN; i < N_FUNCTIONS; i++)
        if (strcmp(name_of_node(node), functions[i].name) == 0)
            return truth->nodes[i];
    return truth->nodes[0];
}

struct off {
    double kind, node, sum; /* how far a window is off, at most */
    double largest;         /* how much more another node had than the one that was told */
};

static void compare_cell(const struct ar_window_cell *cell, const struct truth *truth,
                         struct off *off)
{
    double sum = 0, most = 0;

    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++) {
        off->kind = fmax(off->kind, fabs((double)cell->shares[kind] - truth->classes[kind]));
        sum += (double)cell->shares[kind];
    }
    for (unsigned i = 0; i < N_FUNCTIONS; i++)
        most = fmax(most, truth->nodes[i]);
    off->sum = fmax(off->sum, fabs(sum - 1));
    if (cell->node != AR_NO_ID)
        off->node = fmax(off->node, (double)cell->node_share - share_of_node(truth, cell->node));
    off->largest =
        fmax(off->largest, most - (cell->node == AR_NO_ID ? 0 : share_of_node(truth, cell->node)));
}

/* Cells against the truth; the window's own share of its row, too. */
static struct off compare(const struct ar_trace_window *w, double *off_in_all)
{
    struct off off = {0};

    *off_in_all = 0;
    for (size_t row = 0; row < w->n_rows; row++) {
        struct truth truth;
        double length = (double)(w->to_ns - w->from_ns);

        for (size_t i = 0; i < w->n_columns; i++) {
            double from = (double)w->from_ns + length * (double)i / (double)w->n_columns;
            double to = (double)w->from_ns + length * (double)(i + 1) / (double)w->n_columns;

            find_truth(&threads[row], from, to, &truth);
            compare_cell(ar_window_cell(w, row, i), &truth, &off);
        }
        find_truth(&threads[row], (double)w->from_ns, (double)w->to_ns, &truth);
        for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++)
            *off_in_all =
                fmax(*off_in_all, fabs(w->class_ns[row][kind] / length - truth.classes[kind]));
    }
    return off;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void check_window(const char *what, int64_t from, int64_t to, size_t n_columns)
{
    const struct ar_window_choice choice = {.from_ns = from, .to_ns = to, .n_columns = n_columns};
    struct ar_trace_window w;
    struct ar_error err;
    double off_in_all, column_ns = (double)(to - from) / (double)n_columns;
    double rounding = 3 * NS_PER_UNIT / column_ns + 1e-5;
    struct off off;

    must(ar_trace_window_read(&w, &traces, &choice, &err), &err);
    off = compare(&w, &off_in_all);
    tap_ok(off.sum < 1e-5, "%s, %zu columns: shares add up to 1", what, n_columns);
    tap_ok(w.error <= 0.125, "%s: the error is an eighth of a column at most", what);
    if (!tap_ok(off.kind <= w.error + rounding, "%s: classes are as right as that", what) ||
        !tap_ok(off.node <= w.error + rounding, "%s: a node has as much as that", what) ||
        !tap_ok(off_in_all <= (w.error + rounding) / (double)n_columns,
                "%s: classes of the whole window, too", what))
        tap_note("off by %g, node %g, all %g; stated %g and %g", off.kind, off.node, off_in_all,
                 w.error, rounding);
    if (w.error == 0)
        tap_ok(off.largest <= rounding, "%s: the node with the most was told", what);
    tap_note("%zu events, %zu bins; class off by %.4f, stated %.4f; another node has more by %.3f",
             (size_t)w.n_events, (size_t)w.n_bins, off.kind, w.error, off.largest);
    ar_trace_window_free(&w);
}

static void test_windows(uint64_t seed, uint32_t n_steps)
{
    static const size_t columns[] = {1, 7, 80, 1000};
    int64_t end;

    start(seed, n_steps);
    end = traces.end_ns;
    tap_ok(traces.n == N_THREADS, "seed %d: all threads have a trace", (int)seed);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        check_window("all of it", 0, end, columns[i]);
        check_window("a third of it", end / 3, end / 3 * 2, columns[i]);
        check_window("beyond the end", end / 2, end * 2, columns[i]);
    }
    for (int i = 0; i < 20; i++) {
        int64_t from = (int64_t)(dice_roll(&dice) % (uint64_t)end);
        int64_t length = 100000 + (int64_t)(dice_number(&dice) % (uint64_t)end);

        check_window("anywhere", from, from + length, columns[dice_below(&dice, 4)]);
        check_window("a short one", from, from + 2000 + dice_below(&dice, 1000000),
                     1 + dice_below(&dice, 40));
    }
    stop();
}

/* A picture of all of a long run reads no events. */
static void test_work(void)
{
    struct ar_trace_window w;
    struct ar_error err;
    struct ar_window_choice choice = {.n_columns = 20};

    start(99, 60000);
    choice.to_ns = traces.end_ns;
    must(ar_trace_window_read(&w, &traces, &choice, &err), &err);
    tap_ok(w.n_events == 0, "20 columns of %d events: none is read", (int)traces.n_events);
    tap_ok(w.n_bins < 20u * N_THREADS * 40, "%d bins are", (int)w.n_bins);
    ar_trace_window_free(&w);
    choice.from_ns = traces.end_ns / 2;
    choice.to_ns = choice.from_ns + 1000000;
    must(ar_trace_window_read(&w, &traces, &choice, &err), &err);
    tap_ok(w.n_events <= traces.n_events / 2, "1 ms of it: %d events are read", (int)w.n_events);
    ar_trace_window_free(&w);
    stop();
}

static void test_wanted(void)
{
    struct ar_trace_window w, all;
    struct ar_error err;
    struct ar_window_choice choice = {.n_columns = 30};
    uint8_t *is_wanted;
    bool is_same = true, is_empty = true;

    start(5, 20000);
    choice.to_ns = traces.end_ns;
    is_wanted = calloc(profile.n_nodes, 1);
    for (uint32_t i = 0; i < profile.n_nodes; i++)
        is_wanted[i] = strcmp(name_of_node(i), "MPI_Send") == 0;
    must(ar_trace_window_read(&all, &traces, &choice, &err), &err);
    choice.is_wanted = is_wanted;
    must(ar_trace_window_read(&w, &traces, &choice, &err), &err);
    for (size_t i = 0; i < w.n_rows * w.n_columns; i++) {
        const float *x = w.cells[i].shares;

        is_same = is_same && fabsf(x[AR_CLASS_P2P] - all.cells[i].shares[AR_CLASS_P2P]) <=
                                 (float)all.error + 1e-4f;
        is_empty = is_empty && x[AR_CLASS_PYTHON] == 0 && x[AR_CLASS_C] == 0;
    }
    tap_ok(is_same, "what is wanted has the same share");
    tap_ok(is_empty && w.class_ns[0][AR_WINDOW_UNWANTED] > 0, "all else is told apart");
    free(is_wanted);
    ar_trace_window_free(&w);
    ar_trace_window_free(&all);
    stop();
}

static void test_nonsense(void)
{
    static const size_t beyond = N_THREADS;
    const struct ar_window_choice choices[] = {
        {.from_ns = 5, .to_ns = 5, .n_columns = 1},
        {.from_ns = -1, .to_ns = 5, .n_columns = 1},
        {.from_ns = 0, .to_ns = 5, .n_columns = 0},
        {.from_ns = 0, .to_ns = 5, .n_columns = AR_MOST_WINDOW_COLUMNS + 1},
        {.from_ns = 0, .to_ns = 5, .n_columns = 1, .threads = &beyond, .n_threads = 1},
    };
    struct ar_trace_window w;
    struct ar_error err;

    start(3, 100);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        tap_ok(ar_trace_window_read(&w, &traces, &choices[i], &err) == AR_BAD, "no window: %zu", i);
    stop();
}

/* Bytes of the index that are changed are refused, or lead to some picture; its cells add up all the same. */
static void test_damaged_index(void)
{
    struct ar_other_stream *stream = NULL;
    struct ar_error err;
    int n_refused = 0, n_shown = 0, n_wrong = 0;

    start(11, 3000);
    ar_traces_close(&traces);
    for (size_t i = 0; i < profile.other_streams.n; i++)
        if (ar_is_trace(&profile.other_streams.items[i]))
            stream = &profile.other_streams.items[i];

    unsigned char *bytes = malloc(stream->n_bytes),
                  *was = (unsigned char *)(uintptr_t)stream->bytes;

    stream->bytes = bytes;
    for (int round = 0; round < 20000; round++) {
        struct ar_trace_window w;
        struct ar_window_choice choice = {.n_columns = 1 + dice_below(&dice, 200)};
        enum ar_status status;

        memcpy(bytes, was, stream->n_bytes);
        for (uint32_t n = 1 + dice_below(&dice, 4); n; n--)
            bytes[9 + dice_below(&dice, (uint32_t)stream->n_bytes - 9)] =
                (unsigned char)dice_roll(&dice);
        status = ar_traces_open(&traces, &profile, &err);
        if (status == AR_OK) {
            choice.to_ns = 1 + (traces.end_ns < INT64_MAX / 8 ? traces.end_ns : INT64_MAX / 8);
            status = ar_trace_window_read(&w, &traces, &choice, &err);
            for (size_t i = 0; status == AR_OK && i < w.n_rows * w.n_columns; i++) {
                double sum = 0;

                for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++)
                    sum += (double)w.cells[i].shares[kind];
                n_wrong += !(fabs(sum - 1) < 1e-4);
            }
            if (status == AR_OK)
                ar_trace_window_free(&w);
            ar_traces_close(&traces);
        }
        n_shown += status == AR_OK;
        n_refused += status < 0;
    }
    stream->bytes = was;
    free(bytes);
    tap_ok(n_refused > 0 && n_shown > 0, "of damaged ones %d were refused, %d shown", n_refused,
           n_shown);
    tap_ok(n_wrong == 0, "no column has more or less than all of its time");
    ar_profile_free(&profile);
}

int main(void)
{
    static const uint32_t sizes[] = {0, 3, 50, 1000, 20000, 60000};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_windows(i + 1, sizes[i]);
    test_work();
    test_wanted();
    test_nonsense();
    test_damaged_index();
    for (int i = 0; i < N_THREADS; i++)
        free(threads[i].stays);
    return tap_done();
}
