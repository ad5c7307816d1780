// SPDX-License-Identifier: BSD-3-Clause
/*
 * json: writes JSON, with commas and quotes in the right places.
 *
 * Text that is not UTF-8 is written with U+FFFD in its place, so that every reader accepts it.
 * Characters that may not be shown (base/text.h) are escaped.
 * Numbers of nanoseconds and bytes are written as integers.
 *
 *     struct ar_json j = {.out = &bytes};
 *     ar_json_open(&j, NULL, '{');
 *     ar_json_text(&j, "name", "solve");
 *     ar_json_close(&j, '}');
 */
#pragma once

#include "base/bytes.h"

struct ar_json {
    struct ar_bytes *out;
    bool needs_comma;
    bool is_flat;    /* keys stand on the line of their object, not on lines of their own */
    bool needs_line; /* whatever comes next stands on a line of its own */
};

/* `key` is NULL within an array, and at the top. */
void ar_json_open(struct ar_json *j, const char *key, char bracket);
void ar_json_close(struct ar_json *j, char bracket);
void ar_json_text(struct ar_json *j, const char *key, const char *text);
void ar_json_integer(struct ar_json *j, const char *key, uint64_t value);
void ar_json_signed(struct ar_json *j, const char *key, int64_t value);
void ar_json_number(struct ar_json *j, const char *key, double value);
void ar_json_null(struct ar_json *j, const char *key);
void ar_json_bool(struct ar_json *j, const char *key, bool value);
