// SPDX-License-Identifier: BSD-3-Clause
#include "cli/layout.h"

#include "tap.h"

static void test_what_fits_stays(void)
{
    struct ar_layout l = {.n_lines = 3, .n_imbalance = 1, .n_tree = 5, .n_notes = 1, .n_mpi = 3};

    ar_layout_fit(&l);
    tap_ok(ar_layout_lines(&l) == 3 + 3 + 7 + 1 + 5 && l.n_tree == 5, "what fits stays as it is");
}

/* 7 sentences take the place of rows, and the rest is still there. */
static void test_findings(void)
{
    struct ar_layout l = {
        .n_lines = 3 + 8, .n_imbalance = 3, .n_tree = 10, .n_notes = 2, .n_tasks = 5, .n_mpi = 3};

    ar_layout_fit(&l);
    tap_ok(ar_layout_lines(&l) <= AR_SCREEN_LINES && l.n_tree == 3, "seven findings fit");
    tap_ok(l.n_tasks == 0 && l.n_notes == 2 && l.n_mpi + l.n_imbalance >= 1,
           "and something of the others: %zu of MPI, %zu of imbalance", l.n_mpi, l.n_imbalance);
}

static void test_anything_fits(void)
{
    size_t n_tried = 0, n_fit = 0;

    for (size_t lines = 2; lines <= 20; lines++)
        for (size_t imbalance = 0; imbalance <= 3; imbalance++)
            for (size_t tasks = 0; tasks <= 5; tasks++)
                for (size_t mpi = 0; mpi <= 3; mpi++)
                    for (size_t notes = 0; notes <= 3; notes++) {
                        struct ar_layout l = {lines, imbalance, 24, tasks, mpi, notes};

                        ar_layout_fit(&l);
                        n_tried++;
                        n_fit += ar_layout_lines(&l) <= AR_SCREEN_LINES && l.n_tree >= 1 &&
                                 l.n_imbalance <= imbalance && l.n_tasks <= tasks && l.n_mpi <= mpi;
                    }
    tap_ok(n_fit == n_tried, "%zu of %zu", n_fit, n_tried);
}

int main(void)
{
    test_what_fits_stays();
    test_findings();
    test_anything_fits();
    return tap_done();
}
