// SPDX-License-Identifier: BSD-3-Clause
/*
 * printing: the only way from the command to standard output and standard error.
 *
 * ar_print and ar_note take a format as printf does. The format is ours and printed as it is. A text
 * that is filled in with %s may come from a file: of it only characters that may be shown are printed
 * (base/text.h), others become '?', ends of lines included. The escape sequences that ar_bold, ar_dim
 * and ar_plain return are the exception. Width and precision of %s are columns and bytes.
 *
 * ar_printing_end is called once, by main: output that could not be written is an error.
 *
 *     ar_print("%s%-10s%s %zu\n", ar_bold(), name, ar_plain(), n);
 *     ar_note("allranks: wrote %s\n", path);
 *
 * Conversions: %s, %c, %%, and d, i, u, x, f, e, g with the lengths l, ll and z. Threads: one.
 */
#pragma once

#include "base/bytes.h"

#include <stdio.h>

/* To standard output. Returns how many columns that takes, ends of lines not counted. */
size_t ar_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* To standard error, in one write, after all that has been printed. */
void ar_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A text of ours, several lines of it. */
void ar_print_own(FILE *to, const char *text);
/* Bytes that have been made displayable, or are not meant for a screen. */
void ar_print_bytes(const struct ar_bytes *bytes);

/* Escape sequences, or "" where standard output is no terminal, or NO_COLOR is set. */
const char *ar_bold(void);
const char *ar_dim(void);
const char *ar_plain(void);

/* How many columns a character takes, as it is printed. */
size_t ar_character_columns(const char *at, size_t n_bytes);

/* Before anything is opened: a file must not get the number of a stream that the caller has closed. */
void ar_printing_begin(void);
/*
 * `status` is the command's. Returns the exit status: AR_EXIT_BAD if a write failed, and says so, unless the
 * reader of a pipe has gone or the command has complained itself.
 */
int ar_printing_end(int status);
