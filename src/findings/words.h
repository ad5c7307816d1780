// SPDX-License-Identifier: BSD-3-Clause
/*
 * words: numbers, places, ranks and operations as people read them, the same in findings and in every
 * subcommand. Nothing is printed here.
 *
 * In one of a few static buffers: use the result before asking a dozen more times. Threads: one.
 */
#pragma once

#include "analysis/hot_lines.h"
#include "analysis/place.h"

#define AR_TEXT_BYTES 256
char *ar_text_buffer(void); /* the next of them */

/* "1.234", "107.4": for columns; in seconds for a unit of 1e9. */
const char *ar_show_time(double ns, double unit_ns);
const char *ar_show_duration(double ns);                                  /* "12.3 s", "4.56 ms" */
const char *ar_show_age(uint64_t ns);                                     /* "312 s", "52 min" */
const char *ar_show_bytes(uint64_t n);                                    /* "3.2 MB" */
const char *ar_show_count(uint64_t n);                                    /* "12,345" */
const char *ar_show_items(uint64_t n, const char *one, const char *many); /* "1 rank", "4 ranks" */
const char *ar_show_share(double share);                                  /* "1.3 %", "< 0.1 %" */
const char *ar_show_date(uint64_t real_ns);

size_t ar_count_hosts(const struct ar_profile *p);
/* "rank 3", or "process 4711" where there are no ranks. */
const char *ar_show_process(const struct ar_profile *p, uint32_t process);
/*
 * "solver.py:61": where a function is; for an MPI call, a method of mpi4py or an import the line that
 * made it. What has no place of its own is told by its kind: "C", "region", "task".
 */
const char *ar_show_place(const struct ar_profile *p, uint32_t node);
const char *ar_file_name(const char *path); /* without directories */
/* "halo.py:51", as commands take it; "" where it is not known. */
const char *ar_show_line(const struct ar_profile *p, struct ar_place place);

/* "25", "25-31", "25-end"; "" where it is not known. */
const char *ar_show_hot_line(const struct ar_hot_lines *hot, uint32_t function);

/* "ranks 0-3,8", "rank 5": processes, whichever order they are in. */
const char *ar_show_ranks(const struct ar_profile *p, const uint32_t *processes, size_t n);
/* As the program wrote it: a method's name of mpi4py ("allreduce"), or MPI's ("Allreduce"). */
const char *ar_show_operation(const struct ar_profile *p, uint32_t node);
