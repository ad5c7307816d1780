// SPDX-License-Identifier: BSD-3-Clause
/*
 * marshal: values in Python's marshal format, version 2, which every Python 3 reads.
 *
 * A tuple says how many items follow; a dict is open until its end, keys and values in turn. Text
 * that is not UTF-8 is written with U+FFFD in its place, so that loading and printing never fail;
 * a name that came from such a file is written as it was, with surrogates.
 *
 *     ar_marshal_dict(&out);
 *     ar_marshal_text(&out, "", name, "");      // key
 *     ar_marshal_int(&out, 7);                  // value
 *     ar_marshal_dict_end(&out);
 */
#pragma once

#include "base/bytes.h"
#include "base/strtab.h"

void ar_marshal_int(struct ar_bytes *out, uint64_t value);
void ar_marshal_seconds(struct ar_bytes *out, uint64_t ns); /* as a float */
void ar_marshal_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after);
void ar_marshal_name(struct ar_bytes *out, const char *before, struct ar_str s, const char *after);
void ar_marshal_tuple(struct ar_bytes *out, uint32_t n_items);
void ar_marshal_dict(struct ar_bytes *out);
void ar_marshal_dict_end(struct ar_bytes *out);
