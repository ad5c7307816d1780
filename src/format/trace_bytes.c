// SPDX-License-Identifier: BSD-3-Clause
#include "format/trace_bytes.h"

#include "base/bytes.h"

#include <string.h>

static uint64_t get_number(const unsigned char *at, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n_bytes; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

static bool has_time(uint8_t code)
{
    return code != AR_TRACE_MESSAGE && code != AR_TRACE_END;
}

static bool has_ref(uint8_t code)
{
    return code == AR_TRACE_GO || code == AR_TRACE_ON || code == AR_TRACE_REWOUND;
}

static bool next_of_code(struct ar_trace_chunk_reader *r, struct ar_trace_item *out)
{
    size_t n = 2 * (size_t)r->at[1], n_fixed;

    out->tag = AR_TRACE_MORE;
    out->code = r->at[0] >> 2;
    if (out->code == AR_TRACE_END)
        return false;
    n_fixed = (has_time(out->code) ? 8 : 0) + (has_ref(out->code) ? 4 : 0);
    if ((size_t)(r->end - r->at) < 2 + n || n < n_fixed) {
        r->bad = true;
        return false;
    }
    r->units += has_time(out->code) ? get_number(r->at + 2, 8) : 0;
    out->number = has_ref(out->code) ? (uint32_t)get_number(r->at + 10, 4) : 0;
    out->units = r->units;
    out->payload = r->at + 2 + n_fixed;
    out->n_payload = n - n_fixed;
    r->at += 2 + n;
    return true;
}

/* Everything but the two short forms; and what is near the end of the chunk. */
bool ar_trace_chunk_next_rare(struct ar_trace_chunk_reader *r, struct ar_trace_item *out)
{
    static const uint8_t n_bytes[] = {2, 2, 4, 6};
    size_t n_left = (size_t)(r->end - r->at);

    if (r->bad || n_left < 2)
        return false;

    unsigned tag = r->at[0] & 3;

    if (n_left < n_bytes[tag]) {
        r->bad = true;
        return false;
    }
    if (tag == AR_TRACE_MORE)
        return next_of_code(r, out);

    uint64_t word = get_number(r->at, n_bytes[tag]);
    uint64_t most = tag == AR_TRACE_UP     ? AR_TRACE_UP_TIME
                    : tag == AR_TRACE_DOWN ? AR_TRACE_DOWN_TIME
                                           : AR_TRACE_LONG_TIME;

    r->units += word >> 2 & (most - 1);
    out->units = r->units;
    out->number = tag == AR_TRACE_DOWN ? (uint32_t)(word >> 15) : (uint32_t)(word >> 31);
    out->tag = tag == AR_TRACE_UP || !out->number ? AR_TRACE_UP : AR_TRACE_DOWN;
    r->at += n_bytes[tag];
    return true;
}

/* ---- messages --------------------------------------------------------------------------------- */

static size_t put_varint(unsigned char *to, size_t n, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        to[n++] = (unsigned char)(value | 0x80);
    to[n++] = (unsigned char)value;
    return n;
}

/* Set in the kind of a message of which only those fields follow that are not as usual. */
#define WITHOUT_USUAL 0x80

enum field {
    FIELD_COMM = 1,
    FIELD_TAG = 2,
    FIELD_SEQUENCE = 4,
    FIELD_BYTES_OUT = 8,
    FIELD_BYTES_IN = 16,
    FIELD_REQUEST = 32,
    FIELD_SYNC = 64,
    FIELD_RANK = 128,
};

/* The world's number: it is made first. */
#define USUAL_COMM 1

/* In the order of bits; the usual ones are 0. */
static void take_apart(const struct ar_trace_message *message, uint64_t values[8])
{
    values[0] = message->comm ^ USUAL_COMM;
    values[1] = (uint32_t)message->tag << 1 ^ (message->tag < 0 ? UINT32_MAX : 0);
    values[2] = message->sequence;
    values[3] = message->bytes_out;
    values[4] = message->bytes_in;
    values[5] = message->request;
    values[6] = (uint64_t)message->sync << 1 | message->may_pass;
    values[7] = message->rank;
}

size_t ar_trace_message_put(const struct ar_trace_message *message, unsigned char *to)
{
    uint64_t values[8];
    size_t n = 2;

    take_apart(message, values);
    to[0] = message->kind | WITHOUT_USUAL;
    to[1] = 0;
    n = put_varint(to, n, message->peer + 4);
    for (unsigned i = 0; i < 8; i++)
        if (values[i]) {
            to[1] |= (unsigned char)(1u << i);
            n = put_varint(to, n, values[i]);
        }
    return n;
}

static uint32_t get32(struct ar_cursor *in, unsigned fields, enum field field)
{
    return fields & field ? ar_cursor_varint32(in) : 0;
}

static uint64_t get64(struct ar_cursor *in, unsigned fields, enum field field)
{
    return fields & field ? ar_cursor_varint(in) : 0;
}

bool ar_trace_message_get(struct ar_trace_message *out, const struct ar_trace_item *item)
{
    struct ar_cursor in;
    uint32_t tag, sync;
    unsigned fields = 0xff;
    bool is_short;

    if (item->tag != AR_TRACE_MORE || item->code != AR_TRACE_MESSAGE)
        return false;
    in = ar_cursor_over(item->payload, item->n_payload);
    out->kind = ar_cursor_u8(&in);
    is_short = out->kind & WITHOUT_USUAL;
    out->kind &= (uint8_t)~WITHOUT_USUAL;
    if (!out->kind || out->kind >= AR_N_TRACE_MESSAGE_KINDS)
        return false;
    if (is_short) {
        fields = ar_cursor_u8(&in);
        out->peer = ar_cursor_varint32(&in) - 4;
    }
    out->comm = get32(&in, fields, FIELD_COMM) ^ (is_short ? USUAL_COMM : 0);
    if (!is_short) /* as it was before version 3: all fields, in this order */
        out->peer = ar_cursor_varint32(&in) - 4;
    tag = get32(&in, fields, FIELD_TAG);
    out->tag = (int32_t)(tag >> 1 ^ (0 - (tag & 1)));
    out->sequence = get32(&in, fields, FIELD_SEQUENCE);
    out->bytes_out = get64(&in, fields, FIELD_BYTES_OUT);
    out->bytes_in = get64(&in, fields, FIELD_BYTES_IN);
    out->request = get64(&in, fields, FIELD_REQUEST);
    sync = get32(&in, fields, FIELD_SYNC);
    out->sync = (uint8_t)(sync >> 1);
    out->may_pass = sync & 1;
    out->rank = get32(&in, fields, FIELD_RANK);
    return !in.bad;
}

/* ---- parameters ------------------------------------------------------------------------------- */

#define MOST_NAME 120
#define MOST_TEXT 255

/* Of a text that is cut no character is left in part. */
static size_t cut(const char *text, size_t n, size_t most)
{
    if (n <= most)
        return n;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

size_t ar_trace_parameter_put(const struct ar_trace_parameter *parameter, unsigned char *to)
{
    size_t n_name = cut(parameter->name, parameter->n_name, MOST_NAME), n = 0;

    to[n++] = parameter->type;
    if (parameter->type == AR_TRACE_TEXT) {
        size_t n_text = cut(parameter->text, parameter->n_text, MOST_TEXT);

        to[n++] = (unsigned char)n_text;
        memcpy(to + n, parameter->text, n_text);
        n += n_text;
    } else {
        for (int i = 0; i < 8; i++)
            to[n++] = (unsigned char)(parameter->value >> 8 * i);
    }
    to[n++] = (unsigned char)n_name;
    memcpy(to + n, parameter->name, n_name);
    return n + n_name;
}

bool ar_trace_parameter_get(struct ar_trace_parameter *out, const struct ar_trace_item *item)
{
    struct ar_cursor in;

    *out = (struct ar_trace_parameter){0};
    if (item->tag != AR_TRACE_MORE || item->code != AR_TRACE_PARAMETER)
        return false;
    in = ar_cursor_over(item->payload, item->n_payload);
    out->type = ar_cursor_u8(&in);
    if (out->type == AR_TRACE_TEXT) {
        out->n_text = ar_cursor_u8(&in);
        out->text = ar_cursor_take(&in, out->n_text);
    } else {
        out->value = ar_cursor_u64(&in);
    }
    out->n_name = ar_cursor_u8(&in);
    out->name = ar_cursor_take(&in, out->n_name);
    return !in.bad && out->type < AR_N_TRACE_PARAMETER_TYPES;
}
