// SPDX-License-Identifier: BSD-3-Clause
/* Programs that were edited between two runs: which function and which call path is which. */
#include "analysis/common.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile before, after;
static const struct ar_profile *const runs[] = {&before, &after};
static struct ar_common functions, paths;

static void start(void)
{
    sample_start(&before);
    sample_start(&after);
}

static void end(void)
{
    ar_common_free(&paths);
    ar_common_free(&functions);
    ar_profile_free(&before);
    ar_profile_free(&after);
}

static uint32_t python(struct ar_profile *p, const char *name, const char *file, uint32_t line)
{
    return sample_function_in(p, AR_FUNCTION_PYTHON, name, file, line);
}

static bool is_same(const struct ar_common *c, uint32_t a, uint32_t b)
{
    uint32_t row = c->row_of[0][a];

    return row == c->row_of[1][b] && ar_common_id(c, 0, row) == a && ar_common_id(c, 1, row) == b;
}

static bool is_alone(const struct ar_common *c, size_t run, uint32_t id)
{
    uint32_t row = c->row_of[run][id];

    return ar_common_id(c, 1 - run, row) == AR_NO_ID && ar_common_run(c, row) == run;
}

static void test_functions(void)
{
    uint32_t a_step, a_gone, a_send, b_step, b_new, b_send, a_send_method, b_send_method;

    start();
    a_gone = python(&before, "old", "/a/solver.py", 3);
    a_step = python(&before, "Solver.step", "/a/solver.py", 10);
    a_send = sample_function(&before, AR_FUNCTION_MPI, "MPI_Send", 0);
    a_send_method = sample_function(&before, AR_FUNCTION_OPERATION, "MPI_Send", 0);
    b_send = sample_function(&after, AR_FUNCTION_MPI, "MPI_Send_c", 0);
    b_step = python(&after, "Solver.step", "/b/src/solver.py", 210);
    b_new = python(&after, "Solver.step", "/b/src/other.py", 10);
    b_send_method = sample_function(&after, AR_FUNCTION_OPERATION, "MPI_Send", 0);
    sample_must(ar_common_functions(&functions, runs, 2));
    tap_ok(is_same(&functions, a_step, b_step), "a function that moved, in a directory that did");
    tap_ok(is_alone(&functions, 0, a_gone) && is_alone(&functions, 1, b_new),
           "one that is gone, and one of the same name in another file");
    tap_ok(is_same(&functions, a_send, b_send), "MPI_Send and its large-count form are one");
    tap_ok(is_same(&functions, a_send_method, b_send_method), "what is of another kind is another");
    tap_ok(is_same(&functions, 0, 0) && functions.n_rows == 6, "each is a row once");
    end();
}

/* Three of one name; a line is put in before them, and a fourth after the first. */
static void test_same_names(void)
{
    uint32_t a[3], b[4];

    start();
    for (uint32_t i = 0; i < 3; i++)
        a[i] = python(&before, "<lambda>", "/a/f.py", 10 + 20 * i);
    b[3] = python(&after, "<lambda>", "/a/f.py", 20);
    for (uint32_t i = 0; i < 3; i++)
        b[i] = python(&after, "<lambda>", "/a/f.py", 11 + 20 * i);
    sample_must(ar_common_functions(&functions, runs, 2));
    tap_ok(is_same(&functions, a[0], b[0]) && is_same(&functions, a[1], b[1]) &&
               is_same(&functions, a[2], b[2]) && is_alone(&functions, 1, b[3]),
           "of several with one name the nearest lines");
    end();
}

static void test_directories(void)
{
    uint32_t a[2], b[2];

    start();
    a[0] = python(&before, "<module>", "/old/lib/numpy/__init__.py", 1);
    a[1] = python(&before, "<module>", "/old/lib/scipy/__init__.py", 1);
    b[1] = python(&after, "<module>", "/new/lib/scipy/__init__.py", 1);
    b[0] = python(&after, "<module>", "/new/lib/numpy/__init__.py", 1);
    sample_must(ar_common_functions(&functions, runs, 2));
    tap_ok(is_same(&functions, a[0], b[0]) && is_same(&functions, a[1], b[1]),
           "of several files with one name the nearest directories");
    end();
}

static void add_program(struct ar_profile *p, uint32_t shift, uint32_t *nodes)
{
    uint32_t main_id = python(p, "main", "/a/main.py", 1);
    uint32_t step = python(p, "step", "/a/main.py", 20 + shift);
    uint32_t reduce = sample_function(p, AR_FUNCTION_MPI, "MPI_Allreduce", 0);

    nodes[0] = sample_node(p, 0, main_id, 0);
    nodes[1] = sample_node(p, nodes[0], step, 0);
    nodes[2] = sample_node(p, nodes[1], reduce, 25 + shift);
    nodes[3] = sample_node(p, nodes[1], reduce, 30 + shift);
    nodes[4] = sample_node(p, nodes[0], reduce, 9);
}

/* The function moved by 5 lines: line 30 is where the other call was, but not what it was. */
static void test_paths(void)
{
    uint32_t a[5], b[5], new_node;
    bool good = true;

    start();
    add_program(&before, 0, a);
    add_program(&after, 5, b);
    new_node = sample_node(&after, b[0], sample_function(&after, AR_FUNCTION_PYTHON, "io", 9), 0);
    sample_must(ar_common_functions(&functions, runs, 2));
    sample_must(ar_common_paths(&paths, &functions, runs, 2));
    for (int i = 0; i < 5; i++)
        good = good && is_same(&paths, a[i], b[i]);
    tap_ok(good, "calls of MPI move with their function");
    tap_ok(is_alone(&paths, 1, new_node) && is_same(&paths, 0, 0) && paths.n_rows == 7,
           "a path that is new");
    end();
}

static void test_no_memory(void)
{
    uint32_t a[5], b[5];
    enum ar_status status = AR_NOMEM;
    size_t n = 0;

    start();
    add_program(&before, 0, a);
    add_program(&after, 5, b);
    for (; status == AR_NOMEM && n < 100; n++) {
        alloc_fail_after(n);
        status = ar_common_functions(&functions, runs, 2);
        if (status == AR_OK)
            status = ar_common_paths(&paths, &functions, runs, 2);
        alloc_restore();
        if (status < 0)
            ar_common_free(&functions);
    }
    tap_ok(status == AR_OK && n > 20 && is_same(&paths, a[3], b[3]),
           "without memory there is nothing to free");
    end();
}

int main(void)
{
    test_functions();
    test_same_names();
    test_directories();
    test_paths();
    test_no_memory();
    return tap_done();
}
