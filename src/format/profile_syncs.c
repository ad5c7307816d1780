// SPDX-License-Identifier: BSD-3-Clause
/* Synchronising calls of a profile: see profile.h. */
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

static enum ar_status add_stream(struct ar_profile *p, struct ar_stream *stream)
{
    if (ar_grow((void **)&p->streams, &p->cap_streams, p->n_streams + 1, sizeof *p->streams) < 0) {
        ar_stream_free(stream);
        return AR_NOMEM;
    }
    p->streams[p->n_streams++] = *stream;
    return AR_OK;
}

/* What is being written becomes a stream like the others. */
static enum ar_status finish_writing(struct ar_profile *p)
{
    struct ar_stream stream;
    enum ar_status status = AR_OK;

    if (p->writer) {
        status = ar_stream_end(p->writer, &stream);
        if (status == AR_OK)
            status = add_stream(p, &stream);
    }
    free(p->writer);
    p->writer = NULL;
    return status;
}

static enum ar_status start_writing(struct ar_profile *p, uint32_t location)
{
    if (finish_writing(p) < 0)
        return AR_NOMEM;
    p->writer = malloc(sizeof *p->writer);
    if (!p->writer)
        return AR_NOMEM;
    ar_stream_begin(p->writer, location);
    return AR_OK;
}

enum ar_status ar_profile_sync(struct ar_profile *p, struct ar_profile_sync sync,
                               const struct ar_profile_part *parts)
{
    const struct ar_stream_writer *w = p->writer;
    bool goes_on = w && w->stream.location == sync.location && w->exit_ns <= sync.exit_ns;

    if (!goes_on && start_writing(p, sync.location) < 0)
        return AR_NOMEM;
    return ar_stream_put(p->writer, &sync, parts);
}

enum ar_status ar_profile_stream(struct ar_profile *p, const struct ar_stream *other,
                                 uint32_t location, const struct ar_stream_maps *maps,
                                 bool with_bytes)
{
    struct ar_stream stream;

    if (ar_stream_copy(&stream, other, with_bytes) < 0)
        return AR_NOMEM;
    stream.location = location;
    for (size_t i = 0; i < stream.n_nodes; i++)
        stream.nodes[i] = maps->nodes[stream.nodes[i]];
    for (size_t i = 0; i < stream.n_comms; i++)
        if (stream.comms[i].comm)
            stream.comms[i].comm = maps->comms[stream.comms[i].comm - 1] + 1;
    return add_stream(p, &stream);
}

void ar_profile_free_streams(struct ar_profile *p)
{
    struct ar_stream none;

    if (p->writer && ar_stream_end(p->writer, &none) == AR_OK)
        ar_stream_free(&none);
    free(p->writer);
    for (size_t i = 0; i < p->n_streams; i++)
        ar_stream_free(&p->streams[i]);
    free(p->streams);
    ar_other_streams_free(&p->other_streams);
    ar_bulks_free(&p->bulks);
}

enum ar_status ar_profile_keep_streams(struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_streams; i++)
        if (ar_stream_keep(&p->streams[i]) < 0)
            return AR_NOMEM;
    return ar_other_streams_keep(&p->other_streams);
}

uint64_t ar_profile_n_syncs(const struct ar_profile *p)
{
    uint64_t n = p->writer ? p->writer->stream.n_syncs : 0;

    for (size_t i = 0; i < p->n_streams; i++)
        n += p->streams[i].n_syncs;
    return n;
}

enum ar_status ar_profile_renumber_syncs(struct ar_profile *p, const uint32_t *numbers)
{
    size_t n = 0;

    if (finish_writing(p) < 0)
        return AR_NOMEM;
    ar_other_streams_renumber(&p->other_streams, numbers);
    for (size_t i = 0; i < p->n_streams; i++) {
        struct ar_stream stream = p->streams[i];

        stream.location = numbers[stream.location];
        if (stream.location == AR_NO_ID)
            ar_stream_free(&stream);
        else
            p->streams[n++] = stream;
    }
    p->n_streams = n;
    return AR_OK;
}

/* ---- one stream a location -------------------------------------------------------------------- */

static int by_location(const void *a, const void *b)
{
    uint32_t x = ((const struct ar_stream *)a)->location,
             y = ((const struct ar_stream *)b)->location;

    return (x > y) - (x < y);
}

static bool is_in_order(const struct ar_profile *p)
{
    for (size_t i = 1; i < p->n_streams; i++)
        if (p->streams[i - 1].location >= p->streams[i].location)
            return false;
    return true;
}

/* Of the calls that come next, the one that ended first. */
static struct ar_stream_cursor *earliest(struct ar_stream_cursor *cursors, size_t n)
{
    struct ar_stream_cursor *found = NULL;

    for (size_t i = 0; i < n; i++)
        if (cursors[i].stream && (!found || cursors[i].sync.exit_ns < found->sync.exit_ns))
            found = &cursors[i];
    return found;
}

static enum ar_status write_in_order(struct ar_stream_writer *w, struct ar_stream_cursor *cursors,
                                     size_t n)
{
    enum ar_status status = AR_OK;

    struct ar_profile_part parts[AR_MOST_PARTS];

    for (struct ar_stream_cursor *c; status == AR_OK && (c = earliest(cursors, n));) {
        ar_stream_parts(c, parts);
        status = ar_stream_put(w, &c->sync, parts);
        if (!ar_stream_next(c))
            ar_stream_close(c);
    }
    return status;
}

/* Those of one location: a thread's calls lie in pieces where others write between them. */
static enum ar_status join(const struct ar_stream *streams, size_t n, struct ar_stream *out)
{
    struct ar_stream_cursor *cursors = calloc(n, sizeof *cursors);
    struct ar_stream_writer w;
    enum ar_status status = cursors ? AR_OK : AR_NOMEM;

    ar_stream_begin(&w, streams->location);
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        status = ar_stream_open(&cursors[i], &streams[i]);
        if (status == AR_OK && !ar_stream_next(&cursors[i]))
            ar_stream_close(&cursors[i]);
    }
    if (status == AR_OK)
        status = write_in_order(&w, cursors, n);
    for (size_t i = 0; i < n && cursors; i++)
        ar_stream_close(&cursors[i]);
    free(cursors);

    enum ar_status ended = ar_stream_end(&w, out);

    if (status < 0 && ended == AR_OK)
        ar_stream_free(out);
    return status < 0 ? status : ended;
}

static enum ar_status join_all(struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0, end; i < p->n_streams; i = end) {
        struct ar_stream joined = p->streams[i];

        for (end = i + 1; end < p->n_streams && p->streams[end].location == joined.location;)
            end++;
        if (end > i + 1) {
            if (join(p->streams + i, end - i, &joined) < 0)
                return AR_NOMEM;
            for (size_t k = i; k < end; k++)
                ar_stream_free(&p->streams[k]);
        }
        p->streams[i] = (struct ar_stream){0};
        p->streams[n++] = joined;
    }
    p->n_streams = n;
    return AR_OK;
}

/* Pieces of a location may come in any order. */
enum ar_status ar_profile_sort_syncs(struct ar_profile *p)
{
    if (finish_writing(p) < 0)
        return AR_NOMEM;
    ar_other_streams_sort(&p->other_streams);
    if (is_in_order(p))
        return AR_OK;
    qsort(p->streams, p->n_streams, sizeof *p->streams, by_location);
    return join_all(p);
}

const char *ar_sync_kind_name(uint32_t kind)
{
    static const char *const names[AR_N_SYNC_KINDS] = {
        [AR_SYNC_NONE] = "none",           [AR_SYNC_BARRIER] = "barrier", [AR_SYNC_ALL] = "all",
        [AR_SYNC_FROM_ROOT] = "from_root", [AR_SYNC_TO_ROOT] = "to_root", [AR_SYNC_SCAN] = "scan",
        [AR_SYNC_SEND] = "send",           [AR_SYNC_RECEIVE] = "receive", [AR_SYNC_PROBE] = "probe",
        [AR_SYNC_TAKEN] = "taken",         [AR_SYNC_START] = "start",     [AR_SYNC_END] = "end",
        [AR_SYNC_POST] = "post",           [AR_SYNC_UNKNOWN] = "unknown",
    };

    return kind < AR_N_SYNC_KINDS ? names[kind] : "none";
}

int64_t ar_process_clock_ns(const struct ar_process *process, uint64_t since_start_ns)
{
    const struct ar_clock_link *first = &process->clock_links[AR_CLOCK_AT_INIT];
    const struct ar_clock_link *last = &process->clock_links[AR_CLOCK_AT_FINALIZE];
    uint64_t at = process->start_mono_ns + since_start_ns;
    double drift = 0;

    if (!first->at_ns)
        return (int64_t)at;
    if (last->at_ns > first->at_ns)
        drift = ((double)last->offset_ns - (double)first->offset_ns) *
                ((double)at - (double)first->at_ns) / (double)(last->at_ns - first->at_ns);
    return (int64_t)(at + (uint64_t)first->offset_ns + (uint64_t)ar_whole_ns(drift));
}
