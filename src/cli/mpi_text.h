// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_text: communicators, peers and sizes in few words, the same on the screen, in JSON and in CSV.
 *
 * In one of a few static buffers, as those of screen.h.
 */
#pragma once

#include "analysis/mpi_tables.h"

/* "row", "split of 4", "not known"; `comm` is its number plus 1, or 0. */
const char *ar_show_comm(const struct ar_profile *p, uint32_t comm);
/* "grid.py:12": where it was made, or "". */
const char *ar_show_comm_place(const struct ar_profile *p, uint32_t comm);
/* "rank 3", "all", "2 of row" …, of a row by peer. */
const char *ar_show_peer(const struct ar_profile *p, const struct ar_mpi_row *row);
/* "0 B", "512-1023 B", "4-8 KiB" */
const char *ar_show_size_class(uint32_t size_class);
/* Bytes in five columns: "999", "3.2M". */
const char *ar_show_short_bytes(double n);
/* Any count in as many columns as can be: "12,345", "12.3M". */
const char *ar_show_short_count(uint64_t n, size_t n_columns);
