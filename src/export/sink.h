// SPDX-License-Identifier: BSD-3-Clause
/*
 * sink: where an export goes that is too large for memory.
 *
 * An encoder appends to `block` and calls ar_sink_pass between two records; what there is of it is passed on when the block is full.
 * Who opens the sink decides what becomes of the bytes: the command writes a file (cli/output_file.h), a page may keep them. The
 * encoders know no operating system.
 *
 *     struct ar_sink sink = {.take = take, .to = &file};
 *     ar_bytes_put(&sink.block, "[", 1);
 *     status = ar_sink_pass(&sink, &err);              // after each record
 *     status = ar_sink_end(&sink, status, &err);       // always: writes the rest, if all went well, and frees
 */
#pragma once

#include "base/bytes.h"

struct ar_sink {
    /* Takes all of the bytes or fails. */
    enum ar_status (*take)(void *to, const void *bytes, size_t n_bytes, struct ar_error *err);
    void *to;
    struct ar_bytes block; /* not passed on yet */
    uint64_t n_bytes;      /* that were */
};

#define AR_SINK_BLOCK_BYTES ((size_t)256 << 10)

/* What there is, whether the block is full or not. */
AR_MUST_CHECK enum ar_status ar_sink_flush(struct ar_sink *sink, struct ar_error *err);
AR_MUST_CHECK enum ar_status ar_sink_end(struct ar_sink *sink, enum ar_status status,
                                         struct ar_error *err);

AR_MUST_CHECK static inline enum ar_status ar_sink_pass(struct ar_sink *sink, struct ar_error *err)
{
    if (sink->block.n < AR_SINK_BLOCK_BYTES && !sink->block.bad)
        return AR_OK;
    return ar_sink_flush(sink, err);
}
