// SPDX-License-Identifier: BSD-3-Clause
/*
 * clock_offsets: how far this rank's clock is from that of rank 0.
 *
 * Waiting is found by comparing times of different ranks. On one host all read the same clock, and
 * nothing is measured. Between hosts messages go there and back a few times, and the quickest tells:
 * the other clock was read in the middle of it, give or take half its time. Each rank asks one that
 * has asked before, down the tree by which profiles go up: log2(ranks) steps, not one after the other.
 */
#pragma once

#include "runtime/mpi_abi.h"

/*
 * Called by all ranks, or by none. Which ranks share the host of this one is asked of `on_this_host`.
 * Where the other one does not answer in time `out` stays as it is: not measured.
 */
void ar_clocks_compare(const struct ar_mpi_link *link, enum ar_clock_instant when,
                       bool (*on_this_host)(uint32_t rank), struct ar_clock_link *out);
