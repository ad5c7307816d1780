// SPDX-License-Identifier: BSD-3-Clause
/*
 * traces: the traces of all threads of a run, on one clock.
 *
 * Times here are nanoseconds since the run began: since the first process started, by the clock of rank 0. Where clocks of several
 * hosts are involved the messages are read as well: clocks that were never compared are estimated from them (clock_estimate.h), and
 * none is received before it was sent (trace_clock.h). All times of events are made by ar_traces_ns.
 *
 *     struct ar_traces traces;
 *     struct ar_traces_cursor c;
 *     struct ar_traces_event event;
 *     if (ar_traces_open(&traces, profile, &err) < 0) ...   // AR_UNSUPPORTED: the run has no trace
 *     if (ar_traces_begin(&c, &traces, 0, INT64_MAX) == AR_OK)
 *         while (ar_traces_next(&c, &event)) ...            // in order of time, of all threads
 *     status = ar_traces_end(&c, &err);                     // whether all could be read
 *     ar_traces_close(&traces);
 *
 * One thread alone: ar_traces_from and ar_traces_to make a window of its own clock for ar_trace_seek, ar_traces_ns makes times of its
 * events.
 *
 * Threads: one owner of a cursor; any number may read traces.
 */
#pragma once

#include "format/trace.h"

/* A thread's clock: ns of the run are `offset` + at + `drift` * at, where `at` is since its process began. */
struct ar_trace_clock {
    int64_t offset_ns;
    double drift;
};

/* Where the clock of a process comes from. */
enum ar_clock_how {
    AR_CLOCK_SHARED,   /* it is that of the first process: they share a host */
    AR_CLOCK_COMPARED, /* with that of rank 0, when MPI began and ended */
    AR_CLOCK_ESTIMATED, /* it was never compared: from the program's messages, see clock_estimate.h */
    AR_CLOCK_UNKNOWN,   /* messages do not say: it is placed by the time of day */
};

struct ar_clock_source {
    uint8_t how;      /* enum ar_clock_how */
    int64_t error_ns; /* by which it may be off */
};

/* The same by host, and the first of each kind. */
struct ar_clock_hosts {
    bool is_compared; /* some were */
    uint32_t n_estimated, n_unknown;
    uint32_t first_estimated, first_unknown; /* strings */
    int64_t compared_error_ns, estimated_error_ns;
};

/* What was moved forward in a process: between two instants evenly, nothing before the first and after the last. */
struct ar_trace_shifts {
    uint64_t *at_ns; /* since the process began, ascending */
    int64_t *shift_ns;
    size_t n, cap_at, cap_shift;
};

/* How much had to be moved for messages to go forward in time. */
struct ar_clock_correction {
    bool is_done;        /* messages were looked at: clocks of several hosts are involved */
    uint64_t n_messages; /* that would have been received before they were sent */
    uint64_t
        n_collectives; /* ends of collective calls that would have come before a begin that they needed */
    uint64_t n_checked; /* ends that were looked at, of both kinds */
    uint64_t n_ignored; /* that could not be put in an order; the file is damaged */
    int64_t largest_ns; /* the largest shift, and of which process */
    uint32_t process;
};

struct ar_traces {
    const struct ar_profile *profile;
    struct ar_trace *items; /* by location */
    struct ar_trace_clock *clocks;
    size_t n;
    struct ar_trace_shifts *shifts; /* by process; NULL: nothing is moved */
    struct ar_clock_source
        *sources; /* by process; NULL: one clock, or messages were not looked at */
    struct ar_clock_hosts hosts;
    struct ar_clock_correction correction;
    int64_t zero_ns;          /* when the run began, by the clock of rank 0 */
    int64_t start_ns, end_ns; /* of all traces, since the run began */
    int64_t recorded_ns; /* until when something is recorded: some stop before their thread ends */
    uint64_t n_events, n_bytes;
};

AR_MUST_CHECK enum ar_status ar_traces_open(struct ar_traces *out, const struct ar_profile *p,
                                            struct ar_error *err);
/* Without looking at messages, whatever the clocks say. */
AR_MUST_CHECK enum ar_status
ar_traces_open_as_compared(struct ar_traces *out, const struct ar_profile *p, struct ar_error *err);
void ar_traces_close(struct ar_traces *traces);

/* A window of time that begins after the end of all traces is an error. */
AR_MUST_CHECK enum ar_status ar_traces_check_window(const struct ar_traces *traces, int64_t from_ns,
                                                    struct ar_error *err);

/* "one", "compared", "estimated", "not_known": the worst that some clock is. */
const char *ar_clock_hosts_name(const struct ar_clock_hosts *hosts);
/* Whether times of two threads can be compared: not if the clock of one of them is not known, and they have not the same one. */
bool ar_traces_have_one_clock(const struct ar_traces *traces, size_t i, size_t k);
/* A time of an event of thread `i`, since the run began. */
int64_t ar_traces_ns(const struct ar_traces *traces, size_t i, uint64_t at_ns);
/* The other way round: since its process began; 0 for times before that. */
uint64_t ar_traces_at(const struct ar_traces *traces, size_t i, int64_t ns);

/* ---- events of all threads -------------------------------------------------------------------- */

struct ar_traces_event {
    size_t thread; /* index of the trace */
    int64_t ns;    /* since the run began */
    struct ar_trace_event event;
};

struct ar_traces_cursor {
    const struct ar_traces *traces;
    struct ar_trace_cursor *cursors;
    struct ar_traces_event *next; /* of each thread */
    size_t *heap;                 /* threads that have events left, the earliest first */
    size_t n_heap;
    bool has_told; /* the first thread's event was given out, and its next one is not read yet */
};

AR_MUST_CHECK enum ar_status ar_traces_begin(struct ar_traces_cursor *c,
                                             const struct ar_traces *traces, int64_t from_ns,
                                             int64_t to_ns);
/* Texts of a parameter are valid until the next call. */
bool ar_traces_next(struct ar_traces_cursor *c, struct ar_traces_event *out);
/* Frees it; fails if not everything could be read. */
AR_MUST_CHECK enum ar_status ar_traces_end(struct ar_traces_cursor *c, struct ar_error *err);
