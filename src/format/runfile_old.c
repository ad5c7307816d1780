// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile_old.h"

#include <stdlib.h>

/* ---- processes -------------------------------------------------------------------------------- */

/* A later version may know more kinds of loss than we do, but not without end. */
#define MAX_LOSSES 64

#define GET_COLUMN(d, field, limit)                                                                \
    for (size_t i = 0; i < (d)->p->n_processes && !(d)->in.bad; i++)                               \
    (d)->p->processes[i].field = number_below(&(d)->in, limit)
#define GET_LONG_COLUMN(d, field)                                                                  \
    for (size_t i = 0; i < (d)->p->n_processes && !(d)->in.bad; i++)                               \
    (d)->p->processes[i].field = ar_cursor_varint(&(d)->in)

#define ANY ((uint64_t)1 << 32)

static uint32_t number_below(struct ar_cursor *in, uint64_t limit)
{
    uint32_t number = ar_cursor_varint32(in);

    if (number >= limit)
        in->bad = true;
    return in->bad ? 0 : number;
}

static void decode_losses(struct ar_decoding *d, uint32_t n_losses)
{
    for (uint32_t loss = 0; loss < n_losses && !d->in.bad; loss++)
        for (uint32_t i = 0; i < d->p->n_processes && !d->in.bad; i++) {
            uint64_t n = ar_cursor_varint(&d->in);

            if (n && !d->in.bad && loss < AR_N_LIVE_LOSSES && ar_loss_name(loss) &&
                ar_profile_lose(d->p, i, (enum ar_live_loss)loss, n) < 0)
                d->in.bad = true;
        }
}

static void decode_clock_link(struct ar_cursor *in, struct ar_clock_link *link)
{
    link->at_ns = ar_cursor_varint(in);
    link->offset_ns = (int64_t)ar_cursor_u64(in);
    link->error_ns = ar_cursor_varint(in);
}

/* Reasons that a later version adds are in the sum. */
static void decode_overheads(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    uint32_t n_reasons = ar_cursor_count(&d->in, p->n_processes ? p->n_processes : 1);

    for (uint32_t reason = 0; reason < n_reasons && !d->in.bad; reason++)
        for (size_t i = 0; i < p->n_processes && !d->in.bad; i++) {
            uint64_t ns = ar_cursor_varint(&d->in);

            if (reason < AR_N_OVERHEADS)
                p->processes[i].overheads_ns[reason] = ns;
        }
}

static void decode_families(struct ar_decoding *d)
{
    GET_COLUMN(d, command, d->p->strings.n_strings);
    GET_LONG_COLUMN(d, pid_start);
    GET_COLUMN(d, parent_pid, ANY);
    GET_COLUMN(d, root_pid, ANY);
    GET_LONG_COLUMN(d, root_start);
}

static void decode_clocks(struct ar_decoding *d)
{
    GET_LONG_COLUMN(d, start_mono_ns);
    for (size_t i = 0; i < d->p->n_processes && !d->in.bad; i++)
        for (int k = 0; k < AR_N_CLOCK_INSTANTS; k++)
            decode_clock_link(&d->in, &d->p->processes[i].clock_links[k]);
}

void ar_run_decode_old_processes(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    uint32_t n = ar_cursor_count(&d->in, 7);
    uint32_t n_losses = number_below(&d->in, MAX_LOSSES + 1);

    if (!ar_run_make_items(&d->in, (void **)&p->processes, &p->n_processes, &p->cap_processes, n,
                           sizeof *p->processes))
        return;
    GET_COLUMN(d, world_rank, ANY);
    for (uint32_t i = 0; i < n; i++)
        p->processes[i].world_rank -= AR_RANK_SHIFT;
    GET_COLUMN(d, world_size, ANY);
    GET_COLUMN(d, host, p->strings.n_strings);
    GET_COLUMN(d, pid, ANY);
    GET_COLUMN(d, state, AR_N_PROCESS_STATES);
    GET_LONG_COLUMN(d, start_real_ns);
    GET_LONG_COLUMN(d, wall_ns);
    decode_losses(d, n_losses);
    GET_LONG_COLUMN(d, overhead_ns);
    for (uint32_t i = 0; i < n && !d->in.bad; i++)
        ar_cursor_varint(&d->in); /* functions in C that versions before 8 left out */
    if (ar_cursor_left(&d->in))   /* not before version 3 */
        decode_families(d);
    if (ar_cursor_left(&d->in)) /* not before version 4 */
        decode_clocks(d);
    if (ar_cursor_left(&d->in)) /* not before version 8 */
        decode_overheads(d);
}

/* ---- metrics, up to version 4 ----------------------------------------------------------------- */

static void decode_rows(const struct ar_profile *p, struct ar_metric *m, struct ar_cursor *in)
{
    uint64_t node = 0;

    for (size_t i = 0; i < m->n_values && !in->bad;) {
        uint64_t step = ar_cursor_varint32(in);
        uint64_t n_row = ar_cursor_varint32(in);
        uint64_t location = 0;

        node += step;
        if ((i && step == 0) || node >= p->n_nodes || n_row == 0 || n_row > m->n_values - i)
            in->bad = true;
        for (uint64_t k = 0; k < n_row && !in->bad; k++, i++) {
            uint64_t distance = ar_cursor_varint32(in);

            location += distance;
            if ((k && distance == 0) || location >= p->n_locations)
                in->bad = true;
            m->values[i].node = (uint32_t)node;
            m->values[i].location = (uint32_t)location;
        }
    }
}

void ar_run_decode_old_metric(struct ar_decoding *d)
{
    unsigned metric;

    if (!ar_run_get_metric(d, false, &metric))
        return;

    struct ar_metric *m = &d->p->metrics[metric];
    uint32_t n = ar_cursor_count(&d->in, 2);

    if (d->p->packed[metric].rows)
        d->in.bad = true;
    if (!ar_run_make_items(&d->in, (void **)&m->values, &m->n_values, &m->cap, n,
                           sizeof *m->values))
        return;
    decode_rows(d->p, m, &d->in);
    for (uint32_t i = 0; i < n && !d->in.bad; i++)
        m->values[i].value = ar_cursor_varint(&d->in);
    m->sorted = true;
}

/* ---- tables ----------------------------------------------------------------------------------- */

static void decode_table(struct ar_decoding *d, enum ar_table_id id, size_t n_columns)
{
    const struct ar_role_limits limits = ar_profile_limits(d->p);

    if (d->p->tables[id].kind)
        d->in.bad = true; /* there is one such section */
    else
        ar_table_decode(&d->p->tables[id], &ar_table_kinds[id], n_columns, &d->in, &limits);
}

void ar_run_decode_old_messages(struct ar_decoding *d)
{
    decode_table(d, AR_TABLE_MESSAGES, ar_table_kinds[AR_TABLE_MESSAGES].n_columns);
}

#define N_REQUEST_COLUMNS_BEFORE_7 6

void ar_run_decode_old_requests(struct ar_decoding *d)
{
    decode_table(d, AR_TABLE_REQUESTS,
                 d->version < 7 ? N_REQUEST_COLUMNS_BEFORE_7
                                : ar_table_kinds[AR_TABLE_REQUESTS].n_columns);
}

static enum ar_status get_open_call(struct ar_decoding *d)
{
    struct ar_cursor *in = &d->in;
    struct ar_open_call open = {.location = number_below(in, d->p->n_locations),
                                .kind = number_below(in, AR_N_SYNC_KINDS)};

    open.flags = ar_cursor_varint32(in);
    open.n_requests = ar_cursor_varint32(in);
    open.comm = number_below(in, (uint64_t)d->p->n_comms + 1);
    open.sequence = ar_cursor_varint32(in);
    open.peer = ar_cursor_varint32(in) - AR_PEER_SHIFT;
    return in->bad ? AR_OK : ar_profile_add_row(d->p, AR_TABLE_OPEN_CALLS, &open);
}

static void decode_members(struct ar_decoding *d)
{
    uint32_t n = ar_cursor_count(&d->in, 4);
    struct ar_member *members = calloc((size_t)n + 1, sizeof *members);

    for (uint32_t i = 0; members && i < n && !d->in.bad; i++)
        members[i].comm = number_below(&d->in, d->p->n_comms);
    for (uint32_t i = 0; members && i < n && !d->in.bad; i++)
        members[i].process = number_below(&d->in, d->p->n_processes);
    for (uint32_t i = 0; members && i < n && !d->in.bad; i++)
        members[i].rank = ar_cursor_varint32(&d->in);
    for (uint32_t i = 0; members && i < n && !d->in.bad; i++)
        members[i].n_calls = ar_cursor_varint32(&d->in);
    for (uint32_t i = 0; members && i < n && !d->in.bad; i++)
        d->in.bad = ar_profile_add_row(d->p, AR_TABLE_MEMBERS, &members[i]) < 0;
    d->in.bad = d->in.bad || !members;
    free(members);
}

void ar_run_decode_old_open_calls(struct ar_decoding *d)
{
    uint32_t n = ar_cursor_count(&d->in, 7);

    if (d->p->n_open_calls || d->p->n_members)
        d->in.bad = true; /* there is one such section */
    for (uint32_t i = 0; i < n && !d->in.bad; i++)
        if (get_open_call(d) < 0)
            d->in.bad = true;
    decode_members(d);
}
