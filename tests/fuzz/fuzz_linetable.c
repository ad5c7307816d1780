// SPDX-License-Identifier: BSD-3-Clause
/*
 * Line tables: the first bytes of the input say which kind and where to begin, the rest is the table.
 * Walking it gives the same lines as looking them up one by one.
 */
#include "format/linetable.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct ask {
    uint32_t first_line, offset;
    uint8_t kind;
};

#define ASK_BYTES 9
#define MOST_LOOKUPS 64

static void must(bool cond)
{
    if (!cond)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct ask ask;

    if (n_bytes < ASK_BYTES)
        return 0;
    memcpy(&ask, bytes, ASK_BYTES);

    enum ar_linetable_kind kind = ask.kind & 3;
    size_t n_table = n_bytes - ASK_BYTES, n_ranges = 0;
    uint8_t *table = malloc(n_table + 1);
    uint32_t begin = 0;
    struct ar_line_range range;

    must(table != NULL);
    memcpy(table, bytes + ASK_BYTES, n_table);

    struct ar_linetable t = ar_linetable_over(kind, table, n_table, ask.first_line);

    for (; ar_linetable_next(&t, &range); begin = range.end_offset) {
        must(range.line <= INT32_MAX && ++n_ranges <= n_table + 1);
        must(range.end_offset >= begin);
        if (n_ranges <= MOST_LOOKUPS && range.end_offset > begin)
            must(ar_linetable_line(kind, table, n_table, ask.first_line, begin) == range.line);
    }
    must(ar_linetable_line(kind, table, n_table, ask.first_line, ask.offset) <= INT32_MAX);
    free(table);
    return 0;
}
