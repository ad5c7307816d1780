// SPDX-License-Identifier: BSD-3-Clause
/*
 * A source that is in none of this program's files: what it measures goes from the live file through reading, merging, folding,
 * selecting and a run file to JSON, and only the source says what it means.
 *
 *     test_measures                 the tests
 *     test_measures DIRECTORY       leaves live files of two ranks there, which have been killed: for tests/golden
 */
#include "runtime/measures.h"

#include "analysis/fold.h"
#include "analysis/select.h"
#include "analysis/validate.h"
#include "export/tables_json.h"
#include "format/live_profile.h"
#include "format/rows.h"
#include "format/runfile.h"
#include "made_up.h"
#include "own_file.h"
#include "runtime/c_cheap.h"
#include "runtime/sources.h"
#include "sample_profile.h"
#include "tap.h"

#include <string.h>
#include <sys/wait.h>

static struct ar_error error;

/* ---- the source ------------------------------------------------------------------------------- */

static uint32_t metrics, lines, events;
static __thread struct ar_extent *event_extent;

static enum ar_status start_made_up(const struct ar_options *options, struct ar_error *err)
{
    (void)options;
    metrics = ar_measure_begin(&made_up_metrics);
    lines = ar_measure_begin(&made_up_lines);
    events = ar_measure_begin(&made_up_events);
    return metrics && lines && events ? AR_OK : ar_fail(err, AR_UNSUPPORTED, "no room");
}

static const struct ar_source made_up = {.name = "made_up", .start = start_made_up};

static void count(struct ar_thread *t, struct ar_node *node, uint64_t cycles, uint64_t samples,
                  uint64_t deepest)
{
    uint64_t *words = ar_measure_block(t, node, metrics);

    words[1] += cycles;
    words[2] = deepest << 32 | ((uint32_t)words[2] + samples);
}

static void happen(struct ar_thread *t, const struct ar_node *node, uint32_t function,
                   uint64_t kind)
{
    uint64_t words[] = {(uint64_t)function << 32 | ar_live_ref(node), kind, t->slot->latest_ticks};

    ar_measure_event(t, &event_extent, events, words, 3);
}

/* ---- a program -------------------------------------------------------------------------------- */

static uint32_t new_function(const char *name, const char *file, uint32_t kind, uint32_t region)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = (uint8_t)kind,
                             .n_name = (uint32_t)strlen(name),
                             .n_file = (uint32_t)strlen(file),
                             .first_line = 3,
                             .other = region};

    return ar_livemap_record(&head, name, file, NULL);
}

/*
 *     main             900 cycles   20 samples     2 deep
 *       find_spec      500           3
 *         find_spec    450          40             4       below the import system
 *       solve          300           7             3       a region of that name around it; lines 11 and 12, three events
 */
static void run_program(void)
{
    struct ar_thread *t = ar_thread_self();
    uint32_t main_number = new_function("main", "a.py", AR_FUNCTION_PYTHON, 0);
    uint32_t find =
        new_function("find_spec", "<frozen importlib._bootstrap>", AR_FUNCTION_PYTHON, 0);
    uint32_t region = new_function("solve", "", AR_FUNCTION_REGION, 0);
    uint32_t solve = new_function("solve", "a.py", AR_FUNCTION_PYTHON, region);
    struct ar_node *main_node = ar_tree_enter(t, main_number, ar_ticks());
    struct ar_node *import = ar_tree_enter(t, find, ar_ticks());
    struct ar_node *below = ar_tree_enter(t, find | (uint64_t)9 << 32, ar_ticks());

    ar_tree_leave(t, below, ar_ticks());
    ar_tree_leave(t, import, ar_ticks());

    struct ar_node *solving = ar_tree_enter(t, solve, ar_ticks());

    count(t, main_node, 900, 20, 2);
    count(t, import, 500, 3, 0);
    count(t, below, 450, 40, 4);
    count(t, solving, 200, 5, 3);
    count(t, solving, 100, 2, 3);

    uint64_t *hits = ar_measure_row(t, solving, lines, (uint64_t[]){11, 1, 40}, 3);

    hits[1] += 5;
    ar_measure_row(t, solving, lines, (uint64_t[]){12, 4, 10}, 3);
    happen(t, solving, 0, 1);
    happen(t, main_node, solve, 2);
    happen(t, solving, solve, 300);
}

/* Two ranks, one after the other, each in a process of its own, which ends without a word. */
static void run_rank(const char *directory, int rank)
{
    char text[16];
    struct ar_identity identity;
    static const struct ar_source *const table[] = {&made_up, NULL};

    snprintf(text, sizeof text, "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("PMIX_NAMESPACE", "made-up", 1);
    ar_clock_choose();
    if (ar_identity_find(&identity, directory, NULL) < 0 ||
        ar_livemap_create(&identity, 64 << 20, NULL) < 0 || !ar_thread_self() ||
        ar_sources_start(table, NULL, &error) < 0)
        _exit(2);
    for (int i = 0; i < rank; i++) /* so that numbers differ between ranks */
        new_function("another", "b.py", AR_FUNCTION_PYTHON, 0);
    run_program();
    ar_livemap_stamp();
    dprintf(3, "%s", ar_livemap_path());
    _exit(0);
}

static bool run_in_process(const char *directory, int rank, char *path, size_t n_path)
{
    int ends[2], status = 1;
    pid_t pid = pipe(ends) == 0 ? fork() : -1;

    if (pid == 0) {
        dup2(ends[1], 3);
        run_rank(directory, rank);
    }
    close(ends[1]);

    ssize_t n = read(ends[0], path, n_path - 1);

    close(ends[0]);
    path[n > 0 ? n : 0] = '\0';
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* ---- what is read ----------------------------------------------------------------------------- */

static const struct ar_table *table_of(const struct ar_profile *p, const char *name)
{
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        if (p->tables[i].kind && strcmp(p->tables[i].kind->name, name) == 0)
            return &p->tables[i];
    return NULL;
}

static bool is_at(const struct ar_profile *p, uint32_t node, const char *name, uint32_t kind)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];

    return f->kind == kind && strcmp(ar_strtab_text(&p->strings, f->name), name) == 0;
}

/* Over all ranks and call paths of that function. */
static uint64_t value_of(const struct ar_profile *p, const char *metric, const char *function,
                         uint32_t kind)
{
    uint64_t sum = 0;

    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++) {
        struct ar_rows rows;

        if (strcmp(ar_profile_metric(p, m)->name, metric) != 0)
            continue;
        sample_must(ar_rows_open(&rows, p, m));
        for (uint32_t node = 0; node < p->n_nodes; node++) {
            struct ar_row row = ar_rows_get(&rows, node);

            for (size_t i = 0; i < row.n; i++)
                sum += is_at(p, node, function, kind) ? row.values[i].value : 0;
        }
        ar_rows_close(&rows);
    }
    return sum;
}

static void check_metrics(const struct ar_profile *p, uint64_t n, const char *what)
{
    tap_ok(value_of(p, "made_up.cycles", "main", AR_FUNCTION_PYTHON) == 900 * n &&
               value_of(p, "made_up.cycles", "solve", AR_FUNCTION_PYTHON) == 300 * n &&
               value_of(p, "made_up.samples", "main", AR_FUNCTION_PYTHON) == 20 * n &&
               value_of(p, "made_up.deepest", "main", AR_FUNCTION_PYTHON) == 2 * n,
           "%s: metrics of nodes", what);
    tap_ok(value_of(p, "made_up.cycles", "solve", AR_FUNCTION_REGION) == 300 * n &&
               value_of(p, "made_up.deepest", "solve", AR_FUNCTION_REGION) == 3 * n &&
               value_of(p, "made_up.samples", "solve", AR_FUNCTION_REGION) == 0 &&
               value_of(p, "made_up.samples", "solve", AR_FUNCTION_PYTHON) == 7 * n,
           "%s: a region has what its function has, but not what is exclusive", what);
}

struct line_row {
    uint32_t node, thread, line, spare;
    uint64_t hits, ns;
};

static void check_lines(const struct ar_profile *p, size_t n, const char *what)
{
    const struct ar_table *table = table_of(p, "made_up.lines");
    bool good = table && table->n == 2 * n;
    uint64_t hits[2] = {0}, ns = 0;

    for (size_t i = 0; good && i < table->n; i++) {
        const struct line_row *row = ar_table_row(table, i);

        good = row->line - 11 < 2 && row->thread < p->n_locations &&
               is_at(p, row->node, "solve", AR_FUNCTION_PYTHON);
        if (good)
            hits[row->line - 11] += row->hits;
        ns += row->ns;
    }
    tap_ok(good && hits[0] == 6 * n && hits[1] == 4 * n && ns > 0, "%s: rows of a table", what);
}

/* Of each row: node, function, kind, distance in time. */
static void check_events(const struct ar_profile *p, size_t n, const char *what)
{
    bool good = p->other_streams.n == n;

    for (size_t i = 0; good && i < n; i++) {
        const struct ar_other_stream *s = &p->other_streams.items[i];
        struct ar_cursor in = ar_cursor_over(s->bytes, s->n_bytes);
        uint64_t nodes[3], functions[3], kinds[3];

        for (int row = 0; row < 3; row++) {
            nodes[row] = ar_cursor_varint(&in);
            functions[row] = ar_cursor_varint(&in);
            kinds[row] = ar_cursor_varint(&in);
            ar_cursor_varint(&in);
        }
        good = !in.bad && ar_cursor_left(&in) == 0 && s->n_tables == 2 && s->tables[0].n == 2 &&
               nodes[0] == 0 && nodes[1] == 1 && nodes[2] == 0 && functions[0] == 0 &&
               functions[1] == 1 && functions[2] == 1 && kinds[0] == 1 && kinds[1] == 2 &&
               kinds[2] == 300 && strcmp(s->name, "made_up.events") == 0 &&
               is_at(p, s->tables[0].numbers[0], "solve", AR_FUNCTION_PYTHON) &&
               is_at(p, s->tables[0].numbers[1], "main", AR_FUNCTION_PYTHON) &&
               s->tables[1].numbers[0] == 0 && s->tables[1].numbers[1] > 0;
    }
    tap_ok(good, "%s: a stream of each thread", what);
}

static void check_all(struct ar_profile *p, size_t n, const char *what)
{
    sample_must(ar_profile_sort(p));
    check_metrics(p, n, what);
    check_lines(p, n, what);
    check_events(p, n, what);
    tap_ok(ar_profile_lost(p, 0, AR_LOST_ROWS) == 0, "%s: nothing is lost", what);
}

static void add_file(struct ar_profile *p, const char *path)
{
    struct ar_live live;

    sample_must(ar_live_open(&live, path, &error));
    sample_must(ar_profile_add_live(p, &live, 0, &error));
    ar_live_close(&live);
}

static struct ar_profile through_file(struct ar_profile *p)
{
    struct ar_bytes bytes = {0};
    struct ar_profile q;

    sample_must(ar_run_encode(p, &bytes));
    sample_must(ar_run_decode(&q, bytes.data, bytes.n, "x.allranks", &error));
    ar_bytes_free(&bytes);
    ar_profile_free(p);
    return q;
}

static void check_folded(const struct ar_profile *p)
{
    struct ar_profile folded;

    sample_must(ar_fold(&folded, p));
    tap_ok(value_of(&folded, "made_up.cycles", "(import)", AR_FUNCTION_IMPORT) == 1000 &&
               value_of(&folded, "made_up.samples", "(import)", AR_FUNCTION_IMPORT) == 86,
           "folded: inclusive ones are there once, exclusive ones are added up");
    check_lines(&folded, 2, "folded");
    check_events(&folded, 2, "folded");
    ar_profile_free(&folded);
}

static void check_selected(struct ar_profile *p)
{
    struct ar_selection rank_1 = {.ranks = "1"};
    struct ar_profile chosen;

    sample_must(ar_select(&chosen, p, &rank_1, &error));
    check_all(&chosen, 1, "of one rank");
    ar_profile_free(&chosen);
}

static void check_json(struct ar_profile *p)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};
    struct ar_run_choice all = {.path = "x.allranks"};
    struct ar_run *run;

    sample_must(ar_run_of(&run, p, &all, &error));
    ar_json_begin(&j, "report");
    sample_must(ar_json_table(&j, ar_run_subject(run), "functions", NULL));
    ar_json_end(&j);
    ar_bytes_u8(&out, 0);
    tap_ok(!out.bad && strstr((char *)out.data, "\"solve\""), "as JSON");
    ar_bytes_free(&out);
    ar_run_close(run);
}

static void test_ranks(void)
{
    char paths[2][256];
    struct ar_validated found;
    struct ar_profile both, one;

    for (int rank = 0; rank < 2; rank++) {
        tap_ok(run_in_process(scratch_dir, rank, paths[rank], sizeof paths[rank]), "rank %d", rank);
        if (!tap_ok(ar_validate_file(paths[rank], &found, &error) == AR_OK, "its file is sound"))
            tap_note("%s", error.text);
    }
    sample_must(ar_profile_init(&one));
    add_file(&one, paths[1]);
    check_all(&one, 1, "one live file");
    sample_must(ar_profile_init(&both));
    add_file(&both, paths[0]);
    add_file(&both, paths[1]);
    check_all(&both, 2, "two live files");
    ar_profile_free(&both);

    sample_must(ar_profile_init(&both));
    add_file(&both, paths[0]);
    sample_must(ar_profile_merge(&both, &one));
    ar_profile_free(&one);
    both = through_file(&both);
    check_all(&both, 2, "merged, and from a run file");
    check_folded(&both);
    check_selected(&both);
    check_json(&both);
}

/* ---- bounds ----------------------------------------------------------------------------------- */

/* The blocks that every MPI call and every C function looks at stay in front. */
static void test_order(void)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *node = ar_tree_enter(t, own_file_function("f"), ar_ticks());
    uint32_t number = ar_measure_begin(&made_up_metrics);
    uint64_t *words = ar_measure_block(t, node, number);
    const struct ar_values *first = ar_live_ptr(node->values_ref);

    tap_ok(words == first->words && words[0] >> 32 == ar_live_ref(node), "a block has its node");
    ar_tree_values(t, node, AR_VALUES_MPI);
    tap_ok(((struct ar_values *)ar_live_ptr(node->values_ref))->kind == AR_VALUES_MPI &&
               ar_measure_block(t, node, number) == words,
           "one of an MPI call comes before it");

    uint32_t other = ar_measure_begin(&made_up_metrics);

    ar_measure_block(t, node, other);
    tap_ok(other == number + 1 &&
               ((struct ar_values *)ar_live_ptr(node->values_ref))->kind == AR_VALUES_MPI,
           "and stays there");
    ar_tree_leave(t, node, ar_ticks());
}

/* A C function whose calls are not all timed any more has a block of its own for that, which comes first. */
static void test_in_c(void)
{
    struct ar_thread *t = ar_thread_self();
    uint32_t function = own_file_function("c");
    uint32_t number = ar_measure_begin(&made_up_metrics);

    ar_tree_mark(function, AR_MARK_BUILTIN);

    struct ar_node *node = ar_tree_enter(t, function, ar_ticks());
    uint64_t *words = ar_measure_block(t, node, number);

    ar_tree_leave(t, node, ar_ticks());
    words[1] = 5;
    words[2] = 7;
    for (int i = 0; i < 4096; i++) {
        node->n_calls++;
        ar_c_teach(t, node, 0, 20);
    }

    const struct ar_values *first = ar_live_ptr(node->values_ref);

    tap_ok(first->kind == AR_VALUES_ESTIMATE && first->words[AR_ESTIMATE_TIMED] > 0,
           "some of its calls are timed");
    ar_c_sample_begins(node);
    tap_ok(words[0] >> 32 == ar_live_ref(node) && (uint32_t)words[0] == 0 && words[1] == 5 &&
               words[2] == 7 && ar_measure_block(t, node, number) == words,
           "what else was measured of it stays as it is");
}

static void test_rows(void)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *node = ar_tree_enter(t, own_file_function("r"), ar_ticks());
    uint32_t number = ar_measure_begin(&made_up_lines);
    uint64_t *row = ar_measure_row(t, node, number, (uint64_t[]){11, 1, 0}, 3);

    ar_measure_row(t, node, number, (uint64_t[]){12, 1, 0}, 3);
    tap_ok(ar_measure_find_row(node, number, 11) == row && !ar_measure_find_row(node, number, 13) &&
               !ar_measure_find_row(node, number + 1, 11),
           "rows are found by their key");
    ar_tree_leave(t, node, ar_ticks());
}

static void test_unsound(void)
{
    struct ar_measure wrong[] = {made_up_metrics, made_up_metrics, made_up_lines, made_up_lines,
                                 made_up_lines,   made_up_events,  made_up_events};

    wrong[0].n_fields = 0;
    wrong[1].fields[2].n_bits = 33;
    wrong[2].fields[2].n_bits = 33;
    wrong[3].fields[1].n_bits = 32;
    wrong[4].n_words = AR_BLOCK_WORDS + 1;
    wrong[5].form = AR_N_MEASURE_FORMS;
    wrong[6].fields[0].word = 3;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        tap_ok(!ar_measure_is_sound(&wrong[i]) && !ar_measure_begin(&wrong[i]),
               "a description that cannot be: %zu", i);
}

static void test_bytes(void)
{
    const struct ar_measure *all[] = {&made_up_metrics, &made_up_lines, &made_up_events};

    for (size_t m = 0; m < 3; m++) {
        struct ar_bytes bytes = {0};
        struct ar_measure again;
        int n_read = 0;

        ar_measure_encode(all[m], &bytes);
        for (size_t n = 0; n < bytes.n; n++)
            if (ar_measure_decode(&again, bytes.data, n) == AR_OK) {
                n_read++;
                ar_measure_free(&again);
            }
        tap_ok(n_read == 0 && ar_measure_decode(&again, bytes.data, bytes.n) == AR_OK &&
                   again.form == all[m]->form && again.n_fields == all[m]->n_fields &&
                   memcmp(again.fields, all[m]->fields, sizeof again.fields) == 0,
               "measure %zu: whole or not at all", m);
        ar_measure_free(&again);
        for (size_t at = 0; at < bytes.n; at++)
            for (unsigned value = 0; value < 256; value++) {
                unsigned char was = bytes.data[at];

                bytes.data[at] = (unsigned char)value;
                if (ar_measure_decode(&again, bytes.data, bytes.n) == AR_OK)
                    ar_measure_free(&again);
                bytes.data[at] = was;
            }
        ar_bytes_free(&bytes);
    }
}

static void test_too_many(void)
{
    uint32_t last = 0, n = 0;

    for (uint32_t number; (number = ar_measure_begin(&made_up_lines)) && n < 1000; n++)
        last = number;
    tap_ok(last == AR_FIRST_MEASURE + AR_MAX_MEASURES - 1, "as many as readers take: %u", last);
}

int main(int argc, char **argv)
{
    char path[256];

    if (argc > 1)
        return !run_in_process(argv[1], 0, path, sizeof path) ||
               !run_in_process(argv[1], 1, path, sizeof path);
    own_file_make();
    test_ranks();
    test_order();
    test_in_c();
    test_rows();
    test_unsound();
    test_bytes();
    test_too_many();
    ar_threads_stop();
    scratch_remove();
    return tap_done();
}
