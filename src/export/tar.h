// SPDX-License-Identifier: BSD-3-Clause
/*
 * tar: an archive in memory, as POSIX describes it (ustar): plain files only, without an owner.
 *
 * The size of a member stands before its bytes, so the caller knows it before. A reader of CUBE files expects one block
 * more after a member whose size is a multiple of AR_TAR_BLOCK, which no other reader does: an archive for both has no
 * such member.
 *
 *     struct ar_bytes out = {0};
 *     ar_tar_begin(&out, "anchor.xml", n_bytes, seconds_since_1970);
 *     ar_bytes_put(&out, bytes, n_bytes);
 *     ar_tar_end_member(&out, n_bytes);
 *     ar_tar_end(&out);
 */
#pragma once

#include "base/bytes.h"

#define AR_TAR_BLOCK ((size_t)512)
#define AR_TAR_MOST_BYTES 077777777777u /* of a member: its size has eleven octal digits */

/* The header of a member. `name` has less than 100 bytes, and `n_bytes` is AR_TAR_MOST_BYTES at most. */
void ar_tar_begin(struct ar_bytes *out, const char *name, uint64_t n_bytes, uint64_t mtime_s);
/* What fills the last block. */
void ar_tar_end_member(struct ar_bytes *out, uint64_t n_bytes);
void ar_tar_end(struct ar_bytes *out);
/* Of a member with its header, in whole blocks. */
uint64_t ar_tar_member_bytes(uint64_t n_bytes);
