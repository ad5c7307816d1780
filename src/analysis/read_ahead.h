// SPDX-License-Identifier: BSD-3-Clause
/*
 * read_ahead: a thread that fills the batches of a ring ahead of their reader.
 *
 * Batches have numbers from 0 on; batch i has place i % n_batches of the ring. The thread fills them one after the other and waits
 * when the ring is full.
 *
 * Threads: ar_read_ahead_wait, _release and _stop are called by the reader only; the fill function runs in the thread.
 * A build for WebAssembly has no threads: ar_read_ahead_start returns NULL there, and the reader fills each batch itself.
 *
 *     struct ar_read_ahead *ahead = ar_read_ahead_start(fill, owner, N_BATCHES);
 *     ar_read_ahead_wait(ahead);       // then read batch 0
 *     ar_read_ahead_release(ahead);
 *     ar_read_ahead_stop(ahead);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ar_read_ahead;

/* Fills batch `number`; false: it is the last one. */
typedef bool ar_fill_batch(void *owner, uint64_t number);

/* NULL: no thread can be started. */
struct ar_read_ahead *ar_read_ahead_start(ar_fill_batch *fill, void *owner, unsigned n_batches);
/* Waits until the batch that the reader reads next is full. */
void ar_read_ahead_wait(struct ar_read_ahead *ahead);
/* The reader has read a batch: the thread may fill its place again. */
void ar_read_ahead_release(struct ar_read_ahead *ahead);
/* Ends the thread and frees; accepts NULL. */
void ar_read_ahead_stop(struct ar_read_ahead *ahead);
