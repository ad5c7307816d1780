// SPDX-License-Identifier: BSD-3-Clause
/*
 * text: what string.h leaves out, and which characters may be shown.
 *
 * Names of functions, files, hosts and jobs are chosen by others. A terminal interprets control
 * characters in them, and some characters of Unicode change how the text around them looks: they
 * turn its direction round, break the line, or are invisible. Text that goes to a terminal, a
 * spreadsheet or JSON is therefore taken character by character: those that may not be shown are
 * replaced or escaped.
 *
 *     for (size_t n; n_left; at += n, n_left -= n) {
 *         n = ar_text_step(at, n_left);
 *         if (ar_text_is_displayable(at, n)) ...
 *     }
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool ar_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static inline bool ar_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* What follows the last slash. */
static inline const char *ar_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Length of the UTF-8 character at `at`; 1 for a byte that begins none. */
size_t ar_text_step(const char *at, size_t n_left);
/* Its code point; of a byte that begins no character the byte itself. */
uint32_t ar_text_code(const char *at, size_t n_bytes);
/* `n_bytes` is what ar_text_step returned. */
bool ar_text_is_displayable(const char *at, size_t n_bytes);
/*
 * As one word of a shell, in quotes where it needs them; a byte that may not be shown is escaped in bash's way.
 * false: no room.
 */
bool ar_text_quote(const char *word, char *out, size_t n_out);
/* With '?' for each character that may not be shown. */
void ar_text_put(struct ar_bytes *out, const char *text, size_t n_bytes);
/* The same in place; returns the new length. Signal-safe. */
size_t ar_text_make_displayable(char *text, size_t n_bytes);
