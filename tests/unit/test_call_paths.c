// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/call_paths.h"

#include "sample_profile.h"
#include "tap.h"

static struct ar_profile p;
static struct ar_call_paths paths;
static uint32_t main_node;

static bool are_one(enum ar_function_kind kind, const char *name)
{
    uint32_t function = sample_function(&p, kind, name, 1);
    uint32_t a = sample_node(&p, main_node, function, 10);
    uint32_t b = sample_node(&p, main_node, function, 20);

    sample_must(ar_call_paths_open(&paths, &p));

    bool is_one = ar_call_path_of(&paths, a) == ar_call_path_of(&paths, b);

    ar_call_paths_close(&paths);
    return is_one;
}

static void check_parts_of_callers(void)
{
    uint32_t sort =
        sample_node(&p, main_node, sample_function(&p, AR_FUNCTION_BUILTIN, "sort", 0), 3);
    uint32_t key = sample_node(&p, sort, sample_function(&p, AR_FUNCTION_PYTHON, "key", 5), 3);

    sample_must(ar_call_paths_open(&paths, &p));
    tap_ok(ar_call_path_of(&paths, sort) == ar_call_path_of(&paths, main_node),
           "a function in C is part of its caller");
    tap_ok(paths.items[ar_call_path_of(&paths, key)].parent == ar_call_path_of(&paths, main_node),
           "what it calls is called by that one");
    ar_call_paths_close(&paths);
}

int main(void)
{
    sample_start(&p);
    main_node = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
    tap_ok(are_one(AR_FUNCTION_PYTHON, "work"), "the line does not matter");
    tap_ok(!are_one(AR_FUNCTION_MPI, "MPI_Send"), "but of a call of MPI");
    tap_ok(!are_one(AR_FUNCTION_OPERATION, "Comm.Send"), "of a method of mpi4py");
    tap_ok(!are_one(AR_FUNCTION_IMPORT, "(import)"), "and of an import");
    check_parts_of_callers();
    ar_profile_free(&p);
    return tap_done();
}
