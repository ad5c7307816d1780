// SPDX-License-Identifier: BSD-3-Clause
/*
 * protobuf: writes messages in the encoding of Protocol Buffers.
 *
 * A field is its number and type in one varint, then its value. A message within another stands behind its length, so it is written
 * to a buffer of its own first.
 *
 *     struct ar_bytes inner = {0};
 *     ar_proto_uint(&inner, 1, 7);
 *     ar_proto_message(&outer, 3, &inner);     // and `inner` is empty again
 */
#pragma once

#include "base/bytes.h"

#include <string.h>

enum ar_proto_type { AR_PROTO_VARINT = 0, AR_PROTO_FIXED64 = 1, AR_PROTO_BYTES = 2 };

static inline void ar_proto_tag(struct ar_bytes *out, uint32_t field, enum ar_proto_type type)
{
    ar_bytes_varint(out, (uint64_t)field << 3 | type);
}

/* Also of types int64, enum and bool. */
static inline void ar_proto_uint(struct ar_bytes *out, uint32_t field, uint64_t value)
{
    ar_proto_tag(out, field, AR_PROTO_VARINT);
    ar_bytes_varint(out, value);
}

static inline void ar_proto_fixed64(struct ar_bytes *out, uint32_t field, uint64_t value)
{
    ar_proto_tag(out, field, AR_PROTO_FIXED64);
    ar_bytes_u64(out, value);
}

static inline void ar_proto_bytes(struct ar_bytes *out, uint32_t field, const void *bytes, size_t n)
{
    ar_proto_tag(out, field, AR_PROTO_BYTES);
    ar_bytes_varint(out, n);
    ar_bytes_put(out, bytes, n);
}

static inline void ar_proto_text(struct ar_bytes *out, uint32_t field, const char *text)
{
    ar_proto_bytes(out, field, text, strlen(text));
}

static inline void ar_proto_message(struct ar_bytes *out, uint32_t field, struct ar_bytes *message)
{
    out->bad = out->bad || message->bad;
    ar_proto_bytes(out, field, message->data, message->n);
    message->n = 0;
}
