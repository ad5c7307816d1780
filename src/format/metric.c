// SPDX-License-Identifier: BSD-3-Clause
#include "format/metric.h"

#include <stdlib.h>
#include <string.h>

#define X(ID, NAME, UNIT, COMBINE, SCOPE)                                                          \
    [ID] = {.name = NAME, .unit = UNIT, .combine = AR_COMBINE_##COMBINE, .scope = AR_SCOPE_##SCOPE},
const struct ar_metric_kind ar_metric_kinds[AR_N_METRICS] = {AR_METRIC_LIST(X)};
#undef X

struct ar_metric_kind *ar_metric_kind_copy(const struct ar_metric_kind *kind)
{
    const char *texts[] = {kind->name, kind->unit, kind->divide_by ? kind->divide_by : ""};
    size_t n_bytes = sizeof *kind;
    char *copies[3];

    for (int i = 0; i < 3; i++)
        n_bytes += strlen(texts[i]) + 1;

    struct ar_metric_kind *copy = malloc(n_bytes);

    if (!copy)
        return NULL;

    char *at = (char *)(copy + 1);

    for (int i = 0; i < 3; i++) {
        copies[i] = at;
        at = stpcpy(at, texts[i]) + 1;
    }
    *copy = (struct ar_metric_kind){.name = copies[0],
                                    .unit = copies[1],
                                    .combine = kind->combine,
                                    .scope = kind->scope,
                                    .divide_by = *copies[2] ? copies[2] : NULL};
    return copy;
}

/* ---- as bytes --------------------------------------------------------------------------------- */

void ar_metric_kind_encode(const struct ar_metric_kind *kind, struct ar_bytes *out)
{
    ar_bytes_text(out, kind->name);
    ar_bytes_text(out, kind->unit);
    ar_bytes_varint(out, kind->combine);
    ar_bytes_varint(out, kind->scope);
    ar_bytes_text(out, kind->divide_by ? kind->divide_by : "");
}

/* A name of a metric is as long as that of a function may be, and no more. */
#define MOST_NAME_BYTES 512

static const char *get_text(struct ar_cursor *in, char *text)
{
    size_t n_bytes;
    const char *stored = ar_cursor_string(in, &n_bytes);

    if (in->bad || n_bytes >= MOST_NAME_BYTES) {
        in->bad = true;
        n_bytes = 0;
    }
    memcpy(text, stored, n_bytes);
    text[n_bytes] = '\0';
    return text;
}

static struct ar_metric_kind *decode(struct ar_cursor *in, bool has_scope)
{
    char name[MOST_NAME_BYTES], unit[MOST_NAME_BYTES], divide_by[MOST_NAME_BYTES];
    struct ar_metric_kind kind = {.name = get_text(in, name), .unit = get_text(in, unit)};
    uint64_t combine = ar_cursor_varint(in), scope = AR_SCOPE_CALL;

    if (has_scope) {
        scope = ar_cursor_varint(in);
        kind.divide_by = get_text(in, divide_by);
    }
    in->bad = in->bad || combine >= AR_N_COMBINES || scope >= AR_N_SCOPES;
    kind.combine = (uint8_t)combine;
    kind.scope = (uint8_t)scope;

    struct ar_metric_kind *copy = in->bad ? NULL : ar_metric_kind_copy(&kind);

    in->bad = !copy;
    return copy;
}

struct ar_metric_kind *ar_metric_kind_decode(struct ar_cursor *in)
{
    return decode(in, true);
}

struct ar_metric_kind *ar_metric_kind_decode_old(struct ar_cursor *in)
{
    return decode(in, false);
}
