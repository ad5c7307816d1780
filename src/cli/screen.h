// SPDX-License-Identifier: BSD-3-Clause
/*
 * screen: how numbers, names and errors look, the same in every subcommand.
 *
 * Functions that format return one of a few static buffers, as those of findings/words.h do, which are
 * included here, as is printing.h, by which all of it gets out.
 */
#pragma once

#include "analysis/totals.h"
#include "cli/printing.h"
#include "findings/words.h"

#define AR_EXIT_OK 0
#define AR_EXIT_NO 1  /* the answer is no, as with a threshold that is exceeded */
#define AR_EXIT_BAD 2 /* wrong usage, or a file that cannot be read or written */

/* allranks: error: <text>; returns AR_EXIT_BAD, so that a failure is one line. */
int ar_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same of an error, whose text may name the file already. */
int ar_complain_of(const char *path, const struct ar_error *err);
/* What getopt_long refused; `c` is what it returned, option strings begin with ':'. */
int ar_complain_option(int c, char **argv);

/* There must be one run, and there are `n`. A pattern that the shell has expanded may be why. */
int ar_complain_runs(int n, const char *usage);
size_t ar_screen_columns(void); /* of the terminal; 80 where there is none */

/*
 * A function's name. Those in C are known by long ones, as cProfile has them: here "list.append" is
 * shown for "method 'append' of 'list' objects", and modules are left out where there is no room.
 */
const char *ar_show_name(const struct ar_profile *p, uint32_t node, size_t n_columns);
const char *ar_show_function(const struct ar_profile *p, uint32_t id, size_t n_columns);

/* How wide it is, up to `most` and a column: names may be as long as a file. */
size_t ar_count_columns(const char *text, size_t most);
/* The same in so many columns, cut or padded. */
enum ar_keep { AR_KEEP_START, AR_KEEP_END };
void ar_fit(struct ar_bytes *out, const char *text, size_t n_columns, enum ar_keep keep);
void ar_print_fit(const char *text, size_t n_columns, enum ar_keep keep);
/*
 * Broken at spaces, the second line and those after it begin at `indent`, where the first one is. Returns how
 * many lines that are. With `n_last` the last one is left open, and that is its end.
 */
size_t ar_print_wrapped(const char *text, size_t n_columns, size_t indent, size_t *n_last);
/* The same, with nothing printed. */
size_t ar_count_wrapped(const char *text, size_t n_columns, size_t indent, size_t *n_last);

/*
 * From the least to the most that a process has, in 20 columns; ranks are named where they differ
 * by more than a tenth, and "~" stands before both if they are estimated. Nothing for a single process.
 */
void ar_print_range(const struct ar_profile *p, const struct ar_spread *s, double unit_ns);
/* In 13 columns only the most, with its rank: "0.400 (3)". */
void ar_print_most(const struct ar_profile *p, const struct ar_spread *s, double unit_ns);

/* A plain file, or none yet: neither a pipe nor a device, nor a link, which would be lost. */
bool ar_is_replaceable(const char *path);
/* Does a run file or a live file lie there? Nothing is written over these: a recording cannot be made again. */
bool ar_is_recording(const char *path);
#define AR_HOLDS_RECORDING "%s: holds a recording, which is not written over (choose another name)"
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
/* For a command in a message, see ar_text_quote; valid until the call after the next. */
const char *ar_quote(const char *word);
void ar_default_output(const struct ar_profile *p, char *name, size_t n_name);
/* The run's name without directory and ending. */
void ar_stem(const char *path, char *stem, size_t n_stem);
