// SPDX-License-Identifier: BSD-3-Clause
#include "run/sync_list.h"

#include <stdlib.h>

/* A damaged stream has fewer calls than it says. */
static enum ar_status unpack_stream(struct ar_sync_list *list, const struct ar_stream *stream)
{
    struct ar_stream_cursor *c = malloc(sizeof *c);
    enum ar_status status = c ? ar_stream_open(c, stream) : AR_NOMEM;

    if (status == AR_OK) {
        uint64_t n_syncs = list->n_syncs + stream->n_syncs;
        uint64_t n_parts = list->n_parts + stream->n_parts;

        while (list->n_syncs < n_syncs && ar_stream_next(c) &&
               list->n_parts + c->sync.n_parts <= n_parts) {
            ar_stream_parts(c, list->parts + list->n_parts);
            list->first_part[list->n_syncs] = list->n_parts;
            list->syncs[list->n_syncs++] = c->sync;
            list->n_parts += c->sync.n_parts;
        }
        ar_stream_close(c);
    }
    free(c);
    return status;
}

/* One more than `n`, which may be more than fit into memory. */
static void *allocate(uint64_t n, size_t item_bytes)
{
    return n < SIZE_MAX ? calloc((size_t)n + 1, item_bytes) : NULL;
}

enum ar_status ar_sync_list_read(struct ar_sync_list *out, const struct ar_profile *p)
{
    uint64_t n_parts = 0, n_syncs = ar_profile_n_syncs(p);
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < p->n_streams; i++)
        n_parts += p->streams[i].n_parts;
    *out = (struct ar_sync_list){
        .syncs = allocate(n_syncs, sizeof *out->syncs),
        .first_part = allocate(n_syncs, sizeof *out->first_part),
        .parts = allocate(n_parts, sizeof *out->parts),
    };
    if (!out->syncs || !out->first_part || !out->parts)
        status = AR_NOMEM;
    for (size_t i = 0; i < p->n_streams && status == AR_OK; i++)
        status = unpack_stream(out, &p->streams[i]);
    if (status < 0)
        ar_sync_list_free(out);
    return status;
}

void ar_sync_list_free(struct ar_sync_list *list)
{
    free(list->syncs);
    free(list->first_part);
    free(list->parts);
    *list = (struct ar_sync_list){0};
}
