// SPDX-License-Identifier: BSD-3-Clause
/*
 * counter_set: counters of the calling thread, whichever of two sources counts them.
 *
 *     name ── ar_counter_find ──> struct ar_counter ── ar_counter_set_open ──> struct ar_counter_set ── read ──> values
 *
 * The kernel (perf.h) counts events that are named as the kernel names them. Names of PAPI (PAPI_L3_TCM, perf::PAGE-FAULTS,
 * native events) are counted by PAPI (papi.h), which is loaded only for them. Where PAPI is not installed, or cannot count the
 * event, and the kernel can count the same, the kernel does.
 *
 * Life cycle: ar_counter_set_open in the thread that is counted; ar_counter_set_close in the same thread, or in a forked
 * child, which has to close its copy: it counts the parent's thread. Values only grow; what counts is the difference of two reads.
 * Threads: a set has one owner. ar_counter_find and ar_counter_try may be called by any thread.
 *
 *     struct ar_counter counters[2];
 *     if (ar_counter_find(&counters[0], "PAPI_TOT_INS", &err) < 0) ...
 *     struct ar_counter_set set;
 *     size_t which;                                          // the one that cannot be counted with those before it
 *     if (ar_counter_set_open(&set, counters, n, &which, &err) < 0) ...
 *     ar_counter_set_read(&set, values);
 *     ar_counter_set_close(&set);
 */
#pragma once

#include "counters/papi.h"
#include "counters/perf.h"

#define AR_COUNTER_NAME_BYTES AR_PAPI_NAME_BYTES

struct ar_counter {
    char name[AR_COUNTER_NAME_BYTES]; /* as the user wrote it */
    const char *unit;                 /* "1", or "ns" */
    const struct ar_event *event;     /* of the kernel; NULL: PAPI counts it */
    int papi_code;
    uint32_t n_forks; /* when it was found: PAPI numbers events anew in a child */
};

struct ar_counter_set {
    struct ar_perf perf;
    struct ar_papi papi;
    uint8_t from_papi[AR_MAX_COUNTERS]; /* whether this counter is PAPI's, in the caller's order */
    size_t n;                           /* 0: it is not open */
};

/*
 * AR_BAD: there is no such name. AR_UNSUPPORTED: the name is known, and cannot be counted here. In both cases the text says why,
 * without the name, and what would help.
 */
AR_MUST_CHECK enum ar_status ar_counter_find(struct ar_counter *out, const char *name,
                                             struct ar_error *err);

/* Whether it can be counted here and now, by itself; else why not, and what would help. */
AR_MUST_CHECK enum ar_status ar_counter_try(const struct ar_counter *counter, struct ar_error *err);

AR_MUST_CHECK enum ar_status ar_counter_set_open(struct ar_counter_set *out,
                                                 const struct ar_counter *counters, size_t n,
                                                 size_t *which, struct ar_error *err);
/* false: they are gone, as the program may have closed all descriptors; or the processor never had room for them. */
bool ar_counter_set_read(struct ar_counter_set *set, uint64_t *values);
void ar_counter_set_close(struct ar_counter_set *set);
/* The calling thread ends, and has closed its sets. */
void ar_counter_set_leave_thread(void);

/* Of the last values: whether any of them is an estimate, because counters took turns on the processor. */
bool ar_counter_set_is_scaled(const struct ar_counter_set *set);

/* To be called in a forked child before anything else here. A second call in the same process does nothing. */
void ar_counter_set_forked(void);
