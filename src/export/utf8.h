// SPDX-License-Identifier: BSD-3-Clause
/*
 * utf8: text as Python's own formats hold it, behind its length in bytes as 32 bits.
 *
 *     size_t length_at = ar_utf8_length_begin(&out);
 *     ar_utf8_put(&out, name, false);
 *     ar_utf8_length_end(&out, length_at);
 */
#pragma once

#include "base/bytes.h"
#include "base/strtab.h"

/*
 * Each byte that is not UTF-8 becomes U+FFFD, or, with `surrogates`, what os.fsdecode makes of it: Python loads
 * surrogates, but then fails to print them.
 */
void ar_utf8_put(struct ar_bytes *out, struct ar_str s, bool surrogates);
/* Returns where the length will be. */
size_t ar_utf8_length_begin(struct ar_bytes *out);
/* The number of bytes since then. */
void ar_utf8_length_end(struct ar_bytes *out, size_t length_at);
