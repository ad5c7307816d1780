// SPDX-License-Identifier: BSD-3-Clause
/*
 * papi: counters of the calling thread, through PAPI.
 *
 * The library is that of the machine: nothing of it is known when allranks is built. It is opened with RTLD_LOCAL when the first
 * name is asked for that only PAPI can know, and stays. `$ALLRANKS_PAPI` names another one than the dynamic linker finds.
 * PAPI keeps a set of events per component and thread: events of one component count over the same time.
 *
 * Life cycle: ar_papi_open and ar_papi_close in the thread that is counted. After a fork the child calls ar_papi_forked, and sets
 * of the parent are closed there without asking PAPI. Threads: one owner per set; all else may be called by any thread.
 *
 *     if (ar_papi_code(&code, "PAPI_L3_TCM", &err) < 0) ...
 *     if (ar_papi_open(&papi, &code, 1, &which, &err) < 0) ...
 *     ar_papi_read(&papi, values);
 *     ar_papi_close(&papi);
 */
#pragma once

#include "counters/events.h"

#include <stdbool.h>

#define AR_PAPI_NAME_BYTES 128 /* what PAPI itself allows */

struct ar_papi {
    int sets[AR_MAX_COUNTERS];       /* PAPI's number of the set, by component */
    int components[AR_MAX_COUNTERS]; /* whose set it is */
    size_t n_sets;
    uint8_t set_of[AR_MAX_COUNTERS]; /* in which set the event is, in the order of events */
    size_t n;                        /* 0: it is not open */
    uint32_t n_forks;                /* when it was opened */
};

/* "7.0.0", or AR_UNSUPPORTED and why there is none: PAPI is loaded by this and all others. */
AR_MUST_CHECK enum ar_status ar_papi_version(const char **version, struct ar_error *err);

/* PAPI's number of an event, and its name. AR_BAD: PAPI knows none; AR_UNSUPPORTED: there is no PAPI. */
AR_MUST_CHECK enum ar_status ar_papi_code(int *code, const char *name, struct ar_error *err);
AR_MUST_CHECK enum ar_status ar_papi_name(char name[AR_PAPI_NAME_BYTES], int code,
                                          struct ar_error *err);
/* What the event counts, in PAPI's words; may be empty. */
void ar_papi_describe(char *text, size_t n_text, int code);

/* The presets that PAPI knows, available here or not: `*code` is 0 at first. false: there is no further one. */
bool ar_papi_next_preset(int *code);

/* `*which`: the event that cannot be counted together with those before it; the text says why not. */
AR_MUST_CHECK enum ar_status ar_papi_open(struct ar_papi *out, const int *codes, size_t n,
                                          size_t *which, struct ar_error *err);
bool ar_papi_read(struct ar_papi *papi, uint64_t *values);
void ar_papi_close(struct ar_papi *papi);
/* PAPI frees what it keeps for the calling thread, which has closed its sets. */
void ar_papi_leave_thread(void);
void ar_papi_forked(void);
