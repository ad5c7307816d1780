// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_switch: asks the processes of a job that runs to begin or end their traces.
 *
 * Each process has a word in the header of its live file, `trace_wish`, which is written here and looked at by the process at its
 * next events: no signal, no message. It answers in `trace_heard`. A process that is in one long call answers when that ends.
 * Only the lowest byte of the word is written, so that no reader sees half of it, and files are not mapped: see base/file.h.
 *
 * Processes start meanwhile. One that is forked takes over what its parent was asked; of one that was forked a moment before, the
 * file is found the next time. So: find, ask, look, until nothing is new.
 *
 *     struct ar_switches s = {0};
 *     if (ar_switches_find(&s, directory, &err) < 0) ...
 *     ar_switches_ask(&s, true);
 *     while (ar_switches_look(&s)) ...             // wait a little
 *     s.items[i].outcome ...
 *     ar_switches_free(&s);
 *
 * Threads: one owner. Other commands may do the same at the same time: each wish is followed, the last one holds.
 */
#pragma once

#include "format/livefile.h"

enum ar_switch_outcome {
    AR_SWITCH_KNOWN,     /* it runs, and was not asked */
    AR_SWITCH_DONE,      /* it has heard */
    AR_SWITCH_WAITING,   /* it was asked, and has not answered yet */
    AR_SWITCH_ENDED,     /* the process has */
    AR_SWITCH_FORBIDDEN, /* the file may not be written by this user */
    AR_SWITCH_OLD,       /* its version of allranks knows no traces */
    AR_SWITCH_UNABLE,    /* the file cannot be written for another reason */
    AR_N_SWITCH_OUTCOMES
};

struct ar_switch {
    char *path;
    struct ar_live_header header; /* as it was seen last */
    uint32_t wish;                /* that was written; 0: none */
    uint8_t outcome;              /* enum ar_switch_outcome */
    bool is_elsewhere;            /* on another host: it is not known whether it runs */
};

struct ar_switches {
    struct ar_switch *items; /* by name of their files */
    size_t n, cap;
};

/* Adds the live files in a directory, or the one that it is, which are not known yet. */
AR_MUST_CHECK enum ar_status ar_switches_find(struct ar_switches *s, const char *path,
                                              struct ar_error *err);
/* All that run and were not asked yet. */
void ar_switches_ask(struct ar_switches *s, bool on);
/* How many of those have not answered. */
size_t ar_switches_look(struct ar_switches *s);
void ar_switches_free(struct ar_switches *s);
