// SPDX-License-Identifier: BSD-3-Clause
/*
 * exercise: all that is done with a profile once it has been read. What a reader has let through must
 * not make trouble here, nor come out of a run file as something else than what went in.
 */
#pragma once

#include "analysis/callers.h"
#include "analysis/fold.h"
#include "analysis/mpi_tables.h"
#include "analysis/select.h"
#include "analysis/totals.h"
#include "analysis/waits.h"
#include "export/cubex.h"
#include "export/pstats.h"
#include "format/runfile.h"
#include "sample_profile.h"

/* Ends the program, so that the fuzzer keeps the input. */
static inline void must(bool cond)
{
    if (!cond)
        abort();
}

static inline void analyse(struct ar_profile *p)
{
    struct ar_by_function functions = {0}, callees;
    struct ar_totals totals;
    struct ar_shares reading;
    struct ar_share *shares = calloc(p->n_processes + 1, sizeof *shares);
    uint32_t last = (uint32_t)p->n_functions - 1;

    must(shares && ar_totals_build(&totals, p) == AR_OK);
    must(ar_by_function_build(&functions, p, &totals) == AR_OK);
    must(ar_shares_open(&reading, &functions) == AR_OK);
    ar_shares_get(&reading, last, shares);
    must(ar_callees_build(&callees, p, &totals, last) == AR_OK);
    ar_by_function_free(&callees);
    ar_shares_close(&reading);
    ar_by_function_free(&functions);
    ar_totals_free(&totals);
    free(shares);
}

/* A part of it is a profile, too. */
static inline void analyse_part(struct ar_profile *p)
{
    struct ar_selection part = {.ranks = "0-1", .thread = "0", .exclude = {{"*e*"}, 1}};
    struct ar_profile chosen;
    struct ar_error err;

    if (ar_select(&chosen, p, &part, &err) == AR_OK) {
        analyse(&chosen);
        ar_profile_free(&chosen);
    }
}

/* Every table of MPI, of all and of a part. */
static inline void analyse_mpi(struct ar_profile *p)
{
    struct ar_wanted wanted = ar_wanted_parse("x.py:7");
    struct ar_totals t;
    struct ar_mpi m;

    must(ar_totals_build(&t, p) == AR_OK && ar_mpi_open(&m, p, &t) == AR_OK);
    for (int part = 0; part < 2; part++) {
        struct ar_mpi_request_row *requests = NULL;
        struct ar_mpi_pair *pairs = NULL;
        size_t n;

        for (int by = 0; by < AR_N_MPI_BY; by++) {
            struct ar_mpi_row *rows;

            must(ar_mpi_table(&m, (enum ar_mpi_by)by, &rows, &n) == AR_OK);
            free(rows);
        }
        must(ar_mpi_requests(&m, &requests, &n) == AR_OK && ar_mpi_pairs(&m, &pairs, &n) == AR_OK);
        free(requests);
        free(pairs);
        must(ar_mpi_choose(&m, &wanted) == AR_OK);
    }
    ar_mpi_close(&m);
    ar_totals_free(&t);
}

/* Who waited for whom: each rank's time is divided, and nobody has waited for nothing. */
static inline void analyse_waits(struct ar_profile *p)
{
    struct ar_waits waits;

    must(ar_waits_build(&waits, p, NULL) == AR_OK);
    must(waits.n_calls == waits.n_resolved + waits.n_unresolved);
    for (size_t i = 0; i < waits.n_sites; i++)
        must(waits.sites[i].n == 0 || waits.sites[i].waited_ns > 0);
    ar_waits_free(&waits);
}

static inline void fold(const struct ar_profile *p)
{
    struct ar_profile folded;

    must(ar_fold(&folded, p) == AR_OK);
    must(sample_is_sound(&folded));
    analyse(&folded);
    analyse_mpi(&folded);
    analyse_waits(&folded);
    ar_profile_free(&folded);
}

static inline void export(struct ar_profile *p)
{
    struct ar_export_choice all = {0};
    struct ar_bytes out = {0};
    struct ar_error err;
    enum ar_status status = ar_pstats_encode(p, &all, &out, NULL, &err);

    must(status != AR_NOMEM);
    ar_bytes_free(&out);
}

/* A number for each call path on each thread: a small file may describe more of them than there is time for. */
static inline void export_cubex(struct ar_profile *p)
{
    struct ar_export_choice all = {0};
    struct ar_bytes out = {0};
    struct ar_error err;
    size_t n_estimated;

    if (p->n_nodes * (uint64_t)(p->n_locations + p->n_processes) > 1u << 20)
        return;

    enum ar_status status = ar_cubex_encode(p, &all, &out, &n_estimated, &err);

    must(status != AR_NOMEM && (status < 0 || out.n % 512 == 0));
    ar_bytes_free(&out);
}

/* Written and read again it is written as the same bytes. */
static inline void round_trip(struct ar_profile *p)
{
    struct ar_bytes first = {0}, second = {0};
    struct ar_profile again;
    struct ar_error err;

    must(ar_run_encode(p, &first) == AR_OK);
    must(ar_run_decode(&again, first.data, first.n, "again", &err) == AR_OK);
    must(sample_is_sound(&again));
    must(ar_run_encode(&again, &second) == AR_OK);
    must(first.n == second.n && memcmp(first.data, second.data, first.n) == 0);
    ar_profile_free(&again);
    ar_bytes_free(&first);
    ar_bytes_free(&second);
}

/* A run of two that are the same has as many functions and nodes. */
static inline void merge_twice(const struct ar_profile *p)
{
    struct ar_profile both;

    must(ar_profile_init(&both) == AR_OK);
    must(ar_profile_merge(&both, p) == AR_OK);

    size_t n_functions = both.n_functions, n_nodes = both.n_nodes, n_comms = both.n_comms;

    must(ar_profile_merge(&both, p) == AR_OK);
    must(sample_is_sound(&both));
    must(both.n_functions == n_functions && both.n_nodes == n_nodes && both.n_comms == n_comms);
    round_trip(&both);
    ar_profile_free(&both);
}

static inline void exercise(struct ar_profile *p)
{
    must(sample_is_sound(p));
    merge_twice(p);
    must(ar_profile_sort(p) == AR_OK);
    must(sample_is_sound(p));
    round_trip(p);
    analyse(p);
    analyse_part(p);
    fold(p);
    export(p);
    export_cubex(p);
}
