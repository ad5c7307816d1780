// SPDX-License-Identifier: BSD-3-Clause
/*
 * runfile_old: sections of run files that are not written any more.
 *
 * Up to version 9 the reader had to know which columns a section has. Those sections are read into the same tables as those that say it.
 * Threads: nothing here is shared.
 */
#pragma once

#include "format/profile.h"

#define AR_LAST_WITHOUT_DESCRIPTIONS 9

/* A run file that is being read. */
struct ar_decoding {
    struct ar_profile *p;
    uint32_t version;
    struct ar_cursor in;          /* the section at hand; bad: it cannot be */
    uint64_t n_lost[AR_N_LOSSES]; /* what there was no room for */
    struct ar_bulk_piece bulk;    /* where the bytes of bulks lie in the file */
};

void ar_run_decode_old_processes(struct ar_decoding *d);
void ar_run_decode_old_metric(struct ar_decoding *d);
void ar_run_decode_old_messages(struct ar_decoding *d);
void ar_run_decode_old_requests(struct ar_decoding *d);
void ar_run_decode_old_open_calls(struct ar_decoding *d);

/* Of runfile_decode.c: an array of n zeroed items in a profile, which must not have one yet. */
bool ar_run_make_items(struct ar_cursor *in, void **items, size_t *n_items, size_t *cap, size_t n,
                       size_t item_bytes);
/* The metric that the section is about, which is new or has been met before. false: there is no room for it. */
bool ar_run_get_metric(struct ar_decoding *d, bool has_scope, unsigned *metric);
