// SPDX-License-Identifier: BSD-3-Clause
/*
 * screen: how numbers, names and errors look, the same in every subcommand.
 *
 * Colour only on a terminal and never with NO_COLOR. Functions that format return one of a few
 * static buffers: use the result before asking a dozen more times.
 */
#pragma once

#include "analysis/totals.h"

#include <stdio.h>

#define AR_EXIT_OK 0
#define AR_EXIT_NO 1  /* the answer is no, as with a threshold that is exceeded */
#define AR_EXIT_BAD 2 /* wrong usage, or a file that cannot be read or written */

/* allranks: error: <text>; returns AR_EXIT_BAD, so that a failure is one line. */
int ar_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What getopt_long refused; `c` is what it returned, option strings begin with ':'. */
int ar_complain_option(int c, char **argv);

/* There must be one run, and there are `n`. A pattern that the shell has expanded may be why. */
int ar_complain_runs(int n, const char *usage);
size_t ar_screen_columns(void); /* of the terminal; 80 where there is none */

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
/*
 * A function's name. Those in C are known by long ones, as cProfile has them: here "list.append" is
 * shown for "method 'append' of 'list' objects", and modules are left out where there is no room.
 */
const char *ar_show_name(const struct ar_profile *p, uint32_t node, size_t n_columns);
const char *ar_show_function(const struct ar_profile *p, uint32_t id, size_t n_columns);

/* Prints text that is not our own; what a terminal might obey becomes '?'. */
void ar_print_text(FILE *to, const char *text);
/* How wide it is, up to `most` and a column: names may be as long as a file. */
size_t ar_count_columns(const char *text, size_t most);
const char *ar_file_name(const char *path); /* without directories */
/* The same in so many columns, cut or padded. */
enum ar_keep { AR_KEEP_START, AR_KEEP_END };
void ar_fit(struct ar_bytes *out, const char *text, size_t n_columns, enum ar_keep keep);
void ar_print_fit(const char *text, size_t n_columns, enum ar_keep keep);

/*
 * From the least to the most that a process has, in 20 columns; ranks are named where they differ
 * by more than a tenth. Nothing for a single process.
 */
void ar_print_range(const struct ar_profile *p, const struct ar_spread *s, double unit_ns);

/* Escape sequences, or "" where they are not wanted. */
const char *ar_bold(void);
const char *ar_dim(void);
const char *ar_plain(void);

/*
 * Writes bytes to a file, or to standard output for "-". Returns an exit status; complains itself.
 */
int ar_write_output(const char *path, const struct ar_bytes *bytes);
/*
 * Writes a run file, under `path` or the first of its numbered names that is free, and tells which.
 * Returns an exit status; complains itself.
 */
int ar_write_run(struct ar_profile *p, const char *path);
/* As `allranks run` names its file; see default_output in python/allranks/_launch.py. */
void ar_default_output(const struct ar_profile *p, char *name, size_t n_name);
/* The run's name without directory and ending. */
void ar_stem(const char *path, char *stem, size_t n_stem);
