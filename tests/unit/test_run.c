// SPDX-License-Identifier: BSD-3-Clause
/* Parts of a run: each is worked out once, and is the same for all; and that memory may run out anywhere. */
#include "run/run.h"

#include "failing_alloc.h"
#include "format/runfile.h"
#include "sample_profile.h"
#include "tap.h"

#define N_RANKS 3

/* main calls work on two lines, which calls MPI_Barrier on one; rank 2 is the slow one. */
static void fill(struct ar_profile *p)
{
    sample_start(p);

    uint32_t function = sample_function_in(p, AR_FUNCTION_PYTHON, "main", "main.py", 1);
    uint32_t work = sample_function_in(p, AR_FUNCTION_PYTHON, "work", "main.py", 5);
    uint32_t call = sample_function(p, AR_FUNCTION_MPI, "MPI_Barrier", 0);
    uint32_t main_node = sample_node(p, 0, function, 0);
    uint32_t nodes[] = {sample_node(p, main_node, work, 2), sample_node(p, main_node, work, 3)};
    uint32_t barrier = sample_node(p, nodes[0], call, 6);

    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        uint32_t here = sample_thread(p, sample_rank(p, rank), 0);

        p->processes[rank].wall_ns = 1000;
        sample_value(p, AR_METRIC_TIME, 0, here, 1000);
        sample_value(p, AR_METRIC_TIME, main_node, here, 900);
        sample_value(p, AR_METRIC_CALLS, main_node, here, 1);
        for (int i = 0; i < 2; i++) {
            sample_value(p, AR_METRIC_TIME, nodes[i], here, 300 + 50 * rank);
            sample_value(p, AR_METRIC_CALLS, nodes[i], here, 2);
        }
        sample_value(p, AR_METRIC_TIME, barrier, here, 100 - 50 * rank);
        sample_value(p, AR_METRIC_CALLS, barrier, here, 1);
    }
    sample_must(ar_profile_sort(p));
}

static struct ar_run *open_run(const struct ar_run_choice *choice)
{
    struct ar_profile p;
    struct ar_error err;
    struct ar_run *run;

    fill(&p);
    sample_must(ar_run_of(&run, &p, choice, &err));
    return run;
}

static void test_parts_are_shared(void)
{
    struct ar_run *run = open_run(&(struct ar_run_choice){.path = "x.allranks"});
    const struct ar_totals *t = ar_run_totals(run, AR_FORM_FOLDED);
    const struct ar_waits *w = ar_run_waits(run);
    const struct ar_mpi *m = ar_run_mpi(run);

    tap_ok(t == ar_run_totals(run, AR_FORM_FOLDED) && m->t == t && m->w == NULL,
           "tables of MPI have the totals of the run; no waits were recorded");
    tap_ok(ar_run_functions(run, AR_FORM_FOLDED)->t == t && ar_run_waits(run) == w,
           "so have functions, and waits are found once");
    tap_ok(ar_run_profile(run, AR_FORM_RECORDED)->n_nodes == 5 &&
               ar_run_profile(run, AR_FORM_FOLDED)->n_nodes == 4,
           "call sites are folded in one form only");
    tap_ok(ar_run_findings(run) == ar_run_findings(run), "findings are found once");
    ar_run_close(run);
}

/* As a run file has it: the folded form shows rows of the recorded one. */
static struct ar_run *open_packed(void)
{
    struct ar_profile p, packed;
    struct ar_bytes bytes = {0};
    struct ar_error err;
    struct ar_run *run;
    unsigned char *file;

    fill(&p);
    sample_must(ar_run_encode(&p, &bytes));
    ar_profile_free(&p);
    file = malloc(bytes.n);
    memcpy(file, bytes.data, bytes.n);
    sample_must(ar_run_decode_packed(&packed, file, bytes.n, "x", &err));
    packed.file = file;
    ar_bytes_free(&bytes);
    sample_must(ar_run_of(&run, &packed, &(struct ar_run_choice){.path = "x.allranks"}, &err));
    return run;
}

/* Nodes that are one in both forms have the figures of the recorded form, which are the same as if they were read again. */
static void test_totals_of_known_rows(void)
{
    struct ar_run *read = open_packed(), *known = open_packed();
    const struct ar_totals *once = ar_run_totals(read, AR_FORM_FOLDED), *again;
    bool is_same = true;

    tap_ok(ar_run_totals(known, AR_FORM_RECORDED) != NULL, "totals of what was recorded");
    again = ar_run_totals(known, AR_FORM_FOLDED);
    for (size_t i = 0; i < ar_run_profile(read, AR_FORM_FOLDED)->n_nodes; i++)
        is_same =
            is_same && once->time[i].sd == again->time[i].sd &&
            once->time[i].sum == again->time[i].sum && once->self[i].sum == again->self[i].sum &&
            once->self[i].sd == again->self[i].sd &&
            once->self[i].max_process == again->self[i].max_process &&
            once->n_calls[i] == again->n_calls[i] && once->first_child[i] == again->first_child[i];
    tap_ok(is_same, "and of the folded form, from these");
    ar_run_close(read);
    ar_run_close(known);
}

static void test_choices(void)
{
    struct ar_selection two = {.ranks = "0-1"};
    struct ar_wanted work = ar_wanted_parse("work");
    struct ar_run *run =
        open_run(&(struct ar_run_choice){.path = "x", .selection = &two, .wanted = &work});
    const struct ar_by_function *f = ar_run_functions(run, AR_FORM_FOLDED);
    size_t n = 0;

    for (size_t i = 0; i < f->n_groups; i++)
        n += f->sums[i].n_nodes > 0;
    tap_ok(ar_run_profile(run, AR_FORM_RECORDED)->n_roots == 2, "two of three ranks");
    tap_ok(n == 1, "and one function");
    tap_ok(ar_run_mpi(run)->n_chosen == 1, "and what that calls of MPI");
    ar_run_close(run);
}

static void test_wrong_choices(void)
{
    struct ar_selection none = {.ranks = "7"};
    struct ar_run_choice choices[] = {{.path = "x.allranks", .selection = &none},
                                      {.path = "x.allranks", .waiting = "7"}};

    for (size_t i = 0; i < 2; i++) {
        struct ar_profile p;
        struct ar_error err = {""};
        struct ar_run *run;

        fill(&p);
        tap_ok(ar_run_of(&run, &p, &choices[i], &err) == AR_BAD && !run && *err.text,
               "there is no such rank: %s", err.text);
    }
}

static bool ask_for_all(struct ar_run *run)
{
    bool has_all = ar_run_findings(run) && ar_run_efficiencies(run) &&
                   ar_run_shares_of(run, AR_FORM_RECORDED, 1) && ar_run_own_time(run) &&
                   ar_run_child_waits(run);

    for (int i = 0; i < AR_N_TREE_FORMS; i++) {
        enum ar_tree_form form = (enum ar_tree_form)i;

        has_all = has_all && ar_run_functions(run, form) && ar_run_places(run, form) &&
                  ar_run_hot_path(run, form) && ar_run_call_times(run, form) &&
                  ar_run_thread_times(run, form) && ar_run_syncs(run, form);
    }
    return has_all;
}

/* A part that there was no memory for is asked for again. */
static void test_no_memory(void)
{
    struct ar_run *run = open_run(&(struct ar_run_choice){.path = "x.allranks"});
    bool has_all = false;
    size_t n = 0;

    for (; !has_all && n < 1000; n++) {
        alloc_fail_after(n);
        has_all = ask_for_all(run);
        alloc_restore();
    }
    tap_ok(has_all && n > 10, "parts that there was no memory for are not there");
    ar_run_close(run);
}

int main(void)
{
    test_parts_are_shared();
    test_totals_of_known_rows();
    test_choices();
    test_wrong_choices();
    test_no_memory();
    return tap_done();
}
