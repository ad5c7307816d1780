// SPDX-License-Identifier: BSD-3-Clause
/*
 * closing_line: the line on stderr that says where the recording is, or how to recover it.
 *
 * One rank prints it, in one write, so that lines of ranks do not mix. Nothing is printed if the program
 * has closed its stderr, or has put another file in its place. Commands in it can be copied: paths are
 * quoted, and only characters that may be shown are in it.
 *
 * Threads: the one that ends the recording. Signals: the line about SIGTERM is prepared beforehand.
 */
#pragma once

#include <stdbool.h>

struct ar_profile;

/* Remembers what stderr is now. */
void ar_closing_start(bool quiet);
/* The caller prints a line of its own instead. Failures are still reported. */
void ar_closing_be_quiet(void);

/* Does this rank print for all? The first rank that is recorded does. */
bool ar_closing_prints(void);
/* The same for files beside the output, where those of other nodes may be, too. */
bool ar_closing_prints_for_nodes(void);

void ar_closing_say_error(const char *text);
/* The run file `path` is written, and holds `p`. */
void ar_closing_say_written(const char *path, const struct ar_profile *p);
/* The live files stay in `directory`, and why. */
void ar_closing_say_where(const char *why, const char *directory);
/* As the user wished, the live files are in `directory`, not merged. */
void ar_closing_say_kept(const char *directory);
/* `run` ("": named as the output) ends at MPI_Finalize; what followed is in live files in `directory`. */
void ar_closing_say_up_to_finalize(const char *run, const char *directory);
/* Writes down what is said if SIGTERM ends the process; again when the rank is known for sure. */
void ar_closing_prepare_sigterm(void);
