// SPDX-License-Identifier: BSD-3-Clause
/*
 * pickle: values in Python's pickle format, protocol 2, which every Python 3 reads.
 *
 * A pickle is a program for a stack machine: each value is pushed, and a container takes its items from the stack. Lists
 * and dicts are open from their beginning to their end; a tuple comes behind its three items. Text that is not UTF-8 is
 * written with U+FFFD in its place, so that printing what was loaded never fails.
 *
 *     ar_pickle_begin(&out);
 *     ar_pickle_dict(&out);
 *     ar_pickle_text(&out, key);
 *     ar_pickle_int(&out, 7);
 *     ar_pickle_dict_end(&out);
 *     ar_pickle_end(&out);
 */
#pragma once

#include "base/bytes.h"
#include "base/strtab.h"

void ar_pickle_begin(struct ar_bytes *out);
void ar_pickle_end(struct ar_bytes *out);
void ar_pickle_int(struct ar_bytes *out, uint64_t value);
void ar_pickle_float(struct ar_bytes *out, double value);
void ar_pickle_text(struct ar_bytes *out, struct ar_str text);
void ar_pickle_triple(struct ar_bytes *out); /* of the last three values */
void ar_pickle_list(struct ar_bytes *out);
void ar_pickle_list_end(struct ar_bytes *out);
void ar_pickle_dict(struct ar_bytes *out);
void ar_pickle_dict_end(struct ar_bytes *out);
/* A new object of that class, whose constructor is not called; the dict that follows becomes its __dict__ with the end. */
void ar_pickle_object(struct ar_bytes *out, const char *module, const char *name);
void ar_pickle_object_end(struct ar_bytes *out);
